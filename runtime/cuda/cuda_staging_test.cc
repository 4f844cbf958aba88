// Calls whose inputs and outputs are where kernels can't read or write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/cuda/testing/cuda_executable_fixture.h"

namespace aitune::cuda {
namespace {

using ::testing::ElementsAre;

// Contiguous views may start anywhere; what kernels read at once may not.
TEST_F(CudaExecutableTest, KernelsGetAlignedMemoryForWhatIsNot) {
  for (const bool graphs : {false, true}) {
    ASSERT_TRUE(Load(graphs).ok());
    std::vector<float> x(8), y(8);
    for (int call = 0; call < 8; ++call) {
      const int from = call % 4, to = call % 5;
      x.assign(8, -1);
      y.assign(8, -1);
      for (int i = 0; i < 3; ++i)
        x[static_cast<size_t>(from + i)] = static_cast<float>(call + i);
      std::vector<RegionValue> outputs{
          TensorView{y.data() + to, DataType::kFloat32, {3}}};
      const TensorView input{x.data() + from, DataType::kFloat32, {3}};
      if (call == 7) {
        ASSERT_TRUE(
            executable_->Profile({input}, absl::MakeSpan(outputs), 1).ok());
      } else {
        ASSERT_TRUE(
            executable_->Run({input}, absl::MakeSpan(outputs), nullptr).ok());
      }
      std::vector<float> expected(8, -1);
      for (int i = 0; i < 3; ++i)
        expected[static_cast<size_t>(to + i)] =
            4 * static_cast<float>(call + i);
      EXPECT_EQ(y, expected) << "call " << call << ", graphs " << graphs;
    }
    EXPECT_FALSE(twice.is_misaligned);
    EXPECT_EQ(executable_->MemoryInBytes(), static_cast<int64_t>(gpu.used));
    std::vector<float> held(3);
    std::vector<RegionValue> outputs{
        TensorView{y.data() + 1, DataType::kFloat32, {3}}};
    ASSERT_TRUE(
        executable_
            ->RunPart({TensorView{x.data() + 3, DataType::kFloat32, {3}}},
                      absl::MakeSpan(outputs), 2, {{2, View(held, {3})}},
                      nullptr)
            .ok());
    EXPECT_THAT(held, ElementsAre(28, 32, 36));
    EXPECT_FALSE(twice.is_misaligned);
  }
}

// As "twice", of two times as many floats.
FakeGpu::Work LaunchBoth(void** parameters) {
  const float* from = *static_cast<float**>(parameters[0]);
  float* to = *static_cast<float**>(parameters[1]);
  const int64_t count = 2 * *static_cast<int64_t*>(parameters[2]);
  return [=] {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i] * 2;
  };
}

// The second halves of an input, of memory of the call's own and of an output.
TEST_F(CudaExecutableTest, KernelsReadPartsWhereTheyAre) {
  gpu.kernels["both"] = LaunchBoth;
  TestPlan plan;
  const SizeExpression n = plan.Symbol(4, 1 << 20, 0, 0);
  plan.Input({n});
  const int x = plan.Input({n * 2}), t = plan.Arena({n * 2}),
            z = plan.Output({n * 2});
  const auto step = [&](const char* kernel, int from, int to) {
    CudaKernelLaunch* launch =
        plan.AddStep({from}, {to})->mutable_cuda_kernel();
    launch->set_symbol(kernel);
    *launch->mutable_grid_x() = ToProto(n);
    launch->set_block_x(32);
  };
  step("both", x, t);
  step("both", t, z);
  plan.plan.add_output_values(z);
  for (const int whole : {x, t, z}) {
    const int y = plan.Output({n});
    step("twice", plan.Part(whole, n, {n}), y);
    plan.plan.add_output_values(y);
  }
  *plan.plan.add_outputs() = plan.Type({n});
  plan.plan.add_output_values(plan.Part(t, n, {n}));
  plan.plan.set_device("cuda");
  for (const bool graphs : {false, true}) {
    CudaExecutable::Options options;
    options.graphs = graphs;
    ASSERT_TRUE(LoadPlan(plan.plan, options).ok());
    for (const int64_t size : {4, 8, 4}) {
      for (int call = 0; call < 3; ++call) {
        std::vector<float> sizes(static_cast<size_t>(size)), input;
        for (int64_t i = 0; i < 2 * size; ++i)
          input.push_back(static_cast<float>(call + i));
        std::vector<std::vector<float>> given = {
            std::vector<float>(static_cast<size_t>(2 * size))};
        given.resize(5, std::vector<float>(static_cast<size_t>(size)));
        std::vector<RegionValue> outputs = {View(given[0], {2 * size})};
        for (size_t i = 1; i < 5; ++i)
          outputs.emplace_back(View(given[i], {size}));
        ASSERT_TRUE(executable_
                        ->Run({View(sizes, {size}), View(input, {2 * size})},
                              absl::MakeSpan(outputs), nullptr)
                        .ok());
        for (int64_t i = 0; i < size; ++i) {
          const auto at = static_cast<size_t>(i);
          const float last = input[static_cast<size_t>(size + i)];
          EXPECT_EQ(given[1][at], 2 * last);
          EXPECT_EQ(given[2][at], 4 * last);
          EXPECT_EQ(given[3][at], 8 * last);
          EXPECT_EQ(given[4][at], 2 * last);
        }
      }
    }
    EXPECT_FALSE(twice.is_misaligned);
  }
}

}  // namespace
}  // namespace aitune::cuda
