// Whole layers written out: equal to LibTorch's own operators.
#include "absl/strings/str_cat.h"
#include "frontend/torchscript/autocast.h"
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// LibTorch multiplies long rows where there are more than 25, so that none has
// an error that it has not.
TEST(Decompositions, Distances) {
  for (const std::string norm : {"1.0", "2.0", "3.5", "float('inf')"}) {
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor, y: Tensor):\n"
                     "  return torch.cdist(x, y, ",
                     norm, ")\n"),
        {"float32[2,1..9,3]", "float32[2,7,3]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_EQ(FallbackCount(*trace), 0) << norm;
    EXPECT_TRUE(trace->constraints.empty()) << norm;
  }
  constexpr char kEuclidean[] =
      "def forward(self, x: Tensor, y: Tensor):\n  return torch.cdist(x, y)\n";
  for (const auto& [rows, multiplies] :
       {std::pair("26", true), {"25", false}}) {
    const std::string sizes = absl::StrCat("float32[", rows, ",64]");
    const auto trace = TraceAndCompare(kEuclidean, {sizes, "float32[9,64]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_EQ(FallbackCount(*trace), 0);
    if (multiplies)
      EXPECT_THAT(OpNames(*trace), Contains("aten::matmul"));
    else
      EXPECT_THAT(OpNames(*trace), Not(Contains("aten::matmul")));
  }
  // At which sizes LibTorch multiplies, no range can say.
  const auto range =
      TraceAndCompare(kEuclidean, {"float32[1..30,64]", "float32[9,64]"});
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_THAT(OpNames(*range), Contains("aten::cdist"));
}

constexpr char kAttentionWeights[] = R"(
  qkv = torch.arange(192).view(24, 8).sin() * 0.3
  bias = torch.arange(24).cos()
  proj = torch.arange(64).view(8, 8).cos() * 0.3
)";

TEST(Decompositions, SelfAttention) {
  const auto trace = TraceAndCompare(
      absl::StrCat("def forward(self, x: Tensor):", kAttentionWeights, R"(
  y, w = torch._native_multi_head_attention(x, x, x, 8, 2, qkv, bias, proj, bias[:8], None, False)
  return y
)"),
      {"float32[1..3,2..9,8]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Contains("aten::scaled_dot_product_attention"));
  EXPECT_EQ(trace->symbols.size(), 2u);
  EXPECT_EQ(FallbackCount(*trace), 0);
}

TEST(Decompositions, EncoderLayer) {
  for (const std::string flags : {"True, True", "False, False"}) {
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor):", kAttentionWeights, R"(
  one = torch.ones([8])
  return torch._transformer_encoder_layer_fwd(x, 8, 2, qkv, bias, proj, bias[:8], )",
                     flags,
                     R"(, 1e-5, one, one * 0.5, one * 2, one,
    qkv, bias, qkv.t(), bias[:8])
)"),
        {"float32[2,5,8]"});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace), Contains("aten::layer_norm"));
    EXPECT_THAT(OpNames(*trace), Not(Contains(HasSubstr("encoder"))));
  }
}

// Traces are made on the CPU, also those for a GPU.
TEST(Autocast, TheFlagOfTheDeviceThatRunsItDecides) {
  for (const bool for_gpu : {false, true}) {
    TraceOptions options;
    options.for_gpu = for_gpu;
    const auto dtypes = [&](const char* call, const char* input) {
      const auto model = Model::FromSource(absl::StrCat(
          "def forward(self, x: Tensor):\n  return torch.", call, " * 2\n"));
      EXPECT_TRUE(model.ok()) << model.status();
      const auto trace = BuildTrace(*model, {*ParseInputSpec(input)}, options);
      EXPECT_TRUE(trace.ok()) << trace.status();
      return trace->values.at(static_cast<size_t>(trace->outputs[0]))
          .type.dtype;
    };
    EXPECT_EQ(
        dtypes("_autocast_to_full_precision(x, True, False)", "bfloat16[1..4]"),
        for_gpu ? DataType::kFloat32 : DataType::kBFloat16);
    EXPECT_EQ(
        dtypes("_autocast_to_full_precision(x, False, True)", "bfloat16[1..4]"),
        for_gpu ? DataType::kBFloat16 : DataType::kFloat32);
    EXPECT_EQ(dtypes("_autocast_to_reduced_precision(x, True, True, 5, 15)",
                     "float32[1..4]"),
              for_gpu ? DataType::kFloat16 : DataType::kBFloat16);
  }
}

TEST(Autocast, CastsOnEachDevice) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor, w: Tensor):\n"
      "  return torch.matmul(x, w)\n");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto narrowed = WithAutocast(*model, DataType::kFloat16);
  ASSERT_TRUE(narrowed.ok()) << narrowed.status();
  for (const bool for_gpu : {false, true}) {
    TraceOptions options;
    options.for_gpu = for_gpu;
    const auto trace = BuildTrace(
        *narrowed,
        {*ParseInputSpec("float32[4,8]"), *ParseInputSpec("float32[8,4]")},
        options);
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_EQ(
        trace->values.at(static_cast<size_t>(trace->outputs[0])).type.dtype,
        DataType::kFloat16);
  }
}

}  // namespace
}  // namespace aitune::frontend
