#include "runtime/plan/plan.h"

#include <functional>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/executable/test_plan.h"

namespace aitune {
namespace {

using ::testing::HasSubstr;
using Kind = SizeExpression::Kind;

SizeExpression S(int i) { return SizeExpression::Symbol(i); }

TEST(PlanProtoTest, TextsThatNameFilesNeedNotBeUtf8) {
  ExecutablePlan plan;
  Step& step = *plan.add_steps();
  step.set_location("/d\xe9/model.py:3");
  step.set_scope("layer\xe9");
  step.add_checks()->set_location("/d\xe9/model.py:4");
  step.mutable_fallback()->set_reason("/d\xe9/library.so has it not");
  ExecutablePlan read;
  ASSERT_TRUE(read.ParseFromString(plan.SerializeAsString()));
  EXPECT_EQ(read.SerializeAsString(), plan.SerializeAsString());
}

TEST(SizeExpressionProtoTest, RoundTrips) {
  const SizeExpression expressions[] = {
      7,
      S(1),
      S(0) * 128 + 3,
      SizeExpression::Binary(Kind::kFloorDivide, S(0) + S(1), 2),
      SizeExpression::Binary(Kind::kCeilDivide, S(0), S(1)),
      SizeExpression::Binary(Kind::kModulo, S(1) * S(1), 4)};
  for (const SizeExpression& e : expressions) {
    absl::StatusOr<SizeExpression> back = FromProto(ToProto(e), 2);
    ASSERT_TRUE(back.ok()) << e.ToString() << ": " << back.status();
    EXPECT_EQ(*back, e) << e.ToString();
  }
}

TEST(SizeExpressionProtoTest, RefusesWhatCannotBeBuilt) {
  auto error = [](const SizeExpressionProto& proto) {
    absl::StatusOr<SizeExpression> built = FromProto(proto, 2);
    return built.ok() ? "" : std::string(built.status().message());
  };
  EXPECT_THAT(error(ToProto(S(2))), HasSubstr("symbol 2"));

  SizeExpressionProto proto;
  proto.set_kind(SizeExpressionProto::FLOOR_DIVIDE);
  EXPECT_THAT(error(proto), HasSubstr("0 operands instead of 2"));
  *proto.add_operands() = ToProto(std::numeric_limits<int64_t>::min());
  *proto.add_operands() = ToProto(-1);
  EXPECT_THAT(error(proto), HasSubstr("divides by -1"));

  proto.set_kind(SizeExpressionProto::MULTIPLY);
  EXPECT_THAT(error(proto), HasSubstr("overflow"));
  // (s0 * 2^40) * 2^40 would be folded.
  *proto.mutable_operands(0) = ToProto(S(0) * (int64_t{1} << 40));
  *proto.mutable_operands(1) = ToProto(int64_t{1} << 40);
  EXPECT_THAT(error(proto), HasSubstr("overflow"));

  proto.set_kind(static_cast<SizeExpressionProto::Kind>(99));
  EXPECT_THAT(error(proto), HasSubstr("unknown kind 99"));

  SizeExpressionProto deep = ToProto(S(0));
  for (int i = 0; i < 200; ++i) {
    SizeExpressionProto outer;
    outer.set_kind(SizeExpressionProto::ADD);
    *outer.add_operands() = ToProto(S(1));
    *outer.add_operands() = deep;
    deep.Swap(&outer);
  }
  EXPECT_THAT(error(deep), HasSubstr("nested deeper"));
}

TEST(EvaluateSizeTest, ReportsOverflowAndDivision) {
  EXPECT_EQ(*EvaluateSize(S(0) * 3 + S(1), {5, 2}), 17);
  EXPECT_EQ(
      *EvaluateSize(SizeExpression::Binary(Kind::kFloorDivide, S(0), 4), {-5}),
      -2);
  EXPECT_EQ(
      *EvaluateSize(SizeExpression::Binary(Kind::kCeilDivide, S(0), 4), {5}),
      2);
  EXPECT_EQ(*EvaluateSize(SizeExpression::Binary(Kind::kModulo, S(0), 4), {-5}),
            3);
  EXPECT_FALSE(EvaluateSize(S(0) * S(0), {int64_t{1} << 40}).ok());
  EXPECT_FALSE(
      EvaluateSize(SizeExpression::Binary(Kind::kModulo, S(0), S(1)), {5, 0})
          .ok());
  EXPECT_FALSE(EvaluateSize(S(3), {1, 2}).ok());
  EXPECT_FALSE(EvaluateSizes({S(0) + SizeExpression(-3)}, {1}).ok());
}

TEST(ViewOfTest, HasTheSizesOfTheSymbolsAndNoMemory) {
  const PlanTensorType type{DataType::kInt32,
                            {SizeExpression::Symbol(1), SizeExpression(3)}};
  const absl::StatusOr<TensorView> view = ViewOf(ToProto(type), {5, 7});
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->data, nullptr);
  EXPECT_EQ(view->dtype, DataType::kInt32);
  EXPECT_EQ(view->sizes, (std::vector<int64_t>{7, 3}));
  EXPECT_FALSE(ViewOf(ToProto(type), {5}).ok());
}

TEST(TensorBytesTest, CountsAndRefusesOverflow) {
  EXPECT_EQ(*TensorBytes(DataType::kBFloat16, {3, 5}), 30);
  EXPECT_EQ(*TensorBytes(DataType::kFloat32, {}), 4);
  EXPECT_EQ(*TensorBytes(DataType::kFloat32, {int64_t{1} << 62, 8, 0}), 0);
  EXPECT_FALSE(TensorBytes(DataType::kFloat32, {int64_t{1} << 62, 8}).ok());
  EXPECT_FALSE(TensorBytes(DataType::kFloat32, {-1}).ok());
}

// y = relu(x W), with x [s0, 4]; one value of every storage.
TestPlan MakePlan() {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 8, 0, 0);
  const int x = t.Input({s0, 4});
  const int w = t.Constant(0, {4, 6});
  const int folded = t.Persistent({4, 6});
  const int y = t.Arena({s0, 6});
  const int flat = t.Alias(y, {s0 * 6});
  const int out = t.Output({s0, 6});
  const int opaque = t.Opaque();
  t.Kernel("fold", {w}, {folded}, 1, 1, true);
  t.AddStep({x, folded}, {y})->mutable_matmul();
  t.Kernel("relu", {flat}, {out}, s0);
  t.Fallback(0, {out}, {opaque});
  t.plan.add_outputs();
  t.plan.add_output_values(out);
  t.plan.add_output_values(opaque);
  return t;
}

TEST(ValidatePlanTest, AcceptsAGoodPlan) {
  EXPECT_EQ(ValidatePlan(MakePlan().plan), absl::OkStatus());
  EXPECT_EQ(ValidatePlan(ExecutablePlan()), absl::OkStatus());
  EXPECT_EQ(StorageRoots(MakePlan().plan)[4], 3);
  EXPECT_EQ(OutputValues(MakePlan().plan), (std::vector<int32_t>{5, 6}));
}

TEST(ValidatePlanTest, NamesWhatIsWrong) {
  struct Case {
    const char* text;
    std::function<void(ExecutablePlan&)> damage;
  };
  const Case cases[] = {
      {"symbol 0 (s0) has the range 9..8",
       [](auto& p) { p.mutable_symbols(0)->set_min(9); }},
      {"read from input 3",
       [](auto& p) { p.mutable_symbols(0)->set_input(3); }},
      {"axis 2 of input 0, whose rank is 2",
       [](auto& p) { p.mutable_symbols(0)->set_axis(2); }},
      {"whose size is 4", [](auto& p) { p.mutable_symbols(0)->set_axis(1); }},
      {"input 0: the dtype 12 is unknown",
       [](auto& p) { p.mutable_inputs(0)->set_dtype(12); }},
      {"value 0 has the unknown storage 42",
       [](auto& p) {
         p.mutable_values(0)->set_storage(static_cast<ValueProto::Storage>(42));
       }},
      {"value 0 is input 5, but there are 1 inputs",
       [](auto& p) { p.mutable_values(0)->set_index(5); }},
      {"value 1 is constant -1",
       [](auto& p) { p.mutable_values(1)->set_index(-1); }},
      {"value 1 has the unknown packing 42",
       [](auto& p) {
         p.mutable_values(1)->mutable_packing()->set_kind(
             static_cast<PackingProto::Kind>(42));
       }},
      {"value 3 has a packing, but is no constant",
       [](auto& p) {
         p.mutable_values(3)->mutable_packing()->set_kind(
             PackingProto::DEPTHWISE);
       }},
      {"value 4 is an alias of value 99",
       [](auto& p) { p.mutable_values(4)->set_index(99); }},
      {"value 4 is an alias of itself",
       [](auto& p) { p.mutable_values(4)->set_index(4); }},
      {"is opaque", [](auto& p) { p.mutable_values(4)->set_index(6); }},
      {"value 4 is a part of value 2, which is known at load",
       [](auto& p) {
         p.mutable_values(4)->mutable_offset()->set_value(1);
         p.mutable_values(4)->set_index(2);
       }},
      {"value 3 has an offset, but is no alias",
       [](auto& p) { p.mutable_values(3)->mutable_offset()->set_value(1); }},
      {"value 5 is persistent, but its storage is OUTPUT",
       [](auto& p) { p.mutable_values(5)->set_persistent(true); }},
      {"value 3 is persistent, but has a dynamic size",
       [](auto& p) { p.mutable_values(3)->set_persistent(true); }},
      {"value 2 is persistent, but no initialization step writes it",
       [](auto& p) { p.clear_initialization(); }},
      {"initialization step 0 'step_0' reads value 0, whose storage is INPUT",
       [](auto& p) { p.mutable_initialization(0)->set_inputs(0, 0); }},
      {"step 0 'step_1' reads value -7",
       [](auto& p) { p.mutable_steps(0)->set_inputs(0, -7); }},
      {"reads value 5, which no earlier step writes",
       [](auto& p) { p.mutable_steps(0)->set_inputs(0, 5); }},
      {"writes value 0, which is an input",
       [](auto& p) { p.mutable_steps(0)->set_outputs(0, 0); }},
      {"writes value 2, which is persistent",
       [](auto& p) { p.mutable_steps(0)->set_outputs(0, 2); }},
      {"writes value 4, which is already written",
       [](auto& p) { p.mutable_steps(1)->set_outputs(0, 4); }},
      {"writes value 5, which is already written",
       [](auto& p) { p.mutable_steps(1)->add_outputs(5); }},
      {"writes value 6, which is opaque",
       [](auto& p) { p.mutable_steps(1)->set_outputs(0, 6); }},
      {"a library call has at least 2",
       [](auto& p) { p.mutable_steps(0)->mutable_inputs()->Truncate(1); }},
      {"unknown post-op 55",
       [](auto& p) {
         p.mutable_steps(0)->mutable_matmul()->add_post_ops()->set_kind(
             static_cast<PostOp::Kind>(55));
       }},
      {"post-op BIAS reads operand 0",
       [](auto& p) { p.mutable_steps(0)->mutable_matmul()->add_post_ops(); }},
      {"stride, padding_low",
       [](auto& p) {
         p.mutable_values(0)->mutable_type()->mutable_sizes(1)->set_value(4);
         for (int i : {0, 2, 3}) {
           *p.mutable_values(i)->mutable_type()->add_sizes() = ToProto(1);
         }
         *p.mutable_inputs(0)->add_sizes() = ToProto(1);
         p.mutable_steps(0)->mutable_convolution();
       }},
      {"without a name",
       [](auto& p) { p.mutable_steps(1)->mutable_kernel()->clear_symbol(); }},
      {"has the grain -1",
       [](auto& p) { p.mutable_steps(1)->mutable_kernel()->set_grain(-1); }},
      {"buffers and 0 checks, but it was generated for 7 and 0",
       [](auto& p) { p.mutable_steps(1)->mutable_kernel()->set_buffers(7); }},
      {"buffers and 0 checks, but it was generated for",
       [](auto& p) { p.mutable_steps(1)->add_inputs(0); }},
      {"buffers and 0 checks, but it was generated for",
       [](auto& p) { p.mutable_steps(1)->mutable_inputs()->RemoveLast(); }},
      {"buffers and 0 checks, but it was generated for",
       [](auto& p) { p.mutable_steps(1)->mutable_kernel()->set_checks(1); }},
      {"(grid)",
       [](auto& p) {
         p.mutable_steps(1)->mutable_kernel()->mutable_grid()->set_value(9);
       }},
      {"does nothing", [](auto& p) { p.mutable_steps(1)->clear_what(); }},
      {"calls fallback region -1",
       [](auto& p) { p.mutable_steps(2)->mutable_fallback()->set_region(-1); }},
      {"has checks, but launches no kernel",
       [](auto& p) { p.mutable_steps(0)->add_checks(); }},
      {"(check): a size expression uses symbol 4",
       [](auto& p) {
         SizeExpressionProto* size =
             p.mutable_steps(1)->add_checks()->mutable_size();
         size->set_kind(SizeExpressionProto::SYMBOL);
         size->set_value(4);
       }},
      {"1 output values are given for 2 outputs",
       [](auto& p) { p.mutable_output_values()->Truncate(1); }},
      {"output 0 is no value", [](auto& p) { p.set_output_values(0, 70); }},
      {"output 1 is opaque, but its value 0 is not",
       [](auto& p) { p.set_output_values(1, 0); }},
      {"output 0 is value 3, but value 5 is stored there",
       [](auto& p) { p.set_output_values(0, 3); }},
      {"output 0 is value 5, which no step writes",
       [](auto& p) { p.mutable_steps()->DeleteSubrange(1, 2); }},
  };
  for (const Case& c : cases) {
    ExecutablePlan plan = MakePlan().plan;
    c.damage(plan);
    const absl::Status status = ValidatePlan(plan);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
  }
}

TEST(ValidatePlanTest, PackedConstantsAreForKernelsOnly) {
  TestPlan t;
  const int w = t.Constant(0, {4, 6});
  PackingProto& packing = *t.plan.mutable_values(w)->mutable_packing();
  packing.set_kind(PackingProto::MATMUL_PANELS);
  packing.set_block_n(16);
  const int x = t.Input({2, 4}), y = t.Output({2, 6});
  t.AddStep({x, w}, {y})->mutable_matmul();
  EXPECT_THAT(std::string(ValidatePlan(t.plan).message()),
              HasSubstr("only generated kernels can"));
  t.plan.mutable_steps(0)->mutable_kernel()->set_symbol("k");
  t.plan.mutable_steps(0)->mutable_kernel()->set_buffers(3);
  EXPECT_EQ(ValidatePlan(t.plan), absl::OkStatus());
}

// y = x by one of two ways: up to 4 elements in two steps, else in one.
TestPlan TwoWays() {
  TestPlan t;
  const SizeExpression n = t.Symbol(1, 16, 0, 0);
  const int x = t.Input({n}), between = t.Arena({n}), y = t.Output({n});
  const auto add = [&](int from, int to, int number) {
    Step* step = t.AddStep({from}, {to});
    step->mutable_cuda_kernel()->set_symbol("k");
    step->mutable_cuda_kernel()->set_block_x(32);
    *step->mutable_cuda_kernel()->mutable_grid_x() = ToProto(n);
    step->mutable_alternative()->set_group(1);
    step->mutable_alternative()->set_number(number);
    if (number == 0) step->mutable_alternative()->add_most(4);
  };
  add(x, between, 0);
  add(between, y, 0);
  add(x, y, 1);
  t.plan.add_output_values(y);
  t.plan.set_device("cuda");
  return t;
}

TEST(AlternativesTest, ACallRunsTheFirstThatTakesItsSizes) {
  const TestPlan t = TwoWays();
  ASSERT_EQ(ValidatePlan(t.plan), absl::OkStatus());
  std::vector<const Step*> steps;
  for (const Step& step : t.plan.steps()) steps.push_back(&step);
  EXPECT_EQ(ChooseAlternatives(steps, {4}),
            (std::vector<bool>{true, true, false}));
  EXPECT_EQ(ChooseAlternatives(steps, {5}),
            (std::vector<bool>{false, false, true}));
}

TEST(AlternativesTest, NamesWhatIsWrong) {
  struct Case {
    const char* text;
    std::function<void(ExecutablePlan&)> damage;
  };
  const auto of = [](ExecutablePlan& plan, int step) {
    return plan.mutable_steps(step)->mutable_alternative();
  };
  const std::vector<Case> cases = {
      {"the last alternative of group 1 does not take all sizes",
       [&](auto& p) { of(p, 2)->add_most(8); }},
      {"is alternative 2 of group 1, which is out of order",
       [&](auto& p) { of(p, 2)->set_number(2); }},
      {"is alternative 0 of group 0, which is out of order",
       [&](auto& p) { of(p, 0)->set_group(0); }},
      {"does not take all sizes", [&](auto& p) { of(p, 2)->set_group(2); }},
      {"for 2 sizes, but the plan has 1",
       [&](auto& p) { of(p, 0)->add_most(8); }},
      {"only steps of a GPU", [](auto& p) { p.set_device(""); }},
      {"but there are no sizes at load",
       [](auto& p) {
         AlternativeProto* one = p.add_initialization()->mutable_alternative();
         one->set_group(1);
         one->set_number(-1);
         one->add_most(4);
       }},
      // A step of one way reads what only the other writes.
      {"which no earlier step writes",
       [](auto& p) { p.mutable_steps(2)->set_inputs(0, 1); }},
      // Not all ways write the output.
      {"output 0 is value 2, which no step writes",
       [](auto& p) { p.mutable_steps()->DeleteSubrange(1, 1); }},
  };
  for (const Case& c : cases) {
    ExecutablePlan plan = TwoWays().plan;
    c.damage(plan);
    EXPECT_THAT(std::string(ValidatePlan(plan).message()), HasSubstr(c.text));
  }
}

TEST(ValidatePlanTest, OutputValuesMayBeLeftOut) {
  TestPlan t;
  const int x = t.Input({2}), b = t.Output({2}), a = t.Output({2});
  t.Kernel("k", {x}, {a, b}, 1);
  ASSERT_EQ(ValidatePlan(t.plan), absl::OkStatus());
  EXPECT_EQ(OutputValues(t.plan), (std::vector<int32_t>{b, a}));
  *t.plan.add_outputs() = TestPlan::Type({2});
  EXPECT_THAT(std::string(ValidatePlan(t.plan).message()),
              HasSubstr("output 2 is no value of the plan"));
}

}  // namespace
}  // namespace aitune
