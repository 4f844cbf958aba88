// Processes that generate code, with generators that crash, never end or use up
// all memory. The program is this test itself, started with --worker.
#include "compiler/candidates/GenerationProcesses.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compiler/candidates/BuildStamp.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/GenerationWorker.h"
#include "compiler/candidates/ImplementationProto.h"
#include "compiler/candidates/KernelCompiler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// Of processors' time, or of the clock's where others have the processors.
constexpr char kOverTime[] = "took over 0.25 s|did not end in 1 s";

std::string program;

char *volatile eaten;

void eatMemory() {
  for (;;) {
    eaten = new char[size_t{16} << 20];
    *eaten = 1;
  }
}

/// Does what the module's text says.
WorkerReply plant(const WorkerRequest &request) {
  const std::string &module = request.cpu_code().module();
  if (module == "crash")
    raise(SIGSEGV);
  if (module == "exit")
    _exit(3);
  if (module == "loop")
    for (volatile bool forever = true; forever;) {
    }
  if (module == "sleep")
    for (;;)
      pause();
  if (module == "memory")
    eatMemory();
  if (module.rfind("echo", 0) == 0) {
    WorkerReply reply;
    reply.set_error(module);
    reply.set_error_code(static_cast<int>(absl::StatusCode::kInternal));
    return reply;
  }
  if (module != "good" && !request.has_hello())
    return generateForRequest(request);
  WorkerReply reply;
  reply.set_version(kGenerationVersion);
  reply.set_build(buildStamp());
  WorkerImplementation &code = *reply.add_implementations();
  code.set_name("generated");
  code.add_objects()->set_object(module);
  return reply;
}

/// The program of an older library answers so.
WorkerReply plantOlder(const WorkerRequest &request) {
  WorkerReply reply = plant(request);
  reply.clear_build();
  return reply;
}

std::vector<std::string> worker() { return {program, "--worker"}; }

GenerationOptions limits() {
  GenerationOptions options;
  options.worker = worker();
  options.kernelSeconds = 0.25;
  options.kernelBytes = int64_t{512} << 20;
  return options;
}

absl::StatusOr<WorkerReply> generate(GenerationProcesses &processes,
                                     const std::string &module) {
  WorkerRequest request;
  request.mutable_cpu_code()->set_module(module);
  return processes.call(request, limits());
}

void expectError(GenerationProcesses &processes, const std::string &module,
                 absl::StatusCode code, const char *text) {
  const absl::Status status = generate(processes, module).status();
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), ContainsRegex(text));
  // The next kernel finds a process.
  EXPECT_TRUE(generate(processes, "good").ok()) << "after " << module;
}

TEST(GenerationProcesses, AKernelThatEndsItsProcessCostsItselfAlone) {
  const auto processes = GenerationProcesses::get(worker(), 2);
  ASSERT_NE(processes, nullptr);
  expectError(*processes, "crash", absl::StatusCode::kAborted,
              "the code generator died by signal 11");
  expectError(*processes, "exit", absl::StatusCode::kAborted, "exit code 3");
}

TEST(GenerationProcesses, TimeAndMemoryHaveLimits) {
  const auto processes = GenerationProcesses::get(worker(), 2);
  ASSERT_NE(processes, nullptr);
  expectError(*processes, "loop", absl::StatusCode::kResourceExhausted,
              kOverTime);
  expectError(*processes, "sleep", absl::StatusCode::kResourceExhausted,
              kOverTime);
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  expectError(*processes, "memory", absl::StatusCode::kResourceExhausted,
              "took over 512 MB of memory");
#endif
}

/// A server's ways with signals are not those of the processes.
TEST(GenerationProcesses, SignalsThatTheProgramIgnoresEndThem) {
  std::vector<std::string> command = worker();
  const auto ignored = {SIGPROF, SIGALRM, SIGCHLD};
  for (int number : ignored)
    signal(number, SIG_IGN);
  // Another command than that of the other tests: a new start.
  command.push_back("again");
  const auto processes = GenerationProcesses::get(command, 1);
  expectError(*processes, "crash", absl::StatusCode::kAborted, "by signal 11");
  expectError(*processes, "loop", absl::StatusCode::kResourceExhausted,
              kOverTime);
  for (int number : ignored)
    signal(number, SIG_DFL);
}

TEST(GenerationProcesses, CallersOfAllThreadsShareThem) {
  const auto processes = GenerationProcesses::get(worker(), 2);
  EXPECT_EQ(GenerationProcesses::get(worker(), 2), processes);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&processes, caller] {
      for (int i = 0; i < 50; ++i) {
        const bool crashes = i % 10 == caller;
        const auto reply = generate(*processes, crashes ? "crash" : "good");
        EXPECT_EQ(reply.ok(), !crashes) << reply.status();
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(GenerationProcesses, WithoutAProgramTheCallerIsTold) {
  EXPECT_EQ(GenerationProcesses::get({}, 2), nullptr);
  for (const std::string name : {"/no/such/program", "/bin/true"}) {
    const auto processes = GenerationProcesses::get({name}, 1);
    const absl::Status status = generate(*processes, "good").status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  }
}

TEST(GenerationProcesses, TextsThatAreNotUtf8AreReadAndAnswered) {
  const auto processes = GenerationProcesses::get(worker(), 2);
  WorkerRequest request;
  request.mutable_cpu_code()->set_module("good");
  request.mutable_cpu_code()->set_dump_directory("/d\xe9");
  EXPECT_TRUE(processes->call(request, limits()).ok());
  const absl::Status status = generate(*processes, "echo \xe9").status();
  EXPECT_EQ(status, absl::InternalError("echo \xe9"));
}

/// No code of such a program is taken, and none is made in its place: the two
/// may differ in anything.
TEST(GenerationProcesses, AProgramOfAnotherBuildIsAnErrorThatNamesIt) {
  std::vector<std::string> command = worker();
  command[1] = "--older-worker";
  const auto processes = GenerationProcesses::get(command, 1);
  const absl::Status status = generate(*processes, "good").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("'" + program + "' is of another build"));
  CompileOptions options;
  options.generation = limits();
  EXPECT_TRUE(checkGenerator(options).ok());
  options.generation.worker = command;
  EXPECT_EQ(checkGenerator(options), status);
  options.generation.worker = {"/no/such/program"};
  EXPECT_TRUE(checkGenerator(options).ok());
}

/// A kernel that adds a tensor to itself.
std::string kernelText() {
  return R"(module {
    func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32>
        attributes {ait.kind = #ait.kind<loop>} {
      %y = ait.add %x, %x : tensor<8xf32>
      return %y : tensor<8xf32>
    }
  })";
}

TEST(CompileKernels, ThatEndTheirProcessesAreErrorsAndOthersAreCompiled) {
  KernelCompilerOptions options;
  options.generation = limits();
  options.generation.kernelSeconds = 30;
  const auto apart = compileKernels({kernelText(), "crash", kernelText()},
                                    options, 2, nullptr);
  EXPECT_TRUE(apart[0].ok()) << apart[0].status();
  EXPECT_TRUE(absl::IsAborted(apart[1].status()));
  ASSERT_TRUE(apart[2].ok()) << apart[2].status();
  // The same code as in this process, to the last byte.
  const auto here = compileKernel(kernelText(), KernelCompilerOptions());
  ASSERT_TRUE(here.ok()) << here.status();
  EXPECT_EQ(toProto(*apart[2]).SerializeAsString(),
            toProto(*here).SerializeAsString());
}

TEST(CompileKernels, ALimitBeyondAllTimeIsNone) {
  KernelCompilerOptions options;
  options.generation = limits();
  for (const double seconds : {1e10, 1e300}) {
    options.generation.kernelSeconds = seconds;
    const auto apart = compileKernels({kernelText()}, options, 1, nullptr);
    EXPECT_TRUE(apart[0].ok()) << seconds << ": " << apart[0].status();
  }
}

TEST(CompileKernels, AreCompiledHereWhereNoWorkerStarts) {
  KernelCompilerOptions options;
  options.generation.worker = {"/no/such/program"};
  const auto compiled = compileKernels({kernelText()}, options, 1, nullptr);
  EXPECT_TRUE(compiled[0].ok()) << compiled[0].status();
  // There time is looked at between phases.
  options.generation.kernelSeconds = 1e-9;
  const auto late = compileKernels({kernelText()}, options, 1, nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(late[0].status())) << late[0].status();
}

} // namespace
} // namespace aitune

int main(int argc, char **argv) {
  if (argc > 2 && std::string(argv[1]) == "--worker")
    return aitune::serveGeneration(argv[argc - 1], &aitune::plant);
  if (argc > 2 && std::string(argv[1]) == "--older-worker")
    return aitune::serveGeneration(argv[argc - 1], &aitune::plantOlder);
  testing::InitGoogleMock(&argc, argv);
  char *path = realpath("/proc/self/exe", nullptr);
  aitune::program = path;
  free(path);
  return RUN_ALL_TESTS();
}
