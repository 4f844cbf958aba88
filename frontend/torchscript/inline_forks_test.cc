#include "frontend/torchscript/inline_forks.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import_source.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// A module as from a file, which alone can fork, with this method.
torch::jit::Module ModuleOf(const char* forward) {
  const std::string net = absl::StrCat(
      "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
      "  training : bool\n",
      forward,
      "  def w(self: __torch__.Net, x: Tensor) -> Tensor:\n"
      "    return torch.mul(x, 2)\n");
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  static const auto* const constants = new std::vector<c10::IValue>();
  const torch::jit::SourceImporter importer(
      unit, constants,
      [&](const std::string& place) {
        return place == "__torch__" ? std::make_shared<torch::jit::Source>(net)
                                    : nullptr;
      },
      caffe2::serialize::kProducedFileFormatVersion);
  const auto type = importer.loadType(c10::QualifiedName("__torch__.Net"))
                        ->expect<c10::ClassType>();
  torch::jit::Module module(c10::ivalue::Object::create(
      c10::StrongTypePtr(unit, type), type->numAttributes()));
  module.setattr("training", false);
  return module;
}

constexpr const char* kPrograms[] = {
    // One future.
    R"(  def forward(self: __torch__.Net, x: Tensor) -> Tensor:
    def forked():
      return (self).w(x, )
    f = fork(forked)
    return torch.add(x, torch.wait(f))
)",
    // A list of them.
    R"(  def forward(self: __torch__.Net, x: Tensor) -> Tensor:
    def forked():
      return (self).w(x, )
    a = fork(forked)
    z = torch.add(x, 1)
    def forked0():
      return (self).w(z, )
    b = fork(forked0)
    fs = [a, b]
    y = annotate(List[Tensor], [])
    for i in range(torch.len(fs)):
      f = fs[i]
      _0 = torch.append(y, torch.wait(f))
    return torch.cat(y)
)",
    // In a branch, of what another gave.
    R"(  def forward(self: __torch__.Net, x: Tensor) -> Tensor:
    def forked():
      return (self).w(x, )
    f = fork(forked)
    if bool(torch.gt(torch.sum(x), 0)):
      y = torch.wait(f)
      def forked0():
        return (self).w(y, )
      g = fork(forked0)
      z = torch.wait(g)
    else:
      z = x
    return z
)"};

TEST(InlineForks, ProgramsGiveTheSameWithoutFutures) {
  for (const char* program : kPrograms) {
    torch::jit::Module module = ModuleOf(program);
    const at::Tensor x = at::rand({3});
    const at::Tensor expected = module.forward({x}).toTensor();
    auto graph = module.get_method("forward").graph()->copy();
    torch::jit::Inline(*graph);
    InlineForks(*graph);
    torch::jit::Inline(*graph);
    graph->lint();
    const std::string text = graph->toString();
    EXPECT_EQ(text.find("Future"), std::string::npos) << text;
    EXPECT_EQ(text.find("wait"), std::string::npos) << text;
    torch::jit::GraphExecutor executor(graph, "without_forks");
    torch::jit::Stack stack = {module._ivalue(), x};
    executor.run(stack);
    EXPECT_TRUE(at::equal(stack.back().toTensor(), expected)) << text;
  }
}

}  // namespace
}  // namespace aitune::frontend
