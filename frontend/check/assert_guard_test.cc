#include "frontend/check/assert_guard.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

Model MakeModel(const std::string& source) {
  return *Model::FromSource(source);
}

using ::testing::HasSubstr;

TEST(AssertGuard, FindsIndicesThatSmallerTensorsHaveNot) {
  const Model model = MakeModel(
      "def forward(self, x: Tensor, i: Tensor):\n  return x[i] * 2\n");
  AssertGuard guard(model);
  const at::Tensor indices = at::full({2}, 6, at::kLong);
  const ValueList large({at::randn({8, 3}), indices}),
      small({at::randn({1, 3}), indices});
  EXPECT_TRUE(guard.Try(large).ok());
  EXPECT_THAT(std::string(guard.Try(small).message()),
              HasSubstr("out of bounds"));
  EXPECT_TRUE(guard.Try(ValueList({at::randn({7, 3}), indices})).ok());
}

TEST(AssertGuard, FindsOffsetsThatAreNotInOrder) {
  const Model model = MakeModel(
      "def forward(self, w: Tensor, i: Tensor, o: Tensor):\n"
      "  return torch.embedding_bag(w, i, o)[0]\n");
  AssertGuard guard(model);
  const at::Tensor weight = at::randn({8, 3}), bag = at::arange(4);
  const ValueList sample({weight, bag, at::tensor({0, 2}, at::kLong)});
  EXPECT_TRUE(guard.Try(sample).ok());
  EXPECT_FALSE(
      guard.Try(ValueList({weight, bag, at::tensor({0, 9}, at::kLong)})).ok());
}

TEST(AssertGuard, FindsIndicesThatAreMadeOfNan) {
  const Model model = MakeModel(
      "def forward(self, x: Tensor):\n"
      "  return x.new_zeros(4).scatter_add(0, (x * 3).long(), x)\n");
  AssertGuard guard(model);
  EXPECT_TRUE(guard.Try(ValueList({at::rand({5})})).ok());
  EXPECT_FALSE(guard.Try(ValueList({at::full({5}, NAN)})).ok());
}

// Each column has a table's part of its own; ids of one fit no other.
TEST(AssertGuard, FindsRowsThatATableHasNot) {
  torch::jit::Module module("Tables");
  module.register_parameter("table", at::randn({5, 2}), false);
  module.define(
      "def forward(self, x: Tensor, i: Tensor):\n"
      "  return torch.embedding(self.table, i + torch.arange(2) * 3)\n");
  const auto ids = [](int64_t id) { return at::full({3, 2}, id, at::kLong); };
  const Model model = *Model::FromModule(module);
  AssertGuard guard(model);
  EXPECT_TRUE(guard.Try(ValueList({at::ones({1}), ids(1)})).ok());
  EXPECT_FALSE(guard.Try(ValueList({at::ones({1}), ids(2)})).ok());
}

// Without a call, which would raise.
TEST(AssertGuard, RunsNothingForRowsThatATableHas) {
  torch::jit::Module module("Table");
  module.register_parameter("table", at::randn({5, 2}), false);
  module.define(
      "def forward(self, x: Tensor, i: Tensor):\n"
      "  assert bool(x.sum() > 100)\n"
      "  return torch.embedding(self.table, i.view([-1]))\n");
  const Model model = *Model::FromModule(module);
  AssertGuard guard(model);
  const at::Tensor x = at::ones({1});
  EXPECT_TRUE(guard.Try(ValueList({x, at::full({3}, 4, at::kLong)})).ok());
  EXPECT_FALSE(guard.Try(ValueList({x, at::full({3}, 5, at::kLong)})).ok());
}

// sparsemax: the last of those that are greater, of which NaN has none.
TEST(AssertGuard, FindsIndicesThatAreCounted) {
  const Model model = MakeModel(
      "def forward(self, x: Tensor):\n"
      "  last = (x > 0).sum(-1, True) - 1\n"
      "  return x.gather(-1, last)\n");
  AssertGuard guard(model);
  EXPECT_TRUE(guard.Try(ValueList({at::ones({2, 5})})).ok());
  EXPECT_FALSE(guard.Try(ValueList({at::full({2, 5}, NAN)})).ok());
}

// Those of constants, of sizes and of sorting always fit; here the model raises
// if it is called.
TEST(AssertGuard, RunsNothingForIndicesThatFit) {
  for (const char* index :
       {"(torch.arange(4) * 2).cumsum(0) // 8", "x.argsort(0)",
        "x.max(0)[1].unsqueeze(0)",
        "(torch.ones([x.size(0)]).sum(0, True) - 1).long()"}) {
    const Model model =
        MakeModel(std::string("def forward(self, x: Tensor):\n"
                              "  assert bool(x.sum() > 100)\n  return x[") +
                  index + "]\n");
    AssertGuard guard(model);
    EXPECT_TRUE(guard.Try(ValueList({at::full({4}, NAN)})).ok()) << index;
  }
}

TEST(AssertGuard, FindsProbabilitiesAboveOne) {
  const Model model = MakeModel(
      "def forward(self, p: Tensor, y: Tensor):\n"
      "  return torch.binary_cross_entropy(p, y)\n");
  AssertGuard guard(model);
  const at::Tensor y = at::ones({4});
  EXPECT_TRUE(guard.Try(ValueList({at::full({4}, .5), y})).ok());
  EXPECT_FALSE(guard.Try(ValueList({at::full({4}, 1.5), y})).ok());
}

TEST(AssertGuard, FindsDivisorsOfZero) {
  for (const char* quotient : {"x // y", "x % y", "torch.fmod(x, y)"}) {
    const Model model =
        MakeModel(std::string("def forward(self, x: Tensor, y: Tensor):\n"
                              "  return ") +
                  quotient + "\n");
    AssertGuard guard(model);
    const at::Tensor x = at::arange(4);
    EXPECT_TRUE(guard.Try(ValueList({x, at::full({4}, 2, at::kLong)})).ok());
    EXPECT_FALSE(guard.Try(ValueList({x, at::zeros_like(x)})).ok()) << quotient;
  }
}

TEST(AssertGuard, RunsNothingWithoutNeed) {
  const Model model = MakeModel(
      "def forward(self, x: Tensor, i: Tensor):\n"
      "  assert bool(x.sum() > 100)\n  return x * i\n");
  AssertGuard without(model);
  EXPECT_TRUE(without.Try(ValueList({at::ones({2}), at::arange(2)})).ok());
  EXPECT_TRUE(without.Try(ValueList({at::ones({2}), -at::arange(2)})).ok());
}

}  // namespace
}  // namespace aitune::frontend
