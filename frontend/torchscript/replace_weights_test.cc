// Models with other weights: tied ones, state, and what is refused.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include "frontend/torchscript/model.h"
#include "frontend/values/torch_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

// x * part.scale * tied + offset, and a count of calls.
Model MakeModel() {
  torch::jit::Module part("__torch__.Part");
  const at::Tensor scale = at::full({2}, 3.0);
  part.register_parameter("scale", scale, /*is_buffer=*/false);
  part.define("def forward(self, x: Tensor):\n  return x * self.scale\n");
  torch::jit::Module module("__torch__.Whole");
  module.register_module("part", part);
  module.register_parameter("tied", scale.detach(), /*is_buffer=*/false);
  module.register_buffer("offset", at::ones({2}));
  module.register_buffer("calls", at::zeros({1}));
  const at::Tensor table = at::zeros({4});
  module.register_buffer("table", table);
  module.register_buffer("row", table.slice(0, 0, 2));
  module.define(
      "def forward(self, x: Tensor):\n"
      "  self.calls.add_(1)\n"
      "  return self.part.forward(x) * self.tied + self.offset + self.calls\n");
  auto model = Model::FromModule(module);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

at::Tensor Call(const Model& model) {
  const auto result = model.RunEager(ValueList({at::ones({2})}));
  EXPECT_TRUE(result.ok()) << result.status();
  return result->toTensor();
}

TEST(WithWeights, ReplacesTiedOnesAndKeepsState) {
  const Model model = MakeModel();
  EXPECT_TRUE(at::equal(Call(model), at::full({2}, 11.0)));  // 3 * 3 + 1 + 1
  at::Tensor scale = at::full({2}, 2.0);
  at::Tensor offset = at::full({2}, 5.0);
  const auto changed = model.WithWeights(
      {{"part.scale", ViewOf(scale)}, {"offset", ViewOf(offset)}});
  ASSERT_TRUE(changed.ok()) << changed.status();
  scale.fill_(100);  // which was copied
  EXPECT_TRUE(at::equal(Call(*changed), at::full({2}, 11.0)));  // 2 * 2 + 5 + 2
  EXPECT_TRUE(at::equal(Call(model), at::full({2}, 13.0)));     // 3 * 3 + 1 + 3
}

TEST(WithWeights, RefusesWhatDoesNotFit) {
  const Model model = MakeModel();
  at::Tensor two = at::ones({2}), other = at::zeros({2}), three = at::ones({3});
  at::Tensor wide = at::ones({2}, at::kDouble);
  const auto refusal = [&](const std::map<std::string, TensorView>& weights) {
    return std::string(model.WithWeights(weights).status().message());
  };
  EXPECT_THAT(refusal({{"nothing", ViewOf(two)}}),
              HasSubstr("the model has no weight 'nothing'"));
  EXPECT_THAT(refusal({{"offset", ViewOf(three)}}),
              HasSubstr("weight 'offset' is float32[2], but float32[3] was"));
  EXPECT_THAT(refusal({{"offset", ViewOf(wide)}}),
              HasSubstr("but float64[2] was given"));
  EXPECT_THAT(refusal({{"row", ViewOf(two)}}),
              HasSubstr("weight 'row' can't be replaced: 'table' is another "
                        "view of its memory"));
  EXPECT_THAT(refusal({{"tied", ViewOf(two)}, {"part.scale", ViewOf(other)}}),
              HasSubstr("'part.scale' and 'tied' are one tensor of the model"));
  EXPECT_EQ(refusal({{"tied", ViewOf(two)}, {"part.scale", ViewOf(two)}}), "");
}

// A model that computes with what a list and a dict hold, as recurrent networks
// do, both of them under two names.
torch::jit::Module Holding() {
  torch::jit::Module module("__torch__.Holding");
  const at::Tensor weight = at::full({2}, 3.0);
  module.register_parameter("weight", weight, /*is_buffer=*/false);
  module.register_buffer("other", at::ones({2}));
  c10::List<at::Tensor> list({weight});
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("w", weight);
  const auto tensors = c10::ListType::ofTensors();
  module.register_attribute("flat", tensors, list);
  module.register_attribute("same", tensors, list);
  module.register_attribute(
      "named",
      c10::DictType::create(c10::StringType::get(), c10::TensorType::get()),
      dict);
  module.define(
      "def forward(self, x: Tensor):\n"
      "  return x * self.flat[0] + self.named['w'] * 10, "
      "self.flat is self.same\n");
  return module;
}

TEST(WithWeights, ReplacesThoseThatContainersHold) {
  const auto model = Model::FromModule(Holding());
  ASSERT_TRUE(model.ok()) << model.status();
  const at::Tensor weight = at::full({2}, 2.0);
  const auto changed = model->WithWeights({{"weight", ViewOf(weight)}});
  ASSERT_TRUE(changed.ok()) << changed.status();
  const auto first = [](const Model& called) {
    const auto result = called.RunEager(ValueList({at::ones({2})}));
    EXPECT_TRUE(result.ok()) << result.status();
    const auto& elements = result->toTupleRef().elements();
    EXPECT_TRUE(elements[1].toBool()) << "one list of two names";
    return elements[0].toTensor();
  };
  EXPECT_TRUE(at::equal(first(*changed), at::full({2}, 22.0)));
  EXPECT_TRUE(at::equal(first(*model), at::full({2}, 33.0)));
}

TEST(WithWeights, RefusesViewsInContainers) {
  torch::jit::Module module = Holding();
  module.attr("flat").toTensorList().push_back(
      module.attr("weight").toTensor().slice(0, 0, 1));
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const at::Tensor two = at::ones({2});
  EXPECT_THAT(
      std::string(
          model->WithWeights({{"weight", ViewOf(two)}}).status().message()),
      HasSubstr("weight 'weight' can't be replaced: 'flat' holds another view "
                "of its memory"));
  EXPECT_TRUE(model->WithWeights({{"other", ViewOf(two)}}).ok());
}

}  // namespace
}  // namespace aitune::frontend
