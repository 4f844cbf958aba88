#include "frontend/values/pytree.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> PathsOf(const c10::IValue& value) {
  std::vector<std::string> paths;
  for (const Leaf& leaf : Leaves(value)) paths.push_back(leaf.path);
  return paths;
}

TEST(Pytree, UndefinedTensorsAreNoneAndNotMapped) {
  const at::Tensor undefined;
  const c10::IValue value = c10::ivalue::Tuple::create(
      undefined, at::ones({2}),
      c10::List<at::Tensor>({undefined, at::zeros({3})}));
  EXPECT_THAT(PathsOf(value), ElementsAre("[0]", "[1]", "[2][0]", "[2][1]"));
  EXPECT_TRUE(Leaves(value)[0].value->isNone());
  EXPECT_TRUE(Leaves(value)[2].value->isNone());
  ASSERT_EQ(TensorLeaves(value).size(), 2u);
  // By the numbers of TensorLeaves.
  const c10::IValue mapped =
      MapTensors(value, [](const at::Tensor& tensor, int index) {
        return tensor + 10 * (index + 1);
      });
  EXPECT_FALSE(mapped.toTupleRef().elements()[0].toTensor().defined());
  EXPECT_TRUE(TensorLeaves(mapped).at(0).equal(at::full({2}, 11.f)));
  EXPECT_TRUE(TensorLeaves(mapped).at(1).equal(at::full({3}, 20.f)));
  EXPECT_TRUE(Leaves(at::Tensor())[0].value->isNone());
}

TEST(Pytree, TuplesKeepTheirNames) {
  const auto named = c10::TupleType::createNamed(
      c10::QualifiedName("__torch__.Pair"), std::vector<std::string>{"a", "b"},
      {c10::TensorType::get(), c10::TensorType::get()});
  const c10::IValue mapped = MapTensors(
      c10::ivalue::Tuple::createNamed({at::Tensor(), at::ones({2})}, named),
      [](const at::Tensor& tensor, int) { return tensor + 1; });
  const auto type = mapped.type()->cast<c10::TupleType>();
  ASSERT_NE(type->schema(), nullptr);
  EXPECT_EQ(type->schema()->arguments()[1].name(), "b");
}

// A key may be a view of memory that a call only lends, as a value may.
TEST(Pytree, KeysThatAreTensorsAreLeaves) {
  c10::impl::GenericDict dict(c10::TensorType::get(), c10::TensorType::get());
  dict.insert(at::ones({2}), at::zeros({3}));
  dict.insert(at::ones({2}), at::ones({3}));
  const c10::IValue value = c10::ivalue::Tuple::create(dict, at::ones({1}));
  EXPECT_THAT(PathsOf(value),
              ElementsAre("[0].keys()[0]", "[0].values()[0]", "[0].keys()[1]",
                          "[0].values()[1]", "[1]"));
  const c10::IValue mapped = MapTensors(
      value,
      [](const at::Tensor& tensor, int index) { return tensor + 10 * index; });
  const std::vector<at::Tensor> tensors = TensorLeaves(mapped);
  ASSERT_EQ(tensors.size(), 5u);
  const float wanted[] = {1, 10, 21, 31, 41};
  for (size_t i = 0; i < tensors.size(); ++i)
    EXPECT_EQ(tensors[i][0].item<float>(), wanted[i]) << i;
  // The keys are found, as the dict's own.
  const auto copy = mapped.toTupleRef().elements()[0].toGenericDict();
  EXPECT_TRUE(copy.at(tensors[2]).toTensor().is_same(tensors[3]));
}

}  // namespace
}  // namespace aitune::frontend
