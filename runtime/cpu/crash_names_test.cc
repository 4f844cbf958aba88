#include "runtime/cpu/crash_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "runtime/cpu/kernel_loader.h"

namespace aitune {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

struct Outcome {
  int status = 0;  // what waitpid gives
  std::string text;
};

// Runs `body` in a child with AITUNE_NAME_CRASHES as given, and takes what it
// writes to stderr.
Outcome InAChild(const char* wanted, const std::function<void()>& body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
      signal(number, SIG_DFL);  // a sanitizer's
    setenv("AITUNE_NAME_CRASHES", wanted, 1);
    body();
    _exit(0);
  }
  close(ends[1]);
  Outcome outcome;
  char text[256];
  for (ssize_t got; (got = read(ends[0], text, sizeof(text))) > 0;)
    outcome.text.append(text, got);
  close(ends[0]);
  EXPECT_EQ(waitpid(child, &outcome.status, 0), child);
  return outcome;
}

std::shared_ptr<const KernelLibrary> Load(const std::string& model) {
  std::ifstream file("runtime/cpu/testdata/scale.o", std::ios::binary);
  auto kernels =
      LoadKernels({{std::istreambuf_iterator<char>(file), {}}}, model);
  if (!kernels.ok()) _exit(2);
  return *kernels;
}

void Crash(const KernelLibrary& kernels) {
  void* buffers[] = {reinterpret_cast<void*>(0x1230), nullptr};
  const int64_t symbols[] = {1};
  kernels.Find("scale")(buffers, symbols, 0, 4);
}

void Earlier(int) {
  constexpr char kText[] = "earlier\n";
  _exit(write(STDERR_FILENO, kText, sizeof(kText) - 1) > 0 ? 7 : 8);
}

void EarlierWithInfo(int, siginfo_t* info, void*) {
  _exit(info->si_addr == reinterpret_cast<void*>(0x1230) ? 9 : 10);
}

constexpr char kLine[] =
    "aitune: kernel scale of Net crashed \\(SIGSEGV at 0x1230\\)\n";

TEST(CrashNames, TheProcessDiesAsBeforeAndSaysWhere) {
  const Outcome outcome = InAChild("1", [] { Crash(*Load("Net")); });
  EXPECT_THAT(outcome.text, MatchesRegex(kLine));
  ASSERT_TRUE(WIFSIGNALED(outcome.status));
  EXPECT_EQ(WTERMSIG(outcome.status), SIGSEGV);
}

TEST(CrashNames, TheEarlierHandlerRuns) {
  Outcome outcome = InAChild("1", [] {
    signal(SIGSEGV, Earlier);
    Crash(*Load("Net"));
  });
  EXPECT_THAT(outcome.text, MatchesRegex(std::string(kLine) + "earlier\n"));
  ASSERT_TRUE(WIFEXITED(outcome.status));
  EXPECT_EQ(WEXITSTATUS(outcome.status), 7);
  outcome = InAChild("1", [] {
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = EarlierWithInfo;
    sigaction(SIGSEGV, &action, nullptr);
    Crash(*Load("Net"));
  });
  EXPECT_THAT(outcome.text, MatchesRegex(kLine));
  ASSERT_TRUE(WIFEXITED(outcome.status));
  EXPECT_EQ(WEXITSTATUS(outcome.status), 9);
}

TEST(CrashNames, ModelsWithoutANameAndThoseThatHaveGone) {
  const Outcome outcome = InAChild("1", [] {
    auto first = Load("First"), second = Load(""), third = Load("Third");
    first.reset();
    third.reset();
    Crash(*second);
  });
  EXPECT_EQ(outcome.text, "aitune: kernel scale crashed (SIGSEGV at 0x1230)\n");
}

TEST(CrashNames, CrashesElsewhereAreNotTheirs) {
  const Outcome crashed = InAChild("1", [] {
    const auto kernels = Load("Net");
    *reinterpret_cast<volatile int*>(0x1230) = 1;
  });
  EXPECT_EQ(crashed.text, "");
  EXPECT_TRUE(WIFSIGNALED(crashed.status));
  // Nor is a signal that somebody sends, which is not lost.
  const Outcome sent = InAChild("1", [] {
    const auto kernels = Load("Net");
    raise(SIGSEGV);
    sleep(10);
  });
  EXPECT_EQ(sent.text, "");
  ASSERT_TRUE(WIFSIGNALED(sent.status));
  EXPECT_EQ(WTERMSIG(sent.status), SIGSEGV);
}

TEST(CrashNames, NothingIsSetUnlessItIsAskedFor) {
  const Outcome outcome = InAChild("0", [] {
    const auto kernels = Load("Net");
    struct sigaction now = {};
    sigaction(SIGSEGV, nullptr, &now);
    if (now.sa_handler != SIG_DFL) _exit(3);
    Crash(*kernels);
  });
  EXPECT_EQ(outcome.text, "");
  EXPECT_TRUE(WIFSIGNALED(outcome.status));
}

}  // namespace
}  // namespace aitune
