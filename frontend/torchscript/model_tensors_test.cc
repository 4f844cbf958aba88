// The hash of models with objects or sparse tensors as attributes.
#include "frontend/torchscript/model_tensors.h"

#include <ATen/ATen.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/custom_class.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

struct Hidden : torch::CustomClassHolder {};
const auto registered = torch::class_<Hidden>("aitune_test", "Hidden");

struct Values {
  double scale = 2;
  at::Tensor table = at::ones({2});
  bool of_one_object = true;  // or of two that are equal
  bool of_cxx = false;
};

// A model with objects of a TorchScript class, each of which has itself.
absl::StatusOr<std::string> HashOf(const Values& values) {
  torch::jit::Module module("__torch__.Whole");
  const auto unit = module._ivalue()->compilation_unit();
  const auto type = c10::ClassType::create("__torch__.Coder", unit);
  unit->register_type(type);
  type->addAttribute("scale", c10::FloatType::get());
  type->addAttribute("table", c10::TensorType::get());
  type->addAttribute("itself", c10::AnyType::get());
  type->addAttribute("other", c10::AnyType::get());
  const auto make = [&] {
    const auto object =
        c10::ivalue::Object::create(c10::StrongTypePtr(unit, type), 4);
    object->setAttr("scale", values.scale);
    object->setAttr("table", values.table);
    object->setAttr("itself", object);
    if (values.of_cxx)
      object->setAttr("other", torch::make_custom_class<Hidden>());
    return object;
  };
  const auto first = make();
  module.register_attribute("first", type, first);
  module.register_attribute("second", type,
                            values.of_one_object ? first : make());
  module.define(
      "def forward(self, x: Tensor):\n"
      "  return x * self.first.scale + self.second.table\n");
  const auto model = Model::FromModule(module);
  if (!model.ok()) return model.status();
  return ModelSha256(*model);
}

TEST(ModelSha256, IsOfWhatObjectsHave) {
  const auto hash = HashOf({});
  ASSERT_TRUE(hash.ok()) << hash.status();
  EXPECT_EQ(*HashOf({}), *hash);
  Values values;
  values.scale = 3;
  EXPECT_NE(*HashOf(values), *hash);
  values = {};
  values.table = at::zeros({2});
  EXPECT_NE(*HashOf(values), *hash);
  values = {};
  values.of_one_object = false;
  EXPECT_NE(*HashOf(values), *hash);
}

// A model that calls a method of an interface, of which these submodules have
// one each.
absl::StatusOr<std::string> HashOfMethods(const std::string& first,
                                          const std::string& second,
                                          bool calls_first = true) {
  torch::jit::Module module("__torch__.Whole");
  const auto unit = module._ivalue()->compilation_unit();
  const auto part =
      c10::InterfaceType::create("__torch__.Part", /*is_module=*/true);
  part->addMethod(c10::FunctionSchema(
      "forward", "",
      {c10::Argument("self", part), c10::Argument("x", c10::TensorType::get())},
      {c10::Argument("", c10::TensorType::get())}));
  unit->register_type(part);
  std::vector<torch::jit::Module> parts;
  for (const std::string& result : {first, second}) {
    parts.emplace_back(absl::StrCat("__torch__.Part", parts.size()), unit);
    parts.back().define("def forward(self, x: Tensor):\n  return " + result +
                        "\n");
  }
  module.register_module("first", parts[0]);
  module.register_module("second", parts[1]);
  module.register_attribute("part", part, parts[calls_first ? 0 : 1]._ivalue());
  module.define(
      "def forward(self, x: Tensor):\n  return self.part.forward(x) + 1\n");
  const auto model = Model::FromModule(module);
  if (!model.ok()) return model.status();
  return ModelSha256(*model);
}

TEST(ModelSha256, IsOfSparseTensors) {
  // A buffer of three by five with one number.
  const auto hash_of = [](int64_t row, int64_t column, double number) {
    torch::jit::Module module("__torch__.Whole");
    const at::Tensor place = at::tensor({row, column}).view({2, 1});
    module.register_buffer(
        "heads", at::sparse_coo_tensor(place, at::tensor({number}), {3, 5}));
    module.define("def forward(self, x: Tensor):\n  return x + 1\n");
    return ModelSha256(*Model::FromModule(module));
  };
  const auto hash = hash_of(1, 2, 4.0);
  ASSERT_TRUE(hash.ok()) << hash.status();
  EXPECT_EQ(*hash_of(1, 2, 4.0), *hash);
  EXPECT_NE(*hash_of(1, 3, 4.0), *hash);
  EXPECT_NE(*hash_of(1, 2, 5.0), *hash);
}

TEST(ModelSha256, IsOfTheMethodsOfInterfaces) {
  const auto hash = HashOfMethods("x * 2", "x * 3");
  ASSERT_TRUE(hash.ok()) << hash.status();
  EXPECT_EQ(*HashOfMethods("x * 2", "x * 3"), *hash);
  EXPECT_NE(*HashOfMethods("x * 4", "x * 3"), *hash);
  // Which of them is called is known to the call alone.
  EXPECT_NE(*HashOfMethods("x * 2", "x * 5"), *hash);
  EXPECT_NE(*HashOfMethods("x + 2", "x * 3"), *hash);
  EXPECT_NE(*HashOfMethods("x * 2", "x * 3", /*calls_first=*/false), *hash);
}

TEST(ModelSha256, IsNotOfObjectsOfCxxClasses) {
  Values values;
  values.of_cxx = true;
  EXPECT_THAT(std::string(HashOf(values).status().message()),
              HasSubstr("its attribute first.other is an object of the C++ "
                        "class __torch__.torch.classes.aitune_test.Hidden"));
}

}  // namespace
}  // namespace aitune::frontend
