#include "frontend/backends/compiled/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "runtime/control/memory_budget.h"
#include "runtime/executable/memory_use.h"

namespace aitune::frontend {
namespace {

TEST(MemoryLimitTest, WhatIsKeptIsGivenBackBeforeACallFails) {
  MemoryUse use;
  use.weights = 100;
  use.arenas = 50;
  int freed = 0;
  MemoryLimit limit([&] { return use; },
                    [&] {
                      ++freed;
                      use.arenas = 10;
                    });
  EXPECT_TRUE(limit.Check().ok()) << "no limit";
  limit.Set(150);
  EXPECT_TRUE(limit.Check().ok());
  EXPECT_EQ(freed, 0);
  limit.Set(120);
  const ScopedMemoryBudget scope(&limit);
  EXPECT_TRUE(CheckMemoryBudget().ok());
  EXPECT_EQ(freed, 1);
  limit.Set(109);
  const absl::Status status = CheckMemoryBudget();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(testing::HasSubstr("limit is 109 bytes"),
                             testing::HasSubstr("110 are needed"),
                             testing::HasSubstr("100 for packed weights")));
  EXPECT_EQ(freed, 2);
  limit.Detach();
  EXPECT_TRUE(CheckMemoryBudget().ok());
  EXPECT_EQ(freed, 2);
}

}  // namespace
}  // namespace aitune::frontend
