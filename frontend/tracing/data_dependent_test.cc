// Values that the trace cannot follow, and what it says about them.
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* body;
  const char* reason;
  int fallbacks;
};

class DataDependent : public ::testing::TestWithParam<Case> {};

TEST_P(DataDependent, FallsBackWithItsReason) {
  const auto trace = TraceAndCompare(
      absl::StrCat("def forward(self, x: Tensor):\n", GetParam().body),
      {"float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(PrintTrace(*trace), HasSubstr(GetParam().reason));
  EXPECT_EQ(FallbackCount(*trace), GetParam().fallbacks) << PrintTrace(*trace);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, DataDependent,
    ::testing::Values(
        Case{"  return x.nonzero()", "its size depends on data", 1},
        Case{"  return torch.masked_select(x, x > 0) * 2",
             "its size depends on data", 2},
        Case{"  return x[x > 0].sum()", "its size depends on data", 2},
        Case{"  return torch.repeat_interleave(x[0].abs().long() + 1)",
             "its size depends on data", 1},
        Case{"  n = x.sum(1).abs().long() % 6 + 1\n"
             "  data, sizes = torch._pack_padded_sequence(x, "
             "n.sort(0, True)[0], True)\n  return data, sizes",
             "its size depends on data", 1},
        Case{"  n = int(x.sum())\n  return x * n",
             "it is a number that depends on data", 2},
        Case{"  n = int(x.abs().sum()) % 4 + 1\n  return torch.zeros([n]) + 1",
             "a value that only LibTorch knows", 5},
        Case{"  values, counts = torch.unique_consecutive(x.sign().flatten()), "
             "1\n  return values[0]",
             "its size depends on data", 1},
        // Static after all: masks and indices of known shape.
        Case{"  return x[torch.tensor([1, 0])]", "aten::index", 0},
        Case{"  return x[:, torch.tensor([True, False, True, True, False, "
             "False])]",
             "float32[4, 3]", 0},
        Case{"  i = x.argmax(1)\n  return x.gather(1, i.unsqueeze(1))",
             "aten::gather", 0},
        Case{"  return torch.where(x > 0, x, x * 2)", "aten::where.self", 0},
        // Tensors of unknown sizes are written, where nobody else sees it.
        Case{"  y = x[x > 0]\n  y.add_(1)\n  return y * 2",
             "a value that only LibTorch knows", 3},
        Case{"  y = x[x > 0]\n  z = [y]\n  y.add_(1)\n  return z[0]",
             "a value that only LibTorch knows", 2},
        Case{"  y = x[x > 0]\n  z = y\n  return y * 2 if z is y else y",
             "a value that only LibTorch knows", 2},
        // Written under a mask: as large as before.
        Case{"  y = x + 1\n  y[x > 0] = 3.0\n  return y * 2", "aten::index_put",
             0},
        Case{"  y = x + 1\n  y[x > 0] = (x * 2)[x > 0]\n  return y * 2",
             "its size depends on data", 2},
        // What is written has a size that depends on data, as the rows of a
        // mixture's expert; the tensor that it is written to has not.
        Case{"  y = x + 1\n  i = x[:, 0].nonzero().flatten()\n"
             "  y.index_add_(0, i, (x * 2)[i])\n  return y * 2",
             "it writes a value that depends on data", 4},
        Case{"  y = x + 1\n  i = x[:2, 0].nonzero().flatten()\n"
             "  y[1:3].index_copy_(0, i, x[i])\n  return y * 2",
             "it writes a value that depends on data", 4},
        Case{"  y = x.nonzero()\n  return y.dtype == torch.ones([1]).dtype, "
             "y.dim()",
             "return", 0}));

// Of programs that decide by data: each way is right, whichever the trace saw.
struct Choice {
  const char* name;
  const char* body;
};

class ChoiceByData : public ::testing::TestWithParam<Choice> {};

TEST_P(ChoiceByData, IsRightBothWays) {
  const auto model = Model::FromSource(
      absl::StrCat("def forward(self, x: Tensor):\n", GetParam().body));
  ASSERT_TRUE(model.ok()) << model.status();
  // The data of the trace has no element above 100.
  const absl::StatusOr<Trace> trace =
      BuildTrace(*model, {*ParseInputSpec("float32[4,6]")}, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  for (const double shift : {0., 200., -200., 0.5}) {
    const auto input = [&] {
      at::manual_seed(1);
      return ValueList({at::randn({4, 6}) + shift});
    };
    const auto eager = model->RunEager(input());
    ASSERT_TRUE(eager.ok()) << eager.status();
    const auto ours = RunTrace(*trace, input());
    ASSERT_TRUE(ours.ok()) << shift << ": " << ours.status();
    EXPECT_EQ(Difference(*ours, *eager), "") << shift;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, ChoiceByData,
    ::testing::Values(Choice{"None", R"(
    m: Optional[Tensor] = None
    if bool((x > 100).any()):
        m = x * 2
    if m is None:
        return x - 1
    return x + 5
)"},
                      Choice{"NotNone", R"(
    m: Optional[Tensor] = x
    if bool((x > 100).any()):
        m = None
    if m is not None:
        return x + m
    return x - 1
)"},
                      Choice{"OptionalNumber", R"(
    k: Optional[int] = None
    if bool((x > 100).any()):
        k = 3
    if k is not None:
        return x * k
    return x - 1
)"},
                      Choice{"OptionalInALoop", R"(
    best: Optional[Tensor] = None
    for i in range(x.size(0)):
        if bool(x[i].sum() > 100):
            best = x[i]
    if best is None:
        return torch.zeros([6])
    return best * 2
)"},
                      Choice{"LoopUntilNotNone", R"(
    best: Optional[Tensor] = None
    i = 0
    while best is None and i < 3:
        if bool(x[i].sum() > 1):
            best = x[i]
        i += 1
    return x + i
)"},
                      Choice{"Instance", R"(
    k: Union[int, Tensor] = 3
    if bool((x > 100).any()):
        k = x * 2
    if isinstance(k, int):
        return x * k
    return x - 1
)"},
                      Choice{"Rank", R"(
    y = x
    if bool((x > 100).any()):
        y = x.sum()
    if y.dim() == 0:
        return x - 1
    return x + 1
)"},
                      Choice{"Dtype", R"(
    y = x.to(7 if bool((x > 100).any()) else 6) * 2
    if y.dtype == 7:
        return x - 1
    return x + 1
)"},
                      Choice{"SqueezedRank", R"(
    y = x.unsqueeze(0).squeeze(1 if bool((x > 100).any()) else 0)
    return x * y.dim()
)"},
                      Choice{"SameObject", R"(
    a = [x, x + 1]
    b = a
    if bool((x > 100).any()):
        b = [x * 3]
    if a is b:
        return x * 5
    return x - len(b)
)"},
                      Choice{"NestedSizes", R"(
    y = x
    if bool(x.sum() > 0):
        if bool((x > 100).any()):
            y = x[:1]
    return y * 2, y.size(0)
)"},
                      Choice{"NestedSizesInALoop", R"(
    y = x
    i = 0
    while i < 2 and bool(x.sum() > 0):
        if bool((x > 100).any()):
            y = y[:2]
        i += 1
    return y + 1
)"},
                      Choice{"NestedDtype", R"(
    y = x
    if bool(x.sum() > 0):
        z = x
        if bool((x > 100).any()):
            z = x.double()
        y = z
    return y * 2
)"},
                      Choice{"SizesByNumbers", R"(
    y = x
    if bool(x.sum() > 0):
        k: List[int] = (x > 100).sum(1).tolist()
        y = x[:k[0] // 3 + 1]
    return y * 2
)"},
                      Choice{"SizesByAFloat", R"(
    share = float((x > 100).float().mean())
    y = x
    if bool(x.sum() > 0):
        y = x[:int(share * 3) + 1]
    return y * 2
)"},
                      Choice{"SizesByRepeats", R"(
    y = x
    if bool(x.sum() > 0):
        y = x.repeat_interleave((x > 100).sum(1) // 3 + 1, 0)[:4]
        y = torch.tensor_split(x, (x > 100).sum(1).cumsum(0) // 6, 0)[0]
    return y * 2
)"},
                      Choice{"TwoNamesOfAResult", R"(
    a = x + 1
    b = x + 2
    if bool((x > -100).all()):
        b = a
    a.add_(1)
    return a, b
)"},
                      Choice{"OneResultTwice", R"(
    if bool((x > -100).all()):
        a = x + 1
        b = a
    else:
        a = x + 1
        b = x + 2
    a.add_(1)
    return a, b
)"},
                      Choice{"WrittenAndReturned", R"(
    buffer = x * 2
    if bool((x > -100).all()):
        buffer.add_(1)
        y = buffer
    else:
        y = buffer + 1
    y.mul_(2)
    return buffer, y
)"},
                      Choice{"ResultInAList", R"(
    if bool((x > -100).all()):
        a = x + 1
        parts = [a, x]
    else:
        a = x + 1
        parts = [a + 2]
    a.add_(1)
    return a, parts[0]
)"},
                      Choice{"RareNamesOfAResult", R"(
    a = x + 1
    b = x + 2
    if bool(x.sum() > -10000):
        if bool((x > 100).any()):
            b = a
    a.add_(1)
    return a, b
)"},
                      Choice{"RareNamesInALoop", R"(
    a = x + 1
    b = x + 2
    i = 0
    while i < 2 and bool(x.sum() > -10000):
        if bool((x > 100).any()):
            b = a
        i += 1
    b.add_(1)
    return a, b
)"},
                      Choice{"NamesWhereTheProbesRaise", R"(
    a = x + 1
    if bool((x > 100).any()):
        b = a[int(x.min()) - 195]
    else:
        b = x[0] + 2
    a.add_(1)
    return a, b
)"},
                      Choice{"PartsOfARareList", R"(
    y = x + 1
    if bool((x > 100).any()):
        t = [y, y]
    else:
        t = [x + 2, x + 3]
    u = t[0]
    u.add_(1)
    return y, u
)"},
                      Choice{"ViewsOfARareTensor", R"(
    z = x[x > -300]
    w = z * 1
    if bool((x > 100).any()):
        w = z
    v = w[:2]
    v.add_(1)
    return z, v
)"},
                      Choice{"ViewsOfARareTuple", R"(
    y = x + 1
    p = (x + 2, 2)
    if bool((x > 100).any()):
        p = (y, 1)
    a, n = p
    b = a[0]
    b.mul_(2)
    return y, b, n
)"},
                      Choice{"ARareNameOfAList", R"(
    l = [1]
    m = [2]
    if bool((x > 100).any()):
        m = l
    m.append(5)
    return l, m, x * len(l)
)"},
                      Choice{"AListWithARareName", R"(
    l = [1]
    m = [2]
    if bool((x > 100).any()):
        m = l
    l.append(5)
    return l, m
)"},
                      Choice{"SameObjectOfTensors", R"(
    b = x + 1
    c = x + 2
    if bool((x > 100).any()):
        c = b
    if c is b:
        return x * 5
    return x - 1
)"},
                      Choice{"NumbersOfAList", R"(
    l: List[float] = x[0].tolist()
    total = 0.0
    for v in l:
        total += v
    return x * total, len(l)
)"},
                      Choice{"WholeSlice", R"(
    k = int((x > 100).sum()) // 8
    return x[:x.size(0) - k] * 2, k
)"},
                      Choice{"WrittenBesideASlice", R"(
    y = x * 2
    z = y[:y.size(0) - int((x > 100).sum()) // 8]
    y.add_(1)
    return z, y
)"},
                      Choice{"WrittenBesideAPart", R"(
    y = x * 2
    z = y.split(int((x > 100).sum()) // 8 + 1)
    y.add_(1)
    return z[0]
)"}),
    [](const auto& info) { return std::string(info.param.name); });

// A branch that may not run writes what the next calls see: LibTorch runs the
// model, and finding the sizes leaves it as it was.
TEST(WritesByData, StateIsLeftToLibTorch) {
  const char* const bodies[] = {
      "  if bool(x.sum() > 0):\n    self.b.add_(1)\n  return x + self.b\n",
      "  if bool(x.sum() > 0):\n    self.h.append(x)\n  return x * "
      "len(self.h)\n",
      "  if bool(x.sum() > 0):\n    x = torch.batch_norm(x, None, None, "
      "self.b, self.v, True, 0.5, 1e-5, False)\n  return x + self.b\n",
      "  t = self.b if bool(x.sum() > 0) else self.v\n  t.add_(1)\n"
      "  return x + self.b + self.v\n",
      "  t = self.b if bool(x.sum() > 0) else self.v\n"
      "  torch.add(self.v, x[0], out=t)\n  return x + self.b + self.v\n",
      "  i = 0\n  t = self.v\n  while bool(x.sum() > i):\n    t = self.b\n"
      "    i += 1\n  t[1] = 3\n  return x + self.b + self.v\n"};
  for (const char* const body : bodies) {
    torch::jit::Module module("Stateful");
    module.register_attribute("training", c10::BoolType::get(), false);
    module.register_buffer("b", at::zeros({6}));
    module.register_buffer("v", at::ones({6}));
    module.register_attribute("h", c10::ListType::ofTensors(),
                              c10::List<at::Tensor>());
    module.define(absl::StrCat("def forward(self, x: Tensor):\n", body));
    const auto model = Model::FromModule(module);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto trace =
        BuildTrace(*model, {*ParseInputSpec("float32[4,6]")}, {});
    EXPECT_TRUE(module.attr("b").toTensor().eq(0).all().item<bool>()) << body;
    EXPECT_TRUE(module.attr("v").toTensor().eq(1).all().item<bool>()) << body;
    EXPECT_EQ(module.attr("h").toList().size(), 0u) << body;
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_EQ(trace->ops.size(), 1u) << PrintTrace(*trace);
  }
}

// The random elements that the sizes of a trace are found with may be such that
// the program raises.
TEST(RaisesByData, IsNoErrorOfTheTrace) {
  const auto model = Model::FromSource(R"(
def forward(self, x: Tensor):
    assert bool((x > 100).all()), "too small"
    if bool((x > 200).all()):
        y = x * 2
    else:
        assert bool((x > 100).all())
        y = x * 3
    return y
)");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trace =
      BuildTrace(*model, {*ParseInputSpec("float32[2..5,6]")}, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  for (const double value : {150., 250.}) {
    const ValueList input({at::full({3, 6}, value)});
    const auto ours = RunTrace(*trace, input);
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_EQ(Difference(*ours, *model->RunEager(input)), "") << value;
  }
  const auto raises = RunTrace(*trace, ValueList({at::zeros({3, 6})}));
  EXPECT_THAT(std::string(raises.status().message()), HasSubstr("too small"));
}

// A loop of no turns gives the very tensor that went in. What is written to the
// one is then in the other too, so LibTorch runs the model.
TEST(DataDependentLoops, MayGiveTheTensorThatWentIn) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  y = x * 2\n"
      "  z = y\n"
      "  for i in range(int(x.abs().sum()) + 1):\n"
      "    z = z + 1\n"
      "  z.add_(5)\n"
      "  return y, z",
      {"float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->ops.size(), 1u) << PrintTrace(*trace);
  EXPECT_THAT(trace->ops[0].must_fall_back, HasSubstr("another one sees"));
}

TEST(DataDependentNumbers, OnlyScaleElements) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  s = float(x.sum())\n  return "
      "torch.relu(x * s)",
      {"float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_TRUE(trace->ops.back().must_fall_back.empty()) << PrintTrace(*trace);
}

// What comes after complex numbers is compiled again.
TEST(ComplexNumbers, SizesStayKnown) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  z = torch.fft_rfft(torch.relu(x))\n"
      "  return torch.real(z) * 2 + z.abs()",
      {"float32[2..5,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(PrintTrace(*trace),
              HasSubstr("a dtype or layout that compiled code has not"));
  EXPECT_EQ(FallbackCount(*trace), 3) << PrintTrace(*trace);
  EXPECT_TRUE(trace->ops.back().must_fall_back.empty()) << PrintTrace(*trace);
}

TEST(ComplexNumbers, AViewOfThemIsNotWritten) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  z = torch.fft_rfft(x)\n"
      "  y = torch.real(z)\n"
      "  y.add_(1)\n"
      "  return z.abs() + 1",
      {"float32[4,6]"});
  // LibTorch runs the whole model.
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->ops.size(), 1u) << PrintTrace(*trace);
  EXPECT_THAT(trace->ops[0].must_fall_back,
              HasSubstr("shares memory with one that only LibTorch knows"));
}

}  // namespace
}  // namespace aitune::frontend
