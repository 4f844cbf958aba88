// What compiled versions on a GPU share of a model's state, here on the CPU,
// where it is a copy as well.
#include "frontend/torchscript/gpu_state.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <memory>
#include <thread>

#include "frontend/torchscript/live_state.h"
#include "frontend/torchscript/model_state.h"

namespace aitune::frontend {
namespace {

// Its calls count in place, or by an attribute that is set.
Model Counting(const char* source) {
  torch::jit::Module module("Counting");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_buffer("count", at::zeros({2, 3}).t());
  module.define(source);
  auto model = Model::FromModule(module);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}
constexpr char kInPlace[] = R"(
def forward(self, x):
    self.count.add_(1)
    return x + self.count
)";

class GpuStateTest : public testing::Test {
 protected:
  GpuStateTest() : model_(Counting(kInPlace)), live_(model_) {
    auto made = GpuState::Of(model_, Device());
    EXPECT_TRUE(made.ok()) << made.status();
    state_ = *made;
    EXPECT_NE(state_, nullptr);
    EXPECT_NE(there(), nullptr);
  }
  at::Tensor own() const { return live_.live()->tensors().at(0); }
  const at::Tensor* there() const { return state_->Find(own()); }
  void Run(const std::function<void()>& body = [] {}) {
    ASSERT_TRUE(state_->Enter(nullptr).ok());
    body();
    state_->Leave(nullptr);
  }

  const c10::InferenceMode inference_;  // as regions run
  const Model model_;
  const ModelState live_;
  std::shared_ptr<GpuState> state_;
};

TEST_F(GpuStateTest, IsACopyOfTheSameLayoutThatIsPassedOnWhenAsked) {
  EXPECT_FALSE(there()->is_alias_of(own()));
  EXPECT_EQ(there()->strides(), own().strides());
  Run([&] { at::Tensor(*there()).add_(5); });
  EXPECT_TRUE(own().equal(at::zeros({3, 2})));
  ASSERT_TRUE(state_->GiveToModel().ok());
  EXPECT_TRUE(own().equal(at::full({3, 2}, 5)));
  own().add_(1);
  ASSERT_TRUE(state_->TakeFromModel().ok());
  EXPECT_TRUE(there()->equal(at::full({3, 2}, 6)));
}

TEST_F(GpuStateTest, IsTheModelsOnceThatWasRestored) {
  ModelState saved(model_);
  saved.Save();
  Run([&] { at::Tensor(*there()).add_(5); });
  Run([&] { EXPECT_TRUE(there()->equal(at::full({3, 2}, 5))); });
  saved.Restore();
  Run([&] { EXPECT_TRUE(there()->equal(at::zeros({3, 2}))); });
  // What was given to the model is not taken back.
  Run([&] { at::Tensor(*there()).add_(2); });
  ASSERT_TRUE(state_->GiveToModel().ok());
  own().zero_();
  Run([&] { EXPECT_TRUE(there()->equal(at::full({3, 2}, 2))); });
}

TEST_F(GpuStateTest, IsOneForAllOfTheModelWhileSomebodyKeepsIt) {
  EXPECT_EQ(*GpuState::Of(model_, Device()), state_);
  const Model other = Counting(kInPlace);
  EXPECT_NE(*GpuState::Of(other, Device()), state_);
  const std::weak_ptr<GpuState> weak = state_;
  own().fill_(7);
  state_ = nullptr;
  EXPECT_TRUE(weak.expired());
  state_ = *GpuState::Of(model_, Device());
  EXPECT_TRUE(there()->equal(at::full({3, 2}, 7)));
}

TEST_F(GpuStateTest, IsNothingWhereCompiledCodeCannotShareIt) {
  torch::jit::Module module("Sets");
  module.register_attribute("calls", c10::IntType::get(), 0);
  module.define(R"(
def forward(self, x):
    self.calls += 1
    return x + self.calls
)");
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto state = GpuState::Of(*model, Device());
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(*state, nullptr);
  EXPECT_EQ(state_->Find(at::zeros({3, 2})), nullptr);
}

TEST_F(GpuStateTest, LetsOneRunThroughAfterAnother) {
  constexpr int kRuns = 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int run = 0; run < kRuns; ++run)
        Run([&] { ++there()->data_ptr<float>()[0]; });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(there()->data_ptr<float>()[0], 3 * kRuns);
}

}  // namespace
}  // namespace aitune::frontend
