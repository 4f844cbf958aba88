// Control flow: decided where it is static, LibTorch's where it depends on
// data.
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ControlFlow, TakesStaticBranches) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor, flag: bool) -> Tensor:
  if flag and x.size(0) > 1:
    y = torch.relu(x)
  else:
    y = torch.tanh(x)
  if x.dim() == 3:
    y = y + 1
  return y
)",
                                     {"float32[2,3]", "bool=true"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aten::relu"));
}

TEST(ControlFlow, UnrollsStaticLoops) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  i = 0
  while i < x.size(0):
    if i % 2 == 0:
      x = x * 2
    i += 1
  for j in range(2):
    x = x + j
  return x
)",
                                     {"float32[3,3]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace),
              ElementsAre("aten::mul.Scalar", "aten::mul.Scalar",
                          "aten::add.Scalar", "aten::add.Scalar"));
}

TEST(ControlFlow, DataDependentIfFallsBackWithKnownType) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  if bool(x.sum() > 0):
    y = x * 2
  else:
    y = torch.tanh(x)
  return torch.relu(y)
)",
                                     {"float32[4,5]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(FallbackCount(*trace), 2) << PrintTrace(*trace);  // bool(), the if
  EXPECT_THAT(PrintTrace(*trace), HasSubstr(": float32[4, 5] = prim::If"));
}

TEST(ControlFlow, DataDependentIfWithBranchesOfDifferentShapeIsOpaque) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  if bool(x.sum() > 0):
    y = x[0]
  else:
    y = x
  return y + 1
)",
                                     {"float32[4,5]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->values[static_cast<size_t>(trace->outputs[0])].kind,
            TraceValue::Kind::kOpaque);
}

TEST(ControlFlow, DataDependentLoop) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, int]:
  steps = 0
  while bool(x.abs().max() > 0.5) and steps < 8:
    x = x * 0.5
    steps += 1
  return torch.tanh(x), steps
)",
                                     {"float32[4,5]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(PrintTrace(*trace),
              HasSubstr("how often it runs depends on data"));
  EXPECT_EQ(OpNames(*trace).back(), "aten::tanh");
  EXPECT_TRUE(trace->ops.back().must_fall_back.empty());
}

TEST(ControlFlow, LoopThatGrowsATensorIsOpaque) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  while bool(x.sum() < 100):
    x = torch.cat([x, x + 1])
  return x
)",
                                     {"float32[4]{1..2}"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->values[static_cast<size_t>(trace->outputs[0])].kind,
            TraceValue::Kind::kOpaque);
}

TEST(ControlFlow, DataDependentIfThatWritesATensor) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  y = x * 2
  if bool(x.sum() > 0):
    y.add_(1)
  return y * 3
)",
                                     {"float32[4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace),
              ElementsAre("aten::mul.Scalar", "aten::sum", "aten::gt.Scalar",
                          "aten::Bool.Tensor", "prim::If", "aten::mul.Scalar"));
}

TEST(ControlFlow, AssertionsOnDataStay) {
  const auto trace = TraceSource(R"(
def forward(self, x: Tensor) -> Tensor:
  assert bool(x.sum() > -1000), "too small"
  return x + 1
)",
                                 {"float32[4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ::testing::Contains("prim::If"));
  const auto good = RunTrace(*trace, ValueList({at::ones({4})}));
  EXPECT_TRUE(good.ok()) << good.status();
  const auto bad = RunTrace(*trace, ValueList({at::full({4}, -1e6)}));
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("too small"));
}

TEST(ControlFlow, DataDependentLoopsChangeLists) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, int]:
  parts = [x]
  names = parts
  while bool(parts[len(parts) - 1].sum() < 100):
    parts.append(parts[len(parts) - 1] * 2 + 1)
  parts.append(x + 3)
  return torch.relu(x), torch.cat(names), len(parts)
)",
                                     {"float32[4]{1..2}"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ::testing::Contains("prim::Loop"));
  EXPECT_THAT(PrintTrace(*trace), HasSubstr("float32[4] = aten::relu"));
}

TEST(ControlFlow, ListsWhoseElementsAreWrittenAreLibTorchs) {
  for (const char* write : {"parts[0].add_(1)", "parts[0][0] = 1.0"}) {
    const auto trace =
        TraceAndCompare(absl::StrCat("def forward(self, x: Tensor) -> Tensor:\n"
                                     "  y = x * 2\n"
                                     "  parts = [y]\n"
                                     "  if bool(x.sum() < 100):\n    ",
                                     write,
                                     "\n    parts.append(x)\n"
                                     "  return y + parts[len(parts) - 1]\n"),
                        {"float32[4]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
    EXPECT_THAT(trace->ops[0].must_fall_back,
                HasSubstr("the elements of a list, dict or tuple are written"));
  }
}

// What is taken out of a list, dict or tuple that nothing is put into there.
TEST(ControlFlow, WhatIsTakenOutOfAContainerAndWrittenIsLibTorchs) {
  for (const char* program : {"  a = [x * 0.5, x * 0.25]\n"
                              "  a.reverse()\n"
                              "  if bool(x[0, 0] < 100):\n"
                              "    a[0].mul_(0.5)\n"
                              "  return torch.cat(a, 1)\n",
                              "  y = x * 0.5\n"
                              "  a = list(y.chunk(2, 1))\n"
                              "  if bool(x[0, 0] < 100):\n"
                              "    a[0].mul_(0.5)\n"
                              "  return y\n",
                              "  a = {'p': x * 0.5, 'q': x * 2}\n"
                              "  if bool(x[0, 0] < 100):\n"
                              "    for v in a.values():\n"
                              "      v.mul_(0.5)\n"
                              "  return a['p'] + a['q']\n",
                              "  a = [q * 0.5 for q in x.chunk(2)]\n"
                              "  if bool(x[0, 0] < 100):\n"
                              "    for t in a:\n"
                              "      t.mul_(0.5)\n"
                              "  return torch.cat(a)\n"}) {
    SCOPED_TRACE(program);
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor) -> Tensor:\n", program),
        {"float32[4,6]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
  }
}

// LibTorch's elimination of dead code does not see that the list holds what is
// written.
TEST(ControlFlow, WritesToWhatAListHoldsStay) {
  for (const char* program : {"  a = [x * 0.5, x * 2]\n"
                              "  if bool(x[0, 0] < 100):\n"
                              "    a[0].mul_(0.5)\n"
                              "  return torch.cat(a)\n",
                              "  a = [x * 0.5] + [x * 2]\n"
                              "  if bool(x[0, 0] < 100):\n"
                              "    a[1][0] = 3.0\n"
                              "  return a\n"}) {
    SCOPED_TRACE(program);
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor):\n", program),
        {"float32[4,6]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace),
                ::testing::AnyOf(::testing::Contains("prim::If"),
                                 ElementsAre("aitune::model")));
  }
}

// So a write to the one is one to the other.
TEST(ControlFlow, AnElementThatABranchGivesIsTheTensorInTheContainer) {
  for (const char* container :
       {"  c = [a]\n  c.append(x)\n", "  c = a.unbind(0)\n",
        "  c: Dict[int, Tensor] = {}\n  c[0] = a\n"}) {
    SCOPED_TRACE(container);
    const auto trace =
        TraceAndCompare(absl::StrCat("def forward(self, x: Tensor):\n"
                                     "  a = x * 2\n",
                                     container,
                                     "  z = x\n"
                                     "  if bool(x[0, 0] < 100):\n"
                                     "    z = c[0]\n"
                                     "  a.add_(1)\n"
                                     "  return z * 1, a\n"),
                        {"float32[4,6]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
  }
}

TEST(ControlFlow, TensorsThatGetOtherSizesAreLibTorchs) {
  for (const char* write : {"y.resize_([2, 4])", "y.t_()", "a[0].squeeze_()"}) {
    SCOPED_TRACE(write);
    const auto trace =
        TraceAndCompare(absl::StrCat("def forward(self, x: Tensor):\n"
                                     "  y = x * 2\n"
                                     "  a = [x * 3]\n"
                                     "  if bool(x[0, 0] > 100):\n    ",
                                     write, "\n  return y + 1, a[0] + 1\n"),
                        {"float32[4,1]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
  }
}

// What a branch picks by data differs in size though both ways pick as much
// from the sample.
TEST(ControlFlow, SizesThatABranchPicksByDataAreOpaque) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  if bool(x.sum() > 1000):
    y = torch.masked_select(x, x > 0)
  else:
    y = x[x > 0]
  return y * 2
)",
                                     {"float32[40]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->values[static_cast<size_t>(trace->outputs[0])].kind,
            TraceValue::Kind::kOpaque);
}

TEST(ControlFlow, AModelThatRaisesIsAnError) {
  const auto trace = TraceSource(R"(
def forward(self, x: Tensor) -> Tensor:
  assert x.dim() == 4, "expected an image"
  return x
)",
                                 {"float32[4]"});
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(trace.status().message()),
              HasSubstr("expected an image"));
  EXPECT_THAT(std::string(trace.status().message()), HasSubstr("float32[4]"));
}

TEST(ControlFlow, LongLoopsAreLibTorchs) {
  TraceOptions options;
  options.max_loop_iterations = 10;
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  x = x * 2
  for i in range(100):
    x = torch.cat([x[1:], x[:1] + 1])
  return x.exp()
)",
                                     {"float32[4]"}, options);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace),
              ElementsAre("aten::mul.Scalar", "prim::Loop", "aten::exp"));
  EXPECT_THAT(trace->ops[1].must_fall_back, HasSubstr("too long to unroll"));
}

// Steps of numbers that data decides: a call of LibTorch for each costs more
// than the loop.
TEST(ControlFlow, LoopsWithLittleToCompileAreLibTorchs) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, int]:
  y = x.abs() * 8
  last, changes = -1, 0
  for i in range(40):
    now = int(y[i])
    if now != last:
      changes += 1
    last = now
  for i in range(40):
    y = y.sin() + x[i]
  return y.exp(), changes
)",
                                     {"float32[40]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  const std::vector<std::string> names = OpNames(*trace);
  EXPECT_EQ(std::count(names.begin(), names.end(), "prim::Loop"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "prim::If"), 0);
  // The other one is unrolled.
  EXPECT_GT(trace->ops.size(), 80);
}

// Each loop is short, and what they do together is not.
TEST(ControlFlow, LongNestedLoopsAreLibTorchs) {
  TraceOptions options;
  options.max_loop_ops = 100;
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor) -> Tensor:
  for i in range(x.size(0)):
    for j in range(30):
      x = x * 0.5 + i
  for k in range(4):
    x = x + k
  return x
)",
                                     {"float32[10]"}, options);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace),
              ElementsAre("prim::Loop", "aten::add.Scalar", "aten::add.Scalar",
                          "aten::add.Scalar", "aten::add.Scalar"));
}

TEST(ControlFlow, EndlessLoopsStop) {
  TraceOptions options;
  options.max_loop_iterations = 100;
  const auto trace = TraceSource(R"(
def forward(self, x: Tensor) -> Tensor:
  n = x.size(0)
  while n > 0:
    n = n + 1 if n < 1000 else 0
  return x + n
)",
                                 {"float32[4]"}, options);
  EXPECT_TRUE(trace.ok()) << trace.status();
}

}  // namespace
}  // namespace aitune::frontend
