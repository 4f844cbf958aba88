// The public C++ interface: load a model, show it samples, tune it, call it,
// save it.
//
//   auto module = ait::Module::Load("bert.pt", {});
//   (*module)->Record(arguments, /*batch=*/1);
//   (*module)->Tune(*aitune::MaxThroughput(), {});
//   auto result = (*module)->Run(arguments);         // from any thread
//   (*module)->Save("bert.aitune", aitune::BundleFormat::kFile);
//
// Before it is tuned, and after a tuning that failed, a module runs in eager,
// so that it always computes the model's outputs. report() says why it is not
// tuned.
#ifndef AITUNE_FRONTEND_API_MODULE_H_
#define AITUNE_FRONTEND_API_MODULE_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "frontend/api/async_call.h"
#include "frontend/api/backend_choice.h"
#include "frontend/backends/torchscript_source.h"
#include "frontend/check/check.h"
#include "frontend/compiled_model/build_report.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "frontend/torchscript/submodule_times.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/bound_call.h"
#include "runtime/backend/config_value.h"
#include "runtime/backend/signature.h"
#include "runtime/backend/step_time.h"
#include "runtime/backend/usage.h"
#include "runtime/bundle/bundle.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/host_allocator.h"
#include "runtime/device/device.h"
#include "runtime/executable/memory_use.h"
#include "runtime/strategy/axis_detection.h"
#include "runtime/strategy/strategy.h"
#include "runtime/tensor/data_type.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {
struct LoadedCheckpoint;
}  // namespace aitune::frontend

namespace ait {

class CallQueue;

struct ModuleOptions {
  std::string name;  // the module's name in messages; empty: that of the file
  // The folder in which compiled models are stored; empty: they are not stored.
  std::filesystem::path cache_dir;
  // Submodules that Load disables (Model::Disable).
  std::vector<std::string> disabled = {};
  // Methods that Load substitutes (Model::Substitute): their source, by
  // submodule.
  std::map<std::string, std::string> substitutes = {};
  // How backends compile the module: the options of `aitune tune`, with the
  // same meaning. They hold for all backends, in addition to their
  // configurations, and for versions that a checkpoint of the module compiles
  // later. `device` and `compileTo` must have their defaults. A search for
  // schedules needs `tuning.worker`, such as {"aitune", "measure-schedules"}.
  aitune::CompileOptions compile = {};
  // Whether to use the user's tuning database (runtime/cache/default_folder.h)
  // if compile.tuning.database is empty, as the command line does.
  bool use_default_tuning_database = true;
  // Whether calls of sizes that nothing was compiled for run in eager while a
  // version for them is compiled in a thread of the module's, as with
  // Stance::kEagerWhileCompiling. Otherwise they wait for it.
  bool compile_in_background = false;
  // The dtype to which Load converts weights, as module.to(dtype) does. Samples
  // must have it too. Not set: none.
  std::optional<aitune::DataType> dtype = std::nullopt;
  // "cpu", or "cuda" or "cuda:N" for a GPU. Arguments in other memory are
  // copied to the device; results are on it. LibTorch looks for CUDA only once:
  // load the module before the process makes its first tensor, or link
  // LibTorch's CUDA library.
  std::string device = "cpu";
};

struct TuneOptions {
  // The backends to choose from, in order of preference. Empty:
  // TorchInductorBackend with mode=max-autotune, then TorchScriptBackend; if
  // ModuleOptions::compile asks for a quantisation, TorchAOBackend with that
  // quantisation before them; of these the first alone for the strategy
  // OneBackend.
  std::vector<BackendChoice> backends;
  std::vector<int64_t> batches;  // TuneRequest::batches
  aitune::TimingOptions timing;
  // The largest error of a backend's output to eager, relative to the output's
  // scale. Not set: the bound that the backend's configuration promises, which
  // is the tolerance of the model's own dtypes or of autocast's dtype (see
  // frontend/check/verification.h) or, for a quantised model,
  // Backend::accuracy_bound.
  std::optional<double> tolerance;
  // The inputs that the model is for: dtypes, sizes and ranges, as in `aitune
  // tune --input`. If set, versions are made for all of them, the same that
  // `aitune tune` makes (and finds in its cache), and backends are checked for
  // the cases of `aitune tune`: samples, random and special values at the
  // smallest, largest and middle sizes, and at sizes by which the program
  // decides. If no sample was recorded, RecordInputs makes them; its errors are
  // given in any case. If not set, versions are made for the samples, and
  // backends are checked on these.
  std::optional<aitune::frontend::ModelInputs> inputs;
  uint64_t seed = 0;  // of random input elements
};

// Facts about a backend that a BackendReport does not have.
struct BackendDetails {
  std::string key;  // BackendReport::key
  // The versions that it has compiled or loaded from the cache, in order.
  std::vector<aitune::frontend::BuiltVersion> versions;
  aitune::frontend::CheckReport check;  // its comparison with eager
};

// A parameter of the model's forward, and what is known of its arguments.
struct ParameterSignature {
  std::string name;
  // Its type as TorchScript prints it, such as "Tensor" or "Optional[int]".
  std::string type;
  bool has_default = false;  // whether calls may leave it out
  // Of an argument that is one tensor; not set: not known.
  std::optional<aitune::DataType> dtype;
  // The sizes of each axis; not set: not known.
  std::optional<std::vector<aitune::SizeRange>> axes;
};

// The outcome of tuning.
struct TuneReport {
  std::string module;    // name of the module
  std::string strategy;  // name of the strategy
  std::string inputs;    // GraphSpec, "float32[batch0, 3, 224, 224]"
  std::string error;     // why the module runs in eager; empty when it is tuned
  std::vector<aitune::BackendReport> backends;
  std::vector<BackendDetails> details;  // of the backends that were built
  std::vector<aitune::frontend::SubmoduleTime> submodules;  // see Inspect

  // The details of the chosen backend; null where that is eager.
  const BackendDetails* chosen() const;
};

// The report as JSON for programs, and as one self-contained HTML page with
// plots.
std::string ReportJson(const TuneReport& report);
std::string ReportHtml(const TuneReport& report);

// Thread-safe. Calls of Run run at the same time, also while another thread
// tunes a model without state (Tune).
class Module {
 public:
  // Loads a model from a file that torch.jit.save wrote. Errors as Model::Load,
  // Disable and Substitute.
  static absl::StatusOr<std::unique_ptr<Module>> Load(
      const std::filesystem::path& path, ModuleOptions options);
  // The same from the bytes of such a file, which are not needed afterwards.
  static absl::StatusOr<std::unique_ptr<Module>> LoadBytes(
      std::string_view bytes, ModuleOptions options);
  // A module of a loaded model. The options that change the model on loading
  // (disabled, substitutes, dtype) are ignored.
  static std::unique_ptr<Module> Wrap(
      std::shared_ptr<const aitune::frontend::Model> model,
      ModuleOptions options);
  // Cancels the calls of RunAsync that have not ended.
  ~Module();
  // Loads a module that was saved and deploys it on `device`; empty: on the
  // device that it was saved for. Errors: those of LoadCheckpoint and
  // Backend::Deploy.
  static absl::StatusOr<std::unique_ptr<Module>> LoadCheckpoint(
      const std::filesystem::path& path,
      std::optional<std::string_view> digest = {},
      std::string_view device = "");
  // The same from the bytes of a checkpoint that was saved as one file. They
  // are not needed afterwards.
  static absl::StatusOr<std::unique_ptr<Module>> LoadCheckpointBytes(
      std::string_view bytes, std::optional<std::string_view> digest = {},
      std::string_view device = "");

  const std::string& name() const { return options_.name; }
  // ModuleOptions::device, or the device that a checkpoint was deployed on.
  const std::string& device() const { return options_.device; }
  // The model on the CPU; valid until ReplaceWeights.
  const aitune::frontend::Model& model() const { return source()->model(); }

  // The inputs of the model by `choice`: ChooseInputs, also while another
  // thread replaces the weights.
  absl::StatusOr<aitune::frontend::ModelInputs> Inputs(
      const aitune::frontend::InputChoice& choice) const;

  // The arguments of a call with `positional` and, for the parameter names[i],
  // the i-th of `named`: WithKeywordArguments, with the numbers and the types
  // of lists that the parameters have, as Python's calls convert them; also
  // while another thread replaces the weights.
  absl::StatusOr<aitune::frontend::ValueList> Arguments(
      const aitune::frontend::ValueList& positional,
      absl::Span<const std::string> names,
      const aitune::frontend::ValueList& named) const;

  // Keeps a copy of `arguments`, which hold `batch` items, as a sample for
  // tuning. From samples of several batch sizes the module learns which axes
  // are batch axes and which are dynamic. kInvalidArgument for another nesting
  // than before, and for a batch below 1.
  absl::Status Record(const aitune::frontend::ValueList& arguments,
                      int64_t batch = 1);

  // Makes samples of `inputs`, such as the ranges "float32[1..32,3,224,224]":
  // one of the smallest sizes for which eager runs (of 1, 2, 4, ... within the
  // ranges) and one of the largest: the ranges' ends, or on a CPU the largest
  // sizes that eager accepts, found by halving: of all dynamic axes together,
  // or one after the other where that finds none (FindAcceptedSizes of
  // frontend/torchscript/accepted_sizes.h). Their elements are random by
  // `seed`; the first dynamic axis is the batch. Without ranges, one of
  // TypicalArguments. Errors as TypicalArguments and Record, and on a CPU the
  // model's own where eager accepts none of these.
  absl::Status RecordInputs(const aitune::frontend::ModelInputs& inputs,
                            uint64_t seed = 0);

  // The inputs' dtypes and axes as the samples show them. kInvalidArgument as
  // DetectAxes.
  absl::StatusOr<aitune::GraphSpec> Spec() const;

  // Builds the backends, checks each against eager and uses the one that
  // `strategy` chooses. After an error the module runs as before. The model's
  // state is the same afterwards; nobody may call the model meanwhile.
  // kCancelled after CancelTune; kFailedPrecondition without samples,
  // kInvalidArgument for a tolerance that is negative or not finite; otherwise
  // the strategy's error. ModuleOptions::compile has a function that is told
  // of the progress.
  absl::Status Tune(const aitune::Strategy& strategy,
                    const TuneOptions& options);

  // Ends the tuning under way, if there is one, after the version that is being
  // compiled or the batch size that is being timed. From any thread, also from
  // the function that is told of the progress.
  void CancelTune();

  // Runs each of `calls` a few times, so that the first call to serve pays for
  // nothing: versions for their sizes are compiled now, also where
  // ModuleOptions::compile_in_background or the stance has calls not wait for
  // that, weights are on the device, memory for intermediate values and results
  // is allocated and written, CUDA graphs are captured (inputs in other memory
  // of the GPU capture one more), and this thread's computing threads are
  // started (other threads start their own). Without calls: those of the
  // samples, or of a module that was loaded without samples those that its
  // versions' signatures show, at their largest sizes with elements of 0;
  // kFailedPrecondition if nothing shows any. The model's state is the same
  // afterwards, and so are the elements of arguments that the program writes
  // to; nobody may call a model with state meanwhile. The calls count in Usage.
  // Errors: those of the first call that fails. Waits for a GPU.
  absl::Status WarmUp(
      absl::Span<const aitune::frontend::ValueList> calls = {}) const;

  // The same for `inputs`: with random elements by `seed`, of the largest sizes
  // of the ranges and of the smallest. Errors also those of MakeInputs.
  absl::Status WarmUpInputs(const aitune::frontend::ModelInputs& inputs,
                            uint64_t seed = 0) const;

  // Runs one call in the chosen backend, or in eager. Where calls change the
  // model's state (buffers, attributes), LibTorch runs them one after another,
  // whatever was compiled, and all later calls see the change. On a GPU the
  // result may be computed after it was returned. An error that is found later,
  // such as an index out of range, is returned by TakeFailedCheck, or else by
  // the next call, which is then not run.
  absl::StatusOr<c10::IValue> Run(
      const aitune::frontend::ValueList& arguments) const;
  // As Run, but no tensor of the result has memory of the model's state, which
  // calls by other threads may change.
  absl::StatusOr<c10::IValue> RunOwned(
      const aitune::frontend::ValueList& arguments) const;

  // Has a thread of the module's run one call, after those that were made
  // before; it begins with the caller's stance and number of threads.
  // `arguments` must stay as they are until it has ended; on a GPU they must be
  // ready before this is called, and the result is ready when the call ends.
  // Errors are those of AsyncCall::Result.
  std::unique_ptr<AsyncCall> RunAsync(
      const aitune::frontend::ValueList& arguments,
      const CallOptions& options) const;

  // A call of Run with memory of the caller's, to be run many times: each run
  // reads `arguments` and writes `outputs`, the tensors of the result in
  // depth-first order of its nesting. Tensors are dense, in row-major order and
  // on the module's device; outputs overlap neither each other nor the inputs.
  // May compile a version, as Run; which one it is, also the stance, is decided
  // here once. Where a compiled version can write the outputs itself
  // (Backend::Bind says where not), a run copies and checks nothing, and on a
  // CPU allocates nothing from the second run on unless LibTorch runs a part of
  // the model; otherwise, as before the module is tuned, a run is a call of Run
  // and a copy of its results. The result keeps the tensors alive, and must not
  // outlive the module. On a GPU a run waits for nothing; an error that is
  // found later is given as by Run. Errors: kInvalidArgument for other memory
  // than this, otherwise those of Run.
  absl::StatusOr<std::unique_ptr<aitune::BoundCall>> Bind(
      const aitune::frontend::ValueList& arguments,
      const aitune::frontend::ValueList& outputs) const;

  // Runs the module `repeats` times (1 to 10000) on `arguments`, after one run
  // that is not timed and may compile, and gives the steps in their order, each
  // with the median of its times: generated kernels, calls of libraries, and
  // what LibTorch runs. Where LibTorch runs the whole model, as before the
  // module is tuned, that is one step. Arguments that the program writes to
  // have the same elements in each run, and afterwards. Waits for a GPU.
  // Errors: as Run, also
  // those that TakeFailedCheck gives for these runs; kInvalidArgument for
  // `repeats` out of range. The runs of compiled versions do not count in
  // Usage.
  absl::StatusOr<std::vector<aitune::StepTime>> Profile(
      const aitune::frontend::ValueList& arguments, int repeats = 1) const;

  // Replaces the elements of parameters and buffers, by the names that
  // state_dict gives them, without compiling: `weights` are dense tensors on
  // the CPU of the dtypes and sizes that the model has, which are copied. Calls
  // from then on compute with them, as eager with them does; calls under way
  // end with the old ones. Weights of which compiled code holds something
  // computed are computed again. Where that can't be done, the error names the
  // weight and what was made of it, and nothing changes: tensors of one element
  // (they are numbers in the code), of integers, quantised layers, filters that
  // the compiler rearranged, weights by which the program takes its path. What
  // Bind gave must be bound anew. Versions that calls compile later are not
  // stored in the cache, nor are they in report(). Traces the model again and
  // loads it, which takes seconds for large ones, and needs memory for both;
  // waits for a tuning under way. Errors: those of Model::WithWeights and
  // Backend::ToDictFor.
  absl::Status ReplaceWeights(
      const std::map<std::string, aitune::TensorView>& weights);

  // What the module has done since it was made or last tuned, and what its
  // backend holds now.
  aitune::BackendUsage Usage() const;

  // The memory that the module holds now, by what it is for: Backend::Memory,
  // or the model's own while it runs in eager.
  aitune::MemoryUse Memory() const;

  // Frees what is kept for later calls and no call is using: arenas, memory for
  // results, captured graphs. The next call allocates it again.
  void FreeKeptMemory() const;

  // The most bytes of Memory().total(), from the next call on and after later
  // tunings too; 0: no limit, as before it is set. Where a call of a compiled
  // version would need more, what is kept is given back, and if that is too
  // little the call is kResourceExhausted, with what is held; the next one is
  // tried anew. Neither the results that the caller has nor what LibTorch
  // allocates within a call count. kInvalidArgument for a negative limit.
  absl::Status SetMemoryLimit(int64_t bytes);
  int64_t memory_limit() const;

  // Has the memory that calls of compiled versions on a CPU take be the
  // allocator's, from the next call on and after later tunings too: that of
  // their results, of whatever size, and of intermediate values and scratch,
  // which are kept for later calls (FreeKeptMemory) and freed with the module.
  // Both functions empty: the system's again. They are called until the module
  // and all results are gone, by the thread that lets these go, some while the
  // module is locked: they must not call the module nor wait for a thread that
  // does, and `release` must not throw. Where it gives null (or throws), the
  // call is kResourceExhausted; memory that is not aligned as asked for is
  // kInvalidArgument.
  //
  // Not covered are weights, what LibTorch allocates (its operators'
  // temporaries and results that it computes, also of calls that it runs
  // whole), results of autocast, the runs of a tuning, and the
  // bookkeeping of calls. kInvalidArgument for one function without the other,
  // and for a module on a GPU.
  absl::Status SetAllocator(aitune::HostAllocator allocator);

  // The number of CPU threads, the calling one included, that calls of this
  // module and its later tunings compute with, whatever runs them: compiled
  // kernels, libraries or LibTorch; 0: as many as the calling thread has, as
  // before it is set. A backend's own option (cpp.threads) comes first; what
  // Bind gave may keep the number that it was bound with. Libraries use half of
  // them while other processes take the cores. kInvalidArgument for less than
  // 0 or more than 1024.
  //
  // Threads belong to the calling thread, which shares them among all modules
  // that it calls. So there is no affinity of a module: the cores that a thread
  // may run on when it first calls are those of its threads
  // (sched_setaffinity, taskset, or GOMP_CPU_AFFINITY).
  absl::Status SetThreads(int threads);
  int threads() const { return threads_; }

  // The error of an earlier call on a GPU that was found after Run returned. It
  // is certain to be found once the caller has waited for that call's result.
  // Each error is returned once.
  absl::Status TakeFailedCheck() const;

  // Measures on the first sample how much of the model's time in eager each
  // submodule takes, over `repeats` calls, and in compiled code once there is
  // some and the model has no state, which stays as it is. kFailedPrecondition
  // without samples.
  absl::StatusOr<std::vector<aitune::frontend::SubmoduleTime>> Inspect(
      int repeats = 10);

  // With true, calls run in eager from now on (torch.compiler.disable); with
  // false, in the chosen backend again.
  void SetDisabled(bool disabled);

  // Whether calls run in a backend that was tuned or loaded.
  bool is_tuned() const;
  // The chosen backend's description, such as
  // "TorchInductorBackend(mode=max-autotune)"; "eager" without one.
  std::string Describe() const;
  TuneReport report() const;
  // The names, dtypes and sizes of the tensors that calls take and give, for
  // each version that is compiled: Backend::Signatures. Calls of other sizes
  // compile a further version, or run in LibTorch. Empty while the module runs
  // in eager or in a backend that compiles nothing.
  std::vector<aitune::Signature> Signatures() const;

  // The parameters of the model's forward, with the dtype and the sizes that
  // are known of each: those of the compiled versions together, or else those
  // of the samples. Also while the module runs in eager.
  std::vector<ParameterSignature> Parameters() const;

  // Saves the tuned module, with the state that calls have left in the model
  // (SaveCheckpoint), also on a GPU or with autocast, where LibTorch runs
  // copies of the model. Returns the checkpoint's digest.
  // kFailedPrecondition when it is not tuned; otherwise errors as
  // SaveCheckpoint.
  absl::StatusOr<std::string> Save(const std::filesystem::path& path,
                                   aitune::BundleFormat format) const;

 private:
  class Builds;

  Module(std::shared_ptr<aitune::frontend::TorchScriptSource> source,
         ModuleOptions options);
  // A module of `model`, changed as `options` say.
  static absl::StatusOr<std::unique_ptr<Module>> OfModel(
      absl::StatusOr<aitune::frontend::Model> model, ModuleOptions options);
  // A module of `loaded`, deployed on `where`.
  static absl::StatusOr<std::unique_ptr<Module>> OfCheckpoint(
      absl::StatusOr<aitune::frontend::LoadedCheckpoint> loaded,
      std::optional<aitune::Device> where);
  std::shared_ptr<aitune::Backend> backend() const;
  // Gives `backend` the module's memory limit and allocator; mutex_ is held.
  void SetMemoryOf(aitune::Backend& backend) const;
  void ForgetSamples();
  std::vector<aitune::BatchedSample> Samples() const;
  std::shared_ptr<aitune::frontend::TorchScriptSource> source() const;
  // The model on `device`, the module's, which LibTorch runs in eager.
  absl::StatusOr<std::shared_ptr<const aitune::frontend::Model>> Eager(
      const aitune::Device& device) const;
  // Run; `compile_now`: whatever the options say, a call waits for the version
  // that it compiles.
  absl::StatusOr<c10::IValue> RunNow(
      const aitune::frontend::ValueList& arguments, bool compile_now) const;
  // The calls that WarmUp makes of itself.
  absl::StatusOr<std::vector<aitune::frontend::ValueList>> KnownCalls() const;
  // `sample` on the module's device.
  absl::StatusOr<aitune::Sample> OnDevice(const aitune::Sample& sample) const;
  // What RecordInputs records, each with its batch.
  using MadeSample = std::pair<aitune::frontend::ValueList, int64_t>;
  absl::StatusOr<std::vector<MadeSample>> MakeSamples(
      const aitune::frontend::ModelInputs& inputs, uint64_t seed) const;
  // Runs the strategy, and sets `details` of the backends that were built.
  absl::StatusOr<aitune::TuneResult> Choose(
      const aitune::Strategy& strategy, const TuneOptions& options,
      std::vector<BackendDetails>& details);

  const ModuleOptions options_;
  // Held by a tuning and while weights are replaced; taken before mutex_.
  std::mutex tune_mutex_;
  mutable std::mutex mutex_;
  std::shared_ptr<aitune::frontend::TorchScriptSource> source_;  // never null
  std::vector<aitune::BatchedSample> samples_;                   // on the CPU
  std::string accepted_inputs_;  // the inputs of the last RecordInputs, as text
  std::shared_ptr<aitune::Backend> backend_;
  std::shared_ptr<aitune::CallLimit> tuning_;  // of Tune under way; or null
  // The model on a GPU. Set from the first call in eager until the module is
  // tuned.
  mutable std::shared_ptr<const aitune::frontend::Model> eager_;
  bool disabled_ = false;
  int64_t memory_limit_ = 0;                                // in bytes; 0: none
  std::shared_ptr<const aitune::HostAllocator> allocator_;  // null: the system
  std::atomic<int> threads_ = 0;  // of a call; 0: those of the calling thread
  TuneReport report_;
  std::shared_ptr<const Builds> builds_;  // of the last tuning; null before
  aitune::BackendUsage in_tuning_;        // of backend_ when it was chosen
  // Calls in eager outside of backend_ since then.
  mutable std::atomic<int64_t> eager_calls_ = 0;
  // Last: its thread uses the rest.
  const std::unique_ptr<CallQueue> queue_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_MODULE_H_
