// Writes that others see at some sizes only: where an operator gives a view of
// its tensor, and not the copy that it gives elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/tracing/trace_test_util.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace aitune::frontend
