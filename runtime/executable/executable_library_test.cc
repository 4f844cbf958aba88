// Library steps within a plan: constants shared between steps and sizes,
// operands taken over in place, chains as in a residual network.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cpu/onednn_test_util.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/instance_layout.h"
#include "runtime/executable/test_plan.h"

namespace aitune {
namespace {

using ::testing::HasSubstr;

void Copy(void* const* b, const int64_t*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(b[1])[i] = static_cast<const float*>(b[0])[i];
  }
}

std::shared_ptr<const KernelLibrary> Kernels() {
  return std::make_shared<FakeKernels>(
      std::map<std::string, KernelFunction>{{"copy", Copy}});
}

constexpr int64_t kChannels = 32;

// y = relu(x W + b + skip): a step with the operands {x, w, b, skip}.
Step* Residual(TestPlan& t, int x, int w, int b, int skip, int y) {
  Step* step = t.AddStep({x, w, b, skip}, {y});
  MatmulCall* call = step->mutable_matmul();
  *call->add_post_ops() = MakePostOp(PostOp::BIAS, 2);
  *call->add_post_ops() = MakePostOp(PostOp::ADD, 3);
  *call->add_post_ops() = MakePostOp(PostOp::RELU);
  return step;
}

std::vector<float> ResidualReference(const std::vector<float>& x,
                                     const TestTensor& w, const TestTensor& b,
                                     const std::vector<float>& skip) {
  std::vector<float> y(x.size());
  for (size_t row = 0; row < x.size() / kChannels; ++row) {
    for (int64_t n = 0; n < kChannels; ++n) {
      double sum = b.values[n] + skip[row * kChannels + n];
      for (int64_t k = 0; k < kChannels; ++k) {
        sum += double{x[row * kChannels + k]} * w.values[k * kChannels + n];
      }
      y[row * kChannels + n] = static_cast<float>(std::max(sum, 0.0));
    }
  }
  return y;
}

class ExecutableLibraryTest : public ::testing::Test {
 protected:
  TestTensor w_ = TestTensor::Random({kChannels, kChannels}, 1);
  TestTensor b_ = TestTensor::Random({kChannels}, 2);

  std::vector<ConstantTensor> Constants() {
    return {{w_.View(), nullptr, "w"}, {b_.View(), nullptr, "b"}};
  }
};

TEST_F(ExecutableLibraryTest, ResidualChainInPlace) {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 64, 0, 0);
  const int w = t.Constant(0, {kChannels, kChannels});
  const int b = t.Constant(1, {kChannels});
  const int x = t.Input({s0, kChannels});
  int skip = t.Arena({s0, kChannels});
  t.Kernel("copy", {x}, {skip}, s0 * kChannels);
  constexpr int kLayers = 5;
  for (int layer = 0; layer < kLayers; ++layer) {
    // The skipped value has no later use, so that its memory is taken over.
    const int y = layer + 1 < kLayers ? t.Arena({s0, kChannels})
                                      : t.Output({s0, kChannels});
    Residual(t, x, w, b, skip, y);
    skip = y;
  }
  auto plan = LoadedPlan::Load(t.plan, Kernels(), Constants(), {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto layout = InstanceLayout::Analyze(**plan, (*plan)->steps(), {4}, false);
  ASSERT_TRUE(layout.ok()) << layout.status();
  layout->Place(std::vector<int64_t>(kLayers + 1, 0));
  EXPECT_EQ(layout->in_place(1), 3);
  EXPECT_EQ(layout->in_place(kLayers), -1) << "the output is the caller's";
  EXPECT_EQ(layout->arena_bytes(), 4 * kChannels * 4) << "one buffer for all";

  auto executable = CpuExecutable::Load(t.plan, Kernels(), Constants(), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  for (int64_t rows : {1, 4, 17, 4}) {
    TestTensor input = TestTensor::Random({rows, kChannels}, 3);
    std::vector<float> expected = input.values, out(rows * kChannels);
    for (int layer = 0; layer < kLayers; ++layer) {
      expected = ResidualReference(input.values, w_, b_, expected);
    }
    std::vector<RegionValue> outputs = {View(out, {rows, kChannels})};
    ASSERT_EQ((*executable)->Run({input.View()}, absl::MakeSpan(outputs)),
              absl::OkStatus());
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(out[i], expected[i], 1e-3 * (1 + std::abs(expected[i])));
    }
  }
}

TEST_F(ExecutableLibraryTest, OperandsWithLaterUsesStayIntact) {
  TestPlan t;
  const int w = t.Constant(0, {kChannels, kChannels});
  const int b = t.Constant(1, {kChannels});
  const int x = t.Input({3, kChannels});
  const int skip = t.Arena({3, kChannels}), y = t.Arena({3, kChannels});
  const int kept = t.Output({3, kChannels}), z = t.Output({3, kChannels});
  t.Kernel("copy", {x}, {skip}, 3 * kChannels);
  Residual(t, x, w, b, skip, y);
  t.Kernel("copy", {skip}, {kept}, 3 * kChannels);
  // The same value twice: multiplied and added.
  Residual(t, y, w, b, y, z);
  auto executable = CpuExecutable::Load(t.plan, Kernels(), Constants(), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  TestTensor input = TestTensor::Random({3, kChannels}, 3);
  std::vector<float> kept_out(3 * kChannels), z_out(3 * kChannels);
  std::vector<RegionValue> outputs = {View(kept_out, {3, kChannels}),
                                      View(z_out, {3, kChannels})};
  ASSERT_EQ((*executable)->Run({input.View()}, absl::MakeSpan(outputs)),
            absl::OkStatus());
  EXPECT_EQ(kept_out, input.values);
  const std::vector<float> middle =
      ResidualReference(input.values, w_, b_, input.values);
  const std::vector<float> expected = ResidualReference(middle, w_, b_, middle);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(z_out[i], expected[i], 1e-4 * (1 + std::abs(expected[i])));
  }
}

TEST_F(ExecutableLibraryTest, FoldedWeightsAreConstants) {
  // The weights are computed at load, then reordered like constants.
  TestPlan t;
  const int w = t.Constant(0, {kChannels, kChannels});
  const int folded = t.Persistent({kChannels, kChannels});
  const int b = t.Constant(1, {kChannels});
  const int x = t.Input({3, kChannels}), y = t.Output({3, kChannels});
  t.Kernel("copy", {w}, {folded}, kChannels * kChannels, 1, true);
  Residual(t, x, folded, b, x, y);
  auto executable = CpuExecutable::Load(t.plan, Kernels(), Constants(), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  TestTensor input = TestTensor::Random({3, kChannels}, 3);
  std::vector<float> out(3 * kChannels);
  std::vector<RegionValue> outputs = {View(out, {3, kChannels})};
  ASSERT_EQ((*executable)->Run({input.View()}, absl::MakeSpan(outputs)),
            absl::OkStatus());
  const std::vector<float> expected =
      ResidualReference(input.values, w_, b_, input.values);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(out[i], expected[i], 1e-4 * (1 + std::abs(expected[i])));
  }
}

TEST_F(ExecutableLibraryTest, WhatTheLibraryRefusesFailsAtLoad) {
  TestPlan t;
  const int w = t.Constant(0, {kChannels, kChannels});
  const int x = t.Input({3, 5}), y = t.Output({3, kChannels});
  t.AddStep({x, w}, {y})->mutable_matmul();
  const auto executable =
      CpuExecutable::Load(t.plan, Kernels(), Constants(), {});
  EXPECT_THAT(std::string(executable.status().message()),
              HasSubstr("step 'step_1': matmul of [3, 5] and [32, 32]"));
}

}  // namespace
}  // namespace aitune
