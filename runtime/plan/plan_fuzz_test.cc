// Damaged plans: whatever the bytes, loading gives a status. The kernels do
// nothing, so that a plan that still passes can be loaded and run.
#include <cstring>
#include <random>

#include "gtest/gtest.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/test_plan.h"
#include "runtime/plan/plan.h"

namespace aitune {
namespace {

class NoRegion : public FallbackRegion {
 public:
  absl::Status Run(absl::Span<const RegionValue>, absl::Span<const int64_t>,
                   absl::Span<RegionValue>) const override {
    return absl::OkStatus();
  }
};

ExecutablePlan MakePlan() {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 8, 0, 0);
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
  t.Kernel("nothing", {bias}, {folded}, 1, 1, true);
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
  t.Kernel("nothing", {y, panels, folded}, {z}, s0 * 8, 2);
  t.AddStep({rows, weights}, {product})->mutable_matmul();
  t.Fallback(0, {product}, {opaque});
  t.plan.add_outputs();
  *t.plan.add_outputs() = TestPlan::Type({s0, 8, 8, 16});
  t.plan.add_output_values(product);
  t.plan.add_output_values(opaque);
  t.plan.add_output_values(x);
  return t.plan;
}

// Loads and, where that works, runs with the sizes that the plan asks for.
// Returns whether it ran.
bool LoadAndRun(const ExecutablePlan& plan) {
  std::vector<ConstantTensor> constants = {
      FloatConstant(std::vector<float>(16 * 16 * 9), {16, 16, 3, 3}, "filter"),
      FloatConstant(std::vector<float>(16), {16}, "bias"),
      FloatConstant(std::vector<float>(16 * 32), {16, 32}, "weights")};
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<NoRegion>());
  auto kernels =
      std::make_shared<FakeKernels>(std::map<std::string, KernelFunction>{
          {"nothing", [](void* const*, const int64_t*, int64_t, int64_t) {}}});
  auto executable = CpuExecutable::Load(plan, kernels, std::move(constants),
                                        std::move(regions));
  if (!executable.ok()) {
    EXPECT_FALSE(executable.status().message().empty());
    return false;
  }
  std::vector<float> data(4 * 8 * 8 * 32);
  const std::vector<TensorView> inputs = {View(data, {2, 8, 8, 16})};
  const auto sizes = (*executable)->OutputSizes(inputs);
  if (!sizes.ok()) return false;
  std::vector<RegionValue> outputs;
  std::vector<std::vector<float>> memory;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const TensorTypeProto& type = plan.outputs(static_cast<int>(i));
    if (type.dtype() == 0) {
      outputs.emplace_back(OpaqueValue());
      continue;
    }
    const auto bytes =
        TensorBytes(static_cast<DataType>(type.dtype()), (*sizes)[i]);
    if (!bytes.ok() || *bytes > (1 << 22)) return false;
    memory.emplace_back(*bytes / sizeof(float) + 1);
    outputs.emplace_back(TensorView{memory.back().data(),
                                    static_cast<DataType>(type.dtype()),
                                    (*sizes)[i]});
  }
  return (*executable)->Run(inputs, absl::MakeSpan(outputs)).ok();
}

TEST(PlanFuzzTest, TheSanePlanRuns) { EXPECT_TRUE(LoadAndRun(MakePlan())); }

TEST(PlanFuzzTest, DamagedBytesNeverCrash) {
  const std::string sane = MakePlan().SerializeAsString();
  const google::protobuf::LogSilencer silence_parse_errors;
  std::mt19937 random(1);
  auto below = [&](size_t n) { return random() % n; };
  int parsed = 0, ran = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = sane;
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      const size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] ^= static_cast<char>(1 << below(8));
          break;
        case 2:
          bytes.erase(at, 1 + below(8));
          break;
        default:
          bytes.insert(at, 1 + below(8), static_cast<char>(random()));
          break;
      }
      if (bytes.empty()) break;
    }
    ExecutablePlan plan;
    if (!plan.ParseFromString(bytes)) continue;
    ++parsed;
    ran += LoadAndRun(plan);
  }
  // Else the test would look at nothing.
  EXPECT_GT(parsed, 100);
  EXPECT_GT(ran, 1);
}

// Changes one number somewhere in the message, which stays well-formed.
void ChangeANumber(google::protobuf::Message& message, std::mt19937& random) {
  using google::protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  if (fields.empty()) return;
  const FieldDescriptor* field = fields[random() % fields.size()];
  const int64_t numbers[] = {-1,
                             0,
                             1,
                             2,
                             3,
                             7,
                             1000,
                             int64_t{1} << 31,
                             int64_t{1} << 62,
                             std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int64_t>::max()};
  const int64_t number = numbers[random() % std::size(numbers)];
  const bool repeated = field->is_repeated();
  const int at =
      repeated
          ? static_cast<int>(random() % reflection->FieldSize(message, field))
          : 0;
  const int32_t small = static_cast<int32_t>(number);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      ChangeANumber(
          repeated ? *reflection->MutableRepeatedMessage(&message, field, at)
                   : *reflection->MutableMessage(&message, field),
          random);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      repeated ? reflection->SetRepeatedInt64(&message, field, at, number)
               : reflection->SetInt64(&message, field, number);
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      repeated ? reflection->SetRepeatedInt32(&message, field, at, small)
               : reflection->SetInt32(&message, field, small);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      repeated ? reflection->SetRepeatedEnumValue(&message, field, at, small)
               : reflection->SetEnumValue(&message, field, small);
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      if (!repeated) reflection->SetBool(&message, field, (number & 1) != 0);
      break;
    default:
      break;
  }
}

TEST(PlanFuzzTest, ChangedNumbersNeverCrash) {
  const ExecutablePlan sane = MakePlan();
  std::mt19937 random(2);
  int ran = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    ExecutablePlan plan = sane;
    for (size_t edits = 1 + random() % 3; edits > 0; --edits) {
      ChangeANumber(plan, random);
    }
    (LoadAndRun(plan) ? ran : refused) += 1;
  }
  EXPECT_GT(ran, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace aitune
