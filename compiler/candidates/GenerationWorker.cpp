#include "compiler/candidates/GenerationWorker.h"

#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <new>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "compiler/candidates/BuildStamp.h"
#include "compiler/candidates/ConvolutionPlanner.h"
#include "compiler/candidates/CudaKernelCompiler.h"
#include "compiler/candidates/GenerationProcesses.h"
#include "compiler/candidates/ImplementationProto.h"
#include "compiler/candidates/KernelCompiler.h"
#include "compiler/candidates/LimitMemory.h"
#include "compiler/candidates/Messages.h"
#include "compiler/codegen/gpu/target/Nvrtc.h"
#include "runtime/status/status_macros.h"
#include "llvm/Support/ErrorHandling.h"

namespace aitune {
namespace {

/// Exit codes of a process that serves requests. It ends, and another follows,
/// when it has had nothing to do for a while, or has done much, since the
/// memory that it took from the system is then given back.
constexpr int kClosed = 0, kRenew = 58;
constexpr int kIdleMilliseconds = 5000;
constexpr int kRequestsOfAProcess = 64;
/// How often it is looked whether the asking process is still there.
constexpr int kLookMilliseconds = 50;

/// Ends this process where it takes more than `limits`.
void setLimits(const WorkerLimits &limits) {
  itimerval timer = {};
  double whole = 0;
  timer.it_value.tv_usec =
      static_cast<suseconds_t>(1e6 * std::modf(limits.seconds(), &whole));
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(static_cast<unsigned>(std::ceil(kWaitFactor * limits.seconds())));
  limitMemory(limits.bytes());
}

[[noreturn]] void endOutOfMemory() { _exit(kOutOfMemory); }

/// One process of a socket: answers until it is to be renewed.
int serveRequests(int socket, const GenerateFunction &generate) {
  std::set_new_handler(endOutOfMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { endOutOfMemory(); });
  for (int served = 0; served < kRequestsOfAProcess; ++served) {
    pollfd waited{socket, POLLIN, 0};
    if (poll(&waited, 1, kIdleMilliseconds) == 0)
      return kRenew;
    WorkerRequest request;
    if (!receiveMessage(socket, request))
      return kClosed;
    setLimits(request.limits());
    const WorkerReply reply = generate(request);
    setLimits(WorkerLimits());
    if (!sendMessage(socket, reply))
      return kClosed;
    malloc_trim(0);
  }
  return kRenew;
}

/// Waits for `pid`'s end; ends it where nobody waits at the socket any more.
int statusOfEnd(pid_t pid, int socket) {
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    pollfd watched{socket, 0, 0};
    if (poll(&watched, 1, kLookMilliseconds) > 0)
      kill(pid, SIGKILL);
  }
  return status;
}

/// The lasting process of a socket, which forks those that do the work and
/// tells of their deaths.
void serveSocket(int socket, const GenerateFunction &generate) {
  for (;;) {
    char first = 0;
    if (recv(socket, &first, 1, MSG_PEEK) <= 0)
      return;
    const pid_t pid = fork();
    if (pid == 0)
      _exit(serveRequests(socket, generate));
    if (pid < 0)
      return;
    const int status = statusOfEnd(pid, socket);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kClosed)
      return;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kRenew)
      continue;
    WorkerReply reply;
    reply.set_death(status);
    if (!sendMessage(socket, reply))
      return;
  }
}

absl::StatusOr<WorkerReply> answer(const WorkerRequest &request) {
  WorkerReply reply;
  switch (request.what_case()) {
  case WorkerRequest::kHello:
    reply.set_version(kGenerationVersion);
    reply.set_build(buildStamp());
    return reply;
  case WorkerRequest::kCpuCode: {
    const WorkerCpuCode &asked = request.cpu_code();
    AITUNE_ASSIGN_OR_RETURN(
        const KernelImplementation code,
        compileKernel(asked.module(),
                      {asked.emulate_eager_casts(), asked.target(),
                       asked.dump_directory()}));
    *reply.add_implementations() = toProto(code);
    return reply;
  }
  case WorkerRequest::kCudaTexts: {
    const WorkerCudaTexts &asked = request.cuda_texts();
    CudaCompilerOptions options;
    options.emulateEagerCasts = asked.emulate_eager_casts();
    options.tf32Matmul = asked.tf32_matmul();
    options.tf32Convolution = asked.tf32_convolution();
    options.dumpDirectory = asked.dump_directory();
    AITUNE_ASSIGN_OR_RETURN(
        const std::vector<CudaText> texts,
        generateCudaTexts(asked.module(), fromProto(asked.gpu()), options));
    for (const CudaText &text : texts) {
      *reply.add_implementations() = toProto(text.implementation);
      reply.mutable_implementations()->rbegin()->set_text(text.text);
    }
    return reply;
  }
  case WorkerRequest::kCubin: {
    AITUNE_ASSIGN_OR_RETURN(std::string cubin,
                            compileToCubin(request.cubin().text(),
                                           fromProto(request.cubin().gpu())));
    reply.set_cubin(std::move(cubin));
    return reply;
  }
  case WorkerRequest::kConvolution: {
    AITUNE_ASSIGN_OR_RETURN(std::string plan,
                            planConvolution(request.convolution()));
    reply.set_execution_plan(std::move(plan));
    return reply;
  }
  case WorkerRequest::kOpenGpu:
    AITUNE_RETURN_IF_ERROR(openForConvolutions(request.open_gpu()));
    return reply;
  default:
    return absl::InvalidArgumentError("no request for code");
  }
}

} // namespace

int serveGeneration(const std::string &sockets,
                    const GenerateFunction &generate) {
  // A generator that crashes is a result, not something to look into.
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // The program that started this one may handle signals in its own way.
  sigset_t limiting;
  sigemptyset(&limiting);
  for (int number : {SIGPROF, SIGALRM, SIGCHLD}) {
    sigaddset(&limiting, number);
    signal(number, SIG_DFL);
  }
  sigprocmask(SIG_UNBLOCK, &limiting, nullptr);
  std::vector<int> numbers;
  for (const auto &text : absl::StrSplit(sockets, ','))
    if (!absl::SimpleAtoi(text, &numbers.emplace_back()))
      return 2;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const pid_t pid = fork();
    if (pid < 0)
      return 1;
    if (pid > 0) {
      close(numbers[i]);
      continue;
    }
    // Else another one's end would not show at its socket.
    for (size_t j = i + 1; j < numbers.size(); ++j)
      close(numbers[j]);
    serveSocket(numbers[i], generate);
    _exit(0);
  }
  while (wait(nullptr) > 0 || errno == EINTR) {
  }
  return 0;
}

WorkerReply generateForRequest(const WorkerRequest &request) {
  absl::StatusOr<WorkerReply> reply = answer(request);
  if (reply.ok())
    return *std::move(reply);
  WorkerReply error;
  error.set_error(std::string(reply.status().message()));
  error.set_error_code(static_cast<int>(reply.status().code()));
  return error;
}

} // namespace aitune
