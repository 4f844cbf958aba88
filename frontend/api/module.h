// A model as a program has it: load, show it samples, tune, call, save.
//
//   auto module = ait::Module::Load("bert.pt", {});
//   (*module)->Record(arguments, /*batch=*/1);
//   (*module)->Tune(*aitune::MaxThroughput(), {});
//   auto result = (*module)->Run(arguments);         // from any thread
//   (*module)->Save("bert.aitune", aitune::BundleFormat::kFile);
//
// Before it is tuned, and after a tuning that failed, a module runs in eager:
// it always computes what the model computes. Why it is not tuned is told by
// report().
#ifndef AITUNE_FRONTEND_API_MODULE_H_
#define AITUNE_FRONTEND_API_MODULE_H_

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
#include "compiler/Compiler.h"
#include "frontend/backends/torchscript_source.h"
#include "frontend/check/check.h"
#include "frontend/compiled_model/build_report.h"
#include "frontend/compiled_model/model_inputs.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/submodule_times.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/config_value.h"
#include "runtime/bundle/bundle.h"
#include "runtime/strategy/axis_detection.h"
#include "runtime/strategy/strategy.h"
#include "runtime/tensor/data_type.h"

namespace ait {

struct ModuleOptions {
  std::string name;  // for texts; empty: the file's
  // Where compiled models are kept; empty: nowhere.
  std::filesystem::path cache_dir;
  // What Load asks of Model::Disable and of Model::Substitute: submodules, and
  // the source of a method by submodule.
  std::vector<std::string> disabled = {};
  std::map<std::string, std::string> substitutes = {};
  // How the backends that compile do: what `aitune tune` has options for, with
  // the same meaning, for each of them beside its own configuration, and for
  // what a checkpoint of the module compiles later. `device` and `compileTo`
  // must be left as they are. A search for schedules needs `tuning.worker`,
  // such as {"aitune", "measure-schedules"}.
  aitune::CompileOptions compile = {};
  // Without compile.tuning.database: take the user's, if there is one
  // (runtime/cache/default_folder.h), as the command line does.
  bool use_default_tuning_database = true;
  // What Load converts weights to, as module.to(dtype) does; samples must fit.
  std::optional<aitune::DataType> dtype = std::nullopt;
  // "cpu", or "cuda" or "cuda:N" for a GPU: arguments are copied there where
  // they are elsewhere, results are there. LibTorch looks for CUDA once: load
  // the module before the process makes its first tensor, or link LibTorch's
  // CUDA library.
  std::string device = "cpu";
};

// A kind of backend by name, and its configuration.
using BackendChoice = std::pair<std::string, aitune::ConfigDict>;

struct TuneOptions {
  // In order of preference; empty: TorchInductorBackend with
  // mode=max-autotune, then TorchScriptBackend, and before them, where
  // ModuleOptions::compile asks for a quantisation, TorchAOBackend with that.
  std::vector<BackendChoice> backends;
  std::vector<int64_t> batches;  // see TuneRequest
  aitune::TimingOptions timing;
  // The largest error to eager, relative to the output's scale, that an output
  // of a backend may have. Nothing: what its configuration promises, which is
  // the tolerance of the model's own dtypes, or of autocast's dtype
  // (frontend/check/verification.h has them), or of a quantised model the
  // cosine of Backend::min_cosine.
  std::optional<double> tolerance;
  // The inputs that the model is for: dtypes, sizes and ranges, as `aitune
  // tune --input` takes them. Versions are then made for all of them, the same
  // that `aitune tune` makes (and finds in its cache), and backends are checked
  // on what `tune` checks on: samples, random and special values at the
  // smallest, largest and middle sizes and where programs decide by them.
  // Nothing: the inputs are as the samples, which are what is checked on.
  std::optional<aitune::frontend::ModelInputs> inputs;
  uint64_t seed = 0;  // of random values
};

// What is told of a backend beside its times.
struct BackendDetails {
  std::string key;  // of its BackendReport
  // The versions that it has compiled, or taken from the cache, in order.
  std::vector<aitune::frontend::BuiltVersion> versions;
  aitune::frontend::CheckReport check;
};

// What became of tuning.
struct TuneReport {
  std::string module, strategy;
  std::string inputs;  // "float32[batch0, 3, 224, 224]"
  std::string error;   // why the module runs in eager; empty when it is tuned
  std::vector<aitune::BackendReport> backends;
  std::vector<BackendDetails> details;  // of those that were built
  std::vector<aitune::frontend::SubmoduleTime> submodules;  // see Inspect

  // The details of the chosen backend; null where that is eager.
  const BackendDetails* chosen() const;
};

// The report for programs, and as one HTML page with plots that needs nothing
// from elsewhere.
std::string ReportJson(const TuneReport& report);
std::string ReportHtml(const TuneReport& report);

// Thread-safe. Calls of Run run at the same time, also while another thread
// tunes.
class Module {
 public:
  // The model in a file that torch.jit.save wrote. Errors as Model::Load,
  // Disable and Substitute.
  static absl::StatusOr<std::unique_ptr<Module>> Load(
      const std::filesystem::path& path, ModuleOptions options);
  // A model that is loaded, as it is.
  static std::unique_ptr<Module> Wrap(
      std::shared_ptr<const aitune::frontend::Model> model,
      ModuleOptions options);
  // A module that was saved, deployed on `device`; empty: where it was saved.
  // Errors: those of LoadCheckpoint and Backend::Deploy.
  static absl::StatusOr<std::unique_ptr<Module>> LoadCheckpoint(
      const std::filesystem::path& path, std::string_view digest = "",
      std::string_view device = "");

  const std::string& name() const { return options_.name; }
  // As it is on the CPU.
  const aitune::frontend::Model& model() const { return source_->model(); }

  // Keeps `arguments`, which hold `batch` items, as a sample to tune with. From
  // samples of several batch sizes the module learns which axes are the batch
  // and which are dynamic. kInvalidArgument for another nesting than before.
  absl::Status Record(const aitune::frontend::ValueList& arguments,
                      int64_t batch = 1);

  // What the samples say of the inputs. kInvalidArgument as DetectAxes.
  absl::StatusOr<aitune::GraphSpec> Spec() const;

  // Builds the backends, checks each against eager on the samples and takes the
  // one that `strategy` chooses. On an error the module goes on as before. A
  // model with state has the same afterwards; nobody may call it meanwhile.
  // kFailedPrecondition without samples, kInvalidArgument for a tolerance that
  // is none; else the strategy's.
  absl::Status Tune(const aitune::Strategy& strategy,
                    const TuneOptions& options);

  // One call: in the chosen backend, or in eager. On a GPU the result may be
  // computed after it was returned. What such a call finds later, an index out
  // of range say, is the error of the next call, which is then not run, unless
  // it was taken before.
  absl::StatusOr<c10::IValue> Run(
      const aitune::frontend::ValueList& arguments) const;

  // The error that an earlier call on a GPU has found since it returned: sure
  // to be known once its result was waited for. Told once.
  absl::Status TakeFailedCheck() const;

  // The share of the model's time that each submodule takes in eager, on the
  // first sample. kFailedPrecondition without samples.
  absl::StatusOr<std::vector<aitune::frontend::SubmoduleTime>> Inspect(
      int repeats = 10);

  // Runs in eager from now on (torch.compiler.disable), or tuned again.
  void SetDisabled(bool disabled);

  // Whether calls run in a backend that was tuned or loaded.
  bool is_tuned() const;
  // The chosen backend's description, such as
  // "TorchInductorBackend(mode=max-autotune)"; "eager" without one.
  std::string Describe() const;
  TuneReport report() const;

  // Saves the tuned module. Returns the checkpoint's digest.
  // kFailedPrecondition when it is not tuned; else as SaveCheckpoint.
  absl::StatusOr<std::string> Save(const std::filesystem::path& path,
                                   aitune::BundleFormat format) const;

 private:
  class Builds;

  Module(std::shared_ptr<aitune::frontend::TorchScriptSource> source,
         ModuleOptions options);
  std::shared_ptr<aitune::Backend> backend() const;
  // The model on the module's device, to be run in eager.
  absl::StatusOr<std::shared_ptr<const aitune::frontend::Model>> Eager(
      int gpu) const;
  // `sample` on the module's device.
  absl::StatusOr<aitune::Sample> OnDevice(const aitune::Sample& sample) const;
  // With what there is to tell beside it.
  absl::StatusOr<aitune::TuneResult> Choose(
      const aitune::Strategy& strategy, const TuneOptions& options,
      std::vector<BackendDetails>& details);

  const ModuleOptions options_;
  const std::shared_ptr<aitune::frontend::TorchScriptSource> source_;

  std::mutex tune_mutex_;  // one tuning at a time; taken before mutex_
  mutable std::mutex mutex_;
  std::vector<aitune::BatchedSample> samples_;  // on the CPU
  std::shared_ptr<aitune::Backend> backend_;
  // On a GPU, once it was run there in eager and until it is tuned.
  mutable std::shared_ptr<const aitune::frontend::Model> eager_;
  bool disabled_ = false;
  TuneReport report_;
  std::shared_ptr<const Builds> builds_;  // of the last tuning; null before
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_MODULE_H_
