#include "frontend/reduce/search.h"

#include <ATen/ATen.h>

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::reduce {
namespace {

using torch::jit::Node;
using torch::jit::Value;

Program ProgramOf(const std::string& source,
                  const std::vector<c10::IValue>& inputs) {
  auto model = frontend::Model::FromSource(source);
  EXPECT_TRUE(model.ok()) << model.status();
  frontend::ModelInputs model_inputs;
  model_inputs.samples = frontend::ValueList(inputs);
  auto program = FlattenModel(*model, model_inputs, 0);
  EXPECT_TRUE(program.ok()) << program.status();
  return *program;
}

void CollectNodes(torch::jit::Block* block, std::vector<Node*>& nodes) {
  for (Node* node : block->nodes()) {
    nodes.push_back(node);
    for (torch::jit::Block* inner : node->blocks()) CollectNodes(inner, nodes);
  }
}

std::vector<Node*> NodesOf(const Program& program, const std::string& op) {
  std::vector<Node*> nodes, found;
  CollectNodes(program.graph->block(), nodes);
  for (Node* node : nodes) {
    if (node->kind().toQualString() == op) found.push_back(node);
  }
  return found;
}

bool ComesFrom(const Value* value, const std::string& op) {
  if (value->node()->kind().toQualString() == op) return true;
  for (const Value* input : value->node()->inputs()) {
    if (ComesFrom(input, op)) return true;
  }
  return false;
}

// 40 operators, with two outputs.
std::string LongProgram() {
  std::string source =
      "def forward(self, x: Tensor, y: Tensor):\n    a = x + y\n    b = a\n";
  for (int i = 0; i < 9; ++i) source += "    a = torch.tanh(a) * 1.5\n";
  source += "    c = torch.relu(a)\n";
  for (int i = 0; i < 4; ++i) source += "    c = torch.exp(-c)\n";
  source += "    d = torch.sin(c * y)\n";
  for (int i = 0; i < 4; ++i) source += "    d = torch.sigmoid(d) + b\n";
  return source + "    return d.sum(0), torch.cos(b)\n";
}

SearchResult Reduced(const Program& program, SearchOptions options) {
  const auto result = Reduce(program, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : SearchResult{program};
}

TEST(Reduce, FindsTheTwoOperatorsOfForty) {
  const Program program =
      ProgramOf(LongProgram(), {at::randn({6, 8}), at::randn({6, 8})});
  ASSERT_GE(OperatorCount(program), 39);
  SearchOptions options;
  int improvements = 0;
  options.fails = [](const Program& candidate) {
    for (const Node* node : NodesOf(candidate, "aten::sin")) {
      if (ComesFrom(node->inputs()[0], "aten::relu")) return true;
    }
    return false;
  };
  options.improved = [&](const Program& candidate) {
    ++improvements;
    EXPECT_TRUE(RunEager(candidate).ok());
    return absl::OkStatus();
  };
  const SearchResult result = Reduced(program, options);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(OperatorCount(result.program), 2)
      << result.program.graph->toString();
  ASSERT_EQ(result.program.inputs.size(), 1u);
  EXPECT_EQ(result.program.inputs[0].toTensor().numel(), 1);
  EXPECT_GT(improvements, 3);
  EXPECT_LT(result.tried, 120);
  // The original is untouched.
  EXPECT_GE(OperatorCount(program), 39);
}

TEST(Reduce, KeepsTheValueThatMatters) {
  // Fails where the exponential overflows, which needs its recorded operand.
  const Program program = ProgramOf(
      "def forward(self, x: Tensor):\n"
      "    y = torch.relu(x * 7.) + 3.\n"
      "    return torch.tanh(torch.exp(y * y)) + 1.\n",
      {at::full({4, 4}, 5.0)});
  SearchOptions options;
  options.fails = [](const Program& candidate) {
    const auto recording = RunEager(candidate);
    for (const Node* node : NodesOf(candidate, "aten::exp")) {
      if (at::isinf(recording->at(node->output()).toTensor())
              .any()
              .item<bool>())
        return true;
    }
    return false;
  };
  const SearchResult result = Reduced(program, options);
  EXPECT_EQ(OperatorCount(result.program), 1);
  EXPECT_TRUE(*options.fails(result.program));
}

TEST(Reduce, ShrinksSizesThatBelongTogether) {
  const Program program = ProgramOf(
      "def forward(self, x: Tensor, w: Tensor):\n"
      "    y = torch.matmul(x, w).view(2, 96, 4)\n"
      "    return torch.softmax(y, 1)\n",
      {at::randn({2, 96, 64}), at::randn({64, 4})});
  SearchOptions options;
  options.fails = [](const Program& candidate) {
    return !NodesOf(candidate, "aten::matmul").empty() &&
           !NodesOf(candidate, "aten::softmax").empty();
  };
  const SearchResult result = Reduced(program, options);
  int64_t elements = 0;
  for (const c10::IValue& input : result.program.inputs)
    elements += input.toTensor().numel();
  EXPECT_LE(elements, 4) << result.program.graph->toString();
}

TEST(Reduce, SeesInsideOfControlFlow) {
  const Program program = ProgramOf(
      "def forward(self, x: Tensor, n: int):\n"
      "    if bool(x.sum() > 0.):\n"
      "        x = torch.tanh(torch.sin(x))\n"
      "    else:\n"
      "        x = torch.cos(x)\n"
      "    for i in range(n):\n"
      "        x = torch.relu(torch.exp(x))\n"
      "    return x\n",
      {at::ones({3}), 2});
  SearchOptions options;
  options.fails = [](const Program& candidate) {
    return !NodesOf(candidate, "aten::sin").empty();
  };
  EXPECT_EQ(OperatorCount(Reduced(program, options).program), 1);
  // A failure that is about the loop itself keeps it.
  options.fails = [](const Program& candidate) {
    return !NodesOf(candidate, "prim::Loop").empty() &&
           !NodesOf(candidate, "aten::exp").empty();
  };
  EXPECT_EQ(OperatorCount(Reduced(program, options).program), 2);
}

TEST(Reduce, LoopsThatWouldNotEndAreNoCandidates) {
  const Program program = ProgramOf(
      "def forward(self, x: Tensor):\n"
      "    while bool(x.sum() < 100.):\n"
      "        x = torch.relu(x) + x\n"
      "    return x\n",
      {at::ones({3})});
  SearchOptions options;
  options.fails = [](const Program& candidate) {
    return !NodesOf(candidate, "prim::Loop").empty() &&
           !NodesOf(candidate, "aten::add").empty();
  };
  const SearchResult result = Reduced(program, options);
  EXPECT_TRUE(RunEager(result.program).ok());
  EXPECT_TRUE(NodesOf(result.program, "aten::relu").empty());
}

TEST(Reduce, WhatOnlyTheWholeShowsStays) {
  const Program program =
      ProgramOf(LongProgram(), {at::randn({6, 8}), at::randn({6, 8})});
  const std::string whole = Fingerprint(program);
  SearchOptions options;
  options.fails = [](const Program&) { return false; };
  const SearchResult result = Reduced(program, options);
  EXPECT_EQ(Fingerprint(result.program), whole);
  EXPECT_TRUE(result.complete);
}

TEST(Reduce, NoProgramIsAskedAboutTwice) {
  const Program program =
      ProgramOf(LongProgram(), {at::randn({6, 8}), at::randn({6, 8})});
  std::set<std::string> seen;
  SearchOptions options;
  options.fails = [&](const Program& candidate) {
    EXPECT_TRUE(seen.insert(Fingerprint(candidate)).second);
    return !NodesOf(candidate, "aten::relu").empty();
  };
  EXPECT_EQ(OperatorCount(Reduced(program, options).program), 1);
}

TEST(Reduce, StoppingKeepsTheBestSoFar) {
  const Program program =
      ProgramOf(LongProgram(), {at::randn({6, 8}), at::randn({6, 8})});
  int asked = 0;
  Program last;
  SearchOptions options;
  options.fails = [&](const Program& candidate) {
    ++asked;
    return !NodesOf(candidate, "aten::relu").empty();
  };
  options.improved = [&](const Program& candidate) {
    last = candidate;
    return absl::OkStatus();
  };
  options.stop = [&] { return asked >= 4; };
  const SearchResult result = Reduced(program, options);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.tried, 4);
  ASSERT_NE(last.graph, nullptr);
  EXPECT_EQ(Fingerprint(result.program), Fingerprint(last));
  EXPECT_LT(OperatorCount(result.program), OperatorCount(program));
  EXPECT_FALSE(NodesOf(result.program, "aten::relu").empty());
}

TEST(Reduce, AnErrorOfTheOracleEndsTheSearch) {
  const Program program = ProgramOf(LongProgram(), {at::ones(2), at::ones(2)});
  SearchOptions options;
  options.fails = [](const Program&) -> absl::StatusOr<bool> {
    return absl::UnavailableError("no process");
  };
  EXPECT_EQ(Reduce(program, options).status(),
            absl::UnavailableError("no process"));
}

}  // namespace
}  // namespace aitune::reduce
