// Operators that write where index tensors say, and searches: what becomes
// operations of the compiler, and why the rest does not.
#include <functional>

#include "frontend/importer/trace_maker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kI64 = DataType::kInt64;

Argument Int(int64_t value) { return SizeExpression(value); }

struct Case {
  std::string name;
  std::string reason;  // empty: the operator is compiled
  // Makes the call from self, float32[4,n], with n from 1 to 64.
  std::function<ValueId(TraceMaker&, const std::string&, ValueId)> make;
};

class Writing : public ::testing::TestWithParam<Case> {};

TEST_P(Writing, IsCompiledOrSaysWhyNot) {
  TraceMaker maker;
  const SizeExpression n = maker.Symbol(1, 64);
  maker.Output(
      GetParam().make(maker, GetParam().name, maker.Input(kF32, {4, n})));
  const std::string text = maker.Import();
  if (GetParam().reason.empty()) {
    EXPECT_EQ(maker.Reason(), "");
    EXPECT_THAT(text, AllOf(HasSubstr("ait.check"), HasSubstr("ait.where"),
                            Not(HasSubstr("ait.fallback"))));
  } else {
    EXPECT_THAT(text, HasSubstr("ait.fallback"));
    EXPECT_THAT(maker.Reason(), HasSubstr(GetParam().reason));
  }
}

SizeExpression N() { return SizeExpression::Symbol(0); }

// index_copy and index_add of `count` rows.
auto OfRows(int64_t count, std::vector<std::pair<std::string, Argument>> more) {
  return [=](TraceMaker& maker, const std::string& name, ValueId self) {
    std::vector<std::pair<std::string, Argument>> arguments = {
        {"self", self},
        {"dim", Int(0)},
        {"index", maker.Input(kI64, {count})},
        {"source", maker.Input(kF32, {count, N()})}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return maker.Call(name, arguments, kF32, {4, N()});
  };
}

// scatter and scatter_add of `rows` rows of sources.
auto Scattered(int64_t rows, SizeExpression columns,
               std::vector<std::pair<std::string, Argument>> more) {
  return [=](TraceMaker& maker, const std::string& name, ValueId self) {
    std::vector<std::pair<std::string, Argument>> arguments = {
        {"self", self},
        {"dim", Int(0)},
        {"index", maker.Input(kI64, {rows, columns})}};
    if (more.empty() || more[0].first != "value")
      arguments.emplace_back("src", maker.Input(kF32, {rows, columns}));
    arguments.insert(arguments.end(), more.begin(), more.end());
    return maker.Call(name, arguments, kF32, {4, N()});
  };
}

// scatter of `count` entries along columns.
auto AlongColumns(int64_t count) {
  return [=](TraceMaker& maker, const std::string& name, ValueId self) {
    return maker.Call(name,
                      {{"self", self},
                       {"dim", Int(1)},
                       {"index", maker.Input(kI64, {4, count})},
                       {"src", maker.Input(kF32, {4, count})}},
                      kF32, {4, N()});
  };
}

// index_put with an index of `count` entries for each axis that is true.
auto Put(std::vector<bool> indexed, int64_t count, bool accumulate,
         DataType dtype = kI64) {
  return [=](TraceMaker& maker, const std::string& name, ValueId self) {
    std::vector<ValueId> indices;
    for (const bool one : indexed)
      indices.push_back(one ? maker.Input(dtype, {count}) : -1);
    return maker.Call(name,
                      {{"self", self},
                       {"indices", indices},
                       {"values", maker.Input(kF32, {})},
                       {"accumulate", accumulate}},
                      kF32, {4, N()});
  };
}

INSTANTIATE_TEST_SUITE_P(
    Operators, Writing,
    ::testing::Values(
        Case{"aten::index_copy", "", OfRows(3, {})},
        Case{"aten::index_copy", "a static number of up to 128 indices",
             OfRows(129, {})},
        Case{"aten::index_add", "", OfRows(3, {{"alpha", Int(1)}})},
        Case{"aten::index_add", "a static number of up to 32 indices",
             OfRows(33, {{"alpha", Int(1)}})},
        Case{"aten::index_add", "alpha is not 1",
             OfRows(3, {{"alpha", Int(2)}})},
        Case{"aten::index_fill.int_Scalar", "",
             [](TraceMaker& maker, const std::string& name, ValueId self) {
               return maker.Call(name,
                                 {{"self", self},
                                  {"dim", Int(0)},
                                  {"index", maker.Input(kI64, {2})},
                                  {"value", 1.5}},
                                 kF32, {4, N()});
             }},
        Case{"aten::scatter.src", "", Scattered(2, N(), {})},
        Case{"aten::scatter.value", "", Scattered(2, N(), {{"value", 1.5}})},
        Case{"aten::scatter_add", "", Scattered(2, N(), {})},
        // 4 * 128 * 64 comparisons, where there are at most 64 columns.
        Case{"aten::scatter.src", "", AlongColumns(128)},
        Case{"aten::scatter.src", "LibTorch is faster for so many",
             [](TraceMaker& maker, const std::string& name, ValueId) {
               const ValueId self = maker.Input(kF32, {8, N()});
               return maker.Call(name,
                                 {{"self", self},
                                  {"dim", Int(1)},
                                  {"index", maker.Input(kI64, {8, 128})},
                                  {"src", maker.Input(kF32, {8, 128})}},
                                 kF32, {8, N()});
             }},
        Case{"aten::scatter.src", "the index is smaller",
             Scattered(2, SizeExpression(1), {})},
        Case{"aten::scatter.reduce", "reductions are not supported",
             Scattered(2, N(), {{"reduce", std::string("add")}})},
        Case{"aten::index_put", "", Put({true}, 3, false)},
        Case{"aten::index_put", "", Put({true}, 3, true)},
        Case{"aten::index_put", "", Put({false, true}, 3, false)},
        Case{"aten::index_put", "", Put({true, true}, 3, true)},
        Case{"aten::index_put", "there are more indices than axes",
             Put({true, true, true}, 3, false)},
        Case{"aten::index_put", "sums where a mask says",
             Put({true}, 4, true, DataType::kBool)},
        Case{"aten::index_put", "a mask beside other indices",
             Put({true, true}, 4, false, DataType::kBool)},
        Case{"aten::index_put", "a tensor of uint8 is a mask",
             Put({true}, 4, false, DataType::kUInt8)}));

TEST(Searching, IsASearchStepForEachDoubling) {
  TraceMaker maker;
  const SizeExpression n = maker.Symbol(1, 64);
  const ValueId x = maker.Input(kF32, {n}), b = maker.Input(kF32, {7});
  maker.Output(maker.Call(
      "aten::bucketize.Tensor",
      {{"self", x}, {"boundaries", b}, {"out_int32", false}, {"right", false}},
      kI64, {n}));
  const std::string text = maker.Import();
  EXPECT_EQ(maker.Reason(), "");
  size_t steps = 0;
  for (size_t at = text.find("ait.index_select"); at != std::string::npos;
       at = text.find("ait.index_select", at + 1))
    ++steps;
  EXPECT_EQ(steps, 3);
}

TEST(Searching, LongOrSortedBySequencesAreLeftToLibTorch) {
  for (const bool is_long : {true, false}) {
    TraceMaker maker;
    const ValueId x = maker.Input(kF32, {3}),
                  b = maker.Input(kF32, {is_long ? 4097 : 7});
    maker.Output(
        maker.Call("aten::searchsorted.Tensor",
                   {{"sorted_sequence", b},
                    {"self", x},
                    {"out_int32", false},
                    {"right", false},
                    {"side", NoneArgument()},
                    {"sorter", is_long ? Argument(NoneArgument())
                                       : Argument(maker.Input(kI64, {7}))}},
                   kI64, {3}));
    maker.Import();
    EXPECT_THAT(maker.Reason(),
                HasSubstr(is_long ? "up to 4096 entries" : "a sorter"));
  }
}

}  // namespace
}  // namespace aitune::frontend
