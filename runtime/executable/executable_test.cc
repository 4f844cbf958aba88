#include <ATen/Parallel.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/run_test_model.h"
#include "runtime/executable/test_plan.h"

namespace aitune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Kernels on float32: a unit is an element. symbols are not used.
const float* In(void* const* buffers, int i) {
  return static_cast<const float*>(buffers[i]);
}
void AddOne(void* const* b, const int64_t*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(b[1])[i] = In(b, 0)[i] + 1;
  }
}
void Multiply(void* const* b, const int64_t*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(b[2])[i] = In(b, 0)[i] * In(b, 1)[i];
  }
}
// A unit is a row of [units, symbols[1]]: its sum.
void RowSum(void* const* b, const int64_t* symbols, int64_t begin,
            int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < symbols[1]; ++j)
      sum += In(b, 0)[i * symbols[1] + j];
    static_cast<float*>(b[1])[i] = sum;
  }
}

// Half of each element; odd ones fail the step's second check.
void HalveEven(void* const* b, const int64_t*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const auto value = static_cast<int64_t>(In(b, 0)[i]);
    if (value % 2 != 0)
      static_cast<KernelCheck*>(b[2])[1] = {/*failed=*/1, value};
    static_cast<float*>(b[1])[i] = static_cast<float>(value / 2);
  }
}

std::shared_ptr<const KernelLibrary> Kernels() {
  return std::make_shared<FakeKernels>(
      std::map<std::string, KernelFunction>{{"add_one", AddOne},
                                            {"halve_even", HalveEven},
                                            {"multiply", Multiply},
                                            {"row_sum", RowSum}});
}

std::unique_ptr<Executable> Load(const TestPlan& t,
                                 std::vector<ConstantTensor> constants = {}) {
  auto loaded =
      CpuExecutable::Load(t.plan, Kernels(), std::move(constants), {});
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *std::move(loaded) : nullptr;
}

TEST(ExecutableTest, RunsAChainOfAnySize) {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(0, 1000, 0, 0), s1 = t.Symbol(1, 9, 0, 1);
  const int x = t.Input({s0, s1});
  const int a = t.Arena({s0, s1}), b = t.Arena({s0, s1});
  const int sum = t.Output({s0});
  t.Kernel("add_one", {x}, {a}, s0 * s1);
  t.Kernel("multiply", {a, x}, {b}, s0 * s1, 16);
  t.Kernel("row_sum", {b}, {sum}, s0);
  auto executable = Load(t);
  for (int64_t rows : {3, 1, 500, 0, 3}) {
    for (int64_t columns : {2, 5}) {
      std::vector<float> data(rows * columns), expected(rows, 0);
      for (int64_t i = 0; i < rows * columns; ++i) {
        data[i] = static_cast<float>(i % 7);
        expected[i / columns] += data[i] * (data[i] + 1);
      }
      EXPECT_EQ(RunModel(*executable, {View(data, {rows, columns})})[0],
                expected)
          << rows << " x " << columns;
    }
  }
}

TEST(ExecutableTest, APartOfItShowsWhatItsMemoryHolds) {
  TestPlan t;
  const int x = t.Input({4}), a = t.Arena({4}), b = t.Arena({4});
  const int y = t.Output({4});
  t.Kernel("add_one", {x}, {a}, 4);
  t.Kernel("multiply", {a, x}, {b}, 4, 16);
  t.Kernel("add_one", {b}, {y}, 4);
  t.plan.add_output_values(y);
  auto executable = Load(t);
  std::vector<float> data = {1, 2, 3, 4}, held_a(4), held_b(4), result(4, -1);
  std::vector<RegionValue> outputs = {View(result, {4})};
  const auto run = [&](int steps, const std::vector<ValueCopy>& copies) {
    return executable->RunPart({View(data, {4})}, absl::MakeSpan(outputs),
                               steps, copies, nullptr);
  };
  ASSERT_EQ(run(1, {{a, View(held_a, {4})}}), absl::OkStatus());
  EXPECT_THAT(held_a, ElementsAre(2, 3, 4, 5));
  ASSERT_EQ(run(2, {{b, View(held_b, {4})}}), absl::OkStatus());
  EXPECT_THAT(held_b, ElementsAre(2, 6, 12, 20));
  EXPECT_EQ(result[0], -1);
  EXPECT_EQ(run(2, {{x, View(held_b, {4})}}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ExecutableTest, MoreSizesThanInstancesKept) {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 1000, 0, 0);
  const int x = t.Input({s0}), y = t.Output({s0});
  t.Kernel("add_one", {x}, {y}, s0);
  auto executable = Load(t);
  for (int round = 0; round < 2; ++round) {
    for (int64_t size = 1; size <= 200; ++size) {
      std::vector<float> data(size, static_cast<float>(size));
      EXPECT_EQ(RunModel(*executable, {View(data, {size})})[0],
                std::vector<float>(size, static_cast<float>(size + 1)));
    }
  }
}

// A step reads as many bytes as the value has; the input that the caller gives
// has as many as the plan's inputs say.
TEST(ExecutableTest, ValuesOfInputsHaveTheSizesOfTheInputs) {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 8, 0, 0);
  t.Input({s0, 3});
  const int x = t.Value(ValueProto::INPUT, 0, {s0, 300});
  const int y = t.Output({s0, 300});
  t.Kernel("add_one", {x}, {y}, s0 * 300);
  auto executable = Load(t);
  ASSERT_NE(executable, nullptr);
  std::vector<float> data(6), result(600);
  std::vector<RegionValue> outputs = {View(result, {2, 300})};
  EXPECT_THAT(
      std::string(executable->Run({View(data, {2, 3})}, absl::MakeSpan(outputs))
                      .message()),
      HasSubstr("input 0 of the plan has the sizes [2, 3], but its value 1 has "
                "[2, 300]"));
}

TEST(ExecutableTest, OutputsOfEveryStorage) {
  TestPlan t;
  const int x = t.Input({2});
  const int c = t.Constant(0, {2});
  const int folded = t.Persistent({2});
  const int a = t.Arena({2}), b = t.Arena({2});
  t.Kernel("add_one", {c}, {folded}, 2, 1, true);
  t.Kernel("add_one", {x}, {a}, 2);
  t.Kernel("add_one", {a}, {b}, 2);
  // In place, twice the same, an alias, an input, a constant, a folded one.
  const int values[] = {a, a, b, t.Alias(b, {1, 2}), x, c, folded};
  for (int value : values) {
    *t.plan.add_outputs() = t.plan.values(value).type();
    t.plan.add_output_values(value);
  }
  auto executable = Load(t, {FloatConstant({7, 8}, {2}, "c")});
  std::vector<float> data = {1, 2};
  const auto outputs = RunModel(*executable, {View(data, {2})});
  EXPECT_THAT(outputs, ElementsAre(ElementsAre(2, 3), ElementsAre(2, 3),
                                   ElementsAre(3, 4), ElementsAre(3, 4),
                                   ElementsAre(1, 2), ElementsAre(7, 8),
                                   ElementsAre(8, 9)));
}

TEST(ExecutableTest, InitializationMayUseTemporaries) {
  TestPlan t;
  const int c = t.Constant(0, {2});
  const int temporary = t.Arena({2}), folded = t.Persistent({2});
  const int x = t.Input({2}), y = t.Output({2});
  t.Kernel("add_one", {c}, {temporary}, 2, 1, true);
  t.Kernel("multiply", {temporary, c}, {folded}, 2, 1, true);
  t.Kernel("multiply", {x, folded}, {y}, 2);
  ConstantTensor constant = FloatConstant({7, 8}, {2}, "c");
  std::weak_ptr<const void> owner = constant.owner;
  std::vector<ConstantTensor> constants;
  constants.push_back(std::move(constant));
  auto executable = Load(t, std::move(constants));
  EXPECT_TRUE(owner.expired()) << "only the initialization needed it";
  std::vector<float> data = {1, 2};
  EXPECT_THAT(RunModel(*executable, {View(data, {2})})[0],
              ElementsAre(56, 144));
}

TEST(ExecutableTest, PackedConstantsReachKernels) {
  TestPlan t;
  const int w = t.Constant(0, {2, 3});
  PackingProto& packing = *t.plan.mutable_values(w)->mutable_packing();
  packing.set_kind(PackingProto::MATMUL_PANELS);
  packing.set_block_n(2);
  const int y = t.Output({8});
  t.Kernel("add_one", {w}, {y}, 8);
  ConstantTensor constant = FloatConstant({1, 2, 3, 4, 5, 6}, {2, 3}, "w");
  EXPECT_THAT(RunModel(*Load(t, {constant}), {})[0],
              ElementsAre(2, 3, 5, 6, 4, 1, 7, 1));
}

// Where a kernel found the weights that it last ran with.
std::vector<const void*> places;
void KeepPlaces(void* const* b, const int64_t*, int64_t, int64_t) {
  places.assign(b, b + 4);
}

TEST(ExecutableTest, PackedConstantsShareHugePages) {
  constexpr int64_t kHugePage = int64_t{2} << 20;
  constexpr int64_t kRows = 499, kColumns = 999;
  constexpr int64_t kPackedBytes = kRows * (kColumns + 1) * 4;
  TestPlan t;
  std::vector<int> inputs;
  std::vector<ConstantTensor> constants;
  // The last is the first again.
  for (const int constant : {0, 1, 2, 0}) {
    inputs.push_back(t.Constant(constant, {kRows, kColumns}));
    PackingProto& packing =
        *t.plan.mutable_values(inputs.back())->mutable_packing();
    packing.set_kind(PackingProto::MATMUL_PANELS);
    packing.set_block_n(2);
    if (constants.size() < 3) {
      constants.push_back(FloatConstant(
          std::vector<float>(kRows * kColumns, 1.f), {kRows, kColumns}, "w"));
    }
  }
  const int y = t.Output({1});
  t.Kernel("keep_places", inputs, {y}, 1);
  auto executable = CpuExecutable::Load(
      t.plan,
      std::make_shared<FakeKernels>(
          std::map<std::string, KernelFunction>{{"keep_places", KeepPlaces}}),
      constants, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  RunModel(**executable, {});
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(places[0]) % kHugePage, 0u);
  for (int i : {1, 2}) {
    EXPECT_EQ(static_cast<const char*>(places[i]) -
                  static_cast<const char*>(places[i - 1]),
              kPackedBytes + (-kPackedBytes & 63));
  }
  EXPECT_EQ(places[3], places[0]);
  EXPECT_EQ((*executable)->Memory().weights,
            2 * (kPackedBytes + (-kPackedBytes & 63)) + kPackedBytes);
}

// Halves x twice; what is odd is an index out of range.
TestPlan Quarter() {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 64, 0, 0);
  const int x = t.Input({s0}), half = t.Arena({s0}), y = t.Output({s0});
  int line = 7;
  for (const auto& [from, to] : {std::pair(x, half), std::pair(half, y)}) {
    Step* step = t.Kernel("halve_even", {from}, {to}, s0);
    step->mutable_kernel()->set_checks(2);
    for (const char* name : {"aten::gather", "aten::take"}) {
      CheckProto* check = step->add_checks();
      check->set_operator_(name);
      check->set_location("model.py:" + std::to_string(line++));
      *check->mutable_size() = ToProto(s0 * 2);
    }
  }
  return t;
}

TEST(ExecutableTest, AFailedCheckIsAnErrorOfItsCallAlone) {
  auto executable = Load(Quarter());
  auto run = [&](std::vector<float> x) {
    std::vector<float> y(x.size());
    const auto size = static_cast<int64_t>(x.size());
    std::vector<RegionValue> outputs = {View(y, {size})};
    return executable->Run({View(x, {size})}, absl::MakeSpan(outputs));
  };
  EXPECT_EQ(run({4, 8}), absl::OkStatus());
  const absl::Status first = run({4, 8, 9});
  EXPECT_EQ(first.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(first.message()),
            "aten::take at model.py:8: index 9 is out of range for 6 entries: "
            "give indices from 0 to 5");
  EXPECT_EQ(run({4, 8, 0}), absl::OkStatus());
  EXPECT_EQ(std::string(run({8, 6}).message()),
            "aten::take at model.py:10: index 3 is out of range for 4 entries: "
            "give indices from 0 to 3");
  EXPECT_EQ(run({4, 8}), absl::OkStatus());
}

TEST(ExecutableTest, AFailedCheckSaysWhatIsInRange) {
  TestPlan t = Quarter();
  CheckProto* check = t.plan.mutable_steps(0)->mutable_checks(1);
  auto error = [&] {
    auto executable = Load(t);
    std::vector<float> x = {5}, y = {0};
    std::vector<RegionValue> outputs = {View(y, {1})};
    return std::string(
        executable->Run({View(x, {1})}, absl::MakeSpan(outputs)).message());
  };
  check->set_from_end(true);
  EXPECT_EQ(error(),
            "aten::take at model.py:8: index 5 is out of range for 2 entries: "
            "give indices from -2 to 1");
  *check->mutable_size() = ToProto(SizeExpression(0));
  EXPECT_EQ(error(),
            "aten::take at model.py:8: index 5 is out of range for 0 entries");
  check->clear_size();
  check->clear_location();
  EXPECT_EQ(error(),
            "aten::take: an integer is divided by 0: keep zeros out of the "
            "divisor");
  t.plan.set_ignores_checks(true);
  EXPECT_EQ(error(), "");
}

TEST(ExecutableTest, SaysWhatIsWrongWithTheInputs) {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(2, 8, 0, 0);
  const int x = t.Input({s0, 3});
  t.Input({s0 * 2}, DataType::kInt64);
  t.Input({s0});
  const int y = t.Output({s0});
  t.Kernel("add_one", {x}, {y}, s0);
  auto executable = Load(t);
  std::vector<float> data(1000);
  const TensorView good_x = View(data, {4, 3}), good_z = View(data, {4});
  TensorView good_i = View(data, {8});
  good_i.dtype = DataType::kInt64;
  auto with = [](TensorView view, std::vector<int64_t> sizes) {
    view.sizes = std::move(sizes);
    return view;
  };
  auto error = [&](const std::vector<TensorView>& inputs) {
    const auto sizes = executable->OutputSizes(inputs);
    std::vector<RegionValue> outputs = {View(data, {4})};
    EXPECT_EQ(executable->Run(inputs, absl::MakeSpan(outputs)), sizes.status());
    return std::string(sizes.status().message());
  };
  EXPECT_EQ(error({good_x, good_i, good_z}), "");
  EXPECT_EQ(error({good_x}),
            "the model takes 3 tensor inputs, but 1 were given");
  EXPECT_EQ(error({good_x, good_z, good_z}),
            "input 1: expected int64, got float32");
  EXPECT_EQ(error({with(good_x, {4}), good_i, good_z}),
            "input 0: expected a tensor of rank 2, got one of rank 1 [4]");
  EXPECT_EQ(error({with(good_x, {4, 5}), good_i, good_z}),
            "input 0: axis 1 must be 3, got 5; the sizes are [4, 5]");
  EXPECT_EQ(error({with(good_x, {9, 3}), good_i, good_z}),
            "input 0: axis 0 (s0) must be in 2..8, got 9; the sizes are "
            "[9, 3]");
  EXPECT_EQ(error({good_x, good_i, with(good_z, {5})}),
            "input 2: axis 0 must be 4 like axis 0 of input 0 (s0), got 5; "
            "the sizes are [5]");
  EXPECT_EQ(error({good_x, with(good_i, {7}), good_z}),
            "input 1: axis 0 must be 8 (s0 * 2), got 7; the sizes are [7]");
  TensorView no_data = good_z;
  no_data.data = nullptr;
  EXPECT_EQ(error({good_x, good_i, no_data}), "input 2: it has no data");
}

TEST(ExecutableTest, SaysWhatIsWrongWithTheOutputs) {
  TestPlan t;
  const int x = t.Input({2}), y = t.Output({2});
  t.Kernel("add_one", {x}, {y}, 2);
  auto executable = Load(t);
  std::vector<float> data(4);
  auto error = [&](std::vector<RegionValue> outputs) {
    return std::string(
        executable->Run({View(data, {2})}, absl::MakeSpan(outputs)).message());
  };
  EXPECT_EQ(error({}), "the model gives 1 outputs, but 0 were asked for");
  EXPECT_EQ(error({View(data, {3})}),
            "output 0: expected float32[2], got float32[3]");
  EXPECT_EQ(error({TensorView{nullptr, DataType::kFloat32, {2}}}),
            "output 0: it has no memory");
  EXPECT_EQ(error({OpaqueValue()}), "output 0 is a tensor: give it memory");
}

TEST(ExecutableTest, LoadSaysWhatIsMissing) {
  TestPlan t;
  const int c = t.Constant(0, {2}), y = t.Output({2});
  t.Kernel("no_such_kernel", {c}, {y}, 2);
  auto error = [&](std::vector<ConstantTensor> constants) {
    return std::string(
        CpuExecutable::Load(t.plan, Kernels(), std::move(constants), {})
            .status()
            .message());
  };
  EXPECT_THAT(error({}), HasSubstr("has no kernel 'no_such_kernel'"));
  t.plan.mutable_steps(0)->mutable_kernel()->set_symbol("add_one");
  EXPECT_EQ(error({}), "the plan needs constant 0, but 0 were given");
  EXPECT_EQ(error({FloatConstant({1, 2, 3}, {3}, "layer.bias")}),
            "constant 0 ('layer.bias'): the plan expects float32[2], but it is "
            "float32[3]");
  EXPECT_EQ(error({{{nullptr, DataType::kFloat32, {2}}, nullptr, "b"}}),
            "constant 0 ('b'): it has no data");
  t.plan.mutable_steps(0)->mutable_fallback()->set_region(3);
  EXPECT_THAT(error({FloatConstant({1, 2}, {2}, "b")}),
              HasSubstr("calls fallback region 3, but 0 were given"));
  t.plan.mutable_steps(0)->set_inputs(0, 9);
  EXPECT_THAT(error({}), HasSubstr("reads value 9"));
}

TEST(ExecutableTest, ProfilesEachStep) {
  TestPlan t;
  const int x = t.Input({2}), a = t.Arena({2}), y = t.Output({2});
  t.Kernel("add_one", {x}, {a}, 2)->set_name("first");
  t.Kernel("add_one", {a}, {y}, 2)->set_name("second");
  auto executable = Load(t);
  std::vector<float> data = {1, 2}, result(2);
  std::vector<RegionValue> outputs = {View(result, {2})};
  const auto profile =
      executable->Profile({View(data, {2})}, absl::MakeSpan(outputs), 3);
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->size(), 2u);
  EXPECT_EQ((*profile)[0].name, "first");
  EXPECT_EQ((*profile)[1].name, "second");
  EXPECT_GE((*profile)[0].microseconds, 0);
  EXPECT_THAT(result, ElementsAre(3, 4));
  EXPECT_FALSE(
      executable->Profile({View(data, {2})}, absl::MakeSpan(outputs), 0).ok());
}

TEST(ExecutableTest, MemoryIsReusedAndCounted) {
  // A chain of 50 needs two buffers, not 50.
  TestPlan t;
  constexpr int64_t kElements = 100000;
  int at = t.Input({kElements});
  for (int i = 0; i < 50; ++i) {
    const int next = t.Arena({kElements});
    t.Kernel("add_one", {at}, {next}, kElements);
    at = next;
  }
  const int y = t.Output({kElements});
  t.Kernel("add_one", {at}, {y}, kElements);
  auto executable = Load(t);
  EXPECT_EQ(executable->MemoryInBytes(), 0);
  std::vector<float> data(kElements, 1);
  EXPECT_EQ(RunModel(*executable, {View(data, {kElements})})[0],
            std::vector<float>(kElements, 52));
  EXPECT_GE(executable->MemoryInBytes(), 2 * 4 * kElements);
  EXPECT_LT(executable->MemoryInBytes(), 2 * 4 * kElements + 1000);
}

TEST(ExecutableTest, FollowsTheNumberOfThreads) {
  TestPlan t;
  const int x = t.Input({1000}), y = t.Output({1000});
  t.Kernel("add_one", {x}, {y}, 1000);
  auto executable = Load(t);
  const int before = at::get_num_threads();
  std::vector<float> data(1000, 1);
  for (int threads : {1, 3, 2}) {
    at::set_num_threads(threads);
    EXPECT_EQ(RunModel(*executable, {View(data, {1000})})[0],
              std::vector<float>(1000, 2));
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace aitune
