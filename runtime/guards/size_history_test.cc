#include "runtime/guards/size_history.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Sizes = std::vector<std::vector<int64_t>>;

// What is compiled for tensors of these sizes, as text with symbols.
std::vector<std::string> Next(SizeHistory& history, const Sizes& sizes,
                              std::vector<std::string>* notes = nullptr) {
  std::vector<CallInput> inputs;
  for (const std::vector<int64_t>& s : sizes) {
    CallInput input;
    input.sizes = s;
    inputs.push_back(input);
  }
  std::vector<std::string> texts;
  for (const InputDescription& input : history.Next(inputs, notes)) {
    std::string text;
    for (const AxisRange& axis : input.axes) {
      text += text.empty() ? "" : " ";
      text += axis.dynamic() ? "s" + std::to_string(axis.symbol)
                             : std::to_string(axis.min);
    }
    texts.push_back(text);
  }
  return texts;
}

TEST(SizeHistoryTest, UnsetIsStaticFirstAndDynamicAtTheSecondSize) {
  SizeHistory history({});
  std::vector<std::string> notes;
  EXPECT_THAT(Next(history, {{8, 16}}, &notes), ElementsAre("8 16"));
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT(Next(history, {{12, 16}}, &notes), ElementsAre("s0 16"));
  EXPECT_THAT(notes, ElementsAre("axis 0 of input 0 is dynamic, sizes so far: "
                                 "8, 12"));
  EXPECT_THAT(Next(history, {{12, 20}}), ElementsAre("s0 s1"));
}

TEST(SizeHistoryTest, SizesAreRememberedElsewhere) {
  SizeHistory first({});
  EXPECT_THAT(Next(first, {{8, 16}}), ElementsAre("8 16"));
  SizeHistory::Groups groups = first.groups();
  ASSERT_EQ(groups.size(), 1u);
  groups.begin()->second.push_back({1, 2, 3});  // damaged
  SizeHistory second({});
  second.Remember(groups);
  EXPECT_THAT(Next(second, {{12, 16}}), ElementsAre("s0 16"));
}

size_t CallsIn(const SizeHistory& history) {
  size_t calls = 0;
  for (const auto& [name, sizes] : history.groups()) calls += sizes.size();
  return calls;
}

TEST(SizeHistoryTest, ManyCallsTakeNoMoreMemoryAndCountAsBefore) {
  SizeHistory history({});
  for (int64_t i = 0; i < 3000; ++i) {
    std::vector<std::string> notes;
    Next(history, {{8 + i, 16, 8 + i, 5}}, &notes);
    if (i > 0) EXPECT_THAT(notes[0], testing::EndsWith(std::to_string(8 + i)));
  }
  EXPECT_LE(CallsIn(history), 16u);
  // What only a late call shows.
  EXPECT_THAT(Next(history, {{9000, 16, 9000, 5}}), ElementsAre("s0 16 s0 5"));
  EXPECT_THAT(Next(history, {{9000, 16, 9001, 5}}), ElementsAre("s0 16 s1 5"));
  EXPECT_THAT(Next(history, {{9000, 17, 9000, 5}}), ElementsAre("s0 s1 s2 5"));
  EXPECT_LE(CallsIn(history), 18u);
  SizeHistory other({});
  other.Remember(history.groups());
  EXPECT_THAT(Next(other, {{7, 16, 7, 5}}), ElementsAre("s0 s1 s2 5"));
}

TEST(SizeHistoryTest, ManyKindsOfCallsTakeNoMoreMemory) {
  SizeHistory history({});
  const std::vector<int64_t> sizes = {8};
  SizeHistory::Groups groups;
  for (int i = 0; i < 3000; ++i) {
    CallInput input, number;
    input.sizes = sizes;
    number.kind = InputKind::kInt;
    number.integer = i;
    EXPECT_EQ(history.Next({input, number}, nullptr).size(), 2u);
    groups[std::to_string(i)] = {sizes};
  }
  EXPECT_LE(history.groups().size(), 256u);
  history.Remember(groups);
  EXPECT_LE(history.groups().size(), 256u);
}

TEST(SizeHistoryTest, FalseAlwaysSpecialises) {
  DynamicOptions options;
  options.dynamic = false;
  SizeHistory history(options);
  EXPECT_THAT(Next(history, {{8, 16}}), ElementsAre("8 16"));
  EXPECT_THAT(Next(history, {{12, 16}}), ElementsAre("12 16"));
  EXPECT_THAT(Next(history, {{13, 17}}), ElementsAre("13 17"));
}

TEST(SizeHistoryTest, TrueIsDynamicUpFront) {
  DynamicOptions options;
  options.dynamic = true;
  SizeHistory history(options);
  EXPECT_THAT(Next(history, {{8, 16}, {8}}), ElementsAre("s0 s1", "s0"));
}

TEST(SizeHistoryTest, ZeroAndOneAreAlwaysSpecialised) {
  DynamicOptions options;
  options.dynamic = true;
  SizeHistory up_front(options);
  EXPECT_THAT(Next(up_front, {{1, 0, 5}}), ElementsAre("1 0 s0"));
  SizeHistory unset({});
  EXPECT_THAT(Next(unset, {{1, 16}}), ElementsAre("1 16"));
  EXPECT_THAT(Next(unset, {{8, 16}}), ElementsAre("s0 16"));
  EXPECT_THAT(Next(unset, {{0, 16}}), ElementsAre("0 16"));
}

TEST(SizeHistoryTest, AxesThatWereAlwaysEqualShareASymbol) {
  SizeHistory history({});
  Next(history, {{8, 16}, {8, 3}});
  EXPECT_THAT(Next(history, {{12, 16}, {12, 3}}), ElementsAre("s0 16", "s0 3"));
  // Until they differ.
  EXPECT_THAT(Next(history, {{12, 16}, {13, 3}}), ElementsAre("s0 16", "s1 3"));
  EXPECT_THAT(Next(history, {{9, 16}, {9, 3}}), ElementsAre("s0 16", "s1 3"));
}

TEST(SizeHistoryTest, AxesThatOnlyHappenToBeEqualNowDoNot) {
  SizeHistory history({});
  Next(history, {{8}, {9}});
  EXPECT_THAT(Next(history, {{7}, {7}}), ElementsAre("s0", "s1"));
}

TEST(SizeHistoryTest, CallsOfOtherKindsDoNotCount) {
  SizeHistory history({});
  Next(history, {{8, 16}});
  EXPECT_THAT(Next(history, {{8, 16, 1}}), ElementsAre("8 16 1"));
  EXPECT_THAT(Next(history, {{9, 16}, {3}}), ElementsAre("9 16", "3"));
  CallInput input;
  const std::vector<int64_t> sizes = {9, 16};
  input.sizes = sizes;
  input.dtype = DataType::kFloat16;
  EXPECT_FALSE(history.Next({input}, nullptr)[0].axes[0].dynamic());
  input.dtype = DataType::kFloat32;
  EXPECT_TRUE(history.Next({input}, nullptr)[0].axes[0].dynamic());
}

TEST(SizeHistoryTest, TheRangeIsThatOfTheOptions) {
  DynamicOptions options;
  options.dynamic = true;
  options.min_size = 4;
  options.max_size = 64;
  SizeHistory history(options);
  EXPECT_THAT(Next(history, {{3, 4, 64, 65}}), ElementsAre("3 s0 s1 65"));
}

TEST(SizeHistoryTest, AxesThatSamplesShowedAreDynamicFromTheFirst) {
  DynamicOptions options;
  using Kind = GraphAxis::Kind;
  options.spec = GraphSpec{{{DataType::kFloat32,
                             {{Kind::kBatch, 1, 1, 8},
                              {Kind::kDynamic, 0, 2, 9},
                              {Kind::kFixed, 4, 0, 0}}}},
                           1,
                           8};
  SizeHistory history(options);
  EXPECT_THAT(Next(history, {{8, 7, 4}}), ElementsAre("s0 s1 4"));
  options.dynamic = false;
  SizeHistory never(options);
  EXPECT_THAT(Next(never, {{8, 7, 4}}), ElementsAre("8 7 4"));
}

}  // namespace
}  // namespace aitune
