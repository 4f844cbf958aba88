// Versions that a compiling backend makes after its build: what it remembers of
// sizes when it was away, and compiling while LibTorch runs the calls.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "compiler/Compiler.h"
#include "frontend/testing/backends.h"
#include "runtime/backend/registry.h"
#include "runtime/cache/cache.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/control.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class LaterVersionsTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> Built(const ConfigDict& config) {
    auto backend = BackendOf("TorchInductorBackend", config);
    EXPECT_TRUE(
        backend->Build(RequestOf(source_, {at::randn({4, 3})}, folder_)).ok());
    return backend;
  }

  // Waits until the backend has that many versions.
  static void WaitForVersions(const Backend& backend, int64_t versions) {
    const auto last =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    // A version counts before calls find it, and before its build has ended.
    const auto is_ready = [&] {
      const BackendUsage usage = backend.Usage();
      return usage.versions >= versions && usage.background_pending == 0;
    };
    while (!is_ready() && std::chrono::steady_clock::now() < last)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(backend.Usage().versions, versions);
  }

  const std::filesystem::path folder_ = EmptyFolder();
  const LogCapture capture_;
  const std::shared_ptr<TorchScriptSource> source_ = SourceOf(kNet);
};

// With dynamic unset the second size makes a dynamic version, also if the first
// one was seen before the backend was away.
TEST_F(LaterVersionsTest, SizesAreRememberedWhenABackendComesBack) {
  for (const bool loaded : {false, true}) {
    auto backend = Built({});
    const int64_t graphs = compileCounts().graphs;
    if (loaded) {
      const auto state = backend->ToDict();
      ASSERT_TRUE(state.ok()) << state.status();
      auto made = BackendFromDict(source_, *state);
      ASSERT_TRUE(made.ok()) << made.status();
      ASSERT_TRUE((*made)->Deploy(std::nullopt).ok());
      backend = *std::move(made);
    } else {
      ASSERT_TRUE(backend->Deactivate().ok());
      ASSERT_TRUE(backend->Activate().ok());
    }
    for (const int64_t rows : {4, 6, 7, 2})
      ExpectAgrees(*source_, *backend, at::randn({rows, 3}));
    EXPECT_EQ(compileCounts().graphs, graphs + 1) << loaded;
    std::filesystem::remove_all(folder_);
  }
}

// Others may remove from the cache what this process runs.
TEST_F(LaterVersionsTest, VersionsInUseSurviveTheirEntries) {
  Built({});
  const auto backend = Built({});  // from the cache
  ASSERT_EQ(backend->Usage().cache_hits, 1);
  auto cache = Cache::Open(folder_);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ASSERT_EQ((*cache)->Prune(0)->removed_entries, 1);

  const int64_t graphs = compileCounts().graphs;
  const auto state = backend->ToDict();
  ASSERT_TRUE(state.ok()) << state.status();
  auto loaded = BackendFromDict(source_, *state);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE((*loaded)->Deploy(std::nullopt).ok());
  ExpectAgrees(*source_, **loaded, at::randn({4, 3}));
  const auto state_for = backend->ToDictFor(source_);
  EXPECT_TRUE(state_for.ok()) << state_for.status();
  ASSERT_TRUE(backend->Deactivate().ok());
  ASSERT_TRUE(backend->Activate().ok());
  ExpectAgrees(*source_, *backend, at::randn({4, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs);

  // Without the folder, what was let go is compiled again, and then kept.
  ASSERT_TRUE(backend->Deactivate().ok());
  std::filesystem::remove_all(folder_);
  const absl::Status activated = backend->Activate();
  ASSERT_TRUE(activated.ok()) << activated;
  EXPECT_EQ(compileCounts().graphs, graphs + 1);
  ExpectAgrees(*source_, *backend, at::randn({4, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs + 1);
  EXPECT_TRUE(backend->ToDict().ok());
}

// The axes that samples showed hold for calls of another dtype too, whose sizes
// were not seen.
TEST_F(LaterVersionsTest, AxesOfSamplesAreRememberedWhenABackendIsLoaded) {
  const auto source =
      SourceOf("def forward(self, x: Tensor):\n    return x * 2 + 1\n");
  auto backend = BackendOf("TorchInductorBackend");
  BuildRequest request = RequestOf(source, {at::randn({4, 3})}, folder_);
  GraphInput input;
  input.axes.resize(2);
  input.axes[0].kind = GraphAxis::Kind::kDynamic;
  input.axes[1].size = 3;
  request.graph_spec.inputs = {input};
  ASSERT_TRUE(backend->Build(request).ok());
  const auto state = backend->ToDict();
  ASSERT_TRUE(state.ok()) << state.status();
  auto loaded = BackendFromDict(source, *state);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE((*loaded)->Deploy(std::nullopt).ok());
  const int64_t graphs = compileCounts().graphs;
  for (const int64_t rows : {30, 31})
    ExpectAgrees(*source, **loaded, at::randn({rows, 3}, at::kDouble));
  EXPECT_EQ(compileCounts().graphs, graphs + 1);
}

TEST_F(LaterVersionsTest, LibTorchRunsCallsWhileTheirVersionIsCompiled) {
  auto backend = Built({{"dynamic", false}});
  const at::Tensor x = at::randn({5, 3});
  {
    const ScopedStance stance(Stance::kEagerWhileCompiling);
    ExpectAgrees(*source_, *backend, at::randn({4, 3}));
    EXPECT_EQ(backend->Usage().eager_calls, 0) << "there is a version for it";
    {
      // The inputs of a call are the caller's again when it returns.
      const at::Tensor gone = at::randn({5, 3});
      ExpectAgrees(*source_, *backend, gone);
      gone.fill_(7);
    }
    EXPECT_GE(backend->Usage().eager_calls, 1);
    WaitForVersions(*backend, 2);
    const int64_t eager = backend->Usage().eager_calls;
    ExpectAgrees(*source_, *backend, x);
    EXPECT_EQ(backend->Usage().eager_calls, eager);
    EXPECT_EQ(backend->Usage().recompilations, 1);
    EXPECT_THAT(backend->Notes(),
                Contains(HasSubstr("compiled in the background: 1 so far")));
    // A build under way is waited for.
    ExpectAgrees(*source_, *backend, at::randn({6, 3}));
  }
  ASSERT_TRUE(backend->Deactivate().ok());
}

TEST_F(LaterVersionsTest, CallsOfManyThreadsGoOnWhileVersionsAreCompiled) {
  auto backend = Built(
      {{"dynamic", false}, {"options", ConfigDict{{"recompile_limit", 3}}}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const ScopedStance stance(Stance::kEagerWhileCompiling);
      for (int i = 0; i < 40; ++i)
        ExpectAgrees(*source_, *backend, at::ones({4 + (t + i) % 5, 3}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(backend->Usage().versions, 3);
  EXPECT_EQ(backend->Usage().calls, 160);
}

TEST_F(LaterVersionsTest, ACallWaitsForItsVersionUntilItsDeadline) {
  auto backend = Built({{"dynamic", false}});
  const at::Tensor x = at::randn({5, 3});
  {
    const CallLimit limit(std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(1));
    const ScopedCallLimit scope(&limit);
    const auto result = Call(*source_, *backend, x);
    EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  }
  // The version is for later calls; one with time waits for it.
  const CallLimit limit(std::chrono::steady_clock::now() +
                        std::chrono::minutes(5));
  const ScopedCallLimit scope(&limit);
  ExpectAgrees(*source_, *backend, x);
  EXPECT_EQ(backend->Usage().recompilations, 1);
  ExpectAgrees(*source_, *backend, at::randn({6, 3}));
  EXPECT_EQ(backend->Usage().recompilations, 2);
  EXPECT_EQ(backend->Usage().eager_calls, 0);
}

TEST_F(LaterVersionsTest, LibTorchRunsACallThatMustNotWaitForItsVersion) {
  auto backend =
      Built({{"dynamic", false},
             {"options", ConfigDict{{"recompile_wait_seconds", 0}}}});
  const at::Tensor x = at::randn({5, 3});
  ExpectAgrees(*source_, *backend, x);
  EXPECT_EQ(backend->Usage().eager_calls, 1);
  WaitForVersions(*backend, 2);
  ExpectAgrees(*source_, *backend, x);
  EXPECT_EQ(backend->Usage().eager_calls, 1);
}

TEST_F(LaterVersionsTest, VersionsOfCallsMayTakeSoManySecondsInAll) {
  auto backend =
      Built({{"dynamic", false},
             {"options", ConfigDict{{"recompile_total_seconds", 1e-6}}}});
  for (const int64_t rows : {4, 5, 6, 5})
    ExpectAgrees(*source_, *backend, at::randn({rows, 3}));
  EXPECT_EQ(backend->Usage().recompilations, 1) << "that of 5 rows";
  EXPECT_EQ(backend->Usage().eager_calls, 1) << "that of 6 rows";
  EXPECT_THAT(backend->Notes(),
              Contains(HasSubstr("as long as recompile_total_seconds lets")));
}

}  // namespace
}  // namespace aitune::frontend
