// Damaged programs: any graph gives a trace or an error, never a crash.
//
// Whatever the graph computes after nodes were dropped, doubled or rewired, the
// interpreter must not trust it: types are not what they say, values are
// missing, operators get arguments that they were not written for.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <fstream>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr const char* kPrograms[] = {
    R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
  w = torch.ones([4, 6])
  h = torch.relu(torch.linear(x, w))
  h = torch.layer_norm(h, [4]) + h
  a, b = h.chunk(2, 1)
  a.mul_(b)
  return torch.cat([h, y], 1).softmax(-1)
)",
    R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
  parts = [x, x * 2]
  for i in range(3):
    if i % 2 == 0:
      parts.append(parts[i] + i)
    else:
      parts[0] = torch.tanh(parts[i - 1])
  d = {"a": y, "b": y + 1}
  for k, v in d.items():
    parts.append(v.sum(1, keepdim=True).expand_as(x))
  return torch.stack(parts)[1:].mean(0)
)",
    R"(
def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, int]:
  b, n = x.size(0), x.size(1)
  q = x.reshape(b, 2, n // 2).transpose(1, 2)
  z = torch.zeros([b, n])
  z[:, 1:3] = x[:, :2]
  z.t()[0].add_(1)
  if bool(y.sum() > 0):
    z = z * 2
  else:
    z = torch.matmul(q.reshape(b, n), torch.ones([n, n]))
  k = int(y.max())
  return z + k, b * n + k
)"};

class Mutator {
 public:
  Mutator(Graph& graph, uint64_t seed) : graph_(graph), random_(seed) {
    Collect(graph.block());
  }

  void Mutate() {
    if (nodes_.empty()) return;
    Node* node = nodes_[Below(nodes_.size())];
    switch (Below(5)) {
      case 0:  // rewire an input
      case 1:
        if (!node->inputs().empty())
          node->replaceInput(Below(node->inputs().size()), EarlierValue(node));
        break;
      case 2:  // drop: its results become other values
        for (Value* output : node->outputs()) {
          if (output->uses().empty()) continue;
          output->replaceAllUsesWith(EarlierValue(node));
        }
        break;
      case 3: {  // double
        Node* copy =
            graph_.createClone(node, [](Value* value) { return value; });
        copy->insertAfter(node);
        for (size_t i = 0; i < node->outputs().size(); ++i) {
          const auto uses = node->outputs()[i]->uses();
          if (!uses.empty() && Below(2) == 0) {
            const torch::jit::Use& use = uses[Below(uses.size())];
            if (use.user != copy && copy->isBefore(use.user))
              use.user->replaceInput(use.offset, copy->outputs()[i]);
          }
        }
        break;
      }
      case 4:  // another number
        if (node->kind() == c10::prim::Constant &&
            node->hasAttribute(c10::attr::value)) {
          if (node->kindOf(c10::attr::value) == torch::jit::AttributeKind::i) {
            node->i_(c10::attr::value, static_cast<int64_t>(Below(12)) - 4);
          } else if (node->kindOf(c10::attr::value) ==
                     torch::jit::AttributeKind::f) {
            node->f_(c10::attr::value, Below(2) == 0 ? 1e38 : -0.5);
          }
        }
        break;
    }
  }

 private:
  size_t Below(size_t limit) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(random_);
  }

  void Collect(Block* block) {
    for (Value* input : block->inputs()) values_.push_back(input);
    for (Node* node : block->nodes()) {
      nodes_.push_back(node);
      for (Value* output : node->outputs()) values_.push_back(output);
      for (Block* inner : node->blocks()) Collect(inner);
    }
  }

  // Any value, mostly one that is computed before the node.
  Value* EarlierValue(Node* node) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      Value* value = values_[Below(values_.size())];
      Node* definition = value->node();
      if (definition == graph_.param_node()) return value;
      if (definition->owningBlock() == node->owningBlock() &&
          definition->isBefore(node))
        return value;
    }
    return graph_.inputs()[Below(graph_.inputs().size())];
  }

  Graph& graph_;
  std::mt19937_64 random_;
  std::vector<Node*> nodes_;
  std::vector<Value*> values_;
};

// A module whose forward is this graph.
torch::jit::Module ModuleOf(const std::shared_ptr<Graph>& graph) {
  torch::jit::Module module("__torch__.Mutated");
  graph->inputs()[0]->setType(module.type());
  torch::jit::Function* function =
      module._ivalue()->compilation_unit()->create_function(
          c10::QualifiedName(*module.type()->name(), "forward"), graph);
  module.type()->addMethod(function);
  return module;
}

class Fuzz : public ::testing::TestWithParam<int> {};

TEST_P(Fuzz, MutatedGraphsGiveATraceOrAnError) {
  torch::jit::Module original("__torch__.Original");
  original.define(kPrograms[GetParam()]);
  TraceOptions options;
  options.max_loop_iterations = 50;
  options.max_ops = 500;
  int traces = 0, errors = 0, compared = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::shared_ptr<Graph> graph =
        original.get_method("forward").graph()->copy();
    Mutator mutator(*graph, seed);
    for (uint64_t i = 0; i <= seed % 5; ++i) mutator.Mutate();
    std::optional<torch::jit::Module> module;
    try {
      graph->lint();
      module = ModuleOf(graph);
    } catch (const std::exception&) {
      continue;  // LibTorch itself refuses the graph
    }
    const auto model = Model::FromModule(*module);
    if (!model.ok()) continue;
    const bool dynamic = seed % 3 == 0;
    const std::vector<InputSpec> specs = {
        *ParseInputSpec(dynamic ? "float32[2..5,6]" : "float32[4,6]"),
        *ParseInputSpec(dynamic ? "float32[2..5,4]" : "float32[4,4]")};
    const auto trace = BuildTrace(*model, specs, options);
    if (!trace.ok()) {
      ++errors;
      EXPECT_FALSE(trace.status().message().empty());
      continue;
    }
    ++traces;
    EXPECT_FALSE(PrintTrace(*trace).empty());
    // What was traced also computes what eager does.
    std::vector<int64_t> sizes;
    if (dynamic) sizes.push_back(trace->symbols.empty() ? 5 : 3);
    const auto inputs = MakeInputs(specs, sizes, seed);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const auto expected = model->RunEager(*inputs);
    const auto again = MakeInputs(specs, sizes, seed);
    const auto actual = RunTrace(*trace, *again);
    // (Eager may fail in a node whose results nobody reads.)
    if (!expected.ok()) continue;
    ++compared;
    ASSERT_TRUE(actual.ok())
        << actual.status() << graph->toString() << PrintTrace(*trace);
    EXPECT_EQ(Difference(*actual, *expected), "")
        << graph->toString() << PrintTrace(*trace);
  }
  // The mutations neither spare nor break all programs.
  EXPECT_GT(traces, 20);
  EXPECT_GT(errors, 20);
  EXPECT_GT(compared, 20);
}

INSTANTIATE_TEST_SUITE_P(Programs, Fuzz, ::testing::Range(0, 3));

// Bytes of a file, flipped and cut.
TEST(FuzzFiles, DamagedFilesAreErrors) {
  torch::jit::Module module("__torch__.Small");
  module.register_parameter("weight", at::ones({6}), false);
  module.define(
      "def forward(self, x: Tensor) -> Tensor:\n  return x * self.weight\n");
  const std::string path = ::testing::TempDir() + "/damaged.pt";
  std::ostringstream stream;
  module.save(stream);
  const std::string bytes = stream.str();
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    for (int flip = 0; flip < 3; ++flip) {
      damaged[std::uniform_int_distribution<size_t>(
          0, bytes.size() - 1)(random)] ^=
          static_cast<char>(
              1 << std::uniform_int_distribution<int>(0, 7)(random));
    }
    std::ofstream(path, std::ios::binary) << damaged;
    const auto model = Model::Load(path);
    if (!model.ok()) {
      EXPECT_EQ(model.status().message().find('\n'), absl::string_view::npos)
          << model.status();
      continue;
    }
    const auto trace = BuildTrace(*model, ValueList({at::ones({2, 6})}), {});
    if (trace.ok()) EXPECT_FALSE(PrintTrace(*trace).empty());
  }
}

}  // namespace
}  // namespace aitune::frontend
