// Results that agree only beside a reference of another dtype.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include "frontend/check/check_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

// LibTorch's vectors of bfloat16 and float32 give NaN for it, with AVX-512.
TEST(Judge, GeluOfInfinityMayBeInfinite) {
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n"
      "  return torch.gelu(x * x)\n");
  const at::Tensor x = at::full({40}, 1e30f, at::kBFloat16);
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "without AVX-512 LibTorch's gelu of infinity is infinite";
  ASSERT_TRUE(at::gelu(x * x).isnan().all().item<bool>());
  const auto check = [&](double factor) {
    return Check(
        [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
          const at::Tensor wide =
              arguments.values()[0].toTensor().to(at::kFloat);
          return at::gelu(wide.to(at::kDouble).mul(wide).mul(factor))
              .to(at::kFloat)
              .to(at::kBFloat16);
        },
        model, {x});
  };
  EXPECT_TRUE(check(1).agrees()) << check(1).Problem();
  EXPECT_FALSE(check(-1).agrees());
}

// x * x is infinite in float16; ours keeps it in float32 and rounds the
// quotient, whose error is 2 % of the difference.
TEST(Judge, WhereFloat16OverflowsBfloat16Decides) {
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n"
      "  return x * x / 1000 - 160\n");
  const at::Tensor x = at::linspace(395, 405, 64).to(at::kHalf);
  CheckOptions options;
  const auto check = [&](double off) {
    return Check(
        [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
          const at::Tensor wide =
              arguments.values()[0].toTensor().to(at::kFloat);
          return (wide * wide / 1000 + off).to(at::kHalf) - 160;
        },
        model, {x}, options);
  };
  const CheckReport right = check(0);
  EXPECT_TRUE(right.agrees()) << right.Problem();
  EXPECT_TRUE(right.cases[0].in_bfloat16);
  EXPECT_THAT(check(4).Problem(), HasSubstr("where eager alone is not finite"));
  // Not without eager's own run in bfloat16.
  options.reference = [&](DataType dtype) -> absl::StatusOr<const Model*> {
    if (dtype == DataType::kBFloat16) return absl::UnavailableError("none");
    return &model;
  };
  EXPECT_FALSE(check(0).agrees());
}

// An output in float32 beside one in bfloat16: the reference for that is in
// float32, and as inexact as eager where this one is concerned.
TEST(Judge, OutputsInFloat32AreJudgedInFloat64) {
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n"
      "  # 15 is bfloat16.\n"
      "  return (x + 1e8) - 1e8, x.to(15)\n");
  const at::Tensor x = at::linspace(0, 1, 64);
  const auto check = [&](double off) {
    return Check(
        [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
          const at::Tensor exact = arguments.values()[0].toTensor();
          return c10::ivalue::Tuple::create(
              {exact + off, exact.to(at::kBFloat16)});
        },
        model, {x});
  };
  EXPECT_TRUE(check(0).agrees()) << check(0).Problem();
  EXPECT_THAT(check(30).Problem(), HasSubstr("output[0] error"));
}

}  // namespace
}  // namespace aitune::frontend
