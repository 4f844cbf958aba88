#include "frontend/values/recurrent_sizes.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <string>

namespace aitune::frontend {
namespace {

struct Layer {
  std::string name;
  int64_t gates = 1, layers = 1;
  bool biases = true, bidirectional = false, batch_first = false;
  int64_t projection = 0;  // 0: none
};

std::vector<at::Tensor> WeightsOf(const Layer& layer, int64_t width,
                                  int64_t hidden) {
  const int64_t given = layer.projection > 0 ? layer.projection : hidden,
                directions = layer.bidirectional ? 2 : 1;
  std::vector<at::Tensor> weights;
  for (int64_t cell = 0; cell < layer.layers * directions; ++cell) {
    weights.push_back(
        at::randn({layer.gates * hidden,
                   cell < directions ? width : directions * given}));
    weights.push_back(at::randn({layer.gates * hidden, given}));
    if (layer.biases)
      for (int i = 0; i < 2; ++i)
        weights.push_back(at::randn({layer.gates * hidden}));
    if (layer.projection > 0) weights.push_back(at::randn({given, hidden}));
  }
  return weights;
}

std::vector<c10::IValue> StackOf(const Layer& layer, const at::Tensor& input,
                                 int64_t states_batch) {
  const int64_t hidden = 6,
                given = layer.projection > 0 ? layer.projection : hidden,
                cells = layer.layers * (layer.bidirectional ? 2 : 1);
  const at::Tensor h = at::zeros({cells, states_batch, given}),
                   c = at::zeros({cells, states_batch, hidden});
  return {input,
          layer.gates == 4 ? c10::IValue(std::vector<at::Tensor>{h, c})
                           : c10::IValue(h),
          WeightsOf(layer, input.size(2), hidden),
          layer.biases,
          layer.layers,
          0.0,
          false,
          layer.bidirectional,
          layer.batch_first};
}

TEST(RecurrentSizes, AreThoseOfLibTorch) {
  for (const Layer& layer :
       {Layer{"aten::lstm", 4}, Layer{"aten::lstm", 4, 2, false, true, true},
        Layer{"aten::lstm", 4, 2, true, true, false, 5},
        Layer{"aten::gru", 3, 3, true, true}, Layer{"aten::gru", 3, 1, false},
        Layer{"aten::rnn_tanh", 1, 2, true, false, true},
        Layer{"aten::rnn_relu", 1, 1, true, true}}) {
    const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(
        layer.name.c_str(), "input");
    ASSERT_TRUE(IsRecurrent(handle.schema()));
    const at::Tensor input = at::randn({3, 4, 7});
    std::vector<c10::IValue> stack =
        StackOf(layer, input, layer.batch_first ? 3 : 4);
    const auto sizes = RecurrentSizes(handle.schema(), stack);
    ASSERT_TRUE(sizes.has_value()) << layer.name;
    handle.callBoxed(&stack);
    ASSERT_EQ(sizes->size(), stack.size());
    for (size_t i = 0; i < stack.size(); ++i)
      EXPECT_EQ(stack[i].toTensor().sizes(), at::IntArrayRef((*sizes)[i]))
          << layer.name << i;
    // States of another batch, another width of the input, no step.
    EXPECT_FALSE(
        RecurrentSizes(handle.schema(), StackOf(layer, input, 2)).has_value());
    std::vector<c10::IValue> wider =
        StackOf(layer, input, layer.batch_first ? 3 : 4);
    wider[0] = at::randn({3, 4, 8});
    EXPECT_FALSE(RecurrentSizes(handle.schema(), wider).has_value());
    EXPECT_FALSE(
        RecurrentSizes(handle.schema(),
                       StackOf(layer,
                               layer.batch_first ? at::zeros({3, 0, 7})
                                                 : at::zeros({0, 4, 7}),
                               layer.batch_first ? 3 : 4))
            .has_value());
  }
}

}  // namespace
}  // namespace aitune::frontend
