// Writes to what only LibTorch knows: what shares the memory has them too.
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::Not;

// Programs of x, float32[1..4,6]. Each is traced as operators, not as a whole
// model, and gives what eager gives, in two calls.
class OpaqueWrites : public testing::TestWithParam<const char*> {};

TEST_P(OpaqueWrites, AreSeenByAllThatShareTheMemory) {
  const auto trace = TraceAndCompare(GetParam(), {"float32[1..4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Not(Contains(kWholeModel)));
}

INSTANTIATE_TEST_SUITE_P(
    Programs, OpaqueWrites,
    testing::Values(
        // Complex numbers.
        R"(
def forward(self, x: Tensor):
  f = torch.fft_rfft(x)
  o = torch.zeros_like(f)
  o[:, 1:3].copy_(f[:, :2] * 2)
  a = o[:, 2:]
  a.mul_(3)
  b = a[:, 0]
  o[:, 0].add_(1)
  b.sub_(1)
  return torch.fft_irfft(o), a.abs(), b.abs()
)",
        // That start as constants, with views from before and after.
        R"(
def forward(self, x: Tensor):
  f = torch.fft_rfft(x[:1])
  o = torch.zeros([2, 4], dtype=9)
  t = o.t()
  o[1].copy_(f[0])
  o[:, 1].mul_(2)
  t[2].add_(o[:, 1])
  o.add_(o)
  return torch.view_as_real(t), x * 2
)",
        // Sizes that depend on data, in lists and tuples.
        R"(
def forward(self, x: Tensor):
  y = x[x > 0]
  parts = [y[:2], y[2:], y * 2]
  pair = (y[1:], x)
  parts[0].fill_(7)
  pair[0].mul_(2)
  y.add_(1)
  return parts[0].sum() + parts[1].sum(), parts[2].sum(), pair[0].sum(), y.sum()
)",
        // In a loop.
        R"(
def forward(self, x: Tensor):
  y = torch.pad(x[x > 0], [1, 4])
  z = y[1:]
  for i in range(3):
    y[i].fill_(i)
    z[i].mul_(2)
  return y.sum(), z.sum()
)"));

// The sizes of complex numbers are those of the trace, so that what is computed
// with them is compiled.
TEST(OpaqueWritesTest, SizesOfComplexNumbersAreKnown) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  f = torch.fft_rfft(x)
  o = torch.zeros_like(f)
  o[:, 1:].copy_(f[:, 1:])
  y = o.reshape([o.size(0) * 2, f.size(1) // 2]).abs()
  z = torch.fft_irfft(o, f.numel())
  return torch.relu(y.reshape([f.size(0), -1])), torch.relu(z)
)",
                                     {"float32[1..4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  int compiled = 0;
  for (const TraceOp& op : trace->ops) {
    if (op.name != "aten::relu") continue;
    EXPECT_EQ(op.must_fall_back, "");
    ++compiled;
  }
  EXPECT_EQ(compiled, 2);
}

// Until the program turns them around.
TEST(OpaqueWritesTest, ATransposeInPlaceChangesSizes) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  f = torch.fft_rfft(x)
  f.t_()
  g = torch.fft_rfft(x)
  torch.mul(g[:, :2], 2, out=g)
  return torch.zeros([f.size(0), f.size(1)]) + x.sum(), x.sum() * g.size(1)
)",
                                     {"float32[1..4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Not(Contains(kWholeModel)));
}

// Each call begins with the constant.
TEST(OpaqueWritesTest, AConstantIsWrittenInACopy) {
  const auto model = Model::FromSource(R"(
def forward(self, x: Tensor):
  o = torch.ones([3], dtype=9)
  o[1:].add_(torch.view_as_complex(x * 1.0))
  return torch.view_as_real(o)
)");
  ASSERT_TRUE(model.ok()) << model.status();
  for (int call = 0; call < 2; ++call) {
    const auto trace = TraceAndCompare(*model, {"float32[2,2]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace), Contains("aten::clone"));
  }
}

// A tensor of known type that shares the memory would not be told.
TEST(OpaqueWritesTest, WhatATraceKnowsMayNotShareIt) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  c = torch.fft_rfft(x)
  r = torch.view_as_real(c)
  c.mul_(2)
  return r
)",
                                     {"float32[3,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Contains(kWholeModel));
}

}  // namespace
}  // namespace aitune::frontend
