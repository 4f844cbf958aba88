// What each subcommand does: load, build, then its own part.
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
#include "frontend/compiled_model/model_inputs.h"
#include "frontend/torchscript/model.h"

namespace aitune::cli {

// The model and what it is called with, before it is compiled.
struct Subject {
  frontend::Model model;
  frontend::ModelInputs inputs;
  std::optional<DataType> dtype;  // --dtype
  MemoryInfo memory;
  int gpu = -1;  // --device; -1: the CPU
  // On a GPU, after LoadPeer: the model there, for LibTorch to run.
  std::optional<frontend::Model> on_gpu;

  // What compiled code is compared and timed with; needs LoadPeer.
  const frontend::Model& peer() const { return on_gpu ? *on_gpu : model; }
  std::unique_ptr<Cache> cache;  // null when there is none
  std::string no_cache;          // why
};

// The arguments of a typical call, on the subject's device.
absl::StatusOr<frontend::ValueList> TypicalCall(const Options& options,
                                                const Subject& subject);

// Reads options.model and settles its inputs. Sets LibTorch's threads. Fails
// too where the command could not write its files.
absl::StatusOr<Subject> LoadSubject(const Options& options, Progress& progress);

// Makes `subject.peer()` ready. Errors: those of Model::Load.
absl::Status LoadPeer(const Options& options, Subject& subject);

// Makes the operators known that --substitute replaces. Errors: a file that
// can't be read, those of SubstituteInGraph.
absl::Status SubstituteOperators(const Options& options);

frontend::BuildOptions MakeBuildOptions(const Options& options,
                                        Progress& progress);

// The cache that `options` names. Errors: those of Cache::Open.
absl::StatusOr<std::unique_ptr<Cache>> OpenCache(const Options& options);

// Compiles, and notes in `subject` what it took of memory.
absl::StatusOr<std::unique_ptr<frontend::CompiledModel>> BuildSubject(
    const Options& options, Subject& subject, Progress& progress);

// A report with the model and the memory that it took.
Report StartReport(const Options& options, const Subject& subject);

// Adds what is told of a build, of which `versions` are the versions: coverage,
// compile, memory and gpu. `no_cache`: why there is no cache; empty: there is.
void AddBuild(absl::Span<const frontend::BuiltVersion> versions,
              const std::string& no_cache, Report& report);

// Both, for the first version of `compiled`.
Report StartReport(const Options& options, const Subject& subject,
                   const frontend::CompiledModel& compiled);

// Times ours, then each of `peers` ("eager", "torchscript"), in turn. Needs
// LoadPeer.
absl::StatusOr<std::vector<TimingRow>> TimeSubject(
    const Options& options, const Subject& subject,
    const frontend::CompiledModel& compiled,
    const std::vector<std::string>& peers);

// The report by PublishText, `extra` after its text.
absl::Status Publish(const Options& options, const Report& report,
                     const std::string& extra);

// The commands. The result is the exit code.
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
