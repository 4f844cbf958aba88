// Values that the trace cannot follow, and what it says about them.
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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

// LibTorch gives an argument out= the sizes of what it computes, whatever they
// were, and whatever they are at the sizes and data of the trace.
TEST(OutArguments, OfSizesThatDependOnDataAreLibTorchs) {
  for (const char* call :
       {"torch.arange(int(n), out=o)", "torch.linspace(0, 1, int(n), out=o)",
        "torch.full([int(n)], 3., out=o)",
        "torch.index_select(x, 0, torch.arange(int(n)), out=o)"}) {
    for (const char* size : {"0", "1", "4"}) {
      SCOPED_TRACE(absl::StrCat(call, " of ", size));
      const auto model = Model::FromSource(
          absl::StrCat("def forward(self, x: Tensor, n: Tensor):\n"
                       "  o = torch.zeros([",
                       size, "])\n  ", call, "\n  return o * 2\n"));
      ASSERT_TRUE(model.ok()) << model.status();
      const auto trace = BuildTrace(
          *model, ValueList({at::ones({6}), at::scalar_tensor(4, at::kLong)}),
          {});
      ASSERT_TRUE(trace.ok()) << trace.status();
      EXPECT_THAT(PrintTrace(*trace),
                  HasSubstr("changes the sizes of the tensor that it writes"));
      for (const int64_t n : {0, 1, 4, 5}) {
        const ValueList arguments(
            {at::randn({6}), at::scalar_tensor(n, at::kLong)});
        const auto ours = RunTrace(*trace, arguments);
        const auto eager = model->RunEager(arguments);
        ASSERT_TRUE(ours.ok()) << ours.status();
        ASSERT_TRUE(eager.ok()) << eager.status();
        EXPECT_TRUE(ours->toTensor().equal(eager->toTensor())) << n;
      }
    }
  }
}

// A number that is no size leaves the sizes as they are.
TEST(OutArguments, OfNumbersThatDependOnDataAreTraced) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  o = torch.zeros_like(x)\n"
      "  torch.add(x, x, alpha=int(x.sum()), out=o)\n  return o * 2\n",
      {"float32[1..4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Not(Contains(kWholeModel)));
}

// Also those of a call without a functional form.
TEST(OutArguments, OfOtherSizesAreLibTorchs) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  o = torch.zeros([0])\n"
      "  torch.rand([3], out=o)\n  return x * o.size(0)\n",
      {"float32[1..4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(PrintTrace(*trace),
              HasSubstr("changes the sizes of the tensor that it writes"));
}

}  // namespace
}  // namespace aitune::frontend
