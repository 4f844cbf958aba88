#include "frontend/compiled_model/coverage.h"

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

TraceOp Linear(Trace& trace, int64_t n) {
  auto tensor = [&](std::vector<SizeExpression> sizes) {
    TraceValue value;
    value.type.sizes = std::move(sizes);
    trace.values.push_back(value);
    return static_cast<ValueId>(trace.values.size() - 1);
  };
  TraceOp op;
  op.name = "aten::linear";
  op.argument_names = {"input", "weight"};
  op.arguments = {tensor({1, 4}), tensor({n, 4})};
  op.results = {tensor({1, n})};
  return op;
}

TEST(Coverage, GroupsFallbacksByOperatorAndReason) {
  Trace trace;
  for (int64_t n : {10, 20, 30, 40}) trace.ops.push_back(Linear(trace, n));
  const std::vector<FallbackOp> fallbacks = {
      {1, "aten::a", "m.py:1", "", "no builder"},
      {2, "aten::b", "m.py:2", "", "complex"},
      {3, "aten::a", "m.py:3", "", "no builder"}};
  const Coverage coverage = CoverageOf(trace, fallbacks, {});
  EXPECT_EQ(coverage.ops, 4);
  EXPECT_EQ(coverage.compiled_ops, 1);
  EXPECT_DOUBLE_EQ(coverage.FlopShare(), 0.1);
  EXPECT_DOUBLE_EQ(coverage.OpShare(), 0.25);
  ASSERT_EQ(coverage.fallbacks.size(), 2u);
  EXPECT_EQ(coverage.fallbacks[0].op, "aten::a");
  EXPECT_EQ(coverage.fallbacks[0].count, 2);
  EXPECT_EQ(coverage.fallbacks[0].location, "m.py:1");
  EXPECT_EQ(coverage.fallbacks[0].flops, 2.0 * 4 * (20 + 40));
}

TEST(Coverage, TellsOfContractionsThatItCannotCount) {
  Trace trace;
  for (int64_t n : {10, 20}) trace.ops.push_back(Linear(trace, n));
  TraceValue& input =
      trace.values[std::get<ValueId>(trace.ops[1].arguments[0])];
  input.kind = TraceValue::Kind::kOpaque;
  const Coverage coverage =
      CoverageOf(trace, {{{1, "aten::linear", "m.py:1", "", "data"}}}, {});
  EXPECT_EQ(coverage.FlopShare(), 1);
  EXPECT_EQ(coverage.uncounted, 1);
  ASSERT_EQ(coverage.fallbacks.size(), 1u);
  EXPECT_EQ(coverage.fallbacks[0].uncounted, 1);
}

TEST(Coverage, OfNoFlopsTheCallsCount) {
  Trace trace;
  trace.ops.resize(1);
  const Coverage coverage =
      CoverageOf(trace, {{{0, "aitune::model", "m.py:1", "", "all"}}}, {});
  EXPECT_EQ(coverage.FlopShare(), 0);
}

TEST(Coverage, EmptyTraceIsFullyCompiled) {
  const Coverage coverage = CoverageOf({}, {}, {});
  EXPECT_EQ(coverage.FlopShare(), 1);
  EXPECT_EQ(coverage.OpShare(), 1);
}

}  // namespace
}  // namespace aitune::frontend
