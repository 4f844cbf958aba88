#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/fake_backend.h"

namespace aitune {
namespace {

// Lets threads wait for each other without a time limit of their own.
class Barrier {
 public:
  explicit Barrier(int count) : count_(count) {}
  void Wait() {
    ++arrived_;
    while (arrived_ < count_) std::this_thread::yield();
  }

 private:
  const int count_;
  std::atomic<int> arrived_{0};
};

TEST(BackendConcurrencyTest, CallsOfInferRunAtTheSameTime) {
  auto behavior = std::make_shared<FakeBehavior>();
  Barrier both(2);  // passed only by two calls that are inside together
  behavior->infer = [&](absl::Span<const RegionValue>)
      -> absl::StatusOr<std::vector<OwnedValue>> {
    both.Wait();
    return std::vector<OwnedValue>();
  };
  const std::unique_ptr<Backend> backend = MakeFakeBackend(behavior);
  ASSERT_TRUE(backend->Build(MakeFakeRequest()).ok());
  std::thread other([&] { EXPECT_TRUE(backend->Infer({}).ok()); });
  EXPECT_TRUE(backend->Infer({}).ok());
  other.join();
}

TEST(BackendConcurrencyTest, AChangeOfStateWaitsForCallsUnderWay) {
  auto behavior = std::make_shared<FakeBehavior>();
  std::atomic<bool> inside{false}, go{false};
  behavior->infer = [&](absl::Span<const RegionValue>)
      -> absl::StatusOr<std::vector<OwnedValue>> {
    inside = true;
    while (!go) std::this_thread::yield();
    return std::vector<OwnedValue>();
  };
  const std::unique_ptr<Backend> backend = MakeFakeBackend(behavior);
  ASSERT_TRUE(backend->Build(MakeFakeRequest()).ok());
  std::thread caller([&] { EXPECT_TRUE(backend->Infer({}).ok()); });
  while (!inside) std::this_thread::yield();
  std::thread changer([&] { EXPECT_TRUE(backend->Deactivate().ok()); });
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_EQ(behavior->deactivations, 0);
  EXPECT_TRUE(backend->is_active());
  go = true;
  caller.join();
  changer.join();
  EXPECT_EQ(backend->state(), BackendState::kInactive);
  EXPECT_EQ(behavior->overlaps, 0);
}

TEST(BackendConcurrencyTest, NobodyWaitsForABuildToBeToldNo) {
  auto behavior = std::make_shared<FakeBehavior>();
  std::atomic<bool> building{false}, go{false};
  behavior->build = [&](BuildContext&) {
    building = true;
    while (!go) std::this_thread::yield();
    return absl::OkStatus();
  };
  const std::unique_ptr<Backend> backend = MakeFakeBackend(behavior);
  std::thread builder(
      [&] { EXPECT_TRUE(backend->Build(MakeFakeRequest()).ok()); });
  while (!building) std::this_thread::yield();
  EXPECT_EQ(backend->Infer({}).status().message(),
            "Cannot run inference, backend TorchInductorBackend should be "
            "activated first");
  EXPECT_EQ(backend->state(), BackendState::kInit);
  EXPECT_TRUE(backend->device().has_value());
  go = true;
  builder.join();
}

// A service with a call always under way can still be deactivated.
TEST(BackendConcurrencyTest, CallsDoNotStarveAChangeOfState) {
  auto behavior = std::make_shared<FakeBehavior>();
  const std::unique_ptr<Backend> backend = MakeFakeBackend(behavior);
  ASSERT_TRUE(backend->Build(MakeFakeRequest()).ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      while (!stop) (void)backend->Infer({});
    });
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(backend->Deactivate().ok());
    EXPECT_TRUE(backend->Activate().ok());
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(behavior->overlaps, 0);
}

TEST(BackendConcurrencyTest, RandomCallsFromSeveralThreads) {
  auto behavior = std::make_shared<FakeBehavior>();
  const std::unique_ptr<Backend> backend = MakeFakeBackend(behavior);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(i);
      const Sample sample = {MakeTensor({2}, {1, 2})};
      for (int j = 0; j < 300; ++j) {
        switch (random() % 8) {
          case 0:
            (void)backend->Build(MakeFakeRequest());
            break;
          case 1:
            (void)backend->Activate();
            break;
          case 2:
            (void)backend->Deactivate();
            break;
          case 3:
            (void)backend->Deploy(Device());
            break;
          case 4:
            (void)backend->ToDict();
            (void)backend->device();
            break;
          default: {
            const auto outputs = backend->Infer(Values(sample));
            if (outputs.ok())
              EXPECT_EQ(Elements(outputs->at(0).value),
                        (std::vector<float>{2, 4}));
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(behavior->builds, 1);
  EXPECT_EQ(behavior->overlaps, 0);
  EXPECT_EQ(behavior->holds_memory, backend->is_active());
}

}  // namespace
}  // namespace aitune
