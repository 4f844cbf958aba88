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

}  // namespace
}  // namespace aitune::cuda
