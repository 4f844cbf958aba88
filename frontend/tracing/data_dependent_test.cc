// Values that the trace cannot follow, and what it says about them.
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* body;
  const char* reason;
  int fallbacks;
};

class DataDependent : public ::testing::TestWithParam<Case> {};

TEST_P(DataDependent, FallsBackWithItsReason) {
  const auto trace = TraceAndCompare(
      absl::StrCat("def forward(self, x: Tensor):\n", GetParam().body),
      {"float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(PrintTrace(*trace), HasSubstr(GetParam().reason));
  EXPECT_EQ(FallbackCount(*trace), GetParam().fallbacks) << PrintTrace(*trace);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, DataDependent,
    ::testing::Values(
        Case{"  return x.nonzero()", "its size depends on data", 1},
        Case{"  return torch.masked_select(x, x > 0) * 2",
             "its size depends on data", 2},
        Case{"  return x[x > 0].sum()", "its size depends on data", 2},
        Case{"  n = int(x.sum())\n  return x * n",
             "it is a number that depends on data", 2},
        Case{"  n = int(x.abs().sum()) % 4 + 1\n  return torch.zeros([n]) + 1",
             "a value that only LibTorch knows", 5},
        Case{"  values, counts = torch.unique_consecutive(x.sign().flatten()), "
             "1\n  return values[0]",
             "its size depends on data", 1},
        // Static after all: masks and indices of known shape.
        Case{"  return x[torch.tensor([1, 0])]", "aten::index", 0},
        Case{"  return x[:, torch.tensor([True, False, True, True, False, "
             "False])]",
             "float32[4, 3]", 0},
        Case{"  i = x.argmax(1)\n  return x.gather(1, i.unsqueeze(1))",
             "aten::gather", 0},
        Case{"  return torch.where(x > 0, x, x * 2)", "aten::where.self", 0},
        // Tensors of unknown sizes are written, where nobody else sees it.
        Case{"  y = x[x > 0]\n  y.add_(1)\n  return y * 2",
             "a value that only LibTorch knows", 3},
        Case{"  y = x[x > 0]\n  z = [y]\n  y.add_(1)\n  return z[0]",
             "a value that only LibTorch knows", 2},
        // Written under a mask: as large as before.
        Case{"  y = x + 1\n  y[x > 0] = 3.0\n  return y * 2", "aten::index_put",
             0},
        Case{"  y = x + 1\n  y[x > 0] = (x * 2)[x > 0]\n  return y * 2",
             "its size depends on data", 2},
        Case{"  y = x.nonzero()\n  return y.dtype == torch.ones([1]).dtype, "
             "y.dim()",
             "return", 0}));

// A loop of no turns gives the very tensor that went in. What is written to the
// one is then in the other too, so LibTorch runs the model.
TEST(DataDependentLoops, MayGiveTheTensorThatWentIn) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  y = x * 2\n"
      "  z = y\n"
      "  for i in range(int(x.abs().sum()) + 1):\n"
      "    z = z + 1\n"
      "  z.add_(5)\n"
      "  return y, z",
      {"float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->ops.size(), 1u) << PrintTrace(*trace);
  EXPECT_THAT(trace->ops[0].must_fall_back, HasSubstr("another one sees"));
}

TEST(DataDependentNumbers, OnlyScaleElements) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  s = float(x.sum())\n  return "
      "torch.relu(x * s)",
      {"float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_TRUE(trace->ops.back().must_fall_back.empty()) << PrintTrace(*trace);
}

// What comes after complex numbers is compiled again.
TEST(ComplexNumbers, SizesStayKnown) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  z = torch.fft_rfft(torch.relu(x))\n"
      "  return torch.real(z) * 2 + z.abs()",
      {"float32[2..5,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(PrintTrace(*trace),
              HasSubstr("a dtype or layout that compiled code has not"));
  EXPECT_EQ(FallbackCount(*trace), 3) << PrintTrace(*trace);
  EXPECT_TRUE(trace->ops.back().must_fall_back.empty()) << PrintTrace(*trace);
}

TEST(ComplexNumbers, AViewOfThemIsNotWritten) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  z = torch.fft_rfft(x)\n"
      "  y = torch.real(z)\n"
      "  y.add_(1)\n"
      "  return z.abs() + 1",
      {"float32[4,6]"});
  // LibTorch runs the whole model.
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->ops.size(), 1u) << PrintTrace(*trace);
  EXPECT_THAT(trace->ops[0].must_fall_back,
              HasSubstr("shares memory with one that only LibTorch knows"));
}

}  // namespace
}  // namespace aitune::frontend
