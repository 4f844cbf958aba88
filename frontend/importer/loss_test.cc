// Losses become operations of the compiler, or say why not.
#include "frontend/importer/trace_maker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kI64 = DataType::kInt64;

using Arguments = std::vector<std::pair<std::string, Argument>>;

Argument Int(int64_t value) { return SizeExpression(value); }

struct Case {
  std::string name;
  std::string reason;  // empty: the operator is compiled
  DataType target;
  std::vector<SizeExpression> self_sizes, target_sizes;
  Arguments more;
};

class Losses : public ::testing::TestWithParam<Case> {};

TEST_P(Losses, AreCompiledOrSayWhyNot) {
  const Case& loss = GetParam();
  TraceMaker maker;
  Arguments arguments = {
      {"self", maker.Input(kF32, loss.self_sizes)},
      {"target", maker.Input(loss.target, loss.target_sizes)},
      {"reduction", Int(1)}};
  arguments.insert(arguments.end(), loss.more.begin(), loss.more.end());
  maker.Output(maker.Call(loss.name, arguments, kF32, {}));
  const std::string text = maker.Import();
  if (loss.reason.empty()) {
    EXPECT_EQ(maker.Reason(), "");
    EXPECT_THAT(text, Not(HasSubstr("ait.fallback")));
  } else {
    EXPECT_THAT(text, HasSubstr("ait.fallback"));
    EXPECT_THAT(maker.Reason(), HasSubstr(loss.reason));
  }
}

// What the losses of classes have after the target, with this smoothing.
Arguments OfClasses(Argument weight, double smoothing = 0) {
  return {{"weight", weight},
          {"ignore_index", Int(-100)},
          {"label_smoothing", smoothing}};
}

INSTANTIATE_TEST_SUITE_P(
    Operators, Losses,
    ::testing::Values(
        Case{"aten::mse_loss", "", kF32, {4, 5}, {4, 5}, {}},
        Case{"aten::l1_loss", "", kF32, {4, 5}, {5}, {}},
        Case{"aten::smooth_l1_loss", "", kF32, {4}, {4}, {{"beta", 0.5}}},
        Case{"aten::huber_loss", "", kF32, {4}, {4}, {{"delta", 1.5}}},
        Case{"aten::binary_cross_entropy_with_logits",
             "",
             kF32,
             {4},
             {4},
             {{"weight", NoneArgument()}, {"pos_weight", NoneArgument()}}},
        Case{
            "aten::nll_loss", "", kI64, {4, 5}, {4}, OfClasses(NoneArgument())},
        Case{"aten::cross_entropy_loss",
             "",
             kI64,
             {4, 5, 6},
             {4, 6},
             OfClasses(NoneArgument())},
        Case{"aten::cross_entropy_loss",
             "label smoothing",
             kI64,
             {4, 5},
             {4},
             OfClasses(NoneArgument(), 0.1)},
        Case{"aten::cross_entropy_loss",
             "shares of classes",
             kF32,
             {4, 5},
             {4, 5},
             OfClasses(NoneArgument())},
        Case{"aten::cross_entropy_loss",
             "differs in its sizes",
             kI64,
             {4, 5},
             {3},
             OfClasses(NoneArgument())}));

}  // namespace
}  // namespace aitune::frontend
