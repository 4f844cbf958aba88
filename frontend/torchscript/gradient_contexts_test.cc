#include "frontend/torchscript/gradient_contexts.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>
#include <torch/csrc/jit/serialization/import_source.h>

#include <set>
#include <sstream>
#include <string>

#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// As torch.jit.save writes a scripted module with such contexts.
constexpr char kSource[] = R"(
class no_grad:
  prev : bool
  def __enter__(self: __torch__.torch.autograd.grad_mode.no_grad) -> NoneType:
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    return None
  def __exit__(self: __torch__.torch.autograd.grad_mode.no_grad,
    exc_type: Any, exc_value: Any, traceback: Any) -> NoneType:
    torch.set_grad_enabled(self.prev)
    return None
  def __init__(self: __torch__.torch.autograd.grad_mode.no_grad) -> NoneType:
    self.prev = False
    return None
)";

std::set<std::string> NodesOf(const torch::jit::Module& module) {
  auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  std::set<std::string> kinds;
  torch::jit::DepthFirstGraphNodeIterator nodes(graph);
  while (const torch::jit::Node* node = nodes.next())
    kinds.insert(node->kind().toQualString());
  return kinds;
}

TEST(GradientContexts, AreRemovedAlsoFromMethodsThatAreCalled) {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const std::vector<at::IValue> constants;
  auto source = std::make_shared<torch::jit::Source>(std::string(kSource));
  torch::jit::SourceImporter importer(
      unit, &constants,
      [&](const std::string& name) {
        return name == "__torch__.torch.autograd.grad_mode" ? source : nullptr;
      },
      /*version=*/3);
  importer.loadType(
      c10::QualifiedName("__torch__.torch.autograd.grad_mode.no_grad"));
  torch::jit::Module module(c10::QualifiedName("__torch__.Scripted"), unit);
  module.register_buffer("mean", at::zeros({3}));
  // Classes are found by their whole names.
  struct Resolver : torch::jit::Resolver {
    explicit Resolver(std::shared_ptr<torch::jit::CompilationUnit> unit)
        : unit(std::move(unit)) {}
    std::shared_ptr<torch::jit::SugaredValue> resolveValue(
        const std::string& name, torch::jit::GraphFunction& function,
        const torch::jit::SourceRange& place) override {
      if (name == "no_grad")
        return std::make_shared<torch::jit::ClassValue>(unit->get_class(
            c10::QualifiedName("__torch__.torch.autograd.grad_mode.no_grad")));
      return torch::jit::nativeResolver()->resolveValue(name, function, place);
    }
    std::shared_ptr<torch::jit::CompilationUnit> unit;
  };
  module.define(R"(
def update(self, x: Tensor):
  with no_grad():
    self.mean.copy_(x)
  return x

def forward(self, x: Tensor):
  with no_grad():
    y = torch.relu(x)
    if bool(x.sum() > 0):
      with no_grad():
        y = y + 1
  return self.update(y) * 2
)",
                std::make_shared<Resolver>(unit));
  // Inlining would keep the methods as they are now.
  ASSERT_NE(module.get_method("update").graph()->toString().find("prim::Enter"),
            std::string::npos);
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  for (const char* kind : {"prim::Enter", "prim::Exit", "prim::CreateObject"})
    EXPECT_EQ(NodesOf(model->impl().module()).count(kind), 0) << kind;
  EXPECT_NE(ModelState(*model).live(), nullptr);
  const at::Tensor x = at::ones({3});
  EXPECT_TRUE(model->RunEager(ValueList({x}))->toTensor().equal(x * 4));
}

}  // namespace
}  // namespace aitune::frontend
