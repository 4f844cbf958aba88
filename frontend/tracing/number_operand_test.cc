// Numbers that depend on sizes, as operands of tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"

namespace aitune::frontend {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// Numbers that are computed from sizes are so in each call.
TEST(DynamicNumbers, AreOneVersion) {
  for (const char* body :
       {"  return x * (x.size(0) ** -0.5)",
        "  return x / (x.size(0) ** 0.5)",
        "  return x + 2.0 ** (-8.0 / x.size(0))",
        "  return torch.sub(x, x.size(0) / 2, alpha=2)",
        "  n = float(x.size(0) // 2)\n  return x * n - n",
        "  s = x @ x.t()\n  return (s * (s.size(-1) ** -0.5)).softmax(-1) @ x",
        "  y = x.to(15)\n  return y * (x.size(0) ** -0.5)",
        "  x = x + 0\n  x *= x.size(0) ** 0.5\n  return x",
        "  return x.sum() * (x.size(0) ** -0.5)",
        "  return x.to(15).sum() / (x.size(0) ** 0.5)",
        "  return (x * 9).to(4) * (x.size(0) ** -0.5)",
        "  return (x > 0) / (x.size(0) ** 0.5)",
        "  return x * (x.size(0) ^ 5)",
        "  return torch.add(x, x.flip(1), alpha=1.0 / x.size(0))",
        "  return torch.sub(x.sum(), x, alpha=x.size(0) / 7)",
        "  return x.clamp(max=x.size(0) / 20)",
        "  return x.clamp(-0.25, x.size(0) / 40)",
        "  return x.sum().clamp(min=x.size(0) / 7)",
        "  return x.clamp_min(1 / x.size(0))",
        "  return x > 1 / x.size(0), x.sum() <= x.size(0) / 3",
        "  return torch.arange(50) < x.size(0) * 0.6",
        "  return (x * 4).round() == x.size(0) / 8",
        "  return torch.where(x > 0, x, 1 / x.size(0))",
        "  return torch.where(x > 0, 1 / x.size(0), (x * 9).to(4))",
        "  return x.masked_fill(x > 0, 1 / x.size(0))",
        "  return (1 / x.size(0)) ** x",
        "  return x // (x.size(0) / 7), x % (x.size(0) / 7)",
        "  return (x * 90).to(4) // (x.size(0) / 7)",
        "  return torch.fmod(x, x.size(0) / 7)",
        "  return torch.lerp(x, x.flip(1), 1 / x.size(0))",
        "  return torch.zeros_like(x).fill_(1 / x.size(0))",
        "  return torch.full([x.size(0)], x.size(0) / 3)",
        "  return torch.full_like(x, x.size(0) / 3).add_(x)",
        "  return x * torch.tensor(x.size(0) ** -0.5)"}) {
    const auto trace =
        TraceAndCompare(absl::StrCat("def forward(self, x: Tensor):\n", body),
                        {"float32[1..40,8]"});
    ASSERT_TRUE(trace.ok()) << body << trace.status();
    EXPECT_THAT(trace->notes, IsEmpty()) << body;
    ASSERT_EQ(trace->symbols.size(), 1) << body;
    EXPECT_EQ(trace->symbols[0].max, 40) << body;
    EXPECT_THAT(OpNames(*trace), Contains("aitune::number")) << body;
  }
}

// Results have eager's dtype and are rounded as its are.
TEST(DynamicNumbers, KeepTheDtype) {
  for (const char* dtype :
       {"float16", "bfloat16", "float64", "int32", "bool"}) {
    const bool is_float = absl::StrContains(dtype, "float");
    std::vector<std::string> bodies = {"x * n",
                                       "x + n",
                                       "x / n",
                                       "x > n",
                                       "x // n",
                                       "x % n",
                                       "torch.where(x > 0, x, n)",
                                       "n ** x"};
    if (is_float)
      bodies.insert(
          bodies.end(),
          {"x.clamp(-n, n)", "x.masked_fill(x > 0, n)", "torch.full_like(x, n)",
           "torch.lerp(x, x + 1, n)", "torch.add(x, x + 1, alpha=n)"});
    for (const std::string& body : bodies) {
      if (!is_float && dtype == std::string("bool") &&
          (body == "x % n" || body == "x // n"))
        continue;
      const auto trace =
          TraceAndCompare(absl::StrCat("def forward(self, x: Tensor):\n"
                                       "  n = x.size(0) / 7\n  return ",
                                       body),
                          {absl::StrCat(dtype, "[1..20,8]")});
      EXPECT_TRUE(trace.ok()) << dtype << body << trace.status();
    }
  }
}

// A number is rounded to the dtype of what it is compared with, by LibTorch: no
// kernel may leave that out.
TEST(DynamicNumbers, AreRoundedBeforeTheyMeetElements) {
  for (const char* body : {"x == x.size(0) / 7", "x < x.size(0) / 7"}) {
    const auto trace =
        TraceAndCompare(absl::StrCat("def forward(self, x: Tensor):\n"
                                     "  x = torch.full_like(x, 6 / 7)\n"
                                     "  return ",
                                     body),
                        {"float16[6..20,8]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(PrintTrace(*trace), HasSubstr("float16[] = aitune::number"))
        << body;
  }
}

// Eager raises for an integer beyond the dtype that it is stored in; LibTorch
// makes such tensors.
TEST(DynamicNumbers, AreNotWrappedAround) {
  for (const char* body :
       {"torch.full_like(x, n)", "torch.full([3], n, dtype=2)",
        "x.new_full([2], n)", "(x + 1).fill_(n)", "x.masked_fill(x > 0, n)"}) {
    const auto model = Model::FromSource(
        absl::StrCat("def forward(self, x: Tensor):\n"
                     "  n = x.size(0) * x.size(0) * x.size(0)\n"
                     "  return ",
                     body, " + 1"));
    ASSERT_TRUE(model.ok()) << model.status();
    TraceOptions options;
    options.anchor = {4};
    const auto trace =
        BuildTrace(*model, {*ParseInputSpec("int16[2..200]")}, options);
    ASSERT_TRUE(trace.ok()) << body << trace.status();
    EXPECT_THAT(PrintTrace(*trace), HasSubstr("may be beyond the dtype"))
        << body;
  }
}

// Whether a number fits is known at sizes that are tried without memory too.
TEST(DynamicNumbers, BoundTheSizesOfWhatIsMadeOfThem) {
  for (const char* body :
       {"torch.full([4], n, dtype=0)", "torch.full([n, 2], n, dtype=0)",
        "x.new_full([n], n, dtype=0, device=\"cpu\")"}) {
    const auto model = Model::FromSource(absl::StrCat(
        "def forward(self, x: Tensor):\n  n = x.size(0)\n  return ", body));
    ASSERT_TRUE(model.ok()) << model.status();
    TraceOptions options;
    options.anchor = {4};
    const auto trace =
        BuildTrace(*model, {*ParseInputSpec("float32[2..300]")}, options);
    ASSERT_TRUE(trace.ok()) << body << trace.status();
    ASSERT_EQ(trace->symbols.size(), 1) << body;
    EXPECT_EQ(trace->symbols[0].max, 255) << body;
  }
}

// Of 16 bits LibTorch divides and rounds down by the number as it is, and takes
// remainders by the rounded one. Elements are next to a step.
TEST(DynamicNumbers, AreRoundedWhereEagerRounds) {
  for (const char* dtype : {"float16", "bfloat16"}) {
    for (const char* body : {"x // n", "x.remainder(n)", "torch.fmod(x, n)"}) {
      const auto model =
          Model::FromSource(absl::StrCat("def forward(self, x: Tensor):\n"
                                         "  n = x.size(0) / 21\n  return ",
                                         body));
      ASSERT_TRUE(model.ok()) << model.status();
      const auto trace = BuildTrace(
          *model, {*ParseInputSpec(absl::StrCat(dtype, "[2..20]"))}, {});
      ASSERT_TRUE(trace.ok()) << trace.status();
      for (const int64_t size : {2, 7, 20}) {
        const at::Tensor x =
            at::arange(1, size + 1, at::kDouble)
                .mul(static_cast<double>(size) / 21)
                .to(dtype == std::string("float16") ? at::kHalf
                                                    : at::kBFloat16);
        const auto eager = model->RunEager(ValueList({x}));
        const auto ours = RunTrace(*trace, ValueList({x}));
        ASSERT_TRUE(eager.ok() && ours.ok()) << ours.status();
        EXPECT_TRUE(ours->toTensor().equal(eager->toTensor()))
            << body << dtype << size;
      }
    }
  }
}

// Lengths, which every dtype of the range's numbers holds, are compiled.
TEST(DynamicNumbers, ThatFitTheirDtypeAreCompiled) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  return torch.full([2], x.size(0), dtype=3), "
      "torch.full_like(x, x.size(0) * 3)",
      {"int8[1..42]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(FallbackCount(*trace), 0) << PrintTrace(*trace);
  EXPECT_EQ(trace->symbols[0].max, 42);
}

// Where a size would be divided by 0 eager raises, or its process ends.
TEST(DynamicNumbers, AreNotDividedByZero) {
  const struct {
    const char* body;
    bool raises_at_60;  // the largest size of the range
    int64_t raises_at;  // of 7, 8 and 9
  } programs[] = {
      {"  n = x.size(0)\n  return x * (n // (n % 4))", true, 8},
      {"  n = x.size(0)\n  return x[: n // (n % 4)]", true, 8},
      {"  n = x.size(0)\n  return x * (n % (n // 8))", false, 7},
      {"  n = x.size(0)\n  return x.roll(n % (n - 7), 0)", false, 7},
      {"  n = x.size(0)\n  return x * float(n // (n - 7))", false, 7},
      {"  n = x.size(0)\n  return x * (100 // (n // 8))", false, 7}};
  for (const auto& [body, raises_at_60, raises_at] : programs) {
    const std::string program =
        absl::StrCat("def forward(self, x: Tensor):\n", body);
    const auto trace = TraceAndCompare(program, {"float32[8..60,3]"});
    EXPECT_EQ(trace.status().code(), raises_at_60
                                         ? absl::StatusCode::kInvalidArgument
                                         : absl::StatusCode::kOk)
        << body << trace.status();
    for (const int64_t size : {7, 8, 9}) {
      const auto fixed =
          TraceSource(program, {absl::StrCat("float32[", size, ",3]")});
      EXPECT_EQ(fixed.status().code(), size == raises_at
                                           ? absl::StatusCode::kInvalidArgument
                                           : absl::StatusCode::kOk)
          << body << size << fixed.status();
    }
  }
  const auto trace = TraceSource(
      "def forward(self, x: Tensor):\n  return x * (100 // (x.size(0) - 5))",
      {"float32[5,3]"});
  EXPECT_THAT(std::string(trace.status().message()), HasSubstr("division by"));
}

}  // namespace
}  // namespace aitune::frontend
