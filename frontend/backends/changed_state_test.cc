// Models whose calls change their state: what is compiled, cached and bound
// shares it with the model or is of the state that the model had then, and is
// not used for another one.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "frontend/testing/backends.h"
#include "frontend/trace/leaf_value.h"
#include "runtime/control/control.h"

namespace aitune::frontend {
namespace {

// `self.k`, by which the calls multiply, grows by 1 in calls of over 4 rows.
constexpr const char* kInPlace = "self.k.add_(1)";
constexpr const char* kAttribute = "self.k = self.k + 1";

std::shared_ptr<TorchScriptSource> Counting(const char* write) {
  torch::jit::Module module("net");
  module.register_attribute("k", c10::TensorType::get(), at::ones({1}),
                            /*is_param=*/false, /*is_buffer=*/true);
  module.define(std::string("def forward(self, x: Tensor):\n"
                            "    if x.size(0) > 4:\n        ") +
                write + "\n    return x * self.k\n");
  auto model = Model::FromModule(std::move(module));
  EXPECT_TRUE(model.ok()) << model.status();
  return std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*std::move(model)), "net");
}

at::Tensor Rows(int64_t rows) { return at::ones({rows, 2}); }

// `self.k` as the call of a backend sees it; -1 after an error.
float Seen(const TorchScriptSource& source, const Backend& backend,
           int64_t rows) {
  const auto result = Call(source, backend, Rows(rows));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->toTensor()[0][0].item<float>() : -1;
}

void ChangeByOwner(const TorchScriptSource& source) {
  ASSERT_TRUE(source.model().RunEager(ValueList({Rows(5)})).ok());
}

class ChangedState : public testing::TestWithParam<const char*> {
 protected:
  // A version for each size, built for 3 rows.
  std::unique_ptr<Backend> Built(
      const std::shared_ptr<TorchScriptSource>& source, int limit = 8) {
    auto backend = BackendOf(
        "TorchInductorBackend",
        {{"dynamic", false},
         {"options", ConfigDict{{"recompile_limit", int64_t{limit}}}}});
    const absl::Status built =
        backend->Build(RequestOf(source, {Rows(3)}, cache_));
    EXPECT_TRUE(built.ok()) << built;
    return backend;
  }
  float SeenByAnotherProcess(int64_t rows) {
    const auto source = Counting(GetParam());
    return Seen(*source, *Built(source), rows);
  }

  const std::filesystem::path cache_ = EmptyFolder() / "cache";
};
INSTANTIATE_TEST_SUITE_P(Writes, ChangedState,
                         testing::Values(kInPlace, kAttribute));

TEST_P(ChangedState, LeavesTheCacheToTheStateOfTheHash) {
  const auto source = Counting(GetParam());
  const auto backend = Built(source);
  EXPECT_EQ(Seen(*source, *backend, 3), 1);
  ChangeByOwner(*source);
  EXPECT_EQ(Seen(*source, *backend, 2), 2);  // a size without a version
  EXPECT_EQ(Seen(*source, *backend, 3), 2);
  EXPECT_EQ(SeenByAnotherProcess(2), 1);
  EXPECT_EQ(SeenByAnotherProcess(3), 1);
}

TEST_P(ChangedState, IsSeenByAnotherBuild) {
  const auto source = Counting(GetParam());
  const auto first = Built(source);
  EXPECT_EQ(Seen(*source, *first, 3), 1);
  EXPECT_EQ(first->Usage().cache_hits, 0);
  ChangeByOwner(*source);
  const auto second = Built(source);
  EXPECT_EQ(Seen(*source, *second, 3), 2);
  // What shares the state is right for any.
  const bool shares = std::string(GetParam()) == kInPlace;
  EXPECT_EQ(second->Usage().cache_hits, shares ? 1 : 0);
  EXPECT_EQ(second->Usage().eager_calls, 0);
  EXPECT_EQ(SeenByAnotherProcess(3), 1);
  // Another build for the same state has what this one stored.
  const auto third = Built(source);
  EXPECT_EQ(Seen(*source, *third, 3), 2);
  EXPECT_EQ(third->Usage().cache_hits, 1);
}

TEST_P(ChangedState, IsSeenAfterActivation) {
  const auto source = Counting(GetParam());
  const auto backend = Built(source);
  ASSERT_TRUE(backend->Deactivate().ok());
  ChangeByOwner(*source);
  ASSERT_TRUE(backend->Activate().ok());
  EXPECT_EQ(Seen(*source, *backend, 3), 2);
}

TEST_P(ChangedState, IsSeenByBoundCallsOrHasThemBoundAnew) {
  const auto source = Counting(GetParam());
  const auto backend = Built(source);
  const at::Tensor output = at::empty({3, 2});
  const Sample inputs = *source->Flatten(ValueList({Rows(3)}));
  const std::vector<OwnedValue> outputs = {ToOwned(output)};
  const auto bound = backend->Bind(Values(inputs), Values(outputs));
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_TRUE((*bound)->Run(nullptr).ok());
  EXPECT_EQ(output[0][0].item<float>(), 1);
  EXPECT_EQ(Seen(*source, *backend, 5), 2);
  if (std::string(GetParam()) == kInPlace) {
    ASSERT_TRUE((*bound)->Run(nullptr).ok());
    EXPECT_EQ(output[0][0].item<float>(), 2);
    return;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition((*bound)->Run(nullptr)));
  EXPECT_TRUE(absl::IsUnimplemented(
      backend->Bind(Values(inputs), Values(outputs)).status()));
}

// Each call sees a state between those when it began and when it ended, and no
// change is lost, whoever runs the calls.
TEST_P(ChangedState, IsSeenByAllThreadsInOrder) {
  constexpr int kRounds = 20, kWriters = 2, kWrites = 60;
  for (int round = 0; round < kRounds; ++round) {
    const auto source = Counting(GetParam());
    const auto backend = Built(source, /*limit=*/1);
    std::atomic<int> begun = 1, ended = 1, wrong = 0, writing = kWriters;
    std::vector<std::thread> threads;
    for (int writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([&] {
        for (int i = 0; i < kWrites; ++i) {
          ++begun;
          const int before = ended;
          const float seen = Seen(*source, *backend, 5);
          ++ended;
          wrong += seen < static_cast<float>(before + 1) ||
                   seen > static_cast<float>(begun);
        }
        --writing;
      });
    }
    threads.emplace_back([&] {
      while (writing > 0) {
        const int before = ended;
        const float seen = Seen(*source, *backend, 3);
        wrong += seen < static_cast<float>(before) ||
                 seen > static_cast<float>(begun);
      }
    });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(wrong, 0) << "round " << round;
    ASSERT_EQ(Seen(*source, *backend, 3), 1 + kWriters * kWrites);
  }
}

// While versions are made in the background, calls change the state.
TEST_P(ChangedState, IsNotMixedIntoAVersionThatIsBeingMade) {
  const auto source = Counting(GetParam());
  const auto backend = Built(source);
  {
    const ScopedStance stance(Stance::kEagerWhileCompiling);
    int changes = 0;
    for (int64_t rows = 1; rows < 8; ++rows) {
      changes += rows > 4;
      EXPECT_EQ(Seen(*source, *backend, rows), 1 + changes);
    }
  }
  EXPECT_EQ(Seen(*source, *backend, 1), 4);
  EXPECT_EQ(Seen(*source, *backend, 2), 4);
  EXPECT_EQ(SeenByAnotherProcess(1), 1);
  EXPECT_EQ(SeenByAnotherProcess(2), 1);
}

}  // namespace
}  // namespace aitune::frontend
