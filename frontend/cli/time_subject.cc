#include "frontend/cli/time_subject.h"

#include <ATen/core/ivalue.h>

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/check/check.h"
#include "frontend/check/run_guard.h"
#include "frontend/cli/peer_warm_up.h"
#include "frontend/torchscript/accepted_sizes.h"
#include "frontend/torchscript/input_queries.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/optimized_program.h"
#include "frontend/torchscript/saved_arguments.h"
#include "frontend/values/gpu.h"
#include "frontend/values/spinning_threads.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"
#include "runtime/strategy/interleaved_timing.h"

namespace aitune::cli {
namespace {

constexpr double kSecondsOfWarmUp = 30;  // for a peer's first calls

absl::Status RunOnce(const absl::StatusOr<c10::IValue>& result) {
  return result.status();
}

// Arguments of calls that are made again and again, on the same memory: a
// program may fill the lists and dicts that it is given, change the sizes of
// tensors, and write to their elements.
class RepeatedArguments {
 public:
  // `queries` are those of the program.
  static absl::StatusOr<std::shared_ptr<RepeatedArguments>> Make(
      const frontend::InputQueries& queries, const frontend::ValueList& given) {
    std::shared_ptr<RepeatedArguments> made(new RepeatedArguments(given));
    AITUNE_ASSIGN_OR_RETURN(made->put_back_,
                            frontend::SaveArguments(queries, made->given_));
    return made;
  }

  // Before each call, and after the last one.
  absl::Status Renew() {
    next_ = Copy(given_);
    return put_back_ ? put_back_() : absl::OkStatus();
  }
  const frontend::ValueList& next() const { return next_; }

 private:
  explicit RepeatedArguments(const frontend::ValueList& given)
      : given_(Copy(given)), next_(Copy(given)) {}

  static frontend::ValueList Copy(const frontend::ValueList& values) {
    return values.MapTensors(
        [](const at::Tensor& tensor) { return tensor.alias(); });
  }

  const frontend::ValueList given_;
  frontend::ValueList next_;
  std::function<absl::Status()> put_back_;  // null: nothing is written
};

// Whether eager runs, which is asked for sizes of a command's inputs.
class Eager {
 public:
  // `subject` must outlive this. May throw LibTorch's exceptions.
  explicit Eager(const Subject& subject)
      : model_(subject.peer()),
        device_(subject.device),
        guard_(model_, subject.device),
        state_(model_) {
    state_.Save();
  }

  // May write to the arguments. May throw LibTorch's exceptions.
  bool Runs(const frontend::ValueList& arguments) {
    absl::Status ran =
        guard_.Try(arguments, frontend::CheckOptions().seconds_of_loops);
    state_.Restore();
    if (!ran.ok()) return false;
    ran =
        model_
            .RunEager(device_.is_gpu() ? frontend::ToDevice(arguments, device_)
                                       : arguments)
            .status();
    state_.Restore();
    return !absl::IsInvalidArgument(ran);
  }

 private:
  const frontend::Model& model_;
  const Device device_;
  const frontend::RunGuard guard_;
  frontend::ModelState state_;
};

// The largest sizes that eager accepts; not set: the ends of the ranges, or
// none that are found.
absl::StatusOr<std::optional<std::vector<int64_t>>> SizesBelowTheEnds(
    const Options& options, const Subject& subject) {
  const frontend::ModelInputs& inputs = subject.inputs;
  AITUNE_ASSIGN_OR_RETURN(const frontend::SymbolAssignment assignment,
                          frontend::AssignSymbols(inputs.specs));
  const auto& symbols = assignment.symbols;
  if (inputs.samples || symbols.empty() ||
      (subject.device.is_gpu() && !subject.on_gpu))
    return std::nullopt;
  std::optional<std::vector<int64_t>> found;
  AITUNE_RETURN_IF_ERROR(frontend::CatchExceptions(
      absl::StatusCode::kInternal, "timing", [&]() -> absl::Status {
        Eager eager(subject);
        const auto runs =
            [&](const std::vector<int64_t>& sizes) -> absl::StatusOr<bool> {
          AITUNE_ASSIGN_OR_RETURN(
              const frontend::ValueList arguments,
              frontend::MakeInputs(inputs, sizes, options.seed));
          return eager.Runs(arguments);
        };
        AITUNE_ASSIGN_OR_RETURN(
            const bool runs_ends,
            runs(frontend::SizesNear(symbols,
                                     std::numeric_limits<int64_t>::max())));
        if (runs_ends) return absl::OkStatus();
        AITUNE_ASSIGN_OR_RETURN(const auto accepted,
                                frontend::FindAcceptedSizes(symbols, runs));
        if (accepted) found = accepted->most;
        return absl::OkStatus();
      }));
  return found;
}

// SaveState without arguments.
absl::StatusOr<std::function<absl::Status()>> SaveModelState(
    const Subject& subject) {
  std::vector<const frontend::Model*> models = {&subject.model};
  if (&subject.peer() != &subject.model) models.push_back(&subject.peer());
  return frontend::SaveStates(models);
}

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

absl::StatusOr<TimedCall> ChooseTimedCall(const Options& options,
                                          const Subject& subject) {
  AITUNE_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> sizes,
                          SizesBelowTheEnds(options, subject));
  TimedCall call;
  if (!sizes) {
    AITUNE_ASSIGN_OR_RETURN(call.arguments, TypicalCall(options, subject));
    return call;
  }
  AITUNE_ASSIGN_OR_RETURN(
      call.arguments,
      frontend::MakeInputs(subject.inputs, *sizes, options.seed));
  call.sizes = call.arguments.Describe();
  if (subject.device.is_gpu())
    call.arguments = frontend::ToDevice(call.arguments, subject.device);
  return call;
}

absl::StatusOr<std::function<absl::Status()>> SaveState(
    const Subject& subject, const frontend::ValueList& arguments) {
  AITUNE_ASSIGN_OR_RETURN(std::function<absl::Status()> put_back,
                          frontend::SaveArguments(subject.model, arguments));
  AITUNE_ASSIGN_OR_RETURN(std::function<absl::Status()> restore,
                          SaveModelState(subject));
  return frontend::InTurn(std::move(put_back), std::move(restore));
}

absl::StatusOr<std::vector<TimingRow>> TimeSubject(
    const Options& options, const Subject& subject,
    const frontend::CompiledModel& compiled, const frontend::ValueList& given,
    const std::vector<std::string>& peers) {
  const frontend::InputQueries queries =
      frontend::FindInputQueries(subject.model);
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<RepeatedArguments> arguments,
                          RepeatedArguments::Make(queries, given));
  AITUNE_ASSIGN_OR_RETURN(const std::function<absl::Status()> put_back,
                          SaveModelState(subject));
  const frontend::Model& model = subject.peer();
  std::vector<TimingRow> failed;
  std::vector<std::string> names = {"ours"};
  std::vector<std::function<absl::Status()>> runs = {
      [&] { return RunOnce(compiled.Run(arguments->next())); }};
  // Those of a peer whose warm-up may go on for longer than it is waited for.
  std::vector<std::shared_ptr<RepeatedArguments>> own;
  for (const std::string& peer : peers) {
    if (peer == "eager") {
      runs.push_back(
          [&] { return RunOnce(model.RunEager(arguments->next())); });
    } else if (peer == "torchscript") {
      // A warm-up that goes on must not write to what others read.
      AITUNE_ASSIGN_OR_RETURN(
          const std::shared_ptr<RepeatedArguments> owned,
          RepeatedArguments::Make(queries, queries.written_arguments.empty()
                                               ? given
                                               : given.Clone()));
      auto run = OptimizedRun(model, owned);
      absl::Status ready = run.status();
      if (run.ok()) {
        ready = WarmUpPeer(
            [run = *run, owned, put_back]() -> absl::Status {
              if (put_back) AITUNE_RETURN_IF_ERROR(put_back());
              AITUNE_RETURN_IF_ERROR(owned->Renew());
              return run();
            },
            kSecondsOfWarmUp);
      }
      if (!ready.ok()) {
        failed.push_back({peer, {}, std::string(ready.message())});
        continue;
      }
      own.push_back(owned);
      runs.push_back(*std::move(run));
    } else {
      continue;
    }
    names.push_back(peer);
  }
  TimingOptions timing;
  timing.before_call = [&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(arguments->Renew());
    for (const auto& owned : own) AITUNE_RETURN_IF_ERROR(owned->Renew());
    return put_back ? put_back() : absl::OkStatus();
  };
  timing.milliseconds = options.seconds * 1e3;
  timing.max_rounds = 100000;
  timing.settle_milliseconds = frontend::SettleMilliseconds(subject.device);
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
  AITUNE_RETURN_IF_ERROR(timing.before_call());
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
