// Calls with memory of the caller's: where the model works in it, and that such
// calls allocate nothing, counted by the counter of operator new.
#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include "frontend/api/module_fixture.h"
#include "runtime/control/control.h"
#include "runtime/executable/allocation_counter.h"

namespace ait {
namespace {

using aitune::Allocations;
using aitune::CountsAllocations;
using aitune::frontend::kNetWithFallback;
using aitune::frontend::ValueList;
using testing::HasSubstr;

class BindingTest : public ModuleTest {
 protected:
  std::unique_ptr<Module> Tuned(const at::Tensor& sample,
                                const std::string& source) {
    auto module = Wrap(source);
    EXPECT_TRUE(module->Record(ValueList({sample})).ok());
    const absl::Status tuned =
        module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
    EXPECT_TRUE(tuned.ok()) << tuned;
    return module;
  }

  // Binds, and runs with several elements of the input.
  void ExpectRuns(const Module& module, const at::Tensor& x,
                  const at::Tensor& y, bool copies_nothing) {
    const auto call = module.Bind(ValueList({x}), ValueList({y}));
    ASSERT_TRUE(call.ok()) << call.status();
    EXPECT_EQ((*call)->copies_nothing(), copies_nothing);
    for (int i = 0; i < 3; ++i) {
      x.normal_();
      y.fill_(-7);
      const absl::Status ran = (*call)->Run(nullptr);
      ASSERT_TRUE(ran.ok()) << ran;
      aitune::frontend::ExpectClose(y, *model_->RunEager(ValueList({x})));
    }
  }

  absl::Status Refusal(const Module& module, const at::Tensor& x,
                       const at::Tensor& y) {
    return module.Bind(ValueList({x}), ValueList({y})).status();
  }
};

TEST_F(BindingTest, TheModelWorksInTheCallersMemory) {
  const auto module = Tuned(at::randn({2, 3}), aitune::frontend::kNet);
  ExpectRuns(*module, at::randn({2, 3}), at::empty({2, 4}), true);
  // Of sizes that a version must be made for first.
  ExpectRuns(*module, at::randn({5, 3}), at::empty({5, 4}), true);
}

TEST_F(BindingTest, RunsAllocateNothingFromTheSecondOn) {
  if (!CountsAllocations())
    GTEST_SKIP() << "allocations cannot be counted under a sanitizer";
  const auto module = Tuned(at::randn({64, 3}), aitune::frontend::kNet);
  const at::Tensor x = at::randn({64, 3}), y = at::empty({64, 4});
  const auto call = module->Bind(ValueList({x}), ValueList({y}));
  ASSERT_TRUE(call.ok()) << call.status();
  ASSERT_TRUE((*call)->Run(nullptr).ok());
  const int64_t before = Allocations();
  bool ok = true;
  for (int i = 0; i < 100; ++i) ok = (*call)->Run(nullptr).ok() && ok;
  EXPECT_EQ(Allocations() - before, 0);
  EXPECT_TRUE(ok);
  // What the test would count.
  ASSERT_TRUE(module->Run(ValueList({x})).ok());
  EXPECT_GT(Allocations() - before, 0);
}

TEST_F(BindingTest, WhatCantBeWrittenInPlaceIsCopied) {
  const at::Tensor x = at::randn({2, 3});
  const auto eager = Wrap();
  ExpectRuns(*eager, x, at::empty({2, 4}), false);
  const auto module = Tuned(x, aitune::frontend::kNet);
  // Not aligned.
  ExpectRuns(*module, x, at::empty({9}).narrow(0, 1, 8).view({2, 4}), false);
  aitune::ScopedStance stance(aitune::Stance::kForceEager);
  ExpectRuns(*module, x, at::empty({2, 4}), false);
}

TEST_F(BindingTest, OutputsWhoseSizesDependOnDataAreCopied) {
  const at::Tensor x = at::ones({2, 3});
  const auto module = Tuned(x, kNetWithFallback);
  const at::Tensor y = at::empty({2, 3}), n = at::empty({2}, at::kLong);
  const auto call = module->Bind(ValueList({x}), ValueList({y, n}));
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_FALSE((*call)->copies_nothing());
  ASSERT_TRUE((*call)->Run(nullptr).ok());
  EXPECT_TRUE(y.equal(at::full({2, 3}, 2.f)));
  EXPECT_EQ(n[1].item<int64_t>(), 6);
  x.fill_(-1);  // one count alone
  EXPECT_THAT(std::string((*call)->Run(nullptr).message()),
              HasSubstr("output 1 is int64[1], but memory for int64[2]"));
}

TEST_F(BindingTest, OutputsOfAModelThatLibTorchRunsAreCopied) {
  const at::Tensor x = at::randn({2, 3}), y = at::empty({2, 3}),
                   z = at::empty({2, 3});
  const auto module = Tuned(x,
                            "def forward(self, x: Tensor):\n"
                            "    y = x + 1\n"
                            "    y.resize_([2, 3])\n"
                            "    return y, x * 2\n");
  const auto call = module->Bind(ValueList({x}), ValueList({y, z}));
  ASSERT_TRUE(call.ok()) << call.status();
  ASSERT_TRUE((*call)->Run(nullptr).ok());
  EXPECT_FALSE((*call)->copies_nothing());
  EXPECT_TRUE(y.equal(x + 1) && z.equal(x * 2));
}

TEST_F(BindingTest, OtherMemoryIsRefused) {
  const at::Tensor x = at::randn({2, 3});
  const auto module = Tuned(x, aitune::frontend::kNet);
  EXPECT_THAT(
      std::string(Refusal(*module, x, at::empty({4, 2})).message()),
      HasSubstr("output 0 is float32[2,4], but memory for float32[4,2]"));
  EXPECT_THAT(
      std::string(
          Refusal(*module, x, at::empty({2, 4}, at::kDouble)).message()),
      HasSubstr("float64[2,4] was given"));
  EXPECT_THAT(
      std::string(
          Refusal(*module, at::randn({3, 2}).t(), at::empty({2, 4})).message()),
      HasSubstr("give contiguous() memory"));
  EXPECT_THAT(
      std::string(module->Bind(ValueList({x}), ValueList()).status().message()),
      HasSubstr("gives 1 tensors, but 0 outputs"));
  const at::Tensor both = at::randn({32});
  EXPECT_THAT(std::string(Refusal(*module, both.narrow(0, 0, 6).view({2, 3}),
                                  both.narrow(0, 0, 8).view({2, 4}))
                              .message()),
              HasSubstr("overlaps that of an input"));
}

TEST_F(BindingTest, AVersionThatIsGoneSaysSo) {
  const at::Tensor x = at::randn({2, 3}), y = at::empty({2, 4});
  const auto module = Tuned(x, aitune::frontend::kNet);
  const auto call = module->Bind(ValueList({x}), ValueList({y}));
  ASSERT_TRUE(call.ok()) << call.status();
  ASSERT_TRUE((*call)->Run(nullptr).ok());
  ASSERT_TRUE(aitune::Reset().ok());
  const absl::Status gone = (*call)->Run(nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(gone)) << gone;
  EXPECT_THAT(std::string(gone.message()), HasSubstr("bind again"));
  ExpectRuns(*module, x, y, true);
}

TEST_F(BindingTest, CallsVersionsAndMemoryAreCounted) {
  const at::Tensor x = at::randn({2, 3});
  const auto module = Wrap();
  ASSERT_TRUE(module->Run(ValueList({x})).ok());
  EXPECT_EQ(module->Usage().calls, 1);
  EXPECT_EQ(module->Usage().eager_calls, 1);
  EXPECT_EQ(module->Usage().versions, 0);
  ASSERT_TRUE(module->Record(ValueList({x})).ok());
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  // The calls of the tuning itself do not count.
  EXPECT_EQ(module->Usage().calls, 0);
  EXPECT_EQ(module->Usage().versions, 1);
  EXPECT_EQ(module->Usage().recompilations, 0);
  ASSERT_TRUE(module->Run(ValueList({x})).ok());
  ASSERT_TRUE(module->Run(ValueList({at::randn({9, 3})})).ok());
  EXPECT_EQ(module->Usage().calls, 2);
  EXPECT_EQ(module->Usage().eager_calls, 0);
  EXPECT_EQ(module->Usage().versions, 2);
  EXPECT_EQ(module->Usage().recompilations, 1);
  const auto call =
      module->Bind(ValueList({x}), ValueList({at::empty({2, 4})}));
  ASSERT_TRUE(call.ok()) << call.status();
  ASSERT_TRUE((*call)->Run(nullptr).ok());
  {
    aitune::ScopedStance stance(aitune::Stance::kForceEager);
    ASSERT_TRUE(module->Run(ValueList({x})).ok());
  }
  EXPECT_EQ(module->Usage().calls, 4);
  EXPECT_EQ(module->Usage().eager_calls, 1);
  EXPECT_GT(module->Usage().memory_bytes, 0);
  // The same model again: its version is in the cache.
  const auto again = Module::Wrap(model_, {"net", folder_ / "cache"});
  ASSERT_TRUE(again->Record(ValueList({x})).ok());
  ASSERT_TRUE(
      again->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  EXPECT_EQ(again->Usage().cache_hits, 1);
}

TEST_F(BindingTest, RangesNeedNoSamplesAndCompileAhead) {
  auto module = Wrap();
  TuneOptions options = Quick("TorchInductorBackend");
  aitune::frontend::InputChoice choice;
  choice.specs = {"float32[1..32,3]"};
  const auto inputs = aitune::frontend::ChooseInputs(*model_, choice);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  options.inputs = *inputs;
  const absl::Status tuned = module->Tune(*aitune::OneBackend(), options);
  ASSERT_TRUE(tuned.ok()) << tuned;
  EXPECT_EQ(module->report().inputs, "float32[1..32,3]");
  for (const int64_t rows : {1, 2, 17, 32})
    ExpectAgrees(*module, at::randn({rows, 3}));
  EXPECT_EQ(module->Usage().recompilations, 0);
  EXPECT_EQ(module->Signatures().at(0).inputs.at(0).axes.at(0).max, 32);
}

}  // namespace
}  // namespace ait
