#include "tests/operators/sweep.h"

#include <ATen/ATen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/gpu.h"
#include "runtime/device/device.h"
#include "tests/operators/compare.h"
#include "tests/operators/values.h"

namespace aitune {
namespace {

using frontend::CompiledModel;
using frontend::Model;
using frontend::ValueList;

// Outputs of one model: enough to spread what a build costs at least, few
// enough that one call that fails is soon found.
constexpr size_t kGroup = 24;
// Seconds for a group; on a busy machine a build takes some.
constexpr unsigned kTimeLimit = 240;

constexpr char kSignature[] = "def forward(self, x, y, z, m, s, v, c, i):\n";

std::string Expression(const Combination& combination,
                       const OperatorCall& call) {
  return absl::StrReplaceAll(
      call.call, {{"$n", absl::StrCat(combination.size)},
                  {"$d", absl::StrCat(static_cast<int>(combination.dtype))}});
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text.substr(0, 400);
}

// What a child process tells, a line each: "eager P" and "build P,P,..." before
// it does so, "result P SET OUTCOME DETAIL" with tabs, and "end".
class Child {
 public:
  Child(const Combination& combination, const std::vector<OperatorCall>& calls,
        const std::string& device, int pipe)
      : combination_(combination),
        calls_(calls),
        device_(device == "cpu" ? Device() : Device::Gpu(0)),
        pipe_(pipe) {
    for (const std::string& set : SetsOf(combination.dtype))
      values_.emplace(set, MakeValues(combination, set));
  }

  void Run(const std::vector<int>& positions) {
    if (device_.is_gpu() && !frontend::StartLibTorchCuda(device_).ok())
      _exit(3);
    std::vector<int> good;
    for (const int position : positions) {
      Tell(absl::StrCat("eager\t", position));
      alarm(kTimeLimit);
      if (RunEager(position)) good.push_back(position);
    }
    for (size_t begin = 0; begin < good.size(); begin += kGroup) {
      const size_t end = std::min(good.size(), begin + kGroup);
      RunGroup({good.begin() + begin, good.begin() + end});
    }
    Tell("end");
  }

 private:
  struct Expected {
    std::map<std::string, c10::IValue> results;  // by set
    std::map<std::string, c10::IValue> exact;    // in float64, where it differs
  };

  void Tell(const std::string& line) {
    const std::string text = line + "\n";
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t written =
          write(pipe_, text.data() + done, text.size() - done);
      if (written <= 0) _exit(2);
      done += static_cast<size_t>(written);
    }
  }

  void TellResult(int position, const std::string& set, Outcome outcome,
                  const std::string& detail) {
    Tell(absl::StrCat("result\t", position, "\t", set, "\t",
                      static_cast<int>(outcome), "\t", OneLine(detail)));
  }

  absl::StatusOr<Model> ModelOf(const std::vector<int>& positions) const {
    std::string source = kSignature, results;
    for (const int position : positions) {
      absl::StrAppend(&source, " r", position, " = ",
                      Expression(combination_, calls_[position]), "\n");
      absl::StrAppend(&results, "r", position, ", ");
    }
    return Model::FromSource(absl::StrCat(source, " return (", results, ")\n"));
  }

  // Whether eager computes the call for some set of values.
  bool RunEager(int position) {
    absl::StatusOr<Model> model = ModelOf({position});
    if (!model.ok()) {
      TellResult(position, "plain", Outcome::kEagerRaises,
                 std::string(model.status().message()));
      return false;
    }
    Expected& expected = expected_[position];
    for (const auto& [set, values] : values_) {
      absl::StatusOr<c10::IValue> result = model->RunEager(ValueList(values));
      if (result.ok() && device_.is_gpu()) {
        result =
            model->RunEager(frontend::ToDevice(ValueList(values), device_));
        if (result.ok()) result = frontend::ToCpu(*result);
      }
      if (!result.ok()) {
        TellResult(position, set, Outcome::kEagerRaises,
                   std::string(result.status().message()));
        continue;
      }
      expected.results.emplace(set, *std::move(result));
    }
    return !expected.results.empty();
  }

  // Eager in float64 on the same values; null where that makes no difference.
  const c10::IValue* ExactResult(int position, const std::string& set) {
    if (!at::isFloatingType(combination_.dtype) ||
        combination_.dtype == at::kDouble)
      return nullptr;
    Expected& expected = expected_[position];
    auto found = expected.exact.find(set);
    if (found == expected.exact.end()) {
      absl::StatusOr<Model> model = ModelOf({position});
      if (!model.ok()) return nullptr;
      std::vector<c10::IValue> wide;
      for (const c10::IValue& value : values_.at(set)) {
        const at::Tensor tensor = value.toTensor();
        wide.emplace_back(tensor.is_floating_point() ? tensor.to(at::kDouble)
                                                     : tensor);
      }
      absl::StatusOr<c10::IValue> result =
          model->RunEager(ValueList(std::move(wide)));
      if (!result.ok()) return nullptr;
      found = expected.exact.emplace(set, *std::move(result)).first;
    }
    return &found->second;
  }

  // Builds a group as one model; halves of it where that fails.
  void RunGroup(const std::vector<int>& group) {
    Tell(absl::StrCat("build\t", absl::StrJoin(group, ",")));
    alarm(kTimeLimit);
    std::vector<std::pair<std::string, c10::IValue>> results;
    const absl::Status status = RunCompiled(group, results);
    if (!status.ok()) {
      if (group.size() > 1) {
        const auto middle = group.begin() + group.size() / 2;
        RunGroup({group.begin(), middle});
        RunGroup({middle, group.end()});
      } else {
        TellResult(group[0], "plain", Outcome::kRefused,
                   std::string(status.message()));
      }
      return;
    }
    for (const auto& [set, result] : results) {
      const std::vector<c10::IValue> parts = result.toTuple()->elements().vec();
      for (size_t i = 0; i < group.size(); ++i) Judge(group[i], set, parts[i]);
    }
  }

  absl::Status RunCompiled(
      const std::vector<int>& group,
      std::vector<std::pair<std::string, c10::IValue>>& results) const {
    absl::StatusOr<Model> model = ModelOf(group);
    if (!model.ok()) return model.status();
    frontend::ModelInputs inputs;
    inputs.samples = ValueList(values_.at("plain"));
    frontend::BuildOptions options;
    // Which candidate is faster varies from run to run; tests must not.
    options.compile.measureCandidates = false;
    if (device_.is_gpu()) options.compile.device = "cuda";
    absl::StatusOr<std::unique_ptr<CompiledModel>> compiled =
        CompiledModel::Build(*model, inputs, options);
    if (!compiled.ok()) return compiled.status();
    for (const auto& [set, values] : values_) {
      absl::StatusOr<c10::IValue> result = (*compiled)->Run(
          device_.is_gpu() ? frontend::ToDevice(ValueList(values), device_)
                           : ValueList(values));
      if (!result.ok()) return result.status();
      if (device_.is_gpu()) result = frontend::ToCpu(*result);
      results.emplace_back(set, *std::move(result));
    }
    return absl::OkStatus();
  }

  void Judge(int position, const std::string& set, const c10::IValue& ours) {
    const Expected& expected = expected_.at(position);
    const auto eager = expected.results.find(set);
    if (eager == expected.results.end()) return;  // told as "eager raises"
    const c10::IValue theirs = eager->second.toTuple()->elements()[0];
    const OperatorCall::Kind kind = calls_[position].kind;
    std::string difference = FindDifference(ours, theirs, nullptr, kind);
    Outcome outcome = difference.empty() ? Outcome::kAgrees : Outcome::kDiffers;
    if (!difference.empty()) {
      if (const c10::IValue* exact = ExactResult(position, set)) {
        const c10::IValue truth = exact->toTuple()->elements()[0];
        difference = FindDifference(ours, theirs, &truth, kind);
        if (difference.empty()) outcome = Outcome::kMoreExact;
      }
    }
    TellResult(position, set, outcome, difference);
  }

  const Combination combination_;
  const std::vector<OperatorCall>& calls_;
  const Device device_;
  const int pipe_;
  std::map<std::string, std::vector<c10::IValue>> values_;
  std::map<int, Expected> expected_;
};

// What a child told before it ended.
struct Told {
  std::vector<CallResult> results;
  bool ended = false;
  bool in_eager = false;
  std::vector<int> last;  // what it was at
};

Told RunChild(const Combination& combination,
              const std::vector<OperatorCall>& calls,
              const std::vector<int>& positions, const std::string& device) {
  int pipes[2];
  if (pipe(pipes) != 0) abort();
  const pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    close(pipes[0]);
    Child(combination, calls, device, pipes[1]).Run(positions);
    _exit(0);
  }
  close(pipes[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(pipes[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const std::string how = WIFSIGNALED(status)
                              ? absl::StrCat("signal ", WTERMSIG(status), " (",
                                             strsignal(WTERMSIG(status)), ")")
                              : absl::StrCat("exit code ", WEXITSTATUS(status));

  Told told;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields[0] == "end") told.ended = true;
    if (fields[0] == "eager" || fields[0] == "build") {
      told.in_eager = fields[0] == "eager";
      told.last.clear();
      for (const absl::string_view number : absl::StrSplit(fields[1], ',')) {
        int position = 0;
        if (absl::SimpleAtoi(number, &position)) told.last.push_back(position);
      }
    }
    if (fields[0] != "result" || fields.size() != 5) continue;
    CallResult result;
    int outcome = 0;
    if (!absl::SimpleAtoi(fields[1], &result.call) ||
        !absl::SimpleAtoi(fields[3], &outcome))
      continue;
    result.set = fields[2];
    result.outcome = static_cast<Outcome>(outcome);
    result.detail = fields[4];
    told.results.push_back(std::move(result));
  }
  if (!told.ended && told.last.size() == 1) {
    told.results.push_back(
        {told.last[0], "plain",
         told.in_eager ? Outcome::kEagerDies : Outcome::kDies, how});
  }
  return told;
}

}  // namespace

const char* Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAgrees:
      return "agrees";
    case Outcome::kMoreExact:
      return "agrees with float64";
    case Outcome::kEagerRaises:
      return "eager raises";
    case Outcome::kEagerDies:
      return "eager dies";
    case Outcome::kDiffers:
      return "differs";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kDies:
      return "dies";
  }
  return "";
}

std::vector<CallResult> Sweep(const Combination& combination,
                              const std::vector<OperatorCall>& calls,
                              const std::vector<int>& positions,
                              const std::string& device) {
  std::vector<CallResult> results;
  std::vector<std::vector<int>> work = {positions};
  while (!work.empty()) {
    const std::vector<int> part = std::move(work.back());
    work.pop_back();
    if (part.empty()) continue;
    Told told = RunChild(combination, calls, part, device);
    // Of a group that was cut short nothing counts but what comes of its parts.
    std::set<int> again(
        told.ended || told.last.size() == 1
            ? std::set<int>()
            : std::set<int>(told.last.begin(), told.last.end()));
    std::set<int> done;
    for (CallResult& result : told.results) {
      if (again.count(result.call) && result.outcome != Outcome::kEagerRaises)
        continue;
      const bool told_already = std::any_of(
          results.begin(), results.end(), [&](const CallResult& other) {
            return other.call == result.call && other.set == result.set;
          });
      if (!told_already) results.push_back(result);
      if (result.outcome != Outcome::kEagerRaises) done.insert(result.call);
    }
    if (told.ended) continue;
    std::vector<int> rest;
    for (const int position : part) {
      if (!done.count(position) && !again.count(position))
        rest.push_back(position);
    }
    if (!told.last.empty()) work.push_back(std::move(rest));
    const auto middle = told.last.begin() + told.last.size() / 2;
    if (!again.empty()) {
      work.emplace_back(told.last.begin(), middle);
      work.emplace_back(middle, told.last.end());
    }
  }
  return results;
}

}  // namespace aitune
