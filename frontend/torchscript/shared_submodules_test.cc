#include "frontend/torchscript/shared_submodules.h"

#include <ATen/Functions.h>
#include <torch/script.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/copy_modules.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A module with two names, `a` and `b`, of one submodule, and `other`.
torch::jit::Module WithTwoNames(const std::string& forward) {
  const auto make = [](const char* name) {
    torch::jit::Module module(name);
    module.register_attribute("training", c10::BoolType::get(), false);
    return module;
  };
  torch::jit::Module counter = make("Counter"), inner = make("Inner"),
                     outer = make("Outer");
  inner.register_attribute("n", c10::IntType::get(), 0);
  inner.register_buffer("weight", at::ones({3}));
  counter.register_module("inner", inner);
  torch::jit::Module other = make("Other");
  other.register_attribute("n", c10::IntType::get(), 0);
  outer.register_module("a", counter);
  outer.register_module("b", counter);
  outer.register_module("other", other);
  outer.define(absl::StrCat("def forward(self, x: Tensor):\n", forward));
  return outer;
}

constexpr char kCompares[] =
    "  if self.a is self.b:\n    return x + 1\n  return x + 2\n";
constexpr char kSets[] =
    "  self.a.inner.n = 5\n  return x * float(self.b.inner.n)\n";

TEST(SharedSubmodules, ThatAProgramTellsApartMustStayShared) {
  const auto why = [](const std::string& forward) {
    return WhySubmodulesMustStayShared(WithTwoNames(forward));
  };
  EXPECT_THAT(why(kCompares), HasSubstr("one submodule"));
  EXPECT_THAT(why("  if self.a.inner is not self.b.inner:\n    x = x + 1\n"
                  "  return x\n"),
              HasSubstr("one submodule"));
  EXPECT_THAT(why(kSets), HasSubstr("the attribute n"));
  EXPECT_THAT(why("  return x * self.a.inner.weight + self.b.inner.weight\n"),
              IsEmpty());
  EXPECT_THAT(why("  self.other.n = 5\n  return x * self.b.inner.weight\n"),
              IsEmpty());
  EXPECT_THAT(why("  if self.a is self.other:\n    return x\n  return x + 1\n"),
              IsEmpty());
}

TEST(SharedSubmodules, AreOneInWhatIsCompiled) {
  for (const char* forward : {kCompares, kSets}) {
    auto model = Model::FromModule(WithTwoNames(forward));
    ASSERT_TRUE(model.ok()) << model.status();
    const auto trace = TraceAndCompare(*model, {"float32[4,3]"});
    EXPECT_TRUE(trace.ok()) << forward << trace.status();
    const ValueList inputs({at::rand({4, 3})});
    const auto eager = model->RunEager(inputs);
    const auto optimized = model->RunOptimized(inputs);
    ASSERT_TRUE(eager.ok() && optimized.ok()) << optimized.status();
    EXPECT_TRUE(at::allclose(optimized->toTensor(), eager->toTensor()))
        << forward;
  }
}

TEST(SharedSubmodules, AreOneInACopyOfTheProgram) {
  const torch::jit::Module copy = CloneProgram(WithTwoNames(kCompares));
  EXPECT_EQ(copy.attr("a").toModule()._ivalue(),
            copy.attr("b").toModule()._ivalue());
  EXPECT_NE(copy.attr("a").toModule()._ivalue(),
            copy.attr("other").toModule()._ivalue());
}

}  // namespace
}  // namespace aitune::frontend
