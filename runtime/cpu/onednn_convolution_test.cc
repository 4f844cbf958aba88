#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cpu/onednn_library.h"
#include "runtime/cpu/onednn_test_util.h"
#include "runtime/plan/plan.h"

namespace aitune {
namespace {

using ::testing::HasSubstr;

struct Window {
  int64_t stride = 1, padding_low = 0, padding_high = 0, dilation = 1;
};

ConvolutionCall Call(const std::vector<Window>& windows, int64_t groups,
                     const std::vector<PostOp>& ops) {
  ConvolutionCall call;
  for (const Window& window : windows) {
    call.add_stride(window.stride);
    call.add_padding_low(window.padding_low);
    call.add_padding_high(window.padding_high);
    call.add_dilation(window.dilation);
  }
  call.set_groups(groups);
  for (const PostOp& op : ops) *call.add_post_ops() = op;
  return call;
}

// Two spatial axes, in double precision: [N, H, W, C].
std::vector<double> Reference(const ConvolutionCall& call,
                              const TestTensor& input, const TestTensor& filter,
                              const std::vector<int64_t>& out) {
  const std::vector<int64_t>&in = input.sizes(), &f = filter.sizes();
  const int64_t groups = call.groups();
  const int64_t in_group = in[3] / groups, out_group = out[3] / groups;
  std::vector<double> sums(ElementCount(out), 0);
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t y = 0; y < out[1]; ++y)
      for (int64_t x = 0; x < out[2]; ++x)
        for (int64_t ky = 0; ky < f[2]; ++ky)
          for (int64_t kx = 0; kx < f[3]; ++kx) {
            const int64_t fy = y * call.stride(0) - call.padding_low(0) +
                               ky * call.dilation(0);
            const int64_t fx = x * call.stride(1) - call.padding_low(1) +
                               kx * call.dilation(1);
            if (fy < 0 || fx < 0 || fy >= in[1] || fx >= in[2]) continue;
            for (int64_t o = 0; o < out[3]; ++o)
              for (int64_t i = 0; i < in_group; ++i) {
                const int64_t channel = o / out_group * in_group + i;
                const int64_t row = o * in_group + i;
                const double weight =
                    filter.values[(row * f[2] + ky) * f[3] + kx];
                sums[((n * out[1] + y) * out[2] + x) * out[3] + o] +=
                    weight *
                    input.values[((n * in[1] + fy) * in[2] + fx) * in[3] +
                                 channel];
              }
          }
  return sums;
}

void Check(const ConvolutionCall& call, std::vector<TestTensor> inputs,
           const std::vector<int64_t>& out, DataType dtype = DataType::kFloat32,
           int in_place = -1) {
  SCOPED_TRACE(call.ShortDebugString() + SizesToString(inputs[0].sizes()) +
               SizesToString(inputs[1].sizes()));
  TestTensor output(out, dtype);
  std::vector<bool> constants(inputs.size(), false);
  constants[1] = true;
  ASSERT_EQ(RunCall(call, inputs, constants, output, in_place),
            absl::OkStatus());
  const double tolerance = dtype == DataType::kFloat32 ? 1e-5 : 1e-2;
  ExpectPostOps(Reference(call, inputs[0], inputs[1], out), call.post_ops(),
                inputs, output, tolerance);
}

TestTensor R(std::vector<int64_t> sizes, unsigned seed,
             DataType dtype = DataType::kFloat32) {
  return TestTensor::Random(std::move(sizes), seed, dtype);
}

TEST(OneDnnConvolutionTest, StridesPaddingDilationGroups) {
  const Window same = {1, 1, 1, 1}, none = {};
  // 1x1, 3x3 and the first layer of a network.
  Check(Call({none, none}, 1, {}), {R({2, 5, 6, 16}, 1), R({32, 16, 1, 1}, 2)},
        {2, 5, 6, 32});
  Check(Call({same, same}, 1, {}), {R({1, 7, 6, 16}, 1), R({16, 16, 3, 3}, 2)},
        {1, 7, 6, 16});
  Check(Call({{2, 3, 3, 1}, {2, 3, 3, 1}}, 1, {}),
        {R({1, 16, 16, 3}, 1), R({16, 3, 7, 7}, 2)}, {1, 8, 8, 16});
  // Uneven padding, dilation, grouped and depthwise.
  Check(Call({{2, 0, 1, 1}, {1, 2, 2, 2}}, 1, {}),
        {R({1, 9, 8, 8}, 1), R({16, 8, 3, 3}, 2)}, {1, 4, 8, 16});
  Check(Call({same, same}, 4, {}), {R({2, 6, 6, 32}, 1), R({32, 8, 3, 3}, 2)},
        {2, 6, 6, 32});
  Check(Call({{2, 2, 2, 1}, {2, 2, 2, 1}}, 24, {}),
        {R({1, 9, 9, 24}, 1), R({24, 1, 5, 5}, 2)}, {1, 5, 5, 24});
}

TEST(OneDnnConvolutionTest, PostOpsAndDtypes) {
  const Window same = {1, 1, 1, 1};
  for (DataType dtype : DtypesOfOneDnn()) {
    for (const PostOp& last :
         {MakePostOp(PostOp::RELU), MakePostOp(PostOp::SILU),
          MakePostOp(PostOp::HARDSWISH),
          MakePostOp(PostOp::CLAMP, 0, 0.f, 6.f)}) {
      Check(
          Call({same, same}, 1,
               {MakePostOp(PostOp::BIAS, 2), MakePostOp(PostOp::ADD, 3), last}),
          {R({1, 6, 6, 16}, 1, dtype), R({32, 16, 3, 3}, 2, dtype),
           R({32}, 3, dtype), R({1, 6, 6, 32}, 4, dtype)},
          {1, 6, 6, 32}, dtype);
    }
  }
}

TEST(OneDnnConvolutionTest, OperandsBroadcast) {
  const Window none = {};
  for (const std::vector<int64_t>& operand : std::vector<std::vector<int64_t>>{
           {2, 1, 1, 32}, {1, 1, 1, 32}, {32}, {1}, {2, 4, 4, 32}}) {
    // oneDNN may refuse a broadcast; then it must say so.
    std::vector<TestTensor> inputs = {R({2, 4, 4, 16}, 1), R({32, 16, 1, 1}, 2),
                                      R(operand, 3)};
    const ConvolutionCall call =
        Call({none, none}, 1,
             {MakePostOp(PostOp::SIGMOID), MakePostOp(PostOp::MULTIPLY, 2)});
    TestTensor output({2, 4, 4, 32});
    const absl::Status status =
        RunCall(call, inputs, {false, true, false}, output);
    if (operand.front() == 2 && operand[1] == 1 && !status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
      continue;
    }
    ASSERT_EQ(status, absl::OkStatus());
    ExpectPostOps(Reference(call, inputs[0], inputs[1], {2, 4, 4, 32}),
                  call.post_ops(), inputs, output, 1e-5);
  }
}

TEST(OneDnnConvolutionTest, AddsInPlace) {
  for (DataType dtype : DtypesOfOneDnn()) {
    Check(Call({{}, {}}, 1,
               {MakePostOp(PostOp::BIAS, 2), MakePostOp(PostOp::ADD, 3),
                MakePostOp(PostOp::RELU)}),
          {R({1, 6, 6, 16}, 1, dtype), R({32, 16, 1, 1}, 2, dtype),
           R({32}, 3, dtype), R({1, 6, 6, 32}, 4, dtype)},
          {1, 6, 6, 32}, dtype, /*in_place=*/3);
  }
}

TEST(OneDnnConvolutionTest, OneAndThreeSpatialAxes) {
  // A window of 1 in all but one axis is the two-dimensional case.
  for (int extra : {-1, 1}) {
    std::vector<int64_t> in = {1, 9, 16}, f = {32, 16, 3}, out = {1, 9, 32};
    std::vector<Window> windows = {{1, 1, 1, 1}};
    std::vector<int64_t> in2 = {1, 9, 1, 16}, f2 = {32, 16, 3, 1},
                         out2 = {1, 9, 1, 32};
    if (extra > 0) {
      in = {1, 9, 1, 1, 16};
      f = {32, 16, 3, 1, 1};
      out = {1, 9, 1, 1, 32};
      windows = {{1, 1, 1, 1}, {}, {}};
    }
    std::vector<TestTensor> inputs = {R(in, 1), R(f, 2)};
    TestTensor output(out);
    ASSERT_EQ(RunCall(Call(windows, 1, {}), inputs, {false, true}, output),
              absl::OkStatus());
    const ConvolutionCall flat = Call({{1, 1, 1, 1}, {}}, 1, {});
    ExpectPostOps(Reference(flat, R(in2, 1), R(f2, 2), out2), {}, {}, output,
                  1e-5);
  }
}

// One NaN or infinity in an image of few or oddly many channels is in the
// results whose windows hold it, and in no others.
TEST(OneDnnConvolutionTest, ANumberThatIsNotFiniteStaysInItsWindows) {
  for (DataType dtype : DtypesOfOneDnn()) {
    for (int64_t channels : {1, 2, 3, 4, 5, 8, 17}) {
      for (auto [size, window] : std::vector<std::pair<int64_t, int64_t>>{
               {12, 2}, {12, 3}, {12, 7}, {5, 3}, {2, 2}, {1, 1}}) {
        for (float value : {NAN, INFINITY}) {
          const int64_t width = size + 1, padding = window - 1;
          const std::vector<int64_t> out = {2, size + padding, width + padding,
                                            16};
          const Window full = {1, padding, padding};
          const ConvolutionCall call = Call({full, full}, 1, {});
          std::vector<TestTensor> inputs = {
              R({2, size, width, channels}, 1, dtype),
              R({16, channels, window, window}, 2, dtype)};
          inputs[0].values[(size / 2 * width + (size + 1) / 2) * channels] =
              value;
          inputs[0].Store();
          TestTensor output(out, dtype);
          ASSERT_EQ(RunCall(call, inputs, {false, true}, output),
                    absl::OkStatus());
          const std::vector<double> expected =
              Reference(call, inputs[0], inputs[1], out);
          int wrong = 0;
          for (size_t i = 0; i < expected.size(); ++i) {
            wrong += std::isfinite(expected[i])
                         ? !(std::abs(output.values[i] - expected[i]) <=
                             1e-2 * (1 + std::abs(expected[i])))
                         : std::isfinite(output.values[i]);
          }
          EXPECT_EQ(wrong, 0) << channels << " channels, size " << size
                              << ", window " << window;
        }
      }
    }
  }
}

TEST(OneDnnConvolutionTest, SaysWhyNot) {
  auto error = [](const ConvolutionCall& call, std::vector<TestTensor> inputs,
                  std::vector<int64_t> out) {
    std::vector<LibraryOperand> operands;
    for (TestTensor& input : inputs) operands.push_back({input.View(), 0});
    return std::string(
        Supports(call, operands, {nullptr, DataType::kFloat32, out}).message());
  };
  EXPECT_THAT(
      error(Call({{}, {}}, 1, {}),
            {TestTensor({1, 4, 4, 8}), TestTensor({8, 4, 1, 1})}, {1, 4, 4, 8}),
      HasSubstr("the channels or batches do not fit (1 groups)"));
  EXPECT_THAT(
      error(Call({{}, {}}, 1, {}),
            {TestTensor({1, 4, 4, 8}), TestTensor({8, 8, 3, 3})}, {1, 4, 4, 8}),
      HasSubstr("spatial axis 0 of the output should have the size 2"));
  EXPECT_THAT(
      error(Call({{}}, 1, {}),
            {TestTensor({1, 4, 4, 8}), TestTensor({8, 8, 3, 3})}, {1, 4, 4, 8}),
      HasSubstr("the ranks do not fit"));
}

}  // namespace
}  // namespace aitune
