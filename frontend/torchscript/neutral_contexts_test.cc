#include "frontend/torchscript/neutral_contexts.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>
#include <torch/csrc/jit/serialization/import_source.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// As torch.jit.save writes a scripted module with such contexts.
constexpr char kNoGrad[] = R"(
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
constexpr char kRecordFunction[] = R"(
class record_function:
  name : str
  args : Optional[str]
  run_callbacks_on_exit : bool
  record : Optional[__torch__.torch.classes.profiler._RecordFunction]
  def __enter__(self: __torch__.torch.autograd.profiler.record_function) -> __torch__.torch.autograd.profiler.record_function:
    name = self.name
    args = self.args
    _0 = ops.profiler._record_function_enter_new(name, args)
    self.record = _0
    return self
  def __exit__(self: __torch__.torch.autograd.profiler.record_function,
    exc_type: Any, exc_value: Any, traceback: Any) -> NoneType:
    record = self.record
    if torch.__is__(record, None):
      ops.prim.RaiseException("AssertionError: Expected record to be set")
    else:
      record1 = unchecked_cast(__torch__.torch.classes.profiler._RecordFunction, record)
      ops.profiler._record_function_exit(record1)
    return None
  def __init__(self: __torch__.torch.autograd.profiler.record_function,
    name: str,
    args: Optional[str]=None) -> NoneType:
    self.name = name
    self.args = args
    self.run_callbacks_on_exit = True
    self.record = None
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

// Finds the classes of the contexts by their last names.
class Contexts : public torch::jit::Resolver {
 public:
  explicit Contexts(std::shared_ptr<torch::jit::CompilationUnit> unit)
      : unit_(std::move(unit)) {
    const std::vector<at::IValue> constants;
    torch::jit::SourceImporter importer(
        unit_, &constants,
        [](const std::string& name) {
          return std::make_shared<torch::jit::Source>(std::string(
              name == "__torch__.torch.autograd.profiler" ? kRecordFunction
                                                          : kNoGrad));
        },
        /*version=*/3);
    for (const auto& [name, whole] : names_)
      importer.loadType(c10::QualifiedName(whole));
  }

  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction& function,
      const torch::jit::SourceRange& place) override {
    const auto found = names_.find(name);
    if (found == names_.end())
      return torch::jit::nativeResolver()->resolveValue(name, function, place);
    return std::make_shared<torch::jit::ClassValue>(
        unit_->get_class(c10::QualifiedName(found->second)));
  }

 private:
  const std::map<std::string, std::string> names_ = {
      {"no_grad", "__torch__.torch.autograd.grad_mode.no_grad"},
      {"record_function", "__torch__.torch.autograd.profiler.record_function"}};
  const std::shared_ptr<torch::jit::CompilationUnit> unit_;
};

// `open` is what makes the context's object.
void ExpectRemoved(const std::string& open) {
  SCOPED_TRACE(open);
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module module(c10::QualifiedName("__torch__.Scripted"), unit);
  module.register_buffer("mean", at::zeros({3}));
  module.define(absl::StrReplaceAll(R"(
def update(self, x: Tensor):
  with OPEN:
    self.mean.copy_(x)
  return x

def forward(self, x: Tensor):
  with OPEN:
    y = torch.relu(x)
    if bool(x.sum() > 0):
      with OPEN:
        y = y + 1
  return self.update(y) * 2
)",
                                    {{"OPEN", open}}),
                std::make_shared<Contexts>(unit));
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

TEST(NeutralContexts, AreRemovedAlsoFromMethodsThatAreCalled) {
  ExpectRemoved("no_grad()");
  ExpectRemoved("record_function('step')");
}

}  // namespace
}  // namespace aitune::frontend
