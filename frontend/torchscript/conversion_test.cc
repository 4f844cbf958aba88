#include "frontend/torchscript/conversion.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/irparser.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "frontend/torchscript/model.h"
#include "frontend/tracing/trace_test_util.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a trace of a detection model does, as graphs say it.
std::shared_ptr<torch::jit::Graph> SmallerSize() {
  torch::jit::Module module("Sizes");
  module.define(R"(
def forward(self, x: Tensor):
  sizes = torch._shape_as_tensor(x)
  if bool(x.sum() > 0):
    sizes = torch._shape_as_tensor(x)
  return torch.zeros([4], device="cpu"), torch.min(sizes)
)");
  return module.get_method("forward").graph();
}

TEST(MoveTo, SizesAsTensorsFollowTheProgram) {
  const auto graph = SmallerSize();
  MoveTo(*graph, c10::Device(c10::kCUDA, 1));
  graph->lint();
  const std::string text = graph->toString(/*print_source_locations=*/false);
  EXPECT_THAT(text, HasSubstr("Device = prim::Constant[value=\"cuda:1\"]"));
  EXPECT_THAT(text, Not(HasSubstr("\"cpu\"")));
  // What was read is what was moved.
  int moved = 0;
  for (const torch::jit::Node* node :
       torch::jit::findAllNodes(*graph, c10::aten::to, /*recurse=*/true)) {
    EXPECT_EQ(node->input(0)->node()->kind().toQualString(),
              std::string("aten::_shape_as_tensor"));
    EXPECT_EQ(node->input(0)->uses().size(), 1u);
    ++moved;
  }
  EXPECT_EQ(moved, 2);
}

// A trace has a size that the program read as a tensor.
TEST(MoveTo, RepeatsFollowTheProgram) {
  torch::jit::Module module("Repeats");
  module.define(R"(
def forward(self, x: Tensor):
  return (torch.repeat_interleave(x, torch.tensor(x.size(0)), 0),
          torch.repeat_interleave(x, 3, 0))
)");
  const auto graph = module.get_method("forward").graph();
  MoveTo(*graph, c10::Device(c10::kCUDA));
  graph->lint();
  const auto moved = torch::jit::findAllNodes(*graph, c10::aten::to, true);
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0]->output()->uses()[0].user->kind().toQualString(),
            std::string("aten::repeat_interleave"));
}

// As tracing writes `torch.stack([x.size(0)]) / torch.tensor(2.0)`.
TEST(MoveTo, NumbersOfATraceThatGetAxesFollowTheProgram) {
  const auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"IR(
graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %size : int = aten::size(%x, %zero)
  %number : Tensor = prim::NumToTensor(%size)
  %ones : int[] = prim::ListConstruct(%one)
  %row : Tensor = aten::reshape(%number, %ones)
  %numbers : Tensor[] = prim::ListConstruct(%number, %number)
  %pair : Tensor = aten::stack(%numbers, %zero)
  %sum : Tensor = aten::add(%x, %number, %one)
  return (%row, %pair, %sum))IR",
                      graph.get());
  MoveTo(*graph, c10::Device(c10::kCUDA, 1));
  graph->lint();
  std::multiset<std::string> users;
  for (const torch::jit::Node* node :
       torch::jit::findAllNodes(*graph, c10::aten::to, /*recurse=*/true)) {
    EXPECT_EQ(node->input(0)->node()->kind(), c10::prim::NumToTensor);
    for (const torch::jit::Use& use : node->output()->uses())
      users.insert(use.user->kind().toQualString());
  }
  EXPECT_THAT(users,
              testing::ElementsAre("aten::reshape", "prim::ListConstruct",
                                   "prim::ListConstruct"));
}

TEST(MoveTo, TensorsThatAreMadeWithoutADeviceFollowTheProgram) {
  torch::jit::Module module("Makes");
  module.define(R"(
def forward(self, x: Tensor):
  if bool(x.sum() > 0):
    x = x + torch.arange(x.size(0))
  return (torch.zeros([x.size(0)]), torch.tensor([1, 2]), torch.rand([3]),
          torch.zeros_like(x))
)");
  const auto graph = module.get_method("forward").graph();
  MoveTo(*graph, c10::Device(c10::kCUDA, 1));
  graph->lint();
  const auto device_of = [&](c10::Symbol kind) {
    const auto nodes = torch::jit::findAllNodes(*graph, kind, /*recurse=*/true);
    EXPECT_EQ(nodes.size(), 1u) << kind.toQualString();
    const torch::jit::Node* const node = nodes[0];
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->schema().arguments()[i].name() == "device")
        return torch::jit::toIValue(node->input(i))->isNone()
                   ? std::string("none")
                   : torch::jit::toIValue(node->input(i))->toDevice().str();
    }
    return std::string("no argument");
  };
  for (const char* const made :
       {"aten::zeros", "aten::arange", "aten::tensor", "aten::rand"})
    EXPECT_EQ(device_of(c10::Symbol::fromQualString(made)), "cuda:1") << made;
  EXPECT_EQ(device_of(c10::Symbol::fromQualString("aten::zeros_like")), "none");
}

TEST(MoveTo, LengthsOfSequencesAreGivenOnTheHost) {
  torch::jit::Module module("Packs");
  module.define(R"(
def forward(self, x: Tensor, lengths: Tensor):
  return (torch._pack_padded_sequence(x, lengths, True),
          torch.tensor_split(x, lengths), torch.tensor_split(x, 2))
)");
  const auto graph = module.get_method("forward").graph();
  MoveTo(*graph, c10::Device(c10::kCUDA, 1));
  graph->lint();
  int moved = 0;
  for (const torch::jit::Node* node :
       torch::jit::findAllNodes(*graph, c10::aten::to, /*recurse=*/true)) {
    EXPECT_EQ(torch::jit::toIValue(node->input(1))->toDevice().str(), "cpu");
    ++moved;
  }
  EXPECT_EQ(moved, 2);
}

TEST(MoveTo, NothingIsAddedOnACpu) {
  const auto graph = SmallerSize();
  MoveTo(*graph, c10::Device(c10::kCPU));
  EXPECT_THAT(graph->toString(), Not(HasSubstr("aten::to(")));
}

// Python's x * -0.5, traced, saved and loaded again.
TEST(MarkNumbers, ATracedNumberDoesNotDecideAboutTheDtype) {
  torch::jit::Module module("Scaled");
  module.define("def forward(self, x: Tensor):\n  return torch.mul(x, x)\n");
  const auto graph = module.get_method("forward").graph();
  torch::jit::Node* const mul =
      torch::jit::findAllNodes(*graph, c10::aten::mul, /*recurse=*/true).at(0);
  const torch::jit::WithInsertPoint before(mul);
  mul->replaceInput(
      1, graph->insertConstant(at::scalar_tensor(-0.5, at::kDouble)));
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  for (const auto& [given, expected] :
       {std::pair(at::kLong, at::kFloat), std::pair(at::kHalf, at::kHalf),
        std::pair(at::kDouble, at::kDouble)}) {
    const auto result = model->RunEager(ValueList({at::arange(4).to(given)}));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->toTensor().scalar_type(), expected);
  }
  // What LibTorch runs of a trace, here all of it, has the number too.
  const ValueList samples({at::arange(4)});
  const auto trace = BuildTrace(*model, samples, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  const auto region =
      trace->make_fallback_region({0}, trace->inputs, trace->outputs);
  const at::Tensor x = at::arange(4);
  at::Tensor y = at::zeros({4});
  std::vector<RegionValue> outputs = {ViewOf(y)};
  EXPECT_EQ(region->Run({ViewOf(x)}, {}, absl::MakeSpan(outputs)),
            absl::OkStatus());
  EXPECT_TRUE(y.equal(x * -0.5));
}

// What no number can be in a trace is a tensor without axes, which may decide.
TEST(MarkNumbers, ATensorWithoutAxesDecidesAboutTheDtype) {
  torch::jit::Module module("Constants");
  module.define(R"(
def forward(self, x: Tensor):
  c = torch.sin(x)
  return (torch.minimum(x, c), torch.pow(x, c), torch.mul(x, torch.mul(c, c)),
          torch.mul(x, c))
)");
  const auto graph = module.get_method("forward").graph();
  torch::jit::Node* const sine =
      torch::jit::findAllNodes(*graph, c10::aten::sin, /*recurse=*/true).at(0);
  // Each use has a constant of its own, as in a file; all are one tensor.
  const at::Tensor constant = at::scalar_tensor(3, at::kLong);
  while (sine->output()->hasUses()) {
    const torch::jit::Use use = sine->output()->uses().front();
    const torch::jit::WithInsertPoint before(use.user);
    torch::jit::Node* const node = graph->insertConstant(constant)->node();
    node->t_(c10::attr::value, constant);
    use.user->replaceInput(use.offset, node->output());
  }
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto result =
      model->RunEager(ValueList({at::scalar_tensor(5, at::kInt)}));
  ASSERT_TRUE(result.ok()) << result.status();
  const auto& elements = result->toTupleRef().elements();
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(elements[i].toTensor().scalar_type(), at::kLong) << i;
  // Python's x * 3.
  EXPECT_EQ(elements[3].toTensor().scalar_type(), at::kInt);
}

}  // namespace
}  // namespace aitune::frontend
