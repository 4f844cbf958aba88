// Programs that decide by data.
#include "frontend/tracing/trace_test_util.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// Each way is right, whichever the trace saw.
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
)"},
                      Choice{"LengthOfAList", R"(
    i: List[int] = (x[:, 0] > 100).nonzero().flatten().tolist()
    if len(i) == 0:
        return x - 1
    return x * len(i)
)"},
                      Choice{"StrideOfAView", R"(
    n = int(x[0, 0] > 100) + 1
    return x.flatten().as_strided([2, 2], [n, 1]) * 2
)"},
                      Choice{"PlaceOfAView", R"(
    n = int(x[0, 0] > 100) + 1
    return x.flatten().as_strided([2, 2], [2, 1], n) * 2
)"},
                      Choice{"PlaceOfAViewThatIsWritten", R"(
    y = x + 1
    y.as_strided([2, 2], [2, 1], int(x[0, 0] > 100)).add_(1)
    return y
)"},
                      Choice{"AxisThatIsAdded", R"(
    y = x + 1
    y.unsqueeze_(int(x[0, 0] > 100))
    return y * 2
)"},
                      Choice{"AxisThatIsSwapped", R"(
    y = (x + 1).unsqueeze(0)
    y.transpose_(0, int(x[0, 0] > 100))
    return y * 2
)"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace aitune::frontend
