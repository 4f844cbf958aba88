#include "frontend/backends/compiled/backend_counters.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "frontend/testing/backends.h"

namespace aitune::frontend {
namespace {

struct NoBudget : MemoryBudget {
  absl::Status Check() override { return absl::OkStatus(); }
};

struct FakeCall : BoundCall {
  explicit FakeCall(absl::Status result) : result(std::move(result)) {}
  absl::Status Run(void*) override { return result; }
  bool copies_nothing() const override { return true; }
  const absl::Status result;
};

// Runs twice; the number of calls that were counted as eager ones.
int64_t EagerCalls(absl::Status result, std::function<bool()> is_eager) {
  const auto counters = std::make_shared<BackendCounters>();
  CountedBoundCall call(std::make_unique<FakeCall>(result), 0, counters,
                        std::make_shared<NoBudget>(),
                        std::make_shared<const std::atomic<bool>>(false),
                        SourceOf(kNet), Device(), std::move(is_eager));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call.Run(nullptr), result);
  EXPECT_EQ(counters->calls, 2);
  return counters->eager_calls;
}

TEST(CountedBoundCall, CountsThoseThatLibTorchRanInEager) {
  int recorded = 1;
  // The second one's recording is refused.
  EXPECT_EQ(EagerCalls(absl::OkStatus(), [&] { return --recorded < 0; }), 1);
  EXPECT_EQ(EagerCalls(absl::OkStatus(), [] { return true; }), 2);
  EXPECT_EQ(EagerCalls(absl::OkStatus(), nullptr), 0);
  EXPECT_EQ(EagerCalls(absl::InternalError("no"), [] { return true; }), 0);
}

}  // namespace
}  // namespace aitune::frontend
