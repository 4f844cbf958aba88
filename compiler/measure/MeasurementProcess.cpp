#include "compiler/measure/MeasurementProcess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "compiler/support/Descriptors.h"

extern char **environ;

namespace aitune {
namespace {

using Clock = std::chrono::steady_clock;

/// Bytes of a reply, which has some numbers and texts for each candidate.
constexpr uint64_t kLargestReply = uint64_t{64} << 20;

/// Moves all of `size` bytes with `transfer` (receives or sends) before
/// `deadline`; false at the end of the stream, an error, or the deadline.
template <typename Transfer>
bool transferAll(int descriptor, short event, char *data, size_t size,
                 Clock::time_point deadline, Transfer transfer) {
  while (size > 0) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0)
      return false;
    pollfd waited{descriptor, event, 0};
    const int ready = poll(&waited, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return false;
    const ssize_t done = transfer(descriptor, data, size);
    if (done < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (done <= 0)
      return false;
    data += done;
    size -= done;
  }
  return true;
}

} // namespace

absl::Status ofAnotherBuild(const std::string &program) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the program '", program,
      "' is of another build than the library or program that starts it to "
      "generate or measure code; install both together"));
}

absl::StatusOr<std::unique_ptr<MeasurementProcess>>
MeasurementProcess::start(const std::vector<std::string> &command) {
  // A child that dies while it is written to must not end us by SIGPIPE, which
  // only sockets can leave out.
  int toChild[2], fromChild[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, toChild) != 0)
    return absl::UnavailableError(
        absl::StrCat("socketpair: ", strerror(errno)));
  if (!moveBehindStandard(toChild))
    return absl::UnavailableError("socketpair: no descriptor is left");
  if (pipe2(fromChild, O_CLOEXEC) != 0 || !moveBehindStandard(fromChild)) {
    close(toChild[0]);
    close(toChild[1]);
    return absl::UnavailableError(absl::StrCat("pipe: ", strerror(errno)));
  }
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO);
  // The child has a process group of its own: Ctrl-C reaches only this process,
  // which then ends the child.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int failure = posix_spawnp(&pid, arguments[0], &actions, &attributes,
                                   arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(toChild[0]);
  close(fromChild[1]);
  if (failure != 0) {
    close(toChild[1]);
    close(fromChild[0]);
    return absl::UnavailableError(
        absl::StrCat("cannot start '", command[0],
                     "' to measure with: ", strerror(failure)));
  }
  fcntl(toChild[1], F_SETFL, O_NONBLOCK);
  return std::unique_ptr<MeasurementProcess>(
      new MeasurementProcess(pid, toChild[1], fromChild[0]));
}

MeasurementProcess::~MeasurementProcess() {
  close(input);
  close(output);
  if (pid > 0) {
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

absl::Status MeasurementProcess::ended() {
  kill(-pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  pid = 0;
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
    return absl::AbortedError(
        absl::StrCat("crashed (", strsignal(WTERMSIG(status)), ")"));
  return absl::AbortedError(
      WIFEXITED(status)
          ? absl::StrCat("ended with exit code ", WEXITSTATUS(status))
          : std::string("was killed"));
}

absl::StatusOr<WorkerReply>
MeasurementProcess::call(const WorkerRequest &request, double seconds) {
  if (pid == 0)
    return absl::FailedPreconditionError("the measuring process has ended");
  const auto deadline =
      Clock::now() + std::chrono::microseconds(int64_t(seconds * 1e6));
  std::string bytes = request.SerializeAsString();
  uint64_t size = bytes.size();
  std::string message(reinterpret_cast<char *>(&size), sizeof size);
  message += bytes;
  bool done =
      transferAll(input, POLLOUT, message.data(), message.size(), deadline,
                  [](int descriptor, char *data, size_t count) {
                    return send(descriptor, data, count, MSG_NOSIGNAL);
                  });
  auto receive = [&](char *data, size_t count) {
    return transferAll(output, POLLIN, data, count, deadline,
                       [](int descriptor, char *into, size_t most) {
                         return read(descriptor, into, most);
                       });
  };
  done = done && receive(reinterpret_cast<char *>(&size), sizeof size);
  done = done && size <= kLargestReply;
  if (done) {
    bytes.resize(size);
    done = receive(bytes.data(), size);
  }
  WorkerReply reply;
  if (!done || !reply.ParseFromString(bytes)) {
    if (Clock::now() >= deadline) {
      (void)ended();
      return absl::DeadlineExceededError(
          absl::StrCat("took longer than ", seconds, " s"));
    }
    return ended();
  }
  if (!reply.error().empty())
    return absl::InvalidArgumentError(reply.error());
  return reply;
}

} // namespace aitune
