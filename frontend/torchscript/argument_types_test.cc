#include "frontend/torchscript/argument_types.h"

#include <ATen/ATen.h>

#include <string>

#include "frontend/torchscript/model.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// A file keeps lists and dicts of anything.
TEST(Samples, ContainersTakeTheTypesOfForwardsParameters) {
  const auto model = Model::FromSource(
      "def forward(self, x: List[Tensor], y: Dict[str, List[Tensor]], z: "
      "Optional[List[int]]):\n"
      "    return x[0] + y['a'][0]\n");
  ASSERT_TRUE(model.ok()) << model.status();
  const c10::TypePtr any = c10::AnyType::get();
  c10::impl::GenericList tensors(any), numbers(any), mixed(any);
  tensors.push_back(at::ones({2}));
  numbers.push_back(3);
  mixed.push_back(at::ones({2}));
  mixed.push_back(3);
  c10::impl::GenericDict dict(any, any);
  dict.insert("a", tensors);
  const absl::StatusOr<c10::IValue> result =
      model->RunEager(ValueList({tensors, dict, numbers}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->toTensor().sum().item<float>(), 4);
  EXPECT_EQ(model->RunEager(ValueList({mixed, dict, numbers})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// As Python's binding finds the member of a Union: by the elements.
TEST(Samples, ContainersTakeTheTypesOfMembersOfUnions) {
  const c10::TypePtr any = c10::AnyType::get();
  c10::impl::GenericList tensors(any), integers(any), some(any), none(any);
  tensors.push_back(at::ones({2}));
  integers.push_back(3);
  integers.push_back(4);
  some.push_back(3);
  some.push_back(c10::IValue());
  c10::impl::GenericDict dict(any, any);
  dict.insert("a", at::ones({2}));
  const auto kind = [](const std::string& type, const c10::IValue& value) {
    const auto model = Model::FromSource(
        "def forward(self, x: " + type +
        ") -> int:\n"
        "    if isinstance(x, List[Tensor]):\n        return 1\n"
        "    if isinstance(x, List[int]):\n        return 2\n"
        "    if isinstance(x, Dict[str, Tensor]):\n        return 3\n"
        "    if isinstance(x, List[Optional[int]]):\n        return 4\n"
        "    return 0\n");
    if (!model.ok()) ADD_FAILURE() << model.status();
    const auto found = model->RunEager(ValueList({value}));
    return found.ok() ? found->toInt() : -1;
  };
  EXPECT_EQ(kind("Union[Tensor, List[Tensor]]", tensors), 1);
  EXPECT_EQ(kind("Union[Tensor, List[Tensor]]", at::ones({2})), 0);
  EXPECT_EQ(kind("Union[Tensor, List[Tensor]]", integers), -1);
  EXPECT_EQ(kind("Union[int, List[int]]", integers), 2);
  EXPECT_EQ(kind("Union[int, List[int]]", 3), 0);
  EXPECT_EQ(kind("Union[int, List[int]]", some), -1);
  EXPECT_EQ(kind("Union[int, List[int]]", none), 2);
  EXPECT_EQ(kind("Union[List[Optional[int]], List[int]]", integers), 2);
  EXPECT_EQ(kind("Union[List[Optional[int]], List[int]]", some), 4);
  const std::string kOptional =
      "Optional[Union[Tensor, List[Tensor], Dict[str, Tensor]]]";
  EXPECT_EQ(kind(kOptional, tensors), 1);
  EXPECT_EQ(kind(kOptional, dict), 3);
  EXPECT_EQ(kind(kOptional, c10::IValue()), 0);
  EXPECT_EQ(kind("Any", tensors), 1);
  EXPECT_EQ(kind("Any", integers), 2);
  // Numbers stay as they are.
  EXPECT_EQ(kind("Union[float, List[float]]", 3), -1);
  EXPECT_EQ(kind("Union[float, List[float]]", integers), -1);
  EXPECT_EQ(kind("float", 3), -1);
}

TEST(Samples, NumbersTakeTheTypesOfForwardsParameters) {
  const auto model = Model::FromSource(
      "def forward(self, a: float, b: List[float], c: Dict[float, int], d: "
      "Optional[float], e: complex, f: bool, g: Tuple[float, int], h: "
      "Union[float, str], i: int):\n"
      "    return a\n");
  ASSERT_TRUE(model.ok()) << model.status();
  const c10::TypePtr any = c10::AnyType::get();
  c10::impl::GenericList list(any);
  list.push_back(1);
  list.push_back(2.5);
  c10::impl::GenericDict dict(any, any);
  dict.insert(1, true);
  const ValueList typed = WithParameterTypes(
      *model, ValueList({1, list, dict, true, 1.5, 1,
                         c10::ivalue::Tuple::create({1, true}), 1, 1.5}));
  EXPECT_EQ(typed.Describe(),
            "float64=1, [float64=1, float64=2.5], {float64=1: int64=1}, "
            "float64=1, ComplexDouble, bool=true, (float64=1, int64=1), "
            "int64=1, float64=1.5");
  EXPECT_EQ(*typed.values()[2].type(),
            *c10::DictType::create(c10::FloatType::get(), c10::IntType::get()));
}

TEST(Samples, ArgumentsAreConvertedAsByPython) {
  const auto model = Model::FromSource(
      "def forward(self, sizes: List[int], parts: List[Tensor], n: int, "
      "f: float, where: Device, any: Any):\n"
      "    return parts[0]\n");
  ASSERT_TRUE(model.ok()) << model.status();
  const c10::TypePtr any_type = c10::AnyType::get();
  c10::impl::GenericList tensors(any_type);
  tensors.push_back(at::zeros({2}));
  const at::Tensor two = at::scalar_tensor(2, at::kLong);
  const ValueList typed = WithParameterTypes(
      *model,
      ValueList({c10::ivalue::Tuple::create({3, two}),
                 c10::ivalue::Tuple::create({at::ones({1}), at::ones({2})}),
                 two, at::scalar_tensor(1.5), "cpu",
                 c10::ivalue::Tuple::create({tensors, 2})}));
  EXPECT_EQ(typed.Describe(),
            "[int64=3, int64=2], [float32[1], float32[2]], int64=2, "
            "float64=1.5, Device, ([float32[2]], int64=2)");
  EXPECT_EQ(*typed.values()[0].type(), *c10::ListType::ofInts());
  EXPECT_EQ(*typed.values()[1].type(), *c10::ListType::ofTensors());
  EXPECT_EQ(*typed.values()[5].toTupleRef().elements()[0].type(),
            *c10::ListType::ofTensors());
  // No integer: Python refuses it too.
  EXPECT_TRUE(WithParameterTypes(
                  *model, ValueList({typed.values()[0], typed.values()[1],
                                     at::scalar_tensor(1.5)}))
                  .values()[2]
                  .isTensor());
}

}  // namespace
}  // namespace aitune::frontend
