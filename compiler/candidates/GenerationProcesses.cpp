#include "compiler/candidates/GenerationProcesses.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/candidates/BuildStamp.h"
#include "compiler/candidates/Messages.h"
#include "compiler/measure/MeasurementProcess.h"
#include "compiler/support/Descriptors.h"
#include "runtime/status/status_macros.h"

extern char **environ;

namespace aitune {
namespace {

/// Seconds for the program to start, and for what a process does beside the
/// work that has a limit.
constexpr double kStartSeconds = 60;

/// About 30 years: the system's timers count few more.
constexpr double kMostSeconds = 1e9;

/// An answer that does not come in `seconds` is none.
void waitAtMost(int socket, double seconds) {
  const timeval most{static_cast<time_t>(seconds), 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

/// What the end of a process on a request means.
absl::Status statusOfDeath(int status, const GenerationOptions &limits) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGPROF)
    return absl::ResourceExhaustedError(
        absl::StrCat("the code generator took over ", limits.kernelSeconds,
                     " s of processors' time"));
  if (signal == SIGALRM)
    return absl::ResourceExhaustedError(
        absl::StrCat("the code generator did not end in ",
                     limits.kernelSeconds * kWaitFactor, " s"));
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory)
    return absl::ResourceExhaustedError(
        absl::StrCat("the code generator took over ",
                     limits.kernelBytes / (1 << 20), " MB of memory"));
  return absl::AbortedError(
      signal != 0 ? absl::StrCat("the code generator died by signal ", signal,
                                 " (", strsignal(signal), ")")
                  : absl::StrCat("the code generator ended with exit code ",
                                 WEXITSTATUS(status)));
}

} // namespace

std::shared_ptr<GenerationProcesses>
GenerationProcesses::get(const std::vector<std::string> &worker, int count,
                         Purpose purpose) {
  static std::mutex mutex;
  static auto *const last =
      new std::map<Purpose, std::shared_ptr<GenerationProcesses>>();
  if (worker.empty())
    return nullptr;
  count = std::clamp(count, 1, kMostProcesses);
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<GenerationProcesses> &processes = (*last)[purpose];
  const bool fits = processes && processes->owner == getpid() &&
                    processes->command == worker &&
                    processes->count >= static_cast<size_t>(count);
  bool works = false;
  if (fits) {
    std::lock_guard<std::mutex> inside(processes->mutex);
    works = processes->working > 0 || processes->pid == 0;
  }
  if (!works) {
    processes.reset(new GenerationProcesses());
    processes->start(worker, count);
  }
  return processes;
}

void GenerationProcesses::start(const std::vector<std::string> &worker,
                                int wanted) {
  command = worker;
  count = static_cast<size_t>(wanted);
  owner = getpid();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // What the program prints is no output of this one.
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  if (isOpen(STDERR_FILENO))
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  else
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                     O_WRONLY, 0);
  std::vector<int> theirs;
  for (int i = 0; i < wanted; ++i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
        !moveBehindStandard(ends))
      break;
    free.push_back(ends[0]);
    theirs.push_back(ends[1]);
    // Onto itself: open in the program, and under the same number.
    posix_spawn_file_actions_adddup2(&actions, ends[1], ends[1]);
  }
  // A process group of its own: Ctrl-C reaches only this process, at whose end
  // the others end.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words = worker;
  words.push_back(absl::StrJoin(theirs, ","));
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failure = posix_spawnp(&pid, arguments[0], &actions, &attributes,
                                   arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (int socket : theirs)
    close(socket);
  working = free.size();
  if (failure == 0 && working > 0)
    return;
  pid = 0;
  started = absl::UnavailableError(
      absl::StrCat("cannot start '", worker[0],
                   "' to generate code with: ", strerror(failure)));
}

GenerationProcesses::~GenerationProcesses() {
  for (int socket : free)
    close(socket);
  // In a fork they are another process's children.
  if (pid > 0 && owner == getpid()) {
    kill(-pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

int GenerationProcesses::take() {
  std::unique_lock<std::mutex> lock(mutex);
  returned.wait(lock, [this] { return !free.empty() || working == 0; });
  if (free.empty())
    return -1;
  const int socket = free.back();
  free.pop_back();
  return socket;
}

void GenerationProcesses::giveBack(int socket, bool works) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (works) {
      free.push_back(socket);
    } else {
      close(socket);
      --working;
    }
  }
  returned.notify_all();
}

absl::Status GenerationProcesses::greet() {
  if (!started.ok())
    return started;
  WorkerRequest hello;
  hello.mutable_hello();
  const int socket = take();
  if (socket < 0)
    return absl::UnavailableError("the code generators have ended");
  WorkerReply reply;
  waitAtMost(socket, kStartSeconds);
  const bool works =
      sendMessage(socket, hello) && receiveMessage(socket, reply);
  giveBack(socket, works);
  if (!works)
    return absl::UnavailableError(
        absl::StrCat("'", command[0], "' generates no code: it ended at once"));
  if (reply.version() != kGenerationVersion || reply.build() != buildStamp())
    return ofAnotherBuild(command[0]);
  return absl::OkStatus();
}

absl::Status GenerationProcesses::check() {
  std::call_once(greeted, [this] { greeting = greet(); });
  return greeting;
}

absl::StatusOr<WorkerReply>
GenerationProcesses::call(WorkerRequest request,
                          const GenerationOptions &options) {
  AITUNE_RETURN_IF_ERROR(check());
  const double seconds = std::min(options.kernelSeconds, kMostSeconds);
  request.mutable_limits()->set_seconds(seconds);
  request.mutable_limits()->set_bytes(options.kernelBytes);
  const int socket = take();
  if (socket < 0)
    return absl::UnavailableError("the code generators have ended");
  WorkerReply reply;
  waitAtMost(socket, kStartSeconds + kWaitFactor * seconds);
  const bool works =
      sendMessage(socket, request) && receiveMessage(socket, reply);
  giveBack(socket, works);
  if (!works)
    return absl::UnavailableError("a code generator has ended");
  if (reply.has_death())
    return statusOfDeath(reply.death(), options);
  if (!reply.error().empty())
    return absl::Status(static_cast<absl::StatusCode>(reply.error_code()),
                        reply.error());
  return reply;
}

} // namespace aitune
