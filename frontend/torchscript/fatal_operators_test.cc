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

TEST(LookAtCall, RefusesAnLstmWhoseStatesAreOfAnotherBatch) {
  const c10::FunctionSchema& schema = SchemaOf(
      "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool "
      "has_biases, int num_layers, float dropout, bool train, bool "
      "bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)");
  const auto look = [&](int64_t batch) {
    const at::Tensor state = at::zeros({1, batch, 2});
    LookAtCall(schema,
               {at::zeros({5, 3, 4}), std::vector<at::Tensor>{state, state},
                std::vector<at::Tensor>{at::zeros({8, 4}), at::zeros({8, 2})},
                false, int64_t{1}, 0.0, false, false, false});
  };
  look(3);
  EXPECT_THROW(look(2), std::runtime_error);
  EXPECT_THROW(look(1), std::runtime_error);
}

TEST(LookAtCall, PassesOtherOperators) {
  LookAtCall(SchemaOf("aten::relu(Tensor self) -> Tensor"), {at::zeros({2})});
}

}  // namespace
}  // namespace aitune::frontend
