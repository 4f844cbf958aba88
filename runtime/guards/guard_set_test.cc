#include "runtime/guards/guard_set.h"

#include <cmath>

#include "gtest/gtest.h"

namespace aitune {
namespace {

// A call with two tensors [8, 16] and [8, 4], an int and a string.
class GuardSetTest : public testing::Test {
 protected:
  GuardSetTest() {
    CallInput first, second;
    first.sizes = first_;
    second.sizes = second_;
    second.dtype = DataType::kInt64;
    call_ = {first, second, CallInput::Int(4), CallInput::String("mean")};
    for (const CallInput& input : call_)
      expected_.push_back(InputDescription::Of(input));
    expected_[1].name = "mask";
  }

  void ExpectFailure(GuardKind kind, const std::string& text,
                     const std::string& advice) {
    const GuardSet guards(expected_, filter_);
    EXPECT_FALSE(guards.Check(call_));
    const std::optional<GuardFailure> failure = guards.Explain(call_);
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->kind, kind);
    EXPECT_EQ(failure->text, text);
    EXPECT_EQ(failure->advice, advice);
  }
  void ExpectHolds() {
    const GuardSet guards(expected_, filter_);
    EXPECT_TRUE(guards.Check(call_));
    EXPECT_FALSE(guards.Explain(call_).has_value());
  }

  std::vector<int64_t> first_ = {8, 16}, second_ = {8, 4};
  std::vector<CallInput> call_;
  std::vector<InputDescription> expected_;
  GuardFilter filter_;
};

TEST_F(GuardSetTest, TheSameCallHolds) { ExpectHolds(); }

TEST_F(GuardSetTest, InputCount) {
  call_.pop_back();
  ExpectFailure(GuardKind::kInputCount, "there are 3 inputs, compiled for 4",
                "pass the inputs that the model was compiled for");
}

TEST_F(GuardSetTest, InputKind) {
  call_[0] = CallInput::None();
  ExpectFailure(GuardKind::kInputKind, "input 0 is None, compiled for a tensor",
                "pass an input of the kind it was compiled for");
}

TEST_F(GuardSetTest, Rank) {
  second_ = {8, 4, 1};
  call_[1].sizes = second_;
  ExpectFailure(GuardKind::kRank,
                "the rank of input 1 (mask) is 3, compiled for 2",
                "reshape it to 2 axes before the call");
}

TEST_F(GuardSetTest, Dtype) {
  call_[0].dtype = DataType::kFloat64;
  ExpectFailure(GuardKind::kDtype,
                "the dtype of input 0 is float64, compiled for float32",
                "convert it to float32 before the call");
}

TEST_F(GuardSetTest, Device) {
  call_[0].device = "cuda:1";
  ExpectFailure(GuardKind::kDevice,
                "the device of input 0 is cuda:1, compiled for cpu",
                "move it to cpu before the call");
}

TEST_F(GuardSetTest, Layout) {
  call_[0].layout = MemoryLayout::kStrided;
  ExpectFailure(GuardKind::kLayout,
                "the layout of input 0 is strided, compiled for contiguous",
                "call contiguous() on it before the call");
  expected_[0].layout = MemoryLayout::kChannelsLast;
  ExpectFailure(GuardKind::kLayout,
                "the layout of input 0 is strided, compiled for channels_last",
                "make it channels_last before the call");
}

TEST_F(GuardSetTest, FixedSize) {
  second_[1] = 5;
  ExpectFailure(GuardKind::kSize,
                "the size of axis 1 of input 1 (mask) is 5, compiled for 4",
                "set dynamic to True, or give the axis a range of sizes");
  second_[1] = 3;
  ExpectFailure(GuardKind::kSize,
                "the size of axis 1 of input 1 (mask) is 3, compiled for 4",
                "set dynamic to True, give the axis a range of sizes, or pad "
                "it to 4");
}

TEST_F(GuardSetTest, SizeInARange) {
  expected_[0].axes[1] = {2, 32};
  for (int64_t size : {2, 16, 32}) {
    first_[1] = size;
    ExpectHolds();
  }
  first_[1] = 33;
  ExpectFailure(GuardKind::kSize,
                "the size of axis 1 of input 0 is 33, compiled for 2 to 32",
                "give the axis a wider range of sizes");
  expected_[0].axes[1] = {2, AxisRange::kUnbounded};
  ExpectHolds();
  first_[1] = 1;
  ExpectFailure(GuardKind::kSize,
                "the size of axis 1 of input 0 is 1, compiled for 2 or more",
                "give the axis a wider range of sizes");
}

TEST_F(GuardSetTest, SizeOfAWiderRangeThatWasAskedFor) {
  expected_[0].axes[1] = {2, 32, -1, /*narrowed=*/true};
  first_[1] = 33;
  ExpectFailure(GuardKind::kSize,
                "the size of axis 1 of input 0 is 33, compiled for 2 to 32",
                "nothing: the program does something else at other sizes, and "
                "has versions for them");
}

TEST_F(GuardSetTest, EqualSizes) {
  expected_[0].axes[0] = expected_[1].axes[0] = {2, 64, 0};
  ExpectHolds();
  first_[0] = second_[0] = 12;
  ExpectHolds();
  second_[0] = 13;
  ExpectFailure(GuardKind::kEqualSizes,
                "the size of axis 0 of input 1 (mask) is 13, that of axis 0 of "
                "input 0 is 12, compiled for equal sizes",
                "tune with samples in which these sizes differ, or pass equal "
                "ones");
}

TEST_F(GuardSetTest, Constants) {
  call_[2].integer = 5;
  ExpectFailure(GuardKind::kConstant, "input 2 is 5, compiled for 4",
                "pass it as a tensor if it changes from call to call");
  call_[2].integer = 4;
  call_[3].text = "sum";
  ExpectFailure(GuardKind::kConstant, "input 3 is 'sum', compiled for 'mean'",
                "pass it as a tensor if it changes from call to call");
}

TEST_F(GuardSetTest, AnIntIsNoBool) {
  call_[2] = CallInput::Bool(true);
  expected_[2] = InputDescription::Of(CallInput::Int(1));
  ExpectFailure(GuardKind::kInputKind, "input 2 is a bool, compiled for an int",
                "pass an input of the kind it was compiled for");
}

TEST_F(GuardSetTest, NanIsEqualToItselfAndZerosDiffer) {
  call_[2] = CallInput::Float(std::nan(""));
  expected_[2] = InputDescription::Of(call_[2]);
  ExpectHolds();
  call_[2] = CallInput::Float(-0.0);
  expected_[2] = InputDescription::Of(CallInput::Float(0.0));
  EXPECT_FALSE(GuardSet(expected_).Check(call_));
}

TEST_F(GuardSetTest, NoInputs) {
  const GuardSet guards({});
  EXPECT_TRUE(guards.Check({}));
  EXPECT_FALSE(guards.Check(call_));
}

TEST_F(GuardSetTest, KeepTensorGuards) {
  filter_ = FindGuardFilter("keep_tensor_guards_unsafe");
  call_[2].integer = 5;
  ExpectHolds();
  call_[0].dtype = DataType::kFloat64;
  EXPECT_FALSE(GuardSet(expected_, filter_).Check(call_));
}

TEST_F(GuardSetTest, SkipGuardsOfModulesAndGlobals) {
  const std::pair<const char*, std::vector<InputSource>> cases[] = {
      {"skip_guard_on_inbuilt_nn_modules_unsafe",
       {InputSource::kInbuiltModule}},
      {"skip_guard_on_all_nn_modules_unsafe",
       {InputSource::kInbuiltModule, InputSource::kModule}},
      {"skip_guard_on_globals_unsafe", {InputSource::kGlobal}}};
  call_[2].integer = 5;
  for (const auto& [name, skipped] : cases) {
    filter_ = FindGuardFilter(name);
    ASSERT_TRUE(filter_) << name;
    for (InputSource source :
         {InputSource::kArgument, InputSource::kModule,
          InputSource::kInbuiltModule, InputSource::kGlobal}) {
      expected_[2].source = source;
      const bool skips =
          std::find(skipped.begin(), skipped.end(), source) != skipped.end();
      EXPECT_EQ(GuardSet(expected_, filter_).Check(call_), skips)
          << name << " " << static_cast<int>(source);
    }
  }
  EXPECT_FALSE(FindGuardFilter("skip_all"));
}

// A filter can't make a check read sizes that are not there.
TEST_F(GuardSetTest, RanksAndKindsAreAlwaysGuarded) {
  expected_[0].axes[0] = expected_[1].axes[0] = {2, 64, 0};
  filter_ = [](const GuardInfo& guard) {
    return guard.kind == GuardKind::kEqualSizes;
  };
  ExpectHolds();
  first_ = {};
  call_[0].sizes = first_;
  EXPECT_FALSE(GuardSet(expected_, filter_).Check(call_));
  call_[0] = CallInput::Int(8);
  EXPECT_FALSE(GuardSet(expected_, filter_).Check(call_));
  call_.clear();
  EXPECT_FALSE(GuardSet(expected_, filter_).Check(call_));
}

}  // namespace
}  // namespace aitune
