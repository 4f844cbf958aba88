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
#include "torch/csrc/jit/frontend/parser.h"
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

Functions Define(const std::string& source,
                 const std::string& file = "<string>") {
  Functions functions;
  functions.unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Parser parser(
      std::make_shared<torch::jit::Source>(source, file, 1));
  functions.unit->define(
      std::nullopt, {}, {},
      {torch::jit::Def(parser.parseFunction(/*is_method=*/false))},
      {torch::jit::nativeResolver()}, nullptr);
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

// What a scripted nn.TransformerEncoder chooses, around one layer.
constexpr char kChoice[] = R"(
def forward(x: Tensor, mask: Tensor):
  qkv = torch.arange(192).view(24, 8).sin() * 0.3
  bias = torch.arange(24).cos()
  proj = torch.arange(64).view(8, 8).cos() * 0.3
  one = torch.ones([8])
  reason = ""
  if not torch._nested_tensor_from_mask_left_aligned(x, mask.logical_not()):
    reason = "not left aligned"
  y = x
  kept: Optional[Tensor] = mask
  nested = False
  if not len(reason) > 0:
    y = torch._nested_tensor_from_mask(x, mask.logical_not(), False)
    kept = None
    nested = True
  kind: Optional[int] = None
  if kept is not None:
    kind = 1
  y = torch._transformer_encoder_layer_fwd(y, 8, 2, qkv, bias, proj, bias[:8],
      False, False, 1e-5, one, one * 0.5, one * 2, one, qkv, bias, qkv.t(),
      bias[:8], kept, kind)
  if nested:
    y = y.to_padded_tensor(0.0, x.size())
  return y
)";
constexpr char kEncoderFile[] =
    "code/__torch__/torch/nn/modules/transformer.py";

TEST(NestedTensors, OfAChoiceArePaddedTensors) {
  const Functions functions = Define(kChoice, kEncoderFile);
  EXPECT_FALSE(HasNested(*functions.padded));
  // A second class of that name has a folder.
  EXPECT_FALSE(HasNested(*Define(kChoice,
                                 "code/__torch__/torch/nn/modules/transformer/"
                                 "___torch_mangle_10.py")
                              .padded));
  const c10::InferenceMode inference;
  at::Tensor x = torch::randn({3, 5, 8});
  for (const std::vector<int64_t>& lengths :
       std::vector<std::vector<int64_t>>{{5, 5, 5}, {3, 1, 4}, {0, 2, 0}}) {
    const at::Tensor left_out =
        torch::arange(5) >= torch::tensor(lengths).unsqueeze(1);
    for (const at::Tensor& mask :
         {left_out, left_out.flip(1), left_out.roll(1, 1),
          torch::zeros({3, 5}).masked_fill(left_out, -INFINITY)}) {
      const at::Tensor want = (*functions.eager)({x, mask}).toTensor();
      const at::Tensor got = (*functions.padded)({x, mask}).toTensor();
      EXPECT_TRUE(torch::allclose(got, want, 1e-4, 1e-5, /*equal_nan=*/true))
          << mask << got << want;
    }
  }
  x[1][4].fill_(NAN);
  x[2][4].fill_(INFINITY);
  const at::Tensor mask =
      torch::arange(5) >= torch::tensor({3, 1, 4}).unsqueeze(1);
  EXPECT_TRUE(torch::allclose((*functions.padded)({x, mask}).toTensor(),
                              (*functions.eager)({x, mask}).toTensor(), 1e-4,
                              1e-5));
  const at::Tensor all = torch::ones({3, 5}, torch::kBool);
  EXPECT_ANY_THROW((*functions.eager)({x, all}));
  EXPECT_ANY_THROW((*functions.padded)({x, all}));
}

TEST(NestedTensors, OfAnotherChoiceAreLeft) {
  EXPECT_TRUE(HasNested(*Define(kChoice).padded));
  using Changes = std::vector<std::pair<const char*, const char*>>;
  for (const Changes& changes : std::vector<Changes>{
           {{"    kept = None\n", ""}},
           {{"_aligned(x, mask.l", "_aligned(x, (mask * 1).l"}},
           {{"  return y\n",
             "  return y, y.to_padded_tensor(1.0, x.size())\n"}},
           {{"  y = x\n",
             "  y = x\n  z = torch._nested_tensor_from_mask(x, mask, False)\n"},
            {"  return y\n", "  return y, z\n"}}})
    EXPECT_TRUE(HasNested(
        *Define(absl::StrReplaceAll(kChoice, changes), kEncoderFile).padded))
        << changes.front().second;
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
