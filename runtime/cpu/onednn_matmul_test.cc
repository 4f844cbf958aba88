#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cpu/onednn_library.h"
#include "runtime/cpu/onednn_test_util.h"
#include "runtime/plan/plan.h"

namespace aitune {
namespace {

using ::testing::HasSubstr;

// The product in double precision; operands broadcast over batch axes.
std::vector<double> Reference(const MatmulCall& call, const TestTensor& lhs,
                              const TestTensor& rhs,
                              const std::vector<int64_t>& out) {
  const size_t rank = out.size();
  const int64_t m = out[rank - 2], n = out[rank - 1];
  const int64_t k =
      lhs.sizes()[lhs.sizes().size() - (call.transpose_lhs() ? 2 : 1)];
  const std::vector<int64_t> batches(out.begin(), out.end() - 2);
  // The index of an operand's matrix for a batch of the output.
  auto matrix = [&](const TestTensor& operand, int64_t batch) {
    const std::vector<int64_t> own(operand.sizes().begin(),
                                   operand.sizes().end() - 2);
    TestTensor index(own);
    for (size_t i = 0; i < index.values.size(); ++i) index.values[i] = i;
    return static_cast<int64_t>(index.Broadcast(batch, batches));
  };
  std::vector<double> sums;
  for (int64_t batch = 0; batch < ElementCount(batches); ++batch) {
    const int64_t l = matrix(lhs, batch) * m * k,
                  r = matrix(rhs, batch) * k * n;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t x = 0; x < k; ++x) {
          sum += double{lhs.values[l + (call.transpose_lhs() ? x * m + i
                                                             : i * k + x)]} *
                 rhs.values[r + (call.transpose_rhs() ? j * k + x : x * n + j)];
        }
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

// Runs and compares. inputs[0] and [1] are the operands.
void Check(const MatmulCall& call, std::vector<TestTensor> inputs,
           const std::vector<int64_t>& out, bool constant_rhs,
           DataType dtype = DataType::kFloat32, int in_place = -1) {
  SCOPED_TRACE(call.ShortDebugString() + SizesToString(inputs[0].sizes()) +
               SizesToString(inputs[1].sizes()));
  TestTensor output(out, dtype);
  std::vector<bool> constants(inputs.size(), false);
  constants[1] = constant_rhs;
  ASSERT_EQ(RunCall(call, inputs, constants, output, in_place),
            absl::OkStatus());
  const double tolerance = dtype == DataType::kFloat32 ? 1e-5 : 1e-2;
  ExpectPostOps(Reference(call, inputs[0], inputs[1], out), call.post_ops(),
                inputs, output, tolerance);
}

MatmulCall Call(const std::vector<PostOp>& ops, bool transpose_lhs = false,
                bool transpose_rhs = false) {
  MatmulCall call;
  call.set_transpose_lhs(transpose_lhs);
  call.set_transpose_rhs(transpose_rhs);
  for (const PostOp& op : ops) *call.add_post_ops() = op;
  return call;
}

// The sum of no products is 0, to which what follows is added.
TEST(OneDnnMatmulTest, NoStepsGiveZeros) {
  for (bool constant : {false, true}) {
    Check(Call({}),
          {TestTensor::Random({5, 0}, 1), TestTensor::Random({0, 20}, 2)},
          {5, 20}, constant);
    Check(Call({}, true, true),
          {TestTensor::Random({2, 3, 0, 4}, 1),
           TestTensor::Random({2, 3, 9, 0}, 2)},
          {2, 3, 4, 9}, constant);
  }
  Check(Call({MakePostOp(PostOp::BIAS, 2)}),
        {TestTensor::Random({5, 0}, 1), TestTensor::Random({0, 20}, 2),
         TestTensor::Random({20}, 3)},
        {5, 20}, false);
}

TEST(OneDnnMatmulTest, TransposesAndBatches) {
  for (bool constant : {false, true}) {
    for (bool lhs_t : {false, true}) {
      for (bool rhs_t : {false, true}) {
        const MatmulCall call = Call({}, lhs_t, rhs_t);
        auto tensor = [](std::vector<int64_t> sizes, bool transposed,
                         unsigned seed) {
          if (transposed)
            std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
          return TestTensor::Random(sizes, seed);
        };
        Check(call, {tensor({5, 33}, lhs_t, 1), tensor({33, 20}, rhs_t, 2)},
              {5, 20}, constant);
        Check(call, {tensor({3, 4, 7}, lhs_t, 1), tensor({7, 9}, rhs_t, 2)},
              {3, 4, 9}, constant);
        Check(call,
              {tensor({2, 3, 4, 7}, lhs_t, 1), tensor({2, 3, 7, 9}, rhs_t, 2)},
              {2, 3, 4, 9}, constant);
        Check(call,
              {tensor({2, 3, 4, 7}, lhs_t, 1), tensor({3, 7, 9}, rhs_t, 2)},
              {2, 3, 4, 9}, constant);
        Check(call, {tensor({4, 7}, lhs_t, 1), tensor({6, 7, 9}, rhs_t, 2)},
              {6, 4, 9}, constant);
        Check(call, {tensor({1, 40}, lhs_t, 1), tensor({40, 1}, rhs_t, 2)},
              {1, 1}, constant);
      }
    }
  }
}

TEST(OneDnnMatmulTest, EveryPostOp) {
  const PostOp elementwise[] = {MakePostOp(PostOp::RELU),
                                MakePostOp(PostOp::GELU_ERF),
                                MakePostOp(PostOp::GELU_TANH),
                                MakePostOp(PostOp::SILU),
                                MakePostOp(PostOp::SIGMOID),
                                MakePostOp(PostOp::TANH),
                                MakePostOp(PostOp::HARDSWISH),
                                MakePostOp(PostOp::HARDSIGMOID),
                                MakePostOp(PostOp::CLAMP, 0, -0.5f, 0.75f),
                                MakePostOp(PostOp::ELU, 0, 0.7f),
                                MakePostOp(PostOp::LEAKY_RELU, 0, 0.1f),
                                MakePostOp(PostOp::SCALE, 0, 0.125f)};
  for (const PostOp& op : elementwise) {
    for (DataType dtype : DtypesOfOneDnn()) {
      Check(Call({MakePostOp(PostOp::BIAS, 2), op}),
            {TestTensor::Random({6, 32}, 1, dtype),
             TestTensor::Random({32, 48}, 2, dtype),
             TestTensor::Random({48}, 3, dtype)},
            {6, 48}, true, dtype);
    }
  }
}

TEST(OneDnnMatmulTest, BinaryPostOpsBroadcast) {
  struct Case {
    std::vector<int64_t> operand;
    bool needed;  // else oneDNN may refuse it
  };
  for (const Case& c : std::vector<Case>{{{2, 6, 16}, true},
                                         {{1, 1, 16}, true},
                                         {{16}, true},
                                         {{1}, true},
                                         {{2, 6, 1}, false},
                                         {{6, 16}, false},
                                         {{2, 1, 16}, false}}) {
    SCOPED_TRACE(SizesToString(c.operand));
    const MatmulCall call =
        Call({MakePostOp(PostOp::RELU), MakePostOp(PostOp::BIAS, 2),
              MakePostOp(PostOp::MULTIPLY, 3), MakePostOp(PostOp::ADD, 3)});
    std::vector<TestTensor> inputs = {
        TestTensor::Random({2, 6, 32}, 1), TestTensor::Random({32, 16}, 2),
        TestTensor::Random({16}, 3), TestTensor::Random(c.operand, 4)};
    TestTensor output({2, 6, 16});
    const absl::Status status =
        RunCall(call, inputs, {false, true, true, false}, output);
    if (!c.needed && !status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
      continue;
    }
    ASSERT_EQ(status, absl::OkStatus());
    ExpectPostOps(Reference(call, inputs[0], inputs[1], {2, 6, 16}),
                  call.post_ops(), inputs, output, 1e-5);
  }
}

TEST(OneDnnMatmulTest, AddsInPlace) {
  for (DataType dtype : DtypesOfOneDnn()) {
    Check(Call({MakePostOp(PostOp::BIAS, 2), MakePostOp(PostOp::ADD, 3),
                MakePostOp(PostOp::RELU)}),
          {TestTensor::Random({2, 6, 32}, 1, dtype),
           TestTensor::Random({32, 16}, 2, dtype),
           TestTensor::Random({16}, 3, dtype),
           TestTensor::Random({2, 6, 16}, 4, dtype)},
          {2, 6, 16}, true, dtype, /*in_place=*/3);
  }
}

TEST(OneDnnMatmulTest, EmptyOutputsAreNoWork) {
  Check(Call({}), {TestTensor({0, 8}), TestTensor::Random({8, 4}, 1)}, {0, 4},
        true);
}

TEST(OneDnnMatmulTest, SaysWhyNot) {
  auto error = [](std::vector<TestTensor> inputs, std::vector<int64_t> out,
                  const MatmulCall& call, DataType dtype) {
    std::vector<LibraryOperand> operands;
    for (TestTensor& input : inputs) operands.push_back({input.View(), -1});
    return std::string(
        Supports(call, operands, {nullptr, dtype, out}).message());
  };
  const DataType f32 = DataType::kFloat32;
  EXPECT_THAT(
      error({TestTensor({2, 3}), TestTensor({4, 5})}, {2, 5}, Call({}), f32),
      HasSubstr("matmul of [2, 3] and [4, 5] to [2, 5]: the sizes"));
  EXPECT_THAT(error({TestTensor({2, 3}), TestTensor({3, 5})}, {2, 5}, Call({}),
                    DataType::kInt64),
              HasSubstr("the output is int64"));
  EXPECT_THAT(error({TestTensor({2, 3}), TestTensor({3, 5}), TestTensor({4})},
                    {2, 5}, Call({MakePostOp(PostOp::BIAS, 2)}), f32),
              HasSubstr("the bias has the sizes [4] for 5 columns"));
  EXPECT_THAT(error({TestTensor({2, 3}), TestTensor({3, 5}), TestTensor({4})},
                    {2, 5}, Call({MakePostOp(PostOp::ADD, 2)}), f32),
              HasSubstr("does not broadcast"));
  EXPECT_THAT(error({TestTensor({2, 3}), TestTensor({3, 5})}, {2, 5},
                    Call({MakePostOp(PostOp::ADD, 7)}), f32),
              HasSubstr("reads operand 7"));
}

TEST(WeightCacheTest, SharesAndFrees) {
  const MatmulCall call = Call({});
  TestTensor weights = TestTensor::Random({64, 128}, 1);
  auto prepare = [&](int64_t m, WeightCache& cache) {
    return *Prepare(
        call,
        std::vector<LibraryOperand>{
            {{nullptr, DataType::kFloat32, {m, 64}}, -1}, {weights.View(), 5}},
        {nullptr, DataType::kFloat32, {m, 128}}, -1, cache);
  };
  WeightCache cache;
  auto first = prepare(32, cache);
  const int64_t bytes = cache.MemoryInBytes();
  auto second = prepare(32, cache);
  EXPECT_EQ(cache.MemoryInBytes(), bytes);
  first.reset();
  EXPECT_EQ(cache.MemoryInBytes(), bytes);
  second.reset();
  EXPECT_EQ(cache.MemoryInBytes(), 0);
}

}  // namespace
}  // namespace aitune
