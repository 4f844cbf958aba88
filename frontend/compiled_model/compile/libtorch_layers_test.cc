#include "frontend/compiled_model/compile/libtorch_layers.h"

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

TEST(LibTorchLayers, AreThoseWithConstantWeights) {
  Trace trace;
  const auto constant = [&](const std::string& name) {
    TraceValue& value = trace.values.emplace_back();
    value.kind = TraceValue::Kind::kConstant;
    value.type.sizes = {8, 16};
    value.constant = static_cast<int32_t>(trace.constants.size());
    ConstantTensor& tensor = trace.constants.emplace_back();
    tensor.name = name;
    tensor.view.sizes = {8, 16};
    return static_cast<ValueId>(trace.values.size() - 1);
  };
  const ValueId x = 0;
  trace.values.emplace_back();
  const ValueId a = constant("net.a.weight"), b = constant("b.weight"),
                table = constant("table.weight");
  const auto add = [&](const char* name, std::vector<std::string> names,
                       std::vector<Argument> arguments) {
    TraceOp& op = trace.ops.emplace_back();
    op.name = name;
    op.argument_names = std::move(names);
    op.arguments = std::move(arguments);
  };
  add("aten::linear", {"input", "weight"}, {x, a});
  add("aten::linear", {"input", "weight"}, {x, b});
  add("aten::linear", {"input", "weight"}, {x, x});
  add("aten::embedding", {"weight", "indices"}, {table, x});
  add("prim::If", {"values", "linear_weights"},
      {std::vector<ValueId>{x, a, table}, std::vector<ValueId>{a}});
  add("aten::linear", {"input", "weight"}, {x, a});
  std::map<int64_t, std::string> weights;
  const auto layers = LayersOfLibTorch(
      trace, {{0, "why"}, {2, "why"}, {3, "why"}, {4, "data"}, {5, "why"}},
      "int8wo", &weights);
  EXPECT_EQ(weights, (std::map<int64_t, std::string>{{0, "why"}}));
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].layer, "net.a");
  EXPECT_EQ(layers[0].n, 8);
  EXPECT_EQ(layers[0].k, 16);
  EXPECT_EQ(layers[0].scheme, "int8wo");
  EXPECT_EQ(layers[0].refusal, "LibTorch runs it: why");
  EXPECT_EQ(layers[1].layer, "net.a");
  EXPECT_EQ(layers[1].refusal, "LibTorch runs it: data");
}

}  // namespace
}  // namespace aitune::frontend
