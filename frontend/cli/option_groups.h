// Adds groups of options, which several commands have in common, to a command
// line, and checks and prints them.
#ifndef AITUNE_FRONTEND_CLI_OPTION_GROUPS_H_
#define AITUNE_FRONTEND_CLI_OPTION_GROUPS_H_

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "frontend/cli/options.h"

namespace aitune::cli {

// Headings of the help.
inline constexpr char kInputGroup[] = "Model and inputs";
inline constexpr char kCompileGroup[] = "Compiling";
inline constexpr char kSearchGroup[] = "Schedule search";

// How `--help` prints: types and descriptions, wrapped to the usual width of a
// terminal.
std::shared_ptr<CLI::Formatter> MakeFormatter();

// Accepts numbers from `least` to `most`; the error says that the text is not
// `expected`, such as "a number of threads".
CLI::Validator NumberFrom(
    double least, const std::string& expected,
    double most = std::numeric_limits<double>::infinity());
// Accepts what may be a size in bytes, such as "2GB": not yet its unit.
CLI::Validator SizeText();
CLI::Validator OneOf(const std::vector<std::string>& names);

// Add options to the command `app`, which write to `options`; both must live
// until the command line is parsed.
void AddJson(CLI::App& app, Options& options);
// MODEL, its inputs, threads and --json.
void AddModelOptions(CLI::App& app, Options& options);
// --disable and --substitute.
void AddSubmoduleOptions(CLI::App& app, Options& options);
void AddDevice(CLI::App& app, Options& options);
void AddPlugins(CLI::App& app, Options& options);
// AddSubmoduleOptions, AddPlugins, and for what and how to compile.
void AddCompileOptions(CLI::App& app, Options& options);
void AddQuantization(CLI::App& app, Options& options);
void AddCacheFolder(CLI::App& app, Options& options);
// AddCacheFolder and --no-cache.
void AddCacheOptions(CLI::App& app, Options& options);
void AddTuningDatabase(CLI::App& app, Options& options);
// --tune-budget and how the search goes.
void AddSearchOptions(CLI::App& app, Options& options);
void AddExplain(CLI::App& app, Options& options);

// Sets options.compile.quantization and options.accuracy_bound by --quantize,
// which must have been given, --skip-modules and --min-cosine. Errors as
// quant::ParseQuantizationOptions and quant::Validate.
absl::Status SetQuantization(Options& options);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_OPTION_GROUPS_H_
