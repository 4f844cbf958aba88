#include "frontend/reduce/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"

namespace aitune::reduce {
namespace {

using Clock = std::chrono::steady_clock;

// How often the process is looked at.
constexpr std::chrono::milliseconds kInterval(5);
// About 30 years; a clock cannot count many more.
constexpr double kMostSeconds = 1e9;
// As shells do for a command that cannot be run.
constexpr int kCannotRun = 127;

// In the child, where only what signal handlers may call is safe.
[[noreturn]] void Become(char* const* arguments, const char* errors_file) {
  // The child has a process group of its own: Ctrl-C reaches only the caller,
  // which then ends the child.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int null = open("/dev/null", O_RDWR);
  const int errors = open(errors_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (null >= 0 && errors >= 0) {
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execv(arguments[0], arguments);
  }
  _exit(kCannotRun);
}

}  // namespace

absl::StatusOr<ChildOutcome> RunChild(const std::vector<std::string>& command,
                                      const std::string& errors_file,
                                      double seconds,
                                      const std::function<bool()>& stop) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const Clock::time_point deadline =
      Clock::now() +
      std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(std::min(seconds, kMostSeconds)));
  const pid_t pid = fork();
  if (pid < 0)
    return absl::UnavailableError(
        absl::StrCat("no process can be started to run ", command[0], ": ",
                     strerror(errno)));
  if (pid == 0) Become(arguments.data(), errors_file.c_str());
  setpgid(pid, pid);  // whoever of both comes first
  ChildOutcome outcome;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (Clock::now() >= deadline) {
      outcome.end = ChildOutcome::End::kTimedOut;
    } else if (stop && stop()) {
      outcome.end = ChildOutcome::End::kStopped;
    } else {
      std::this_thread::sleep_for(kInterval);
      continue;
    }
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    break;
  }
  kill(-pid, SIGKILL);  // what it started and left behind
  std::ifstream file(errors_file);
  outcome.errors.assign(std::istreambuf_iterator<char>(file), {});
  if (outcome.end != ChildOutcome::End::kExited) return outcome;
  if (WIFSIGNALED(status)) {
    outcome.end = ChildOutcome::End::kSignaled;
    outcome.signal = WTERMSIG(status);
  } else {
    outcome.exit_code = WEXITSTATUS(status);
    if (outcome.exit_code == kCannotRun)
      return absl::UnavailableError(
          absl::StrCat(command[0], " cannot be run in a process of its own"));
  }
  return outcome;
}

}  // namespace aitune::reduce
