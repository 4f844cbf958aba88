#include "frontend/torchscript/class_contexts.h"

#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/serialization/import_source.h>
#include <torch/torch.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/state_writes.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// As torch.jit.save writes a class.
constexpr char kSource[] = R"(
class Counted:
  count : Tensor
  def __enter__(self: __torch__.Counted) -> Tensor:
    count = torch.add_(self.count, 1)
    return self.count
  def __exit__(self: __torch__.Counted,
    kind: Any, value: Any, traceback: Any) -> NoneType:
    if bool(torch.gt(torch.sum(self.count), 3)):
      count = torch.mul_(self.count, 10)
    else:
      pass
    return None
  def __init__(self: __torch__.Counted, count: Tensor) -> NoneType:
    self.count = count
    return None
class Changes(Interface):
  def change(self, x: Tensor) -> Tensor:
    pass
class Adds:
  def change(self: __torch__.Adds, x: Tensor) -> Tensor:
    return torch.add_(x, 10)
  def __init__(self: __torch__.Adds) -> NoneType:
    return None
)";

torch::jit::Module ModuleOf(const std::string& forward) {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const std::vector<at::IValue> constants;
  auto source = std::make_shared<torch::jit::Source>(std::string(kSource));
  torch::jit::SourceImporter importer(
      unit, &constants,
      [&](const std::string& name) {
        return name == "__torch__" ? source : nullptr;
      },
      /*version=*/3);
  for (const char* name : {"Counted", "Changes", "Adds"})
    importer.loadType(c10::QualifiedName(absl::StrCat("__torch__.", name)));
  struct Resolver : torch::jit::Resolver {
    explicit Resolver(std::shared_ptr<torch::jit::CompilationUnit> unit)
        : unit(std::move(unit)) {}
    std::shared_ptr<torch::jit::SugaredValue> resolveValue(
        const std::string& name, torch::jit::GraphFunction& function,
        const torch::jit::SourceRange& place) override {
      if (name == "Counted" || name == "Adds")
        return std::make_shared<torch::jit::ClassValue>(unit->get_class(
            c10::QualifiedName(absl::StrCat("__torch__.", name))));
      return torch::jit::nativeResolver()->resolveValue(name, function, place);
    }
    c10::TypePtr resolveType(const std::string& name,
                             const torch::jit::SourceRange&) override {
      return unit->get_type(
          c10::QualifiedName(absl::StrCat("__torch__.", name)));
    }
    std::shared_ptr<torch::jit::CompilationUnit> unit;
  };
  torch::jit::Module module(c10::QualifiedName("__torch__.Scripted"), unit);
  module.register_buffer("count", at::zeros({1}));
  module.define(absl::StrCat("def forward(self, x: Tensor):\n", forward),
                std::make_shared<Resolver>(unit));
  return module;
}

// The same results with and without what the made-up inputs decide.
void ExpectSameAsEager(const std::string& forward) {
  const auto model = Model::FromModule(ModuleOf(forward));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trace = BuildTrace(*model, ValueList({at::ones({2, 3})}), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  for (const float number : {0.0f, 0.25f, 1.0f}) {
    const ValueList inputs({at::full({2, 3}, number)});
    const auto got = RunTrace(*trace, inputs);
    const auto want = model->RunEager(inputs);
    ASSERT_TRUE(got.ok() && want.ok()) << got.status() << want.status();
    EXPECT_TRUE(at::allclose(got->toTensor(), want->toTensor()))
        << number << *got << *want;
  }
}

TEST(ClassContexts, WriteWhatTheirMethodsWrite) {
  ExpectSameAsEager(
      "  y = x * 2\n"
      "  with Counted(y) as inside:\n"
      "    z = torch.sin(inside)\n"
      "  return z + torch.cos(y)\n");
}

TEST(ClassContexts, MethodsThatAreBoundAtRunTimeWriteTheirArguments) {
  ExpectSameAsEager(
      "  y = x * 2\n"
      "  a = torch.exp(-y.abs())\n"
      "  changes: Changes = Adds()\n"
      "  changes.change(y)\n"
      "  return torch.tanh(y * 0.05) + a\n");
}

TEST(ClassContexts, ThatWriteABufferHaveState) {
  const auto model =
      Model::FromModule(ModuleOf("  with Counted(self.count) as inside:\n"
                                 "    y = torch.sin(x * inside)\n"
                                 "  return y * self.count\n"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(StateWrites(model->impl().module()).any());
}

}  // namespace
}  // namespace aitune::frontend
