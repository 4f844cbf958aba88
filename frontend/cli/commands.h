// The subcommands of `aitune`, and the steps that several of them share.
#ifndef AITUNE_FRONTEND_CLI_COMMANDS_H_
#define AITUNE_FRONTEND_CLI_COMMANDS_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/cli/options.h"
#include "frontend/cli/progress.h"
#include "frontend/cli/report.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "runtime/device/device.h"

namespace aitune::cli {

// A model that a command works on, with its inputs.
struct Subject {
  frontend::Model model;
  frontend::ModelInputs inputs;
  std::optional<DataType> dtype;  // --dtype
  MemoryInfo memory;              // memory that the command took so far
  Device device;                  // --device
  // On a GPU, after LoadPeer: the model on the GPU, which LibTorch runs.
  std::optional<frontend::Model> on_gpu;

  // The model that compiled code is compared with and timed against. LoadPeer
  // must come before.
  const frontend::Model& peer() const { return on_gpu ? *on_gpu : model; }
  std::unique_ptr<Cache> cache;  // null when no cache is used
  std::string no_cache;          // why no cache is used
};

// The arguments of a typical call, on the subject's device.
absl::StatusOr<frontend::ValueList> TypicalCall(const Options& options,
                                                const Subject& subject);

// Reads options.model, chooses its inputs and sets LibTorch's number of
// threads. Errors: those of Model::Load, ChooseInputs and CheckOutputFiles.
absl::StatusOr<Subject> LoadSubject(const Options& options, Progress& progress);

// Makes subject.peer() usable: loads the model onto the GPU. Errors: those of
// Model::Load.
absl::Status LoadPeer(const Options& options, Subject& subject);

// Makes the substitutions of operators that --substitute asks for. Errors: a
// file that can't be read; those of SubstituteInGraph.
absl::Status SubstituteOperators(const Options& options);

// The options of CompiledModel::Build for this command line.
frontend::BuildOptions MakeBuildOptions(const Options& options,
                                        Progress& progress);

// The cache that `options` names. Errors: those of Cache::Open.
absl::StatusOr<std::unique_ptr<Cache>> OpenCache(const Options& options);

// Compiles the model, and records in `subject` how much memory that took.
absl::StatusOr<std::unique_ptr<frontend::CompiledModel>> BuildSubject(
    const Options& options, Subject& subject, Progress& progress);

// A report with the facts about the model and the memory that it took.
Report StartReport(const Options& options, const Subject& subject);

// Adds the facts about a build with these versions: coverage, compile, memory
// and gpu. `no_cache` says why no cache was used; it is empty if one was.
void AddBuild(absl::Span<const frontend::BuiltVersion> versions,
              const std::string& no_cache, Report& report);

// A report with both, for the first version of `compiled`.
Report StartReport(const Options& options, const Subject& subject,
                   const frontend::CompiledModel& compiled);

// Writes the report with PublishText; `extra` is appended to its text.
absl::Status Publish(const Options& options, const Report& report,
                     const std::string& extra);

// The commands. The result is the program's exit code, an ExitCode.
absl::StatusOr<int> Tune(const Options& options, Progress& progress);
absl::StatusOr<int> Run(const Options& options, Progress& progress);
absl::StatusOr<int> Bench(const Options& options, Progress& progress);
absl::StatusOr<int> Inspect(const Options& options, Progress& progress);
absl::StatusOr<int> Deploy(const Options& options, Progress& progress);
absl::StatusOr<int> Reduce(const Options& options, Progress& progress);
absl::StatusOr<int> ShowBackends(const Options& options);
absl::StatusOr<int> ManageCache(const Options& options);
absl::StatusOr<int> ManageTuning(const Options& options);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_COMMANDS_H_
