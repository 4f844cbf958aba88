#include "runtime/fuzz/fuzzed_plans.h"

#include "runtime/executable/test_plan.h"

namespace aitune {

std::vector<ConstantTensor> SeedConstants() {
  return {
      FloatConstant(std::vector<float>(16 * 16 * 9), {16, 16, 3, 3}, "filter"),
      FloatConstant(std::vector<float>(16), {16}, "bias"),
      FloatConstant(std::vector<float>(16 * 32), {16, 32}, "weights")};
}

ExecutablePlan MatmulPlan() {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 8, 0, 0);
  const int x = t.Input({s0, 16});
  const int y = t.Arena({s0, 16}), z = t.Arena({s0, 16});
  const int flat = t.Alias(z, {s0 * 16});
  const int result = t.Output({s0 * 16});
  const int product = t.Output({s0, 32});
  const int opaque = t.Opaque();
  t.Fallback(0, {x, t.Constant(1, {16})}, {y, opaque});
  Step* kernel = t.Kernel("kernel", {y}, {z}, s0);
  kernel->mutable_kernel()->set_checks(1);
  CheckProto* check = kernel->add_checks();
  check->set_operator_("aten::embedding");
  *check->mutable_size() = ToProto(s0);
  t.AddStep({y, t.Constant(2, {16, 32})}, {product})->mutable_matmul();
  t.Fallback(0, {flat, opaque}, {result});
  t.plan.add_output_values(result);
  t.plan.add_output_values(product);
  *t.plan.add_constraints()->mutable_expression() = ToProto(s0);
  return t.plan;
}

ExecutablePlan ConvolutionPlan() {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 4, 0, 0);
  const int x = t.Input({s0, 8, 8, 16});
  const int filter = t.Constant(0, {16, 16, 3, 3});
  const int panels = t.Constant(0, {16, 16, 3, 3});
  t.plan.mutable_values(panels)->mutable_packing()->set_kind(
      PackingProto::CONVOLUTION_PANELS);
  t.plan.mutable_values(panels)->mutable_packing()->set_block_n(16);
  const int bias = t.Constant(1, {16});
  const int folded = t.Persistent({16});
  const int y = t.Arena({s0, 8, 8, 16}), z = t.Arena({s0, 8, 8, 16});
  const int rows = t.Alias(z, {s0 * 64, 16});
  const int weights = t.Constant(2, {16, 32});
  const int product = t.Output({s0 * 64, 32});
  const int opaque = t.Opaque();
  t.Kernel("kernel", {bias}, {folded}, 1, 1, true);
  Step* step = t.AddStep({x, filter, bias, x}, {y});
  ConvolutionCall* call = step->mutable_convolution();
  for (int i = 0; i < 2; ++i) {
    call->add_stride(1);
    call->add_padding_low(1);
    call->add_padding_high(1);
    call->add_dilation(1);
  }
  call->set_groups(1);
  call->add_post_ops()->set_operand(2);
  PostOp* add = call->add_post_ops();
  add->set_kind(PostOp::ADD);
  add->set_operand(3);
  call->add_post_ops()->set_kind(PostOp::RELU);
  t.Kernel("kernel", {y, panels, folded}, {z}, s0 * 8, 2);
  t.AddStep({rows, weights}, {product})->mutable_matmul();
  t.Fallback(0, {product}, {opaque});
  t.plan.add_outputs();
  *t.plan.add_outputs() = TestPlan::Type({s0, 8, 8, 16});
  t.plan.add_output_values(product);
  t.plan.add_output_values(opaque);
  t.plan.add_output_values(x);
  return t.plan;
}

bool IsSmall(const ExecutablePlan& plan, absl::Span<const int64_t> symbols,
             int64_t most_bytes) {
  for (const ValueProto& value : plan.values()) {
    if (value.storage() == ValueProto::OPAQUE) continue;
    const auto type = FromProto(value.type(), plan.symbols_size());
    if (!type.ok()) return false;
    const auto sizes = EvaluateSizes(type->sizes, symbols);
    if (!sizes.ok()) return false;
    const auto bytes = TensorBytes(type->dtype, *sizes);
    if (!bytes.ok() || *bytes > most_bytes) return false;
  }
  return true;
}

}  // namespace aitune
