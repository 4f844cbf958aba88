#include "frontend/cli/time_subject.h"

#include <ATen/core/ivalue.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/cli/peer_warm_up.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/optimized_program.h"
#include "frontend/values/gpu.h"
#include "frontend/values/value_list.h"
#include "runtime/status/status_macros.h"
#include "runtime/strategy/interleaved_timing.h"

namespace aitune::cli {
namespace {

constexpr double kSecondsOfWarmUp = 30;  // for a peer's first calls

absl::Status RunOnce(const absl::StatusOr<c10::IValue>& result) {
  return result.status();
}

// Arguments of calls that are made again and again, on the same memory: a
// program may fill the lists and dicts that it is given, and change the sizes
// of tensors.
class RepeatedArguments {
 public:
  explicit RepeatedArguments(const frontend::ValueList& given)
      : given_(Copy(given)), next_(Copy(given)) {}

  // Before each call.
  void Renew() { next_ = Copy(given_); }
  const frontend::ValueList& next() const { return next_; }

 private:
  static frontend::ValueList Copy(const frontend::ValueList& values) {
    return values.MapTensors(
        [](const at::Tensor& tensor) { return tensor.alias(); });
  }

  const frontend::ValueList given_;
  frontend::ValueList next_;
};

// A call of the model as LibTorch optimises it, which owns what it uses.
absl::StatusOr<std::function<absl::Status()>> OptimizedRun(
    const frontend::Model& model,
    std::shared_ptr<const RepeatedArguments> arguments) {
  AITUNE_ASSIGN_OR_RETURN(
      std::shared_ptr<const frontend::OptimizedProgram> program,
      frontend::OptimizedProgram::Make(model, {}));
  return [program = std::move(program), arguments = std::move(arguments)] {
    return RunOnce(program->Run(arguments->next()));
  };
}

}  // namespace

absl::StatusOr<std::function<absl::Status()>> SaveState(
    const Subject& subject) {
  std::vector<const frontend::Model*> models = {&subject.model};
  if (&subject.peer() != &subject.model) models.push_back(&subject.peer());
  return frontend::SaveStates(models);
}

absl::StatusOr<std::vector<TimingRow>> TimeSubject(
    const Options& options, const Subject& subject,
    const frontend::CompiledModel& compiled,
    const std::vector<std::string>& peers) {
  AITUNE_ASSIGN_OR_RETURN(frontend::ValueList typical,
                          TypicalCall(options, subject));
  RepeatedArguments arguments(typical);
  AITUNE_ASSIGN_OR_RETURN(const std::function<absl::Status()> put_back,
                          SaveState(subject));
  const frontend::Model& model = subject.peer();
  std::vector<TimingRow> failed;
  std::vector<std::string> names = {"ours"};
  std::vector<std::function<absl::Status()>> runs = {
      [&] { return RunOnce(compiled.Run(arguments.next())); }};
  // Those of a peer whose warm-up may go on for longer than it is waited for.
  std::vector<std::shared_ptr<RepeatedArguments>> own;
  for (const std::string& peer : peers) {
    if (peer == "eager") {
      runs.push_back([&] { return RunOnce(model.RunEager(arguments.next())); });
    } else if (peer == "torchscript") {
      auto owned = std::make_shared<RepeatedArguments>(typical);
      auto run = OptimizedRun(model, owned);
      absl::Status ready = run.status();
      if (run.ok()) {
        ready = WarmUpPeer(
            [run = *run, owned, put_back]() -> absl::Status {
              if (put_back) AITUNE_RETURN_IF_ERROR(put_back());
              owned->Renew();
              return run();
            },
            kSecondsOfWarmUp);
      }
      if (!ready.ok()) {
        failed.push_back({peer, {}, std::string(ready.message())});
        continue;
      }
      own.push_back(std::move(owned));
      runs.push_back(*std::move(run));
    } else {
      continue;
    }
    names.push_back(peer);
  }
  TimingOptions timing;
  timing.before_call = [&]() -> absl::Status {
    arguments.Renew();
    for (const auto& owned : own) owned->Renew();
    return put_back ? put_back() : absl::OkStatus();
  };
  timing.milliseconds = options.seconds * 1e3;
  timing.max_rounds = 100000;
  std::unique_ptr<frontend::GpuClock> clock;
  if (subject.device.is_gpu()) {
    AITUNE_ASSIGN_OR_RETURN(clock, frontend::GpuClock::Create(subject.device));
    timing.warmup_rounds = 10;
    timing.clock = [&](const std::function<absl::Status()>& call) {
      return clock->Time(call);
    };
  }
  const std::vector<absl::StatusOr<TimingSummary>> times =
      TimeInterleaved(runs, timing);
  std::vector<TimingRow> rows;
  for (size_t i = 0; i < runs.size(); ++i) {
    TimingRow& row = rows.emplace_back();
    row.name = names[i];
    if (times[i].ok()) {
      row.time = *times[i];
      continue;
    }
    row.failure = std::string(times[i].status().message());
    if (i == 0)
      return absl::Status(times[i].status().code(),
                          absl::StrCat(names[i], ": ", row.failure));
  }
  rows.insert(rows.end(), failed.begin(), failed.end());
  return rows;
}

}  // namespace aitune::cli
