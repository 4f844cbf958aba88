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

namespace aitune::cli {

// What the process returns; `aitune --help` tells users the same.
enum ExitCode {
  kSuccess = 0,
  kFailure = 1,      // the model, its inputs, a file or the compiler failed
  kUsage = 2,        // the command line is wrong
  kWrongResult = 3,  // compiled, but outputs differ from eager
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
};
enum class CacheAction { kList, kVerify, kPrune, kStats };
enum class TuningAction { kStats, kExport, kImport };

struct Options {
  Command command = Command::kTune;
  // The options that were given, such as "--target".
  std::set<std::string> given;

  // Model and inputs, of every command.
  std::string model;
  std::vector<std::string> inputs;  // --input SPEC, as written
  std::string inputs_file;          // --inputs FILE
  std::string dtype;                // --dtype, empty: as it is
  int seed = 0;
  std::string json;  // file, "-" or empty

  // How to compile, of every command that does: what all of them build by.
  // `device`, `threads` (0: LibTorch's default) and `tuning.database` (empty:
  // the default one, see MakeBuildOptions) are those of the command line.
  CompileOptions compile;
  std::optional<std::string> quantize;  // --quantize; nothing: it was not given
  std::vector<std::string> skip_modules;  // patterns
  std::optional<double> min_cosine;       // set with `quantize`
  std::vector<std::string> libraries;     // files, loaded in this order
  std::vector<std::string> plugins;       // the same, after them
  std::vector<std::string> disabled;      // --disable, paths of submodules
  std::vector<std::string> substitutes;   // --substitute NAME=FILE, as written

  // The on-disk cache, of every command; empty folder: the user's.
  bool use_cache = true;
  std::string cache_folder;

  // cache
  CacheAction cache_action = CacheAction::kList;
  int64_t max_bytes = 0;      // prune
  bool keep_damaged = false;  // verify

  // tuning
  TuningAction tuning_action = TuningAction::kStats;
  std::string tuning_file;

  // tune and deploy
  bool explain = false;
  std::optional<double> tolerance;  // nothing: the default
  double seconds = 6;               // bench too; 0: no timing

  // run: file; reduce: folder or FILE.pt
  std::string output_file;

  // reduce
  std::string failure;        // kind; empty: the one that the model shows
  double slow_factor = 1.5;   // of eager's time, above which a model is slow
  double hang_seconds = 120;  // a compilation that takes longer hangs
  double reduce_seconds = 0;  // of the whole search; 0: until nothing helps

  // bench
  std::vector<std::string> against = {"eager", "torchscript"};
  bool paced = false;

  // deploy
  std::string strategy = "MaxThroughput";
  double latency_budget = 0;          // milliseconds; 0: by `strategy`
  std::vector<std::string> backends;  // as ParseBackendChoice takes them
  std::vector<int64_t> batches;       // empty: the strategy's
  std::string save;                   // file, or folder with a '/' at its end
  std::string html;                   // file

  // inspect
  int repeats = 20;
  int top = 25;  // steps shown; 0: all
};

// What only the compiler reads.
inline constexpr const char* kCompilerOptions[] = {"--emulate-eager-casts",
                                                   "--unchecked-indices",
                                                   "--no-measure",
                                                   "--target",
                                                   "--dump",
                                                   "--plugin",
                                                   "--tuning-database",
                                                   "--tune-budget"};

// kInvalidArgument if one of `names` was given, where they change nothing: what
// `why` says, such as "m.aitune was compiled before".
absl::Status RefuseOptions(const Options& options,
                           absl::Span<const char* const> names,
                           const std::string& why);

// Parses argv. Returns nothing when the program shall go on; otherwise the
// exit code, after the help or the error has been printed.
std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                    Options& options);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_OPTIONS_H_
