// aitune reduce: the smallest model that fails as a given one does.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/output_files.h"
#include "frontend/cli/output_paths.h"
#include "frontend/cli/reduce_oracle.h"
#include "frontend/reduce/failure.h"
#include "frontend/reduce/program.h"
#include "frontend/reduce/search.h"
#include "frontend/values/gpu.h"
#include "runtime/bundle/bundle.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

using reduce::Failure;
using reduce::Program;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// The program that is reduced has no submodules any more.
absl::Status RefuseOptions(const Options& options) {
  const auto refused = [](const std::string& option, const char* why) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " has no meaning for reduce: ", why));
  };
  if (options.given.count("--factor") > 0 && options.failure != "slow")
    return refused("--factor", "it goes with --failure slow");
  if (!options.disabled.empty())
    return refused("--disable", "what it reduces has no submodules any more");
  if (!options.compile.dumpDirectory.empty())
    return refused("--dump", "give it to tune with the reduced model");
  for (const std::string& text : options.substitutes) {
    const std::string name = SplitSubstitute(text).first;
    if (!absl::StrContains(name, "::"))
      return refused(absl::StrCat("--substitute ", name),
                     "what it reduces has no submodules any more, only "
                     "operators (aten::tanh) can be replaced");
  }
  return absl::OkStatus();
}

struct OutputPaths {
  std::string model, inputs, text;
};

// The folders that a command makes. Those that nothing was written to go with
// this.
class MadeFolders {
 public:
  ~MadeFolders() {
    std::error_code not_empty;
    for (const std::filesystem::path& folder : made_)
      std::filesystem::remove(folder, not_empty);
  }

  void Make(const std::filesystem::path& folder, std::error_code& error) {
    std::error_code ignored;
    for (std::filesystem::path path = folder;
         !path.empty() && !std::filesystem::exists(path, ignored);
         path = path.parent_path())
      made_.push_back(path);
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
  }

 private:
  std::vector<std::filesystem::path> made_;  // the innermost first
};

// Where --output says, with the folder made.
absl::StatusOr<OutputPaths> MakeOutputPaths(const std::string& output,
                                            MadeFolders& made) {
  std::string stem =
      absl::EndsWith(output, ".pt")
          ? std::string(absl::StripSuffix(output, ".pt"))
          : (std::filesystem::path(output.empty() ? "reduced" : output) /
             "model")
                .string();
  const std::filesystem::path folder =
      std::filesystem::path(stem).parent_path();
  if (!absl::EndsWith(output, ".pt") && IsBundle(folder))
    return absl::InvalidArgumentError(
        absl::StrCat("--output ", folder.string(),
                     ": holds what `aitune deploy` saved, which would be "
                     "replaced; give another folder"));
  std::error_code error;
  made.Make(folder, error);
  if (error)
    return absl::PermissionDeniedError(
        absl::StrCat("--output ", output, ": the folder ", folder.string(),
                     " cannot be made: ", error.message()));
  return OutputPaths{stem + ".pt", stem + ".inputs.pt", stem + ".txt"};
}

std::vector<std::string> SpecTexts(const Program& program) {
  std::vector<std::string> texts;
  for (const frontend::InputSpec& spec : program.specs)
    texts.push_back(ToString(spec));
  return texts;
}

// Writes the smallest program so far. Each file is complete at any time.
absl::Status WriteResult(const Program& program, const Failure& failure,
                         const ReduceOracle& oracle, const OutputPaths& paths) {
  AITUNE_RETURN_IF_ERROR(reduce::SaveProgram(program, paths.model + ".new",
                                             paths.inputs + ".new"));
  AITUNE_ASSIGN_OR_RETURN(const std::string text, reduce::ProgramText(program));
  AITUNE_RETURN_IF_ERROR(WriteOutputFile(
      "--output", paths.text + ".new",
      absl::StrCat("# ", reduce::Name(failure.kind), ": ", failure.text, "\n# ",
                   oracle.CommandFor(
                       {paths.model, paths.inputs, SpecTexts(program), ""}),
                   "\n\n", text)));
  for (const std::string& path : {paths.model, paths.inputs, paths.text}) {
    std::error_code error;
    std::filesystem::rename(path + ".new", path, error);
    if (error)
      return absl::PermissionDeniedError(absl::StrCat(
          "--output ", path, ": cannot be written: ", error.message()));
  }
  return absl::OkStatus();
}

// The failure of the program when it is saved in the way candidates are.
absl::StatusOr<Failure> RunCandidate(const Program& program,
                                     const ReduceOracle& oracle) {
  const ModelFiles files = {oracle.folder() + "/candidate.pt",
                            oracle.folder() + "/candidate.inputs.pt",
                            SpecTexts(program), ""};
  AITUNE_RETURN_IF_ERROR(
      reduce::SaveProgram(program, files.model, files.inputs));
  return oracle.Run(files);
}

// Why there is nothing to look for in the model; nothing when there is.
std::optional<std::string> WhyNoFailure(const Options& options,
                                        const Failure& shown) {
  const std::string kind = reduce::Name(shown.kind);
  if (!options.failure.empty() && options.failure != kind) {
    return absl::StrCat(
        options.model, " does not show the failure ", options.failure,
        shown.kind == Failure::Kind::kNone ? "" : absl::StrCat(" but ", kind),
        shown.text.empty() ? "" : absl::StrCat(": ", shown.text));
  }
  if (shown.kind != Failure::Kind::kNone) return std::nullopt;
  return absl::StrCat(
      options.model, " does not fail: ",
      shown.text.empty()
          ? "it compiles, and its outputs are eager's (--failure "
            "slow looks for a model that is slower)"
          : shown.text);
}

absl::Status Interrupted() {
  return absl::CancelledError("interrupted before the model failed");
}

absl::Status PublishResult(const Options& options, const Failure& failure,
                           const reduce::SearchResult& result,
                           const ReduceOracle& oracle, const OutputPaths& paths,
                           int operators_before, double seconds) {
  const std::string show = oracle.CommandFor(
      {paths.model, paths.inputs, SpecTexts(result.program), ""});
  const int operators = reduce::OperatorCount(result.program);
  const std::string inputs =
      frontend::ValueList(result.program.inputs).Describe();
  const std::string text = absl::StrFormat(
      "failure     %s: %s\n"
      "operators   %d of %d\n"
      "inputs      %s\n"
      "candidates  %d in %.0f s%s\n"
      "files       %s, %s, %s\n"
      "show it     %s\n",
      reduce::Name(failure.kind), failure.text, operators, operators_before,
      inputs, result.tried, seconds,
      result.complete ? "" : "; stopped early: this is the best so far",
      paths.model, paths.inputs, paths.text, show);
  const nlohmann::json json = {
      {"schema", 1},
      {"command", "reduce"},
      {"model", {{"file", options.model}}},
      {"failure",
       {{"kind", reduce::Name(failure.kind)}, {"text", failure.text}}},
      {"operators", {{"before", operators_before}, {"after", operators}}},
      {"inputs", inputs},
      {"candidates", result.tried},
      {"seconds", seconds},
      {"complete", result.complete},
      {"files",
       {{"model", paths.model},
        {"inputs", paths.inputs},
        {"text", paths.text}}},
      {"show", show}};
  return PublishText(
      options, text,
      json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// The model and its inputs on the CPU, in this process: it only runs eagerly
// here.
absl::StatusOr<Subject> LoadForEager(const Options& options,
                                     const OutputPaths& paths,
                                     Progress& progress) {
  Options here = options;
  here.output_file = paths.model;
  // Nothing is compiled by it.
  here.compile = CompileOptions();
  here.compile.threads = options.compile.threads;
  here.use_cache = false;
  return LoadSubject(here, progress);
}

}  // namespace

absl::StatusOr<int> Reduce(const Options& options, Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  AITUNE_RETURN_IF_ERROR(RefuseOptions(options));
  AITUNE_RETURN_IF_ERROR(
      Device::ParseCpuOrGpu(options.compile.device).status());
  MadeFolders made;
  AITUNE_ASSIGN_OR_RETURN(const OutputPaths paths,
                          MakeOutputPaths(options.output_file, made));
  for (const std::string& path : {paths.model, paths.inputs, paths.text})
    AITUNE_RETURN_IF_ERROR(CheckIsNotRead(options, "--output", path));
  AITUNE_ASSIGN_OR_RETURN(const Subject subject,
                          LoadForEager(options, paths, progress));
  AITUNE_ASSIGN_OR_RETURN(
      const Program whole,
      reduce::FlattenModel(subject.model, subject.inputs, options.seed));
  const auto no_failure = [&](const std::string& why) {
    progress.Finish();
    std::cerr << "aitune: " << why << "\n";
    return kNoFailure;
  };
  progress.Update("run eagerly", 0, 0);
  if (const auto eager = reduce::RunEager(whole); !eager.ok())
    return no_failure(absl::StrCat(options.model,
                                   " does not fail: eager itself raises (",
                                   eager.status().message(), ")"));

  const std::function<bool()> interrupted = StopOn({SIGINT, SIGTERM, SIGHUP});
  bool searching = false;
  const std::function<bool()> stop = [&] {
    return interrupted() || (searching && options.reduce_seconds > 0 &&
                             SecondsSince(start) > options.reduce_seconds);
  };
  AITUNE_ASSIGN_OR_RETURN(const std::unique_ptr<ReduceOracle> oracle,
                          ReduceOracle::Create(options, stop));
  progress.Update("compile the whole model", 0, 0);
  const std::string inputs_file = oracle->folder() + "/whole.inputs.pt";
  AITUNE_RETURN_IF_ERROR(reduce::SaveProgram(
      whole, oracle->folder() + "/candidate.pt", inputs_file));
  AITUNE_ASSIGN_OR_RETURN(const Failure shown,
                          oracle->Run({options.model, inputs_file,
                                       SpecTexts(whole), options.dtype}));
  if (interrupted()) return Interrupted();
  if (const auto why = WhyNoFailure(options, shown)) return no_failure(*why);
  progress.Update("compile it without submodules", 0, 0);
  AITUNE_ASSIGN_OR_RETURN(Failure failure, RunCandidate(whole, *oracle));
  if (interrupted()) return Interrupted();
  if (failure.kind != shown.kind)
    return absl::FailedPreconditionError(absl::StrCat(
        options.model, " fails (", reduce::Name(shown.kind), ": ", shown.text,
        "), but not with its submodules inlined and its weights as constants: "
        "it cannot be reduced"));
  AITUNE_RETURN_IF_ERROR(WriteResult(whole, failure, *oracle, paths));

  const Failure looked_for = failure;
  Failure last;  // of the last candidate
  reduce::SearchOptions search;
  search.shrink_tensors = looked_for.kind != Failure::Kind::kSlow;
  search.stop = stop;
  search.progress = [&](int operators, int tried) {
    progress.Update("reduce", 0, 0,
                    absl::StrCat(operators, " operators left, ", tried,
                                 " candidates tried"));
  };
  search.fails = [&](const Program& program) -> absl::StatusOr<bool> {
    absl::StatusOr<Failure> now = RunCandidate(program, *oracle);
    // LibTorch cannot save this one.
    if (absl::IsUnimplemented(now.status())) return false;
    if (!now.ok()) return now.status();
    last = *std::move(now);
    return SameFailure(looked_for, last);
  };
  search.improved = [&](const Program& program) {
    failure = last;
    return WriteResult(program, failure, *oracle, paths);
  };
  searching = true;
  AITUNE_ASSIGN_OR_RETURN(const reduce::SearchResult result,
                          reduce::Reduce(whole, search));
  progress.Finish();
  AITUNE_RETURN_IF_ERROR(PublishResult(options, failure, result, *oracle, paths,
                                       reduce::OperatorCount(whole),
                                       SecondsSince(start)));
  return kSuccess;
}

}  // namespace aitune::cli
