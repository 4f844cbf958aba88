// Writes that others see at some sizes only: where an operator gives a view of
// its tensor, and not the copy that it gives elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/model.h"
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Views of all elements are tensors of their own.
TEST(PossibleViews, OfTheSameElementsKeepTheirSizes) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  z = x * 1
  y = z[:]
  y.t_()
  u = x * 3
  v = u.detach()
  v.unsqueeze_(0)
  y.add_(1)
  w = z.contiguous()
  w.mul_(2)
  return z * 2, y * 1, v * 1, u * 1, z[:] is z, z.contiguous() is z, w is z
)",
                                     {"float32[1..4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Not(Contains(kWholeModel)))
      << PrintTrace(*trace);
}

TEST(PossibleViews, ASizeThatGivesAViewIsLeftOut) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  a = torch.sin(x)
  b = a.unsqueeze(1).expand(-1, x.size(1), -1).flatten()
  a.add_(1.0)
  return b, a
)",
                                     {"float32[2..4,1..5]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->symbols.size(), 2u);
  EXPECT_EQ(trace->symbols[1].min, 2);
  EXPECT_THAT(trace->notes,
              ElementsAre(HasSubstr("aten::flatten gives a view")));
}

TEST(PossibleViews, ASizeThatGivesACopyIsLeftOut) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  a = torch.sin(x)
  b = a.transpose(0, 1).reshape(-1)
  b.mul_(2.0)
  return a, b
)",
                                     {"float32[3,1..5]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->notes,
              ElementsAre(HasSubstr("aten::reshape gives a view")));
}

// The sizes of another tensor are numbers like any other: what is known of the
// memory of a view is known of one with such sizes.
TEST(PossibleViews, OfAViewWithTheSizesOfAnotherTensor) {
  for (const char* view : {"y.mT.view_as(y.mT)", "y.mT.reshape_as(y.mT)",
                           "y.mT.expand_as(y.mT)", "y.mT.view(y.mT.size())"}) {
    const auto trace =
        TraceAndCompare(absl::StrCat("def forward(self, x: Tensor):\n"
                                     "  y = x[:, ::48, ::48].clone()\n  ",
                                     view, ".flatten(1).add_(1)\n  return y\n"),
                        {"float32[3,20..96,20..96]"});
    ASSERT_TRUE(trace.ok()) << view << ": " << trace.status();
    EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model")) << view;
    EXPECT_THAT(trace->notes, Contains(HasSubstr("aten::flatten gives a view")))
        << view;
  }
}

TEST(PossibleViews, AnotherMemoryFormatIsACopy) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  a = torch.sin(x)
  b = a.contiguous(memory_format=2)
  b.mul_(2.0)
  return a, b
)",
                                     {"float32[2,3,1..5,4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(FallbackCount(*trace), 0);
  EXPECT_THAT(trace->notes, IsEmpty());
}

TEST(PossibleViews, WhatIsNotReadAgainMayBeEither) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  b = torch.sin(x).transpose(0, 1).reshape(-1)
  b.mul_(2.0)
  return b
)",
                                     {"float32[3,1..5]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->notes, IsEmpty());
}

// A tensor without elements has every view; one that is expanded has few.
TEST(PossibleViews, SizesAtWhichAViewRaisesAreLeftOut) {
  const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  a = x[:, :x.size(1) % 4].unsqueeze(1).expand(-1, 3, -1, -1)
  return a.view([a.size(0), 3 * a.size(2), 2])
)",
                                     {"float32[7,1..8,2]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  // That is for 1, 4, 5 and 8.
  EXPECT_THAT(trace->notes,
              ElementsAre(AllOf(HasSubstr("(s0 floordiv 2) mod 2 == 0"),
                                HasSubstr("aten::view fails depends"))));
}

// Elements that are made up have strides too.
TEST(PossibleViews, AViewThatRaisesInEagerRaises) {
  for (const char* spec : {"int64[7,2]", "int64[2..8,2]", "float32[7,2]"}) {
    const auto trace = TraceAndCompare(R"(
def forward(self, x: Tensor):
  return x.unsqueeze(1).expand(-1, 3, -1).view([-1])
)",
                                       {spec});
    EXPECT_TRUE(absl::IsInvalidArgument(trace.status())) << trace.status();
    EXPECT_THAT(trace.status().ToString(),
                HasSubstr("view size is not compatible"));
  }
}

// Where only LibTorch knows a tensor, or the way from memory to it is not
// known, a copy that may be a view elsewhere is not written apart from its
// source: 1 row is a view, more are a copy.
TEST(PossibleViews, OfWhatOnlyLibTorchKnows) {
  constexpr char kRows[] =
      "  w = torch.arange(78, dtype=6).view([13, 6])\n"
      "  rows = 1 + (x.size(0) % 13 + 2) % 13\n";
  constexpr char kRowsOfData[] =
      "  w = torch.arange(78, dtype=6).view([13, 6])\n"
      "  rows = int(x.sum() * 0) + 1 + (x.size(0) % 13 + 2) % 13\n";
  for (const auto& [rows, body] :
       std::vector<std::pair<const char*, const char*>>{
           {kRows,
            "  y = torch.complex(w[:rows], w[:rows])\n"
            "  z = y.t().reshape(-1)\n  z *= 2\n"
            "  return torch.view_as_real(y)\n"},
           {kRows,
            "  y = torch.complex(w[:rows], w[:rows])\n"
            "  z = y.t().contiguous()\n  y *= 2\n"
            "  return torch.view_as_real(z)\n"},
           {kRows,
            "  y = w[:rows] * 2\n"
            "  z = torch.einsum('ij->ji', [y]).contiguous()\n  z += 1\n"
            "  return y\n"},
           {kRows,
            "  y = w[:rows] * 2\n  if bool(x.sum() > -1000):\n"
            "    z = y.t().contiguous()\n  else:\n    z = y.t() * 3\n"
            "  z += 1\n  return y\n"},
           {kRowsOfData,
            "  y = w[:rows] * 2\n  z = y.t().contiguous()\n  z += 1\n"
            "  return y\n"},
           {kRowsOfData,
            "  y = w[:rows] * 2\n  z = y.t().contiguous()\n  y += 1\n"
            "  return z\n"}}) {
    const std::string source =
        absl::StrCat("def forward(self, x: Tensor):\n", rows, body);
    const auto trace = TraceSource(source, {"float32[1..40]"});
    ASSERT_TRUE(trace.ok()) << body << trace.status();
    for (const int64_t size : {11, 12}) {
      const auto& symbols = trace->symbols;
      if (!symbols.empty() && (size < symbols[0].min || size > symbols[0].max))
        continue;
      const ValueList inputs({at::ones({size})});
      const auto result = RunTrace(*trace, inputs);
      ASSERT_TRUE(result.ok()) << body << result.status();
      const auto model = Model::FromSource(source);
      EXPECT_EQ(Difference(*result, *model->RunEager(inputs)), "")
          << size << ":\n"
          << body;
    }
  }
}

// An axis of a view may be one that sizes choose: such a view is not written.
TEST(PossibleViews, OfAxesThatSizesChooseAreNotWritten) {
  const auto trace = TraceSource(R"(
def forward(self, x: Tensor):
  y = torch.arange(36, dtype=6).view([6, 6]) + x.sum()
  z = y.transpose(0, x.size(0) // 23)
  z[0] += 1
  return y
)",
                                 {"float32[1..40]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
}

// A branch squeezes an axis away where it has one element.
TEST(PossibleViews, RanksOfBranchesAreThoseOfTheCall) {
  const std::string source = R"(
def forward(self, x: Tensor):
  w = torch.arange(78, dtype=6).view([13, 6])
  y = w[:1 + (x.size(0) % 13 + 2) % 13] * 2
  if bool(x.sum() > -1000):
    z = y.squeeze(0)
  else:
    z = torch.cat([y, y])
  return z.dim()
)";
  const auto trace = TraceSource(source, {"float32[1..40]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  for (const int64_t size : {11, 12}) {
    const ValueList inputs({at::ones({size})});
    const auto result = RunTrace(*trace, inputs);
    ASSERT_TRUE(result.ok()) << result.status();
    const auto model = Model::FromSource(source);
    EXPECT_EQ(Difference(*result, *model->RunEager(inputs)), "") << size;
  }
}

}  // namespace
}  // namespace aitune::frontend
