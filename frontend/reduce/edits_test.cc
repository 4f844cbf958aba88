// Programs, and single edits of them.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include "frontend/reduce/graph_edits.h"
#include "frontend/reduce/tensor_edits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::reduce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<Program> Flatten(torch::jit::Module module,
                                const std::vector<c10::IValue>& inputs) {
  auto model = frontend::Model::FromModule(std::move(module));
  EXPECT_TRUE(model.ok()) << model.status();
  frontend::ModelInputs model_inputs;
  model_inputs.samples = frontend::ValueList(inputs);
  return FlattenModel(*model, model_inputs, 0);
}

Program ProgramOf(const std::string& source,
                  const std::vector<c10::IValue>& inputs) {
  torch::jit::Module module("__torch__.Source");
  module.define(source);
  auto program = Flatten(module, inputs);
  EXPECT_TRUE(program.ok()) << program.status();
  return *program;
}

at::Tensor Result(const Program& program) {
  const auto recording = RunEager(program);
  EXPECT_TRUE(recording.ok()) << recording.status();
  return recording->at(program.graph->outputs()[0]).toTensor();
}

TEST(Program, IsFlatAndSavedAsItIs) {
  torch::jit::Module part("__torch__.Part");
  part.register_attribute("training", c10::BoolType::get(), false);
  part.register_parameter("weight", at::randn({4, 4}), false);
  part.define("def forward(self, x: Tensor):\n    return x @ self.weight\n");
  torch::jit::Module whole("__torch__.Whole");
  whole.register_attribute("training", c10::BoolType::get(), false);
  whole.register_module("part", part);
  whole.define(
      "def forward(self, x: Tensor, scale: float = 2.0):\n"
      "    return self.part.forward(x) * scale\n");
  const at::Tensor x = at::randn({3, 4});
  const at::Tensor expected = whole.forward({x}).toTensor();
  const auto program = Flatten(whole, {x});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(OperatorCount(*program), 2);
  EXPECT_EQ(program->inputs.size(), 1u);
  EXPECT_TRUE(Result(*program).equal(expected));
  const std::string model = testing::TempDir() + "/flat.pt",
                    inputs = testing::TempDir() + "/flat.inputs.pt";
  ASSERT_TRUE(SaveProgram(*program, model, inputs).ok());
  const auto samples = frontend::LoadSamples(inputs);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_TRUE(torch::jit::load(model)
                  .forward(samples->values())
                  .toTensor()
                  .equal(expected));
  EXPECT_THAT(*ProgramText(*program), HasSubstr("x0: float32[3,4]"));
  EXPECT_THAT(*ProgramText(*program), HasSubstr("torch.matmul"));
  EXPECT_EQ(SaveProgram(*program, "/nowhere/x.pt", inputs).code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(Program, StateIsWhatItIsBeforeTheFirstCall) {
  torch::jit::Module counter("__torch__.Counter");
  counter.register_attribute("training", c10::BoolType::get(), false);
  counter.register_buffer("count", at::ones({}));
  counter.define(
      "def forward(self, x: Tensor):\n"
      "    self.count = self.count + 1.\n"
      "    return x * 3.\n");
  const auto program = Flatten(counter, {at::ones({2})});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(Result(*program).sum().item<float>(), 6);
}

TEST(Program, WhatRaisesSaysSo) {
  const Program program =
      ProgramOf("def forward(self, x: Tensor):\n    return x.view(3, 3)\n",
                {at::ones({4})});
  EXPECT_FALSE(RunEager(program).ok());
}

TEST(KeepNodes, FillsWithRecordedValuesOrOperands) {
  const Program program = ProgramOf(
      "def forward(self, x: Tensor):\n"
      "    return torch.cos(torch.exp(torch.sin(x)))\n",
      {at::ones({2})});
  const Recording recording = *RunEager(program);
  ASSERT_EQ(NodeCount(program), 3);
  const auto cut =
      KeepNodes(program, recording, {true, false, true}, Filling::kRecorded);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(OperatorCount(*cut), 1);  // nothing uses the sine any more
  EXPECT_TRUE(Result(*cut).equal(Result(program)));
  const auto bypassed =
      KeepNodes(program, recording, {true, false, true}, Filling::kOperand);
  ASSERT_TRUE(bypassed.has_value());
  EXPECT_EQ(OperatorCount(*bypassed), 2);
  EXPECT_TRUE(Result(*bypassed).equal(at::ones({2}).sin().cos()));
  EXPECT_FALSE(
      KeepNodes(program, recording, {true, true, true}, Filling::kOperand));
}

TEST(KeepNodes, ListsAndNumbersAreFilled) {
  const Program program = ProgramOf(
      "def forward(self, x: Tensor):\n"
      "    parts = torch.split(x, 2)\n"
      "    n = x.size(0)\n"
      "    return torch.cat(parts) * n\n",
      {at::arange(4)});
  const Recording recording = *RunEager(program);
  // Only the concatenation and the product stay.
  std::vector<bool> keep(NodeCount(program), false);
  keep[keep.size() - 1] = keep[keep.size() - 2] = true;
  const auto cut = KeepNodes(program, recording, keep, Filling::kRecorded);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->inputs.size(), 2u);
  EXPECT_EQ(OperatorCount(*cut), 2);
  EXPECT_TRUE(Result(*cut).equal(Result(program)));
}

TEST(KeepNodes, DynamicAxesStay) {
  Program program = ProgramOf(
      "def forward(self, x: Tensor, y: Tensor):\n"
      "    return torch.cos(x), torch.sin(torch.exp(y))\n",
      {at::ones({2}), at::ones({3})});
  program.specs = {*frontend::ParseInputSpec("float32[1..4]"),
                   *frontend::ParseInputSpec("float32[3]")};
  const auto cut = KeepNodes(program, *RunEager(program),
                             {true, false, true, true}, Filling::kRecorded);
  ASSERT_TRUE(cut.has_value());
  ASSERT_EQ(cut->specs.size(), 2u);
  EXPECT_EQ(ToString(cut->specs[0]), "float32[1..4]");
  EXPECT_EQ(ToString(cut->specs[1]), "float32[3]");
  const auto resized = ResizeExtent(*cut, 2, 1, false);
  EXPECT_FALSE(resized.has_value());  // the only such axis is dynamic
}

TEST(CutAfter, OutputsAreWhatLaterNodesUse) {
  const Program program = ProgramOf(
      "def forward(self, x: Tensor):\n"
      "    a = torch.sin(x)\n"
      "    b = torch.exp(a)\n"
      "    return torch.cos(b) + a\n",
      {at::ones({2})});
  const Recording recording = *RunEager(program);
  const auto cut = CutAfter(program, recording, 1);
  ASSERT_TRUE(cut.has_value());
  const Recording cut_recording = *RunEager(*cut);
  EXPECT_EQ(OutputCount(*cut, cut_recording), 2);
  const auto one = KeepOutputs(*cut, cut_recording, {true, false});
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(OperatorCount(*one), 1);
}

TEST(WithoutMutation, WritesAreOperators) {
  const Program program = ProgramOf(
      "def forward(self, x: Tensor):\n"
      "    y = torch.exp(x)\n"
      "    y.add_(1)\n"
      "    return y\n",
      {at::ones({2})});
  const auto changed = WithoutMutation(program);
  ASSERT_TRUE(changed.has_value());
  EXPECT_THAT(changed->graph->toString(), testing::Not(HasSubstr("add_")));
  EXPECT_TRUE(Result(*changed).equal(Result(program)));
}

TEST(MergeInputs, OnlyOfOneKind) {
  const Program program = ProgramOf(
      "def forward(self, x: Tensor, y: Tensor, z: Tensor):\n"
      "    return x + y + z.sum()\n",
      {at::ones({2}), at::zeros({2}), at::ones({3})});
  const auto merged = MergeInputs(program, 1, 0);
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->inputs.size(), 2u);
  EXPECT_EQ(Result(*merged).sum().item<float>(), 10);
  EXPECT_FALSE(MergeInputs(program, 2, 0).has_value());
}

TEST(ResizeExtent, TensorsAndNumbersTogether) {
  const Program program =
      ProgramOf("def forward(self, x: Tensor):\n    return x.view([4, 6])\n",
                {at::ones({6, 4})});
  EXPECT_THAT(Extents(program), ElementsAre(6, 4));
  const auto with = ResizeExtent(program, 6, 3, true);
  ASSERT_TRUE(with.has_value());
  EXPECT_THAT(Result(*with).sizes().vec(), ElementsAre(4, 3));
  const auto without = ResizeExtent(program, 6, 3, false);
  ASSERT_TRUE(without.has_value());
  EXPECT_FALSE(RunEager(*without).ok());
  EXPECT_FALSE(ResizeExtent(program, 5, 1, true).has_value());
  // The original is untouched.
  EXPECT_THAT(Result(program).sizes().vec(), ElementsAre(4, 6));
}

TEST(FillTensors, LeavesWhatIsSimple) {
  const Program program =
      ProgramOf("def forward(self, x: Tensor, n: Tensor):\n    return x * n\n",
                {at::full({2}, 1.5).add(at::arange(2)), at::arange(2)});
  ASSERT_EQ(TensorCount(program), 2);
  const auto ones = FillTensors(program, {true, false}, Fill::kOnes);
  ASSERT_TRUE(ones.has_value());
  EXPECT_TRUE(ones->inputs[0].toTensor().equal(at::ones({2})));
  EXPECT_FALSE(FillTensors(*ones, {true, false}, Fill::kZeros).has_value());
  EXPECT_FALSE(FillTensors(program, {false, true}, Fill::kRounded).has_value());
}

}  // namespace
}  // namespace aitune::reduce
