// Lists, dicts and tuples: gone from the trace, kept at its borders.
#include <ATen/core/Dict.h>

#include <cmath>

#include "frontend/torchscript/dict_order.h"
#include "frontend/trace/input_nesting.h"
#include "frontend/trace/print_trace.h"
#include "frontend/trace/structure.h"
#include "frontend/tracing/trace_test_util.h"
#include "frontend/values/torch_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Containers : public ::testing::TestWithParam<const char*> {};

TEST_P(Containers, AgreesWithEager) {
  const auto trace = TraceAndCompare(
      absl::StrCat("def forward(self, x: Tensor):\n", GetParam()),
      {"float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(FallbackCount(*trace), 0) << PrintTrace(*trace);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Containers,
    ::testing::Values(
        "  y = [x, x + 1]\n  y.append(x * 2)\n  return torch.cat(y)",
        "  y = [x, x + 1, x + 2]\n  y.insert(1, x * 5)\n  z = y.pop()\n  "
        "y.reverse()\n  del y[0]\n  return torch.cat(y[::-1]) + z[0]",
        "  y = [x] * 2 + [x + 1]\n  y[1] = x * 3\n  return torch.stack(y[-2:])",
        "  y = {'a': x, 'b': x + 1}\n  y['c'] = y['a'] * 2\n  s = x\n  for k, "
        "v in y.items():\n    if k != 'b':\n      s = s + v\n  return s",
        "  y = {1: x}\n  z = y.get(2)\n  assert z is None\n  return y.pop(1), "
        "len(y), 2 in y",
        "  y = (x, (x + 1, 3))\n  a, b = y\n  c, d = b\n  return c * d, y",
        "  return {'out': x + 1, 'shape': torch.tensor(x.size())}",
        "  return [x, x + 1], 'name', 2.5, None",
        "  y = {'a': x, 'b': x + 1}\n  y.update({'b': x * 2, 'c': x - 1})\n"
        "  return y['a'] + y['b'] * y['c'], len(y)",
        "  pairs = [('a', x), ('b', x + 1), ('a', x * 2)]\n"
        "  y: Dict[str, Tensor] = dict(pairs)\n  return y['a'] + y['b'], "
        "len(y)",
        "  sizes = [x.size(0), x.size(1) // 2]\n  a, b = torch.split(x, [2, "
        "4], 1)\n  return torch.cat([a, b], 1).reshape([sizes[0] * 2, "
        "sizes[1]])",
        "  n = 0\n  for i, v in enumerate([3, 4, 5]):\n    n += i * v\n  "
        "return x + n + max([1, 7, 2]) + sum([1, 2])",
        "  y: Dict[str, List[Tensor]] = {}\n  y['a'] = [x]\n  y['a'].append(x "
        "* 2)\n  return y",
        "  y: Optional[Tensor] = None\n  if y is None:\n    y = x + 1\n  "
        "return y",
        "  parts = torch.meshgrid([x[0], x[1]])\n  return parts[0] + parts[1]",
        "  v, i = torch.max(x, 1)\n  w, j = torch.topk(x, 2, 1)\n  return v, "
        "i, w, j",
        "  y = x.unbind(0)\n  return y[0] + y[3], len(y)",
        "  d = {1: x * 1, 2: x, 1: x * 2}\n  return d[1], len(d), d",
        "  s = '{}-{}'.format('a', 3)\n  return x * len(s)"));

// What only LibTorch knows, appended to a list that others name too.
TEST(ContainersOfData, AreAppended) {
  for (const char* const append :
       {"y.extend(parts)", "y += parts", "y.extend(parts + parts)"}) {
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor):\n"
                     "  parts = (x[x[:, 0] > -100.0] * 2).unbind(0)\n"
                     "  y = [x[0] * 1]\n  z = y\n  ",
                     append,
                     "\n  y.append(x[1])\n"
                     "  return torch.stack(y), len(y), len(z), len(parts)"),
        {"float32[4,6]"});
    ASSERT_TRUE(trace.ok()) << trace.status() << "\n" << append;
  }
}

TEST(ContainersOfData, ShareTheMemoryOfWhatWasThere) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  a = x[0] * 1\n  y = [a]\n"
      "  y.extend((x[x[:, 0] > -100.0] * 2).unbind(0))\n"
      "  y[0].add_(1)\n  b = a * 2\n  a.mul_(3)\n"
      "  return torch.stack(y), a, b",
      {"float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
}

TEST(ContainerInputs, NestedInputs) {
  const auto trace = TraceAndCompare(
      R"(
def forward(self, x: Tuple[Tensor, List[Tensor]], n: int, mode: str) -> Tensor:
  a, rest = x
  if mode == "sum":
    for r in rest:
      a = a + r * n
  return a
)",
      {"(float32[1..4],[float32[1..4],float32[1..4]])", "int64=3", "str=sum"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->inputs.size(), 3u);
  EXPECT_EQ(trace->symbols.size(), 1u);
  // Constant inputs are guarded.
  const at::Tensor t = at::ones({2});
  const auto arguments = [&](int64_t n, const char* mode) {
    return ValueList(
        {c10::ivalue::Tuple::create({t, std::vector<at::Tensor>{t, t}}), n,
         std::string(mode)});
  };
  EXPECT_TRUE(
      InputNesting(trace->input_structure).Flatten(arguments(3, "sum")).ok());
  const auto other =
      InputNesting(trace->input_structure).Flatten(arguments(4, "sum"));
  EXPECT_THAT(
      std::string(other.status().message()),
      HasSubstr(
          "input 1: the model was compiled for int64=3, given is int64=4"));
  EXPECT_FALSE(
      InputNesting(trace->input_structure).Flatten(arguments(3, "mean")).ok());
  EXPECT_FALSE(
      InputNesting(trace->input_structure).Flatten(ValueList({t})).ok());
  EXPECT_FALSE(InputNesting(trace->input_structure)
                   .Flatten(ValueList({t, 3, std::string("sum")}))
                   .ok());
}

TEST(ContainerInputs, ANumberMayBeNaN) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor, scale: float): return x * scale");
  ASSERT_TRUE(model.ok()) << model.status();
  const ValueList samples({at::ones({2}), std::nan("")});
  const auto trace = BuildTrace(*model, samples, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  const InputNesting nesting(trace->input_structure);
  EXPECT_TRUE(nesting.Flatten(samples).ok());
  EXPECT_FALSE(nesting.Flatten(ValueList({at::ones({2}), 2.0})).ok());
}

TEST(ContainerInputs, DictInputs) {
  const auto model = Model::FromSource(R"(
def forward(self, x: Dict[str, Tensor], scale: float = 2.0) -> Dict[str, Tensor]:
  return {"out": x["a"] * scale + x["b"]}
)");
  ASSERT_TRUE(model.ok()) << model.status();
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("a", at::ones({2, 3}));
  dict.insert("b", at::full({2, 3}, 5));
  const ValueList samples({dict});
  const auto trace = BuildTrace(*model, samples, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace),
              ElementsAre("aten::mul.Scalar", "aten::add.Tensor"));
  const auto actual = RunTrace(*trace, samples);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(Difference(*actual, *model->RunEager(samples)), "");
  c10::Dict<std::string, at::Tensor> wrong;
  wrong.insert("a", at::ones({2, 3}));
  wrong.insert("c", at::ones({2, 3}));
  EXPECT_THAT(std::string(InputNesting(trace->input_structure)
                              .Flatten(ValueList({wrong}))
                              .status()
                              .message()),
              HasSubstr("a dict with 'b'"));
  EXPECT_FALSE(SeesDictOrder(*model));
}

// A program that stacks the values sees the order of the keys.
TEST(ContainerInputs, TheOrderOfADict) {
  const char* const bodies[] = {"return torch.stack(list(x.values()))",
                                "return [x[k] for k in x]", "return x",
                                "return [x][0]['a']",
                                ("for k, v in x.items():\n    print(k)\n  "
                                 "return x['a']")};
  for (const char* const body : bodies) {
    const auto model = Model::FromSource(
        absl::StrCat("def forward(self, x: Dict[str, Tensor]):\n  ", body));
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_TRUE(SeesDictOrder(*model)) << body;
  }
  const auto keyed = Model::FromSource(
      "def forward(self, x: Dict[str, Tensor]):\n"
      "  return x['a'] if 'b' in x else x['c'] * len(x)");
  ASSERT_TRUE(keyed.ok()) << keyed.status();
  EXPECT_FALSE(SeesDictOrder(*keyed));
  const auto dict = [](const char* first, const char* second) {
    c10::Dict<std::string, at::Tensor> made;
    made.insert(first, at::ones({2}));
    made.insert(second, at::ones({2}));
    return std::vector<c10::IValue>{made};
  };
  const Structure structure = NestingOf(dict("a", "b"));
  EXPECT_TRUE(CheckKeyOrder(structure, dict("a", "b")).ok());
  EXPECT_EQ(CheckKeyOrder(structure, dict("b", "a")).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ContainerOutputs, ConstantsAndOpaqueLeaves) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  return x, torch.ones([2]), 7, x.sum().item(), x.nonzero()
)",
                                     {"float32[3]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->outputs.size(), 4u);
  const auto kind = [&](size_t i) {
    return trace->values[static_cast<size_t>(trace->outputs[i])].kind;
  };
  EXPECT_EQ(kind(0), TraceValue::Kind::kTensor);
  EXPECT_EQ(kind(1), TraceValue::Kind::kConstant);
  EXPECT_EQ(kind(2), TraceValue::Kind::kOpaque);
  EXPECT_EQ(kind(3), TraceValue::Kind::kOpaque);
}

}  // namespace
}  // namespace aitune::frontend
