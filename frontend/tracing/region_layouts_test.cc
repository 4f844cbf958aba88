// How tensors lie in memory where data decides: in what LibTorch runs whole,
// and in what that gives.
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::Not;

struct Program {
  const char* name;
  const char* body;
  // Whether it is traced, and not left to LibTorch as a whole.
  bool is_traced = true;
};

std::ostream& operator<<(std::ostream& out, const Program& program) {
  return out << program.name;
}

class LayoutsByData : public ::testing::TestWithParam<Program> {};

TEST_P(LayoutsByData, AreEagers) {
  const auto model = Model::FromSource(
      absl::StrCat("def forward(self, x: Tensor):\n", GetParam().body));
  ASSERT_TRUE(model.ok()) << model.status();
  for (const char* const spec :
       {"float32[4,4]", "float32[n=2..5,4]", "float32[n=2..5,n=2..5]"}) {
    const absl::StatusOr<Trace> trace =
        BuildTrace(*model, {*ParseInputSpec(spec)}, {});
    ASSERT_TRUE(trace.ok()) << trace.status();
    if (GetParam().is_traced)
      EXPECT_THAT(OpNames(*trace), Not(Contains(kWholeModel))) << spec;
    // The data of the trace has no element above 100.
    for (const double shift : {0., 200., -200.}) {
      const auto input = [&] {
        at::manual_seed(1);
        return ValueList({at::randn({4, 4}) + shift});
      };
      const auto eager = model->RunEager(input());
      const auto ours = RunTrace(*trace, input());
      ASSERT_EQ(ours.ok(), eager.ok())
          << shift << ": " << ours.status() << eager.status();
      if (ours.ok())
        EXPECT_EQ(Difference(*ours, *eager), "") << spec << " " << shift;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, LayoutsByData,
                         ::testing::Values(
                             // A write to what is a copy in eager, and a view
                             // of rows that lie one behind the other.
                             Program{"CopyOfATransposed", R"(
    y = (x * 1).t()
    s = y.sum()
    if bool((x > 100).any()):
        y.contiguous().add_(100)
        s = s + y.sum()
    return s
)"},
                             Program{"CopyInALoop", R"(
    h = (x * 1).view(x.size(0), 2, x.size(1) // 2).transpose(0, 1)
    s = h.sum()
    i = 0
    while bool((x > 100).any()) and i < 2:
        f = h.reshape(2, -1)
        f[:, 0] = f[:, 0] * 2 + 1
        s = s + h.sum()
        i += 1
    return s
)",
                                     false},
                             Program{"FlatCopy", R"(
    y = (x + 1).t()
    s = y.sum(0)
    if bool((x > 100).any()):
        y.flatten().zero_()
        s = y.sum(0)
    return s
)"},
                             Program{"CopyOfWhatFollowsALayout", R"(
    y = torch.relu(x.t() + 300)
    s = y.sum()
    if bool((x > 100).any()):
        f = y.reshape(-1)
        f[0] = 0
        s = s + y.sum() * 2
    return s
)"},
                             Program{"CopyOfASliceWithGaps", R"(
    y = (x + 1)[:, 1:3]
    s = y.sum(0)
    if bool((x > 100).any()):
        y.reshape(-1).add_(100)
        s = y.sum(0)
    return s
)"},
                             Program{"CopyOfWhatIsMadeInside", R"(
    y = x.t()
    s = y.sum()
    if bool((x > 100).any()):
        z = y * 2
        z.contiguous().add_(100)
        s = z.sum()
    return s
)"},
                             // Questions inside.
                             Program{"ContiguousInside", R"(
    y = x.t()
    z = y * 2
    if bool((x > 100).any()):
        if y.is_contiguous():
            z = y + 1
        else:
            z = y * 3
    return z
)"},
                             Program{"ViewByStridesInside", R"(
    y = x.t()
    z = (y * 2)[:1, :2].reshape(-1)
    if bool((x > 100).any()):
        z = torch.as_strided(y, [2], [1])
    return z
)"},
                             Program{"StrideInside", R"(
    y = x.t() * 2
    z = y * 2
    if bool((x > 100).any()):
        z = y * y.stride(0)
    return z
)"},
                             Program{"StrideOfASliceInALoop", R"(
    y = x[:, :2]
    z = y.sum()
    i = 0
    while bool((x > 100).any()) and i < 2:
        z = z + y.stride(0)
        i += 1
    return z
)"},
                             Program{"StrideOfPartsOfAList", R"(
    l = [x.t(), x + 1]
    k = 0
    if bool((x > 100).any()):
        for v in l:
            k += v.stride(0)
    return x * k
)",
                                     false},
                             // Questions behind it.
                             Program{"ContiguousBehind", R"(
    y = x.t()
    if bool((x < 100).all()):
        y = y[x[0] > -300]
    if y.is_contiguous():
        return y + 1
    return y * 3
)"},
                             Program{"ViewBehind", R"(
    y = x.t()
    if bool((x < 100).all()):
        y = y[x[0] > -300].contiguous()
    return y.view(-1)
)"},
                             // Of what has another layout each way.
                             Program{"OneLayoutEachWay", R"(
    y = x.t()
    if bool((x < 100).all()):
        y = y.cumsum(0).contiguous()
    if y.is_contiguous():
        return y + 1
    return y * 3
)"},
                             Program{"ViewByStridesOfEitherLayout", R"(
    y = x[:2, :2] + 1
    if bool((x > 100).any()):
        y = y.t()
    else:
        y = y * 2
    return torch.as_strided(y, [4], [1])
)"},
                             Program{"LayoutAfterALoop", R"(
    y = x[:2, :2] * 1
    k = 0
    while k < 1 and bool((x > 100).any()):
        y = y.t()
        k += 1
    return y + 1 if y.is_contiguous() else y * 3
)"},
                             Program{"LayoutThatFollows", R"(
    y = x[:2, :2] + 0
    if bool((x > 100).any()):
        y = y.t()
    else:
        y = y * 2
    return y, torch.zeros_like(y).stride(0)
)"}),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// The stride of an axis of one element holds no two apart, and is asked for all
// the same.
TEST(LayoutsOfOneElement, StridesAreEagers) {
  const auto model = Model::FromSource(R"(
def forward(self, x: Tensor):
    y = x.t()
    z = y * 2
    if bool((x > 100).any()):
        z = y * (2 + y.stride(0))
    return z
)");
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Trace> trace =
      BuildTrace(*model, {*ParseInputSpec("float32[4,1]")}, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  for (const double shift : {0., 200.}) {
    const ValueList input({at::ones({4, 1}) + shift});
    const auto eager = model->RunEager(input), ours = RunTrace(*trace, input);
    ASSERT_TRUE(ours.ok() && eager.ok()) << ours.status();
    EXPECT_EQ(Difference(*ours, *eager), "") << shift;
  }
}

TEST(LayoutsOfParts, AreLibTorchsWhereTheProgramAsks) {
  const auto parts = [](const std::string& result) {
    const auto trace = TraceSource(R"(
def forward(self, x: Tensor):
    y = x.t()
    if bool((x < 100).all()):
        y = (y * 2 + 1)[x[0] > -300]
    return )" + result,
                                   {"float32[n=2..5,4]"});
    EXPECT_TRUE(trace.ok()) << trace.status();
    return trace.ok() ? trace->outlined.size() : 0;
  };
  EXPECT_GT(parts("y * 3"), 0);
  EXPECT_EQ(parts("y * 3 if y.is_contiguous() else y"), 0);
}

// Where no program asks, such tensors come as before.
TEST(LayoutsOfNoMatter, AddNothing) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
    y = x.t() * 2
    z = y[:, 1:]
    if bool((x > 100).any()):
        z = z + y[:, :1]
    return z
)",
                                     {"float32[n=2..5,4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(FallbackCount(*trace), 2);
  EXPECT_THAT(OpNames(*trace), Not(Contains("aten::permute")));
}

}  // namespace
}  // namespace aitune::frontend
