#include "frontend/torchscript/nested_tensors.h"

#include <torch/torch.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "torch/csrc/jit/api/compilation_unit.h"
#include "torch/csrc/jit/api/function_impl.h"
#include "torch/csrc/jit/frontend/resolver.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Two layers of nn.TransformerEncoder between a nested tensor and `last`.
std::string Layers(const std::string& arguments, const std::string& last,
                   const std::string& checks = "False") {
  const std::string layer =
      ", 8, 2, qkv, bias, proj, bias[:8], False, False, 1e-5, one, one * 0.5, "
      "one * 2, one, qkv, bias, qkv.t(), bias[:8])\n";
  return absl::StrCat("def forward(", arguments, R"(x: Tensor, mask: Tensor):
  qkv = torch.arange(192).view(24, 8).sin() * 0.3
  bias = torch.arange(24).cos()
  proj = torch.arange(64).view(8, 8).cos() * 0.3
  one = torch.ones([8])
  y = torch._nested_tensor_from_mask(x, mask, )",
                      checks, R"()
  y = torch._transformer_encoder_layer_fwd(y)",
                      layer, "  y = torch._transformer_encoder_layer_fwd(y",
                      layer, "  return ", last, "\n");
}

constexpr char kPadded[] =
    "y.to_padded_tensor(0.5, [x.size(0), x.size(1), x.size(2)])";

struct Functions {
  std::shared_ptr<torch::jit::CompilationUnit> unit;
  torch::jit::Function* eager = nullptr;
  torch::jit::Function* padded = nullptr;
};

Functions Define(const std::string& source) {
  Functions functions;
  functions.unit = std::make_shared<torch::jit::CompilationUnit>();
  functions.unit->define(std::nullopt, source, torch::jit::nativeResolver(),
                         nullptr);
  functions.eager = &functions.unit->get_function("forward");
  const auto graph =
      torch::jit::toGraphFunction(*functions.eager).graph()->copy();
  PadNestedTensors(graph);
  graph->lint();
  functions.padded = functions.unit->create_function("padded", graph);
  return functions;
}

bool HasNested(const torch::jit::Function& function) {
  return absl::StrContains(
      torch::jit::toGraphFunction(function).graph()->toString(),
      "_nested_tensor");
}

TEST(NestedTensors, ArePaddedTensorsWithAMask) {
  for (const char* last : {kPadded, "y.to_padded_tensor(0.5, x.size())"}) {
    const Functions functions = Define(Layers("", last));
    EXPECT_FALSE(HasNested(*functions.padded));
    const c10::InferenceMode inference;
    at::Tensor x = torch::randn({3, 5, 8});
    for (const std::vector<int64_t>& lengths :
         std::vector<std::vector<int64_t>>{{5, 5, 5}, {3, 1, 4}, {0, 2, 0}}) {
      const at::Tensor mask =
          torch::arange(5) < torch::tensor(lengths).unsqueeze(1);
      x[1][4].fill_(NAN);
      x[2][4].fill_(INFINITY);
      const at::Tensor want = (*functions.eager)({x, mask}).toTensor();
      const at::Tensor got = (*functions.padded)({x, mask}).toTensor();
      EXPECT_TRUE(torch::allclose(got, want, 1e-4, 1e-5, /*equal_nan=*/true))
          << got << want;
      // As many as there are ones, wherever they are.
      const at::Tensor other = mask.flip(1);
      EXPECT_TRUE(torch::allclose((*functions.padded)({x, other}).toTensor(),
                                  want, 1e-4, 1e-5, /*equal_nan=*/true));
    }
    const at::Tensor none = torch::zeros({3, 5}, torch::kBool);
    EXPECT_ANY_THROW((*functions.eager)({x, none}));
    EXPECT_ANY_THROW((*functions.padded)({x, none}));
    const at::Tensor longer = torch::ones({3, 6}, torch::kBool);
    EXPECT_ANY_THROW((*functions.eager)({x, longer}));
    EXPECT_ANY_THROW((*functions.padded)({x, longer}));
  }
}

TEST(NestedTensors, AreLeftWhereOthersReadThem) {
  for (const char* last :
       {"y.to_padded_tensor(0.5)", "y * 2",
        "y.to_padded_tensor(0.5, [x.size(0), x.size(1) + 1, x.size(2)])",
        "y.to_padded_tensor(0.5, [x.size(0), x.size(2), x.size(1)])",
        "(y, y.to_padded_tensor(0.5, x.size()))"})
    EXPECT_TRUE(HasNested(*Define(Layers("", last)).padded)) << last;
  EXPECT_TRUE(HasNested(*Define(Layers("", kPadded, "True")).padded));
}

TEST(NestedTensors, AreCompiled) {
  // No mask without a one, for which eager raises.
  const std::string source = absl::StrReplaceAll(
      Layers("self, ", kPadded),
      {{"mask: Tensor):",
        "n: Tensor):\n  mask = torch.arange(x.size(1)) <= n"}});
  const auto trace =
      TraceAndCompare(source, {"float32[1..3,2..9,8]", "int64[1..3,1]{0..9}"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Not(Contains(HasSubstr("nested"))));
  EXPECT_EQ(FallbackCount(*trace), 0);
}

}  // namespace
}  // namespace aitune::frontend
