// The command line, parsed: one plain struct that the commands read.
#ifndef AITUNE_FRONTEND_CLI_OPTIONS_H_
#define AITUNE_FRONTEND_CLI_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "runtime/backend/accuracy_bound.h"

namespace aitune::cli {

// Exit codes of the process, which `aitune --help` lists too.
enum ExitCode {
  kSuccess = 0,
  kFailure = 1,  // an error of the model, its inputs, a file or the compiler
  kUsage = 2,    // the command line is wrong
  kWrongResult = 3,  // the compiled model's outputs differ from eager's
  kNoFailure = 4,    // reduce: the model does not fail
};

enum class Command {
  kTune,
  kRun,
  kBench,
  kInspect,
  kDeploy,
  kBackends,
  kCache,
  kTuning,
  kReduce,
  kMeasure,
  kGenerate,
};
enum class CacheAction { kList, kVerify, kPrune, kStats };
enum class TuningAction { kStats, kExport, kImport };

struct Options {
  Command command = Command::kTune;
  // The names of the options that were given, such as "--target".
  std::set<std::string> given;

  // Model and inputs, for all commands.
  std::string model;                // file of the model or checkpoint
  std::vector<std::string> inputs;  // --input SPEC, as written
  std::string inputs_file;          // --inputs FILE
  std::string dtype;                // --dtype; empty: the model's own
  int seed = 0;                     // --seed, of random inputs
  std::string json;                 // --json: a file or "-"; empty: none

  // How to compile, for all commands that do. `device`, `threads` (0:
  // see SetThreadCount) and `tuning.database` (empty: the default one, see
  // MakeBuildOptions) are those of the command line.
  CompileOptions compile;
  std::optional<std::string> quantize;    // --quantize, as written
  std::vector<std::string> skip_modules;  // --skip-modules, patterns
  std::optional<double> min_cosine;
  std::optional<AccuracyBound> accuracy_bound;  // set if `quantize` is
  std::vector<std::string> libraries;    // --library, files in loading order
  std::vector<std::string> plugins;      // --plugin, files, loaded after these
  std::vector<std::string> disabled;     // --disable, paths of submodules
  std::vector<std::string> substitutes;  // --substitute NAME=FILE, as written

  // The on-disk cache, for all commands. Empty folder: the user's default.
  bool use_cache = true;
  std::string cache_folder;

  // Of the command cache:
  CacheAction cache_action = CacheAction::kList;
  int64_t max_bytes = 0;      // prune: the most bytes that stay
  bool keep_damaged = false;  // verify: do not remove damaged entries

  // Of the command tuning:
  TuningAction tuning_action = TuningAction::kStats;
  std::string tuning_file;  // the file to export to or import from

  // generate-kernels: numbers of file descriptors, with commas between.
  std::string sockets;

  // Of tune and deploy:
  bool explain = false;
  std::optional<double> tolerance;  // --tolerance; not set: the default
  double seconds = 6;               // seconds of timing; 0: none. Of bench too

  // Of run: the digest that a checkpoint must have; not set: any.
  std::optional<std::string> digest;
  // Of run: the file of the public key that a checkpoint must be signed for.
  // Empty: it need not be signed.
  std::string verify;
  // run: the file of the outputs; reduce: a folder or FILE.pt
  std::string output_file;

  // Of reduce:
  std::string failure;        // Failure::Kind by name; empty: the model's own
  double slow_factor = 1.5;   // a model that takes more of eager's time is slow
  double hang_seconds = 120;  // a run of `aitune tune` that takes longer hangs
  double reduce_seconds = 0;  // limit of the whole search; 0: none

  // Of bench:
  std::vector<std::string> against = {"eager", "torchscript"};
  bool paced = false;

  // Of deploy:
  std::string strategy = "MaxThroughput";
  double latency_budget = 0;  // milliseconds, for LatencyBudget; 0: `strategy`
  std::vector<std::string> backends;  // texts for ait::ParseBackendChoice
  std::vector<int64_t> batches;       // batch sizes; empty: the strategy's
  std::string save;                   // a file, or a folder that ends with '/'
  std::string sign;                   // the file of a private key; empty: none
  std::string html;                   // the file of the HTML report

  // Of inspect:
  int repeats = 20;  // runs of each step
  int top = 25;      // number of steps to show; 0: all
};

// The options that only the compiler reads.
inline constexpr const char* kCompilerOptions[] = {
    "--emulate-eager-casts", "--unchecked-indices", "--no-measure", "--target",
    "--kernel-seconds",      "--kernel-memory",     "--dump",       "--plugin",
    "--tuning-database",     "--tune-budget"};

// kInvalidArgument if one of the options `names` was given although it has no
// effect; `why` is the reason, such as "m.aitune was compiled before".
absl::Status RefuseOptions(const Options& options,
                           absl::Span<const char* const> names,
                           const std::string& why);

// What comes before and after the first "=" of Options::substitutes' texts.
std::pair<std::string, std::string> SplitSubstitute(const std::string& text);

// Parses argv into `options`. If the program must end, prints the help or the
// error and returns the exit code; otherwise the result is not set.
std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                    Options& options);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_OPTIONS_H_
