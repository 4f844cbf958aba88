#include "frontend/torchscript/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

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

TEST(MoveTo, NothingIsAddedOnACpu) {
  const auto graph = SmallerSize();
  MoveTo(*graph, c10::Device(c10::kCPU));
  EXPECT_THAT(graph->toString(), Not(HasSubstr("aten::to(")));
}

}  // namespace
}  // namespace aitune::frontend
