#include "frontend/torchscript/fatal_operators.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <stdexcept>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

const c10::FunctionSchema& SchemaOf(const char* name) {
  return torch::jit::getOperatorForLiteral(name)->schema();
}

// Of rows of a packed sequence with these numbers of sequences a step.
void LookAtBatchSizes(int64_t rows, const std::vector<int64_t>& sizes) {
  static const c10::FunctionSchema& schema = SchemaOf(
      "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool "
      "batch_first, Scalar padding_value, int total_length) -> (Tensor, "
      "Tensor)");
  LookAtCall(schema, {at::zeros({rows, 2}), at::tensor(sizes, at::kLong), true,
                      0.0, int64_t{5}});
}

TEST(LookAtCall, TakesBatchSizesThatDoNotIncrease) {
  LookAtBatchSizes(5, {2, 2, 1});
  LookAtBatchSizes(6, {2, 2, 1});
  LookAtBatchSizes(1, {1});
}

TEST(LookAtCall, RefusesBatchSizesThatAreNone) {
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {1, 0, 0, 1, 0}, {0, 0}, {-1}, {3, 3}, {2, -1}})
    EXPECT_THROW(LookAtBatchSizes(5, sizes), std::runtime_error)
        << testing::PrintToString(sizes);
}

TEST(LookAtCall, PassesOtherOperators) {
  LookAtCall(SchemaOf("aten::relu(Tensor self) -> Tensor"), {at::zeros({2})});
}

}  // namespace
}  // namespace aitune::frontend
