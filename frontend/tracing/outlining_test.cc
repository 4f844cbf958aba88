// Which parts of control flow are outlined, and for what they are compiled.
#include "frontend/tracing/outlining.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/irparser.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// The kinds of inputs that each outlined program of the trace is compiled for:
// "float32[4,6], float32[n1=1..256,6]".
std::vector<std::string> Outlined(const Trace& trace) {
  std::vector<std::string> texts;
  for (const std::shared_ptr<OutlinedProgram>& program : trace.outlined) {
    if (program->seen().empty()) {
      texts.push_back(program->why_not());
      continue;
    }
    texts.push_back(absl::StrJoin(program->SpecsAround(program->seen()[0]),
                                  ", ",
                                  [](std::string* out, const InputSpec& spec) {
                                    absl::StrAppend(out, ToString(spec));
                                  }));
  }
  return texts;
}

Trace TraceOf(const std::string& body,
              const std::vector<std::string>& specs = {"float32[4,6]"},
              const TraceOptions& options = {}) {
  auto trace = TraceAndCompare(
      absl::StrCat("def forward(self, x: Tensor):\n", body), specs, options);
  EXPECT_TRUE(trace.ok()) << trace.status();
  return trace.ok() ? *std::move(trace) : Trace();
}

TraceOptions WithRolledLoops() {
  TraceOptions options;
  options.rolled_loops = true;
  return options;
}

TEST(OutliningTest, EachBranchIsAProgram) {
  const Trace trace = TraceOf(
      "  if bool(x.sum() > 0):\n    y = (x * 2).tanh() + 1\n"
      "  else:\n    y = (x - 1).exp()\n  return y");
  EXPECT_THAT(Outlined(trace), ElementsAre("float32[4,6]", "float32[4,6]"));
}

TEST(OutliningTest, OneOperatorIsNotWorthACall) {
  EXPECT_THAT(Outlined(TraceOf("  if bool(x.sum() > 0):\n    x = x * 2\n"
                               "  return x")),
              IsEmpty());
  EXPECT_THAT(Outlined(TraceOf("  if bool(x.sum() > 0):\n    x = x.t()[:4]\n"
                               "  return x")),
              IsEmpty());
  EXPECT_THAT(Outlined(TraceOf("  if bool(x.sum() > 0):\n"
                               "    x = x @ x.t() + 1\n  return x")),
              SizeIs(1));
}

// What LibTorch must do, such as reading a number, splits a body; what only
// stands between does not.
TEST(OutliningTest, ALoopsBodyIsSplitWhereItMust) {
  EXPECT_THAT(
      Outlined(TraceOf("  i = 0\n  while bool(x.sum() < 100) and i < 50:\n"
                       "    x = x.abs() * 2 + 1\n    i += 1\n  return x")),
      SizeIs(1));
  EXPECT_THAT(
      Outlined(TraceOf("  i = 0\n  while bool(x.sum() < 100) and i < 50:\n"
                       "    x = x.abs() * 2 + 1\n    n = int(x[0, 0])\n"
                       "    x = x.sqrt() * n + 2\n    i += 1\n  return x")),
      SizeIs(2));
  EXPECT_THAT(
      Outlined(TraceOf("  outs: List[Tensor] = []\n"
                       "  while bool(x.sum() < 100) and len(outs) < 50:\n"
                       "    y = x.abs() * 2\n    outs.append(y)\n"
                       "    x = y.sqrt() + y.sin() + 9\n"
                       "  return torch.stack(outs)")),
      SizeIs(1));
}

// LibTorch takes attention for drawn, also where it drops nothing.
TEST(OutliningTest, AttentionIsPartOfABody) {
  const auto with = [](const std::string& least, const std::string& dropped) {
    return Outlined(TraceOf(
        absl::StrCat("  if bool(x.sum() > ", least,
                     "):\n"
                     "    b, n, d = x.shape\n"
                     "    q = (x * 2).view(b, n, 2, d // 2).transpose(1, 2)\n"
                     "    y = torch.scaled_dot_product_attention(q, q, q, "
                     "dropout_p=",
                     dropped,
                     ")\n"
                     "    x = y.transpose(1, 2).reshape(b, n, d).tanh() + 1\n"
                     "  return x"),
        {"float32[2,3,8]"}));
  };
  EXPECT_THAT(with("-1e9", "0.0"), ElementsAre(HasSubstr("float32[2,3,8]")));
  // Nothing that is drawn may run, to be compared.
  EXPECT_THAT(with("1e9", "0.5"),
              Not(::testing::Contains(HasSubstr("float32[2,3,8]"))));
}

// The trace of `body` where the sum of a float32[4,6] is not 0; `body` gives
// %y, and may read the integers %zero, %one, %two and %rest, which is -1, and
// %half, a 2 as tracing writes it.
absl::StatusOr<Trace> TraceOfBranch(const std::string& body) {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module net("__torch__.net", unit);
  const auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(absl::StrCat(R"IR(
graph(%x : Tensor, %half : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %rest : int = prim::Constant[value=-1]()
  %none : NoneType = prim::Constant()
  %sum : Tensor = aten::sum(%x, %none)
  %any : bool = aten::Bool(%sum)
  %result : Tensor = prim::If(%any)
    block0():)IR",
                                   body, R"IR(
      -> (%y)
    block1():
      -> (%x)
  return (%result))IR"),
                      graph.get());
  {
    const torch::jit::WithInsertPoint begin(*graph->nodes().begin());
    graph->inputs()[1]->replaceAllUsesWith(
        graph->insertConstant(at::scalar_tensor(2, at::kLong)));
    graph->eraseInput(1);
  }
  graph->insertInput(0, "self")->setType(net._ivalue()->type());
  net.type()->addMethod(unit->create_function(
      c10::QualifiedName(*net.type()->name(), "forward"), graph));
  AITUNE_ASSIGN_OR_RETURN(const Model model, Model::FromModule(net));
  return TraceAndCompare(model, {"float32[4,6]"});
}

// As tracing writes `x.tanh().view(x.size(1) // 2, -1) + x.size(1)`.
TEST(OutliningTest, NumbersOfATraceAreComputedInside) {
  const auto trace = TraceOfBranch(R"IR(
      %size : int = aten::size(%x, %one)
      %number : Tensor = prim::NumToTensor(%size)
      %quotient : Tensor = aten::floor_divide(%number, %half)
      %rows : int = aten::Int(%quotient)
      %sizes : int[] = prim::ListConstruct(%rows, %rest)
      %t : Tensor = aten::tanh(%x)
      %v : Tensor = aten::view(%t, %sizes)
      %y : Tensor = aten::add(%v, %number, %one))IR");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(Outlined(*trace), ElementsAre("float32[4,6]"));
}

// Here `m.unsqueeze(0)[0] = 2`, where m is `x.size(1) + 1`.
TEST(OutliningTest, NumbersOfATraceThatAreWrittenAreNotComputedAnew) {
  const auto trace = TraceOfBranch(R"IR(
      %size : int = aten::size(%x, %one)
      %number : Tensor = prim::NumToTensor(%size)
      %m : Tensor = aten::add(%number, %one, %one)
      %t : Tensor = aten::tanh(%x)
      %u : Tensor = aten::mul(%t, %m)
      %l : Tensor = aten::unsqueeze(%m, %zero)
      %k : Tensor = aten::select(%l, %zero, %zero)
      %w : Tensor = aten::fill_(%k, %two)
      %z : Tensor = aten::mul(%u, %m)
      %y : Tensor = aten::add(%z, %m, %one))IR");
  EXPECT_TRUE(trace.ok()) << trace.status();
}

TEST(OutliningTest, ElementsAreTakenByIndicesInside) {
  const auto with = [](const std::string& index) {
    return Outlined(TraceOf(absl::StrCat(
        "  if bool(x.sum() > -1e9):\n    y = (x * 2).tanh()\n    x = (y[",
        index, "] * 2).tanh()\n  return x")));
  };
  EXPECT_THAT(with("torch.arange(2).unsqueeze(0) + 1, torch.arange(2) * 2"),
              ElementsAre("float32[4,6]"));
  // How many elements a mask takes depends on it.
  EXPECT_THAT(with("x[:, 0] > -1e9"), SizeIs(2));
}

// Integers of the program come in as sizes, those that follow from sizes are
// computed inside.
TEST(OutliningTest, IntegersAreSizes) {
  EXPECT_THAT(Outlined(TraceOf(
                  "  for i in range(4):\n    x = (x + i).tanh() * x.size(0)\n"
                  "    if bool(x.sum() > 1000):\n      break\n"
                  "  return x")),
              ElementsAre("float32[4,6], uint8[n1=1..1024]"));
}

TEST(OutliningTest, SizesThatGrowAreRanges) {
  EXPECT_THAT(
      Outlined(TraceOf("  y = x\n  while bool(y.sum() < 1e6) and y.size(0) < "
                       "20:\n    y = torch.cat([y, x]).abs() + 1\n"
                       "  return y")),
      ElementsAre("float32[n1=1..256,6], float32[4,6]"));
}

// The branches that assert and choose by ranks in what LibTorch's layers are
// scripted to do not split a body.
TEST(OutliningTest, WhatSizesDecideIsDecidedInside) {
  const Trace trace = TraceOf(
      "  h = x\n  for i in range(4):\n"
      "    assert h.dim() == 2, 'expected 2D, got {}D'.format(h.dim())\n"
      "    hx: Optional[Tensor] = h if h.size(0) > 2 else None\n"
      "    if hx is None:\n      hx = torch.zeros([2], dtype=h.dtype)\n"
      "    h = (hx + 1).tanh() @ torch.ones([6, 6])\n"
      "    if bool(h.sum() > 1000):\n      break\n"
      "  return h");
  EXPECT_THAT(Outlined(trace), ElementsAre("float32[4,6]"));
  EXPECT_THAT(trace.outlined[0]->text(), HasSubstr("RaiseException"));
}

// Who writes a tensor would write what a group gave a view of.
TEST(OutliningTest, NoViewsWhereTensorsAreWritten) {
  const std::string body =
      "  y = x + 1\n  z = x.t()\n  for i in range(4):\n"
      "    z = (y * 2).tanh().t()\n"
      "    if bool(z.sum() > 10):\n      %s\n    y = z.t() + 1\n"
      "  return y, z";
  const auto with = [&](const std::string& statement) {
    std::string text = body;
    return Outlined(TraceOf(text.replace(text.find("%s"), 2, statement)));
  };
  EXPECT_THAT(with("break"), Not(IsEmpty()));
  EXPECT_THAT(with("z.add_(1)"), IsEmpty());
}

TEST(OutliningTest, NotWhatAsksForStrides) {
  EXPECT_THAT(
      Outlined(TraceOf("  if bool(x.sum() > 0):\n"
                       "    y = (x * 2).tanh().t()\n    x = y * y.stride(0)\n"
                       "  return x")),
      IsEmpty());
}

// What eager's view raises for, or takes, must not change.
TEST(OutliningTest, NotWhatIsNotContiguousWhereViewsAreTaken) {
  const std::string body =
      "  s = x * 0\n  for i in range(3):\n    y = (x.t() * 2).tanh()%s\n"
      "    if bool(x[0, 0] == 7):\n"
      "      s = s + (y.t().view([-1]) * 2 + 1).sum()\n"
      "    s = s + y.t()\n    if bool(s.sum() > 1000):\n      break\n"
      "  return s";
  const auto with = [&](const std::string& text) {
    std::string program = body;
    return Outlined(TraceOf(program.replace(program.find("%s"), 2, text)));
  };
  EXPECT_THAT(with(""), ::testing::Contains(HasSubstr("is not contiguous")));
  EXPECT_THAT(with(".t().contiguous().t()"),
              ::testing::Contains(HasSubstr("is not contiguous")));
}

// A list of numbers that the program changes is the program's.
TEST(OutliningTest, ListsThatChangeAreNotComputedAnew) {
  for (const char* list : {"    q = x.size()\n    q[1] = 1\n",
                           "    q = x.size()\n    q.append(1)\n",
                           "    q = [2] * 2\n    q.pop()\n    q.append(12)\n",
                           "    q = x.size()[:]\n    q.insert(0, 1)\n"}) {
    SCOPED_TRACE(list);
    TraceOf(absl::StrCat("  if bool(x.sum() < 1e9):\n", list,
                         "    return x.tanh().sum() * torch.ones(q)\n"
                         "  return x * 3"));
  }
}

// Sizes that were asked for are not those after a change.
TEST(OutliningTest, SizesAreThoseOfThen) {
  for (const char* change :
       {"y.unsqueeze_(0)", "y.t_()", "y.resize_([2, 2])"}) {
    SCOPED_TRACE(change);
    TraceOf(
        absl::StrCat("  if bool(x.sum() < 1e9):\n    y = x.tanh() * 2\n"
                     "    d = y.dim() * 10 + y.size(0)\n    ",
                     change, "\n    return y.relu() * d + 1\n  return x * 3"));
  }
}

TEST(OutliningTest, NotWhatDrawsRandomNumbers) {
  EXPECT_THAT(
      Outlined(TraceOf("  y = x\n  if bool(x.sum() > 1e9):\n"
                       "    y = torch.rand([4, 6]) * torch.rand([4, 6])\n"
                       "  return y")),
      IsEmpty());
}

// A number that is a tensor promotes dtypes as numbers do.
TEST(OutliningTest, SaysWhyNot) {
  EXPECT_THAT(
      Outlined(TraceOf("  y = torch.complex(x, x)\n  if bool(x.sum() > 0):\n"
                       "    y = y * y + y\n  return torch.view_as_real(y)")),
      ElementsAre(HasSubstr("dtype or layout")));
  EXPECT_THAT(Outlined(TraceOf("  n = int(x.sum()) * 0 - 1\n"
                               "  if bool(x.sum() < 1e9):\n"
                               "    x = (x + n).tanh() * 2\n  return x")),
              ElementsAre(HasSubstr("negative integer")));
}

// A loop over a length is unrolled for one length, or kept for all.
TEST(OutliningTest, RolledLoopsAreForAllLengths) {
  const std::string body =
      "  h = x[0] * 0\n  outs: List[Tensor] = []\n"
      "  for i in range(x.size(0)):\n    h = (h + x[i]).tanh() * 2\n"
      "    outs.append(h)\n  return torch.stack(outs) * 2, h";
  const Trace unrolled = TraceOf(body, {"float32[2..30,6]"});
  EXPECT_THAT(unrolled.symbols, IsEmpty());
  EXPECT_THAT(unrolled.outlined, IsEmpty());
  const TraceOptions options = WithRolledLoops();
  const Trace rolled = TraceOf(body, {"float32[2..30,6]"}, options);
  ASSERT_THAT(rolled.symbols, SizeIs(1));
  EXPECT_EQ(rolled.symbols[0].max, 30);
  EXPECT_THAT(Outlined(rolled), ElementsAre(HasSubstr("uint8[n")));
  // What follows on the list has sizes that are known.
  EXPECT_THAT(OpNames(rolled),
              ElementsAre("aten::select.int", "aten::mul.Scalar", "prim::Loop",
                          "aten::stack", "aten::mul.Scalar"));
  EXPECT_EQ(FallbackCount(rolled), 2);
}

TEST(OutliningTest, RolledLoopsFillSeveralLists) {
  const TraceOptions options = WithRolledLoops();
  const Trace rolled = TraceOf(
      "  h = x[0] * 0\n  outs: List[Tensor] = []\n"
      "  states: List[Tensor] = []\n"
      "  for i in range(x.size(0)):\n    h = (h + x[i]).tanh() * 2\n"
      "    outs.append(h)\n    states.append(h * 3)\n"
      "  return torch.stack(outs) * 2, torch.stack(states, 1)",
      {"float32[2..30,6]"}, options);
  EXPECT_THAT(rolled.symbols, SizeIs(1));
  EXPECT_THAT(Outlined(rolled), SizeIs(1));
}

// Each probe may run a loop that another size does not run at all.
TEST(OutliningTest, RolledLoopsGiveWhatTheyCarryWhereTheyDoNotRun) {
  const TraceOptions options = WithRolledLoops();
  const Trace trace = TraceOf(
      "  positive = x > 0.0\n  same = x * 3\n"
      "  for k in range(x.size(0) % 13):\n"
      "    positive = torch.sin(positive + x)\n    same = same + k\n"
      "  return positive, same * 2",
      {"float32[5..17,6]"}, options);
  for (int64_t n = 5; n <= 17; ++n) {
    const auto result = RunTrace(trace, ValueList({at::rand({n, 6})}));
    ASSERT_TRUE(result.ok()) << n << ": " << result.status();
    const auto& outputs = result->toTupleRef().elements();
    EXPECT_EQ(outputs[0].toTensor().scalar_type(),
              n == 13 ? at::kBool : at::kFloat);
  }
  // The last one has its type at all lengths.
  EXPECT_EQ(OpNames(trace).back(), "aten::mul.Scalar");
  EXPECT_EQ(trace.ops.back().must_fall_back, "");
}

// A number that becomes a tensor of more axes in the first round: the loop has
// one at each length.
TEST(OutliningTest, RolledLoopsThatAlwaysRunGiveWhatARoundGives) {
  const TraceOptions options = WithRolledLoops();
  const std::string body =
      "  total = torch.zeros([])\n  for i in range(x.size(0)):\n"
      "    total = total + x[i]\n  return total * 2";
  const Trace always = TraceOf(body, {"float32[1..17,6]"}, options);
  EXPECT_EQ(OpNames(always).back(), "aten::mul.Scalar");
  EXPECT_EQ(always.ops.back().must_fall_back, "");
  const Trace maybe = TraceOf(body, {"float32[0..17,6]"}, options);
  EXPECT_NE(maybe.ops.back().must_fall_back, "");
}

// What a loop carries is what it was given where it does not run: writing to
// the one then writes to the other.
TEST(OutliningTest, RolledLoopsShareWhatTheyCarryWhereTheyDoNotRun) {
  const TraceOptions options = WithRolledLoops();
  const auto trace = TraceSource(
      "def forward(self, x: Tensor):\n  y = x * 2\n  z = y\n"
      "  for k in range(x.size(0) % 13):\n    z = z * 0.5 + k\n"
      "  z += 1\n  return y, z",
      {"float32[5..17,6]"}, options);
  ASSERT_TRUE(trace.ok()) << trace.status();
  const at::Tensor x = at::rand({13, 6});
  const auto result = RunTrace(*trace, ValueList({x}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(
      at::equal(result->toTupleRef().elements()[0].toTensor(), x * 2 + 1));
}

// All probes are shorter than what is cut off.
TEST(OutliningTest, ResultsOfBranchesHaveTheirSizesAwayFromTheProbes) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  if bool(x.sum() > -1000):\n    z = x[:17] * 2\n"
      "  else:\n    z = x[:17] * 3\n  return z + 1",
      {"float32[1..40,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_THAT(trace->symbols, SizeIs(1));
  EXPECT_EQ(trace->symbols[0].max, 40);
}

// Of two biases that are equal one is not a constant when the model is frozen,
// but an optional tensor that is there: no container that a loop may write.
TEST(OutliningTest, EqualBiasesGoIntoParts) {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module layer("__torch__.Layer", unit);
  layer.register_attribute("training", c10::BoolType::get(), true);
  layer.register_parameter("weight", at::randn({6, 6}), /*is_buffer=*/false);
  layer.register_attribute("bias", c10::OptionalType::ofTensor(), at::ones({6}),
                           /*is_param=*/true);
  layer.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.linear(x, self.weight, self.bias)\n");
  torch::jit::Module other(unit, layer.type());
  other.setattr("training", true);
  other.setattr("weight", at::randn({6, 6}));
  other.setattr("bias", at::ones({6}));
  torch::jit::Module root("__torch__.Root", unit);
  root.register_attribute("training", c10::BoolType::get(), true);
  root.register_module("a", layer);
  root.register_module("b", other);
  root.define(R"(
def forward(self, x: Tensor):
    out: List[Tensor] = []
    for i in range(int(x.sum() * 0 + 2)):
        out.append(self.b.forward(self.a.forward(x).relu()))
    return out
)");
  auto model = Model::FromModule(root);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trace = TraceAndCompare(*model, {"float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(Outlined(*trace), ElementsAre("float32[4,6]"));
}

}  // namespace
}  // namespace aitune::frontend
