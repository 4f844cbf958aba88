// Programs whose decisions differ at a few combinations of sizes, which may be
// none that tracing looked at: traces are right wherever they say so.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model.h"
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using Point = std::vector<int64_t>;

struct Case {
  const char* name;
  const char* body;  // of forward(self, x: Tensor, w: Tensor)
  std::vector<std::string> specs;
  std::vector<Point> points;  // sizes of the symbols; the first is traced first
  size_t most_traces;         // for all points
};

bool IsFor(const Trace& trace, const std::vector<c10::IValue>& inputs) {
  Point sizes;
  for (const TraceSymbol& symbol : trace.symbols) {
    const int64_t size =
        inputs[static_cast<size_t>(symbol.input)].toTensor().size(symbol.axis);
    if (size < symbol.min || size > symbol.max) return false;
    sizes.push_back(size);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type =
        trace.values[static_cast<size_t>(trace.inputs[i])].type;
    for (size_t axis = 0; axis < type.sizes.size(); ++axis) {
      if (type.sizes[axis].Evaluate(sizes) !=
          inputs[i].toTensor().size(static_cast<int64_t>(axis)))
        return false;
    }
  }
  return std::all_of(trace.constraints.begin(), trace.constraints.end(),
                     [&](const SizeConstraint& c) { return c.Holds(sizes); });
}

class SizePoints : public testing::TestWithParam<Case> {};

TEST_P(SizePoints, AreRightWhereATraceIsForThem) {
  const auto model = Model::FromSource(absl::StrCat(
      "def forward(self, x: Tensor, w: Tensor):\n", GetParam().body));
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<InputSpec> specs;
  for (const std::string& spec : GetParam().specs)
    specs.push_back(*ParseInputSpec(spec));
  std::vector<Trace> traces;
  for (const Point& point : GetParam().points) {
    const std::string at =
        absl::StrCat("at ", point[0], ", ", point.size() > 1 ? point[1] : 0);
    const auto inputs = MakeInputs(specs, point, /*seed=*/7);
    const auto again = MakeInputs(specs, point, /*seed=*/7);
    ASSERT_TRUE(inputs.ok() && again.ok()) << inputs.status();
    auto trace = std::find_if(
        traces.begin(), traces.end(),
        [&](const Trace& made) { return IsFor(made, inputs->values()); });
    if (trace == traces.end()) {
      TraceOptions options;
      options.anchor = point;
      absl::StatusOr<Trace> made = BuildTrace(*model, specs, options);
      ASSERT_TRUE(made.ok()) << at << ": " << made.status();
      ASSERT_TRUE(IsFor(*made, inputs->values())) << at << PrintTrace(*made);
      trace = traces.insert(trace, *std::move(made));
    }
    const auto eager = model->RunEager(*inputs);
    ASSERT_TRUE(eager.ok()) << at << ": " << eager.status();
    const auto ours = RunTrace(*trace, *again);
    ASSERT_TRUE(ours.ok()) << at << ": " << ours.status();
    EXPECT_EQ(Difference(*ours, *eager), "") << at << "\n"
                                             << PrintTrace(*trace);
  }
  EXPECT_LE(traces.size(), GetParam().most_traces);
}

const std::vector<std::string> kImage = {"float32[1,1,n=1..512,m=1..512]",
                                         "float32[2]"};
const std::vector<std::string> kPair = {"float32[n=1..512,2]",
                                        "float32[m=1..512,2]"};
const std::vector<std::string> kFew = {"float32[n=1..100,2]",
                                       "float32[m=1..100,2]"};
const std::vector<std::string> kRows = {"float32[n=1..40,6]", "float32[13,6]"};

INSTANTIATE_TEST_SUITE_P(
    Programs, SizePoints,
    testing::Values(
        Case{"list_of_sizes",
             "  if list(x.shape[2:]) == [14, 14]:\n    return x * 2\n"
             "  return x * 1",
             kImage,
             {{500, 300}, {14, 14}, {14, 15}, {2, 2}},
             2},
        Case{"unequal_list",
             "  if list(x.shape) != [1, 1, 124, 124]:\n    return x * 2\n"
             "  return x * 1",
             kImage,
             {{500, 300}, {124, 124}, {123, 124}},
             2},
        // Of the shorter of two axes, whose diagonal may begin beside the
        // first.
        Case{"diagonal",
             "  y = x[0, 0]\n  return y.diagonal() * 2, x.diagonal(0, 2, -1) + "
             "1",
             kImage,
             {{500, 300}, {300, 500}, {7, 7}, {1, 9}, {9, 1}, {511, 512}},
             2},
        Case{"diagonal_beside",
             "  y = x[0, 0]\n  return y.diagonal(3) * 2, y.diagonal(3).sum()",
             kImage,
             {{500, 300}, {300, 500}, {4, 7}, {5, 7}, {9, 4}, {9, 2}, {1, 3}},
             3},
        Case{"unequal_tuple",
             "  h, v = x.size(2), x.size(3)\n"
             "  if (h, v) != (32, 33):\n    return x * 2\n"
             "  return x * 1",
             kImage,
             {{500, 300}, {32, 33}, {32, 300}},
             2},
        Case{"one_of_a_list",
             "  if x.size(0) - w.size(0) in [5, 9]:\n    return x * 2\n"
             "  return x * 1",
             kPair,
             {{500, 300}, {105, 100}, {23, 14}, {100, 100}},
             2},
        Case{"shape_of_a_part",
             "  y = x[w.size(0):] * 1\n"
             "  if list(y.size()) == [5, 2]:\n    return y * 2\n"
             "  return y * 1",
             kPair,
             {{500, 300}, {305, 300}, {66, 61}},
             2},
        Case{"equal_shapes",
             "  if x[w.size(0):].shape == w[:3].shape:\n    return x * 2\n"
             "  return x * 1",
             kPair,
             {{500, 300}, {303, 300}, {103, 100}},
             3},
        Case{"square_root",
             "  p = float(x.size(2) * x.size(3))\n"
             "  if p ** 0.5 == 14.0:\n    return x * 2\n"
             "  return x * 1",
             kImage,
             {{500, 300}, {14, 14}, {28, 7}},
             3},
        Case{"ratio",
             "  if x.size(2) / x.size(3) > 1.5:\n    return x * 2\n"
             "  return x * 1",
             kImage,
             {{500, 300},
              {300, 500},
              {450, 300},
              {451, 300},
              {3, 2},
              {511, 340}},
             2},
        Case{"ratio_of_floats",
             "  if 0.1 <= float(x.size(2)) / float(x.size(3)):\n"
             "    return x * 2\n"
             "  return x * 1",
             kImage,
             {{500, 300}, {1, 10}, {10, 101}, {30, 300}, {29, 300}},
             2},
        Case{"ratio_and_integer",
             "  if x.size(2) / x.size(3) >= 2:\n    return x * 2\n"
             "  return x * 1",
             kImage,
             {{500, 300}, {500, 250}, {2, 1}, {511, 256}},
             2},
        Case{"equal_ratio",
             "  if x.size(2) / x.size(3) == 0.75:\n    return x * 2\n"
             "  return x * 1",
             kImage,
             {{500, 300}, {75, 100}, {3, 4}, {384, 512}, {383, 512}},
             2},
        Case{"comparison_as_a_number",
             "  k = int(x.size(0) * w.size(0) == 77)\n"
             "  return x * (1 + k), k",
             kFew,
             {{100, 90}, {7, 11}, {77, 1}, {50, 50}},
             2},
        Case{"is_a_number",
             "  k = x.size(0) % 13\n"
             "  if k is 11:\n    return x * 2, k is not 11\n"
             "  return x * 1, k is not 11",
             kRows,
             {{40}, {11}, {24}, {25}},
             2},
        Case{"alpha",
             "  n = torch.tensor(x.size(0))\n"
             "  e = torch.tensor((x.size(0) % 13) // 11)\n"
             "  k = int(torch.add(n, e, alpha=2))\n"
             "  j = int(torch.sub(n, e, alpha=3))\n"
             "  i = int(torch.rsub(e, 5, alpha=2))\n"
             "  return k, j, x * i",
             kRows,
             {{40}, {11}, {24}, {25}, {12}},
             3},
        Case{"alpha_in_place",
             "  e = (x.size(0) % 13) // 11\n"
             "  n = torch.tensor(e)\n  n.add_(e, alpha=3)\n"
             "  return int(n), x * int(n)",
             kRows,
             {{40}, {11}, {24}, {25}, {12}},
             3},
        Case{"sizes_of_new_tensors",
             "  e = (x.size(0) * w.size(0) + 1523) % 1601 // 1600\n"
             "  return torch.ones([1 + e, 2]), x.new_zeros([3, 2 + e]), "
             "w[:1].repeat(1 + e, 2), e",
             {"float32[n=1..40,6]", "float32[m=1..40,6]"},
             {{40, 39}, {7, 11}, {11, 7}, {12, 7}},
             3},
        Case{"slices_of_little",
             "  e = (x.size(0) * 7 + 1523) % 1601 // 1600\n"
             "  return w[e:], w[:13 - e] * 1, e",
             {"float32[n=1..1600,6]", "float32[13,6]"},
             {{1599}, {11}, {12}},
             3},
        Case{"squeeze",
             "  v = (x[w.size(0) + 4:] * 2).squeeze(0)\n"
             "  return v.dim(), v",
             kPair,
             {{500, 300}, {205, 200}, {19, 14}, {104, 100}},
             2},
        Case{"squeeze_of_all",
             "  k = x.size(0) - w.size(0) - 9\n"
             "  return (torch.ones([k * k + 1, 3]) * x.sum()).squeeze()",
             kPair,
             {{500, 300}, {209, 200}, {23, 14}, {104, 100}},
             2},
        Case{"strided_sizes",
             "  e = (x.size(0) % 13) // 11\n"
             "  y = w * 2\n"
             "  return y.as_strided([2 + e, 3], [6, 1]), y",
             kRows,
             {{40}, {11}, {12}, {24}, {25}},
             3},
        Case{"strides_of_memory",
             "  e = (x.size(0) % 13) // 11\n"
             "  y = w * 2\n"
             "  return y.as_strided([2, 3], [6 - e, 1], e), y",
             kRows,
             {{40}, {11}, {12}, {24}, {25}},
             3},
        Case{"memory_of_a_transpose",
             "  e = (x.size(0) % 13) // 11\n"
             "  y = w[:2 + e].t() * 2\n"
             "  return y.as_strided([2, 2], [2, 1]), y",
             kRows,
             {{40}, {11}, {24}},
             3},
        Case{"negative_zero",
             "  s = ((x.size(0) % 13) // 11 - 0.5) * 0.0\n"
             "  return torch.full([2, 2], s).reciprocal(), x.copysign(s)",
             kRows,
             {{40}, {11}, {12}, {24}, {25}},
             3},
        Case{"contiguous_view",
             "  e = (x.size(0) % 13) // 11\n"
             "  u = (w * 2)[:1 + e].t()\n"
             "  if u.is_contiguous():\n    return u * 3\n"
             "  return u * 1",
             kRows,
             {{40}, {11}, {12}, {24}, {25}},
             3},
        Case{"strides_of_a_view",
             "  e = (x.size(0) % 13) // 11\n"
             "  u = (w * 2)[:1].expand(1 + e, 6)\n"
             "  return u.is_contiguous(), u.stride(0), u * 1",
             kRows,
             {{40}, {11}, {12}, {24}, {25}},
             3},
        Case{"offset_of_a_view",
             "  u = (w * 2)[3:]\n"
             "  if u.storage_offset() > 0:\n    x = x * 2\n"
             "  return x * 1, u.storage_offset()",
             kRows,
             {{40}, {11}},
             1}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace aitune::frontend
