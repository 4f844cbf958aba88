// aitune: compiles TorchScript models, checks them, times them.
#include <c10/util/Exception.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "compiler/candidates/GenerationWorker.h"
#include "compiler/candidates/MeasurementWorker.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/options.h"
#include "frontend/cli/peer_warm_up.h"
#include "frontend/cli/plugins.h"
#include "frontend/cli/progress.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

// One line, whatever the text.
std::string FirstLine(std::string text) {
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

// Under `bazel run` the program starts in Bazel's folder; paths are the user's.
void EnterUsersDirectory() {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << "aitune: cannot enter " << directory
              << "; relative paths start at Bazel's folder\n";
  }
}

absl::StatusOr<int> Dispatch(const Options& options, Progress& progress) {
  AITUNE_RETURN_IF_ERROR(LoadPlugins(options));
  switch (options.command) {
    case Command::kTune:
      return Tune(options, progress);
    case Command::kRun:
      return Run(options, progress);
    case Command::kBench:
      return Bench(options, progress);
    case Command::kInspect:
      return Inspect(options, progress);
    case Command::kDeploy:
      return Deploy(options, progress);
    case Command::kBackends:
      return ShowBackends(options);
    case Command::kCache:
      return ManageCache(options);
    case Command::kTuning:
      return ManageTuning(options);
    case Command::kReduce:
      return Reduce(options, progress);
    case Command::kMeasure:
      return serveMeasurements(STDIN_FILENO, STDOUT_FILENO);
    case Command::kGenerate:
      return serveGeneration(options.sockets, &generateForRequest);
  }
  return absl::InternalError("no such command");
}

// Where the standard input, output or error is closed, the next file that is
// opened would be that. So that it can't be written, the file that stands for
// it is open for reading.
void OpenClosedStandardFiles() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) == -1) (void)open("/dev/null", O_RDONLY);
  }
}

constexpr char kNoStdout[] = "stdout cannot be written";

// Suppresses LibTorch's warnings about its own implementation (deprecations,
// slow paths), about which a user of this program can do nothing.
class SilentWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

int Main(int argc, char** argv) {
  OpenClosedStandardFiles();
  // A file that grows over the limit of the process (ulimit -f) is then an
  // error of the write, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  Options options;
  if (std::optional<int> code = ParseCommandLine(argc, argv, options)) {
    if (std::cout.flush()) return *code;
    std::cerr << "aitune: " << kNoStdout << std::endl;
    return kFailure;
  }
  // Says which names in AITUNE_LOGS are none, also if nothing is logged.
  IsEnabled(LogChannel::kWarning);
  EnterUsersDirectory();
  SilentWarnings warnings;
  c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  Progress progress(std::cerr, Progress::StyleOfStandardError());
  std::string error;
  try {
    absl::StatusOr<int> code = Dispatch(options, progress);
    if (code.ok() && std::cout.flush()) return EndProgram(*code);
    error =
        code.ok() ? kNoStdout : FirstLine(std::string(code.status().message()));
  } catch (const std::bad_alloc&) {
    error = "out of memory";
  } catch (const std::exception& exception) {
    error = "internal error: " + FirstLine(exception.what());
  }
  progress.Finish();
  std::cerr << "aitune: " << error << std::endl;
  return EndProgram(kFailure);
}

}  // namespace
}  // namespace aitune::cli

int main(int argc, char** argv) { return aitune::cli::Main(argc, argv); }
