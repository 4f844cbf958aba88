// Reference convolution, product and post-ops in double precision, and
// conversions, for the tests of library calls.
#ifndef AITUNE_RUNTIME_CPU_ONEDNN_TEST_UTIL_H_
#define AITUNE_RUNTIME_CPU_ONEDNN_TEST_UTIL_H_

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/cpu/onednn_library.h"

namespace aitune {

// The dtypes that oneDNN has code for on this machine: bfloat16 with AVX-512
// (oneDNN 3.2).
inline std::vector<DataType> DtypesOfOneDnn() {
  std::vector<DataType> dtypes = {DataType::kFloat32};
  if (__builtin_cpu_supports("avx512bw")) dtypes.push_back(DataType::kBFloat16);
  return dtypes;
}

// A tensor that owns float values and a copy of them in its dtype.
class TestTensor {
 public:
  TestTensor(std::vector<int64_t> sizes, DataType dtype = DataType::kFloat32)
      : sizes_(std::move(sizes)), dtype_(dtype) {
    values.assign(ElementCount(sizes_), 0);
    Store();
  }
  static TestTensor Random(std::vector<int64_t> sizes, unsigned seed,
                           DataType dtype = DataType::kFloat32) {
    TestTensor tensor(std::move(sizes), dtype);
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& value : tensor.values) value = uniform(random);
    tensor.Store();
    tensor.Fetch();  // rounded to the dtype
    return tensor;
  }

  // values -> data and back.
  void Store() {
    data_.resize(values.size() * SizeInBytes(dtype_));
    for (size_t i = 0; i < values.size(); ++i) {
      if (dtype_ == DataType::kFloat32) {
        std::memcpy(&data_[4 * i], &values[i], 4);
      } else {  // bfloat16, to nearest even
        uint32_t bits;
        std::memcpy(&bits, &values[i], 4);
        bits += 0x7FFF + ((bits >> 16) & 1);
        const uint16_t half = static_cast<uint16_t>(bits >> 16);
        std::memcpy(&data_[2 * i], &half, 2);
      }
    }
  }
  void Fetch() {
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t bits = 0;
      if (dtype_ == DataType::kFloat32) {
        std::memcpy(&bits, &data_[4 * i], 4);
      } else {
        uint16_t half;
        std::memcpy(&half, &data_[2 * i], 2);
        bits = uint32_t{half} << 16;
      }
      std::memcpy(&values[i], &bits, 4);
    }
  }

  TensorView View() { return {data_.data(), dtype_, sizes_}; }
  const std::vector<int64_t>& sizes() const { return sizes_; }

  // The value at an index of a tensor of `of` sizes that this broadcasts to.
  float Broadcast(int64_t flat, const std::vector<int64_t>& of) const {
    int64_t offset = 0, stride = 1;
    for (size_t i = 0; i < of.size(); ++i) {
      const size_t axis = of.size() - 1 - i;
      const int64_t index = flat % of[axis];
      flat /= of[axis];
      if (i >= sizes_.size()) continue;
      const int64_t own = sizes_[sizes_.size() - 1 - i];
      offset += (own == 1 ? 0 : index) * stride;
      stride *= own;
    }
    return values[offset];
  }

  std::vector<float> values;

 private:
  std::vector<int64_t> sizes_;
  DataType dtype_;
  std::vector<char> data_;
};

inline PostOp MakePostOp(PostOp::Kind kind, int operand = 0, float alpha = 0,
                         float beta = 0) {
  PostOp op;
  op.set_kind(kind);
  op.set_operand(operand);
  op.set_alpha(alpha);
  op.set_beta(beta);
  return op;
}

// What the post-op makes of x; `operand` is its operand's value there.
inline double ApplyPostOp(const PostOp& op, double x, double operand) {
  auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  switch (op.kind()) {
    case PostOp::BIAS:
    case PostOp::ADD:
      return x + operand;
    case PostOp::MULTIPLY:
      return x * operand;
    case PostOp::RELU:
      return std::max(x, 0.0);
    case PostOp::GELU_ERF:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case PostOp::GELU_TANH:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case PostOp::SILU:
      return x * sigmoid(x);
    case PostOp::SIGMOID:
      return sigmoid(x);
    case PostOp::TANH:
      return std::tanh(x);
    case PostOp::HARDSWISH:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case PostOp::HARDSIGMOID:
      return std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case PostOp::CLAMP:
      return std::clamp<double>(x, op.alpha(), op.beta());
    case PostOp::ELU:
      return x > 0 ? x : op.alpha() * std::expm1(x);
    case PostOp::LEAKY_RELU:
      return x > 0 ? x : op.alpha() * x;
    case PostOp::SCALE:
      return x * op.alpha();
    default:
      ADD_FAILURE() << "no reference for " << op.ShortDebugString();
      return x;
  }
}

// Prepares and runs a call; constants[i] tells whether input i is a constant.
template <typename Call>
absl::Status RunCall(const Call& call, std::vector<TestTensor>& inputs,
                     const std::vector<bool>& constants, TestTensor& output,
                     int in_place = -1) {
  std::vector<LibraryOperand> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    LibraryOperand operand;
    operand.view = inputs[i].View();
    if (constants[i]) {
      operand.constant = static_cast<int32_t>(i);
    } else {
      operand.view.data = nullptr;  // Prepare must not look at it
    }
    operands.push_back(operand);
  }
  TensorView out = output.View();
  const absl::Status supported = Supports(call, operands, out);
  WeightCache weights;
  absl::StatusOr<std::unique_ptr<LibraryCall>> prepared =
      Prepare(call, operands, out, in_place, weights);
  if (in_place < 0) EXPECT_EQ(supported.code(), prepared.status().code());
  if (!prepared.ok()) return prepared.status();
  std::vector<void*> buffers;
  for (TestTensor& input : inputs) buffers.push_back(input.View().data);
  buffers.push_back(out.data);
  if (in_place >= 0) {
    std::memcpy(out.data, buffers[in_place], BytesOf(out));
    buffers[in_place] = out.data;
  }
  std::unique_ptr<char, decltype(&std::free)> scratch(
      static_cast<char*>(std::aligned_alloc(
          64, ((*prepared)->scratch_bytes() + 64) / 64 * 64)),
      &std::free);
  auto binding = (*prepared)->Bind();
  const absl::Status status =
      (*prepared)->Run(buffers.data(), scratch.get(), *binding);
  output.Fetch();
  return status;
}

// Compares with `sums` (the contraction alone) after the post-ops.
inline void ExpectPostOps(const std::vector<double>& sums,
                          const google::protobuf::RepeatedPtrField<PostOp>& ops,
                          const std::vector<TestTensor>& inputs,
                          const TestTensor& output, double tolerance) {
  ASSERT_EQ(sums.size(), output.values.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    double expected = sums[i];
    for (const PostOp& op : ops) {
      const bool binary = op.kind() == PostOp::BIAS ||
                          op.kind() == PostOp::ADD ||
                          op.kind() == PostOp::MULTIPLY;
      expected = ApplyPostOp(
          op, expected,
          binary ? inputs[op.operand()].Broadcast(i, output.sizes()) : 0);
    }
    ASSERT_NEAR(output.values[i], expected,
                tolerance * (1 + std::abs(expected)))
        << "element " << i;
  }
}

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_ONEDNN_TEST_UTIL_H_
