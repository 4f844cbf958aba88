#include "frontend/cli/reduce_oracle.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

// The seconds of a timing, as the value of --seconds: enough for a median.
constexpr char kTimingSeconds[] = "2";

// The options of `reduce` that are options of `tune` for each candidate too.
std::vector<std::string> SharedArguments(const Options& options) {
  std::vector<std::string> arguments;
  const auto add = [&](const char* name, const std::string& value) {
    arguments.insert(arguments.end(), {name, value});
  };
  if (options.compile.threads > 0)
    add("--threads", absl::StrCat(options.compile.threads));
  if (options.seed != 0) add("--seed", absl::StrCat(options.seed));
  if (options.given.count("--device") > 0)
    add("--device", options.compile.device);
  if (options.compile.tf32Matmul) add("--tf32", "all");
  if (!options.compile.tf32Convolution) add("--tf32", "none");
  if (options.compile.emulateEagerCasts)
    arguments.push_back("--emulate-eager-casts");
  if (!options.compile.measureCandidates) arguments.push_back("--no-measure");
  if (options.compile.uncheckedIndices)
    arguments.push_back("--unchecked-indices");
  if (!options.compile.target.empty()) add("--target", options.compile.target);
  if (options.tolerance) add("--tolerance", absl::StrCat(*options.tolerance));
  for (const std::string& text : options.substitutes) add("--substitute", text);
  for (const std::string& file : options.libraries) add("--library", file);
  for (const std::string& file : options.plugins) add("--plugin", file);
  return arguments;
}

std::string Quoted(const std::string& argument) {
  const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "_-+=:,./@%";
  if (!argument.empty() &&
      argument.find_first_not_of(plain) == std::string::npos)
    return argument;
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReduceOracle>> ReduceOracle::Create(
    const Options& options, std::function<bool()> stop) {
  std::error_code error;
  std::string folder =
      (std::filesystem::temp_directory_path(error) / "aitune-reduce-XXXXXX")
          .string();
  if (error || mkdtemp(folder.data()) == nullptr)
    return absl::UnavailableError(
        absl::StrCat("no folder for candidates can be made in ",
                     std::filesystem::path(folder).parent_path().string(),
                     "; set TMPDIR to one that can be written to"));
  return std::unique_ptr<ReduceOracle>(
      new ReduceOracle(options, std::move(folder), std::move(stop)));
}

ReduceOracle::ReduceOracle(const Options& options, std::string folder,
                           std::function<bool()> stop)
    : options_(options), folder_(std::move(folder)), stop_(std::move(stop)) {}

ReduceOracle::~ReduceOracle() {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

std::vector<std::string> ReduceOracle::Arguments(
    const ModelFiles& files) const {
  std::vector<std::string> arguments = {"tune", files.model, "--inputs",
                                        files.inputs};
  for (const std::string& spec : files.specs)
    arguments.insert(arguments.end(), {"--input", spec});
  if (!files.dtype.empty())
    arguments.insert(arguments.end(), {"--dtype", files.dtype});
  arguments.insert(
      arguments.end(),
      {"--no-cache", "--seconds",
       options_.failure == "slow" ? std::string(kTimingSeconds) : "0"});
  for (std::string& argument : SharedArguments(options_))
    arguments.push_back(std::move(argument));
  return arguments;
}

absl::StatusOr<reduce::Failure> ReduceOracle::Run(
    const ModelFiles& files) const {
  const std::string report = folder_ + "/report.json";
  std::error_code error;
  std::filesystem::remove(report, error);
  std::vector<std::string> command = {"/proc/self/exe"};
  for (std::string& argument : Arguments(files))
    command.push_back(std::move(argument));
  command.insert(command.end(), {"--json", report});
  AITUNE_ASSIGN_OR_RETURN(const reduce::ChildOutcome outcome,
                          reduce::RunChild(command, folder_ + "/errors.txt",
                                           options_.hang_seconds, stop_));
  std::ifstream file(report);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  return reduce::FailureShown(outcome, json, options_.hang_seconds,
                              options_.failure == "slow"
                                  ? std::optional(options_.slow_factor)
                                  : std::nullopt);
}

std::string ReduceOracle::CommandFor(const ModelFiles& files) const {
  std::string text = "aitune";
  for (const std::string& argument : Arguments(files))
    absl::StrAppend(&text, " ", Quoted(argument));
  return text;
}

}  // namespace aitune::cli
