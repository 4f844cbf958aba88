// Sums with 0 and products with 1 are not x itself where x is of bools, or -0.
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

TEST(NeutralNumbers, BoolsBecomeIntegers) {
  for (const char* const body :
       {"x * 1", "1 * x", "x + 0", "0 + x", "(x + 0) * 1", "(x * 1)[0] + 0",
        "torch.where(x, x * 1, x + 0)", "x.add(0, alpha=1)", "x * (2 - 1)"}) {
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor):\n  return ", body),
        {"bool[4,3]"});
    ASSERT_TRUE(trace.ok()) << trace.status() << "\n" << body;
    EXPECT_EQ(FallbackCount(*trace), 0) << PrintTrace(*trace);
  }
}

TEST(NeutralNumbers, BranchesHaveThemToo) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  if bool(x.any()):\n    y = x * 1\n"
      "  else:\n    y = x + 0\n"
      "  return y, x * 1",
      {"bool[4,3]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
}

TEST(NeutralNumbers, NegativeZeroBecomesZero) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  zero = x * 0\n"
      "  zero = torch.copysign(zero.masked_fill(zero != 0, 0), -x.abs() - 1)\n"
      "  return 1 / (zero + 0), 1 / (zero - 0), 1 / (zero * 1), 1 / zero",
      {"float32[4,3]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
}

TEST(NeutralNumbers, FloatsArePassedOn) {
  for (const char* const body :
       {"x * 1", "x + 0", "x - 0", "(x * 1).add_(1)", "x.sub(0, alpha=1)"}) {
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor):\n  return ", body),
        {"float32[4,3]"});
    EXPECT_TRUE(trace.ok()) << trace.status() << "\n" << body;
  }
}

}  // namespace
}  // namespace aitune::frontend
