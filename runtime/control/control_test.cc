#include "runtime/control/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace aitune {
namespace {

using Kind = ScopedActivity::Kind;
using ::testing::HasSubstr;

TEST(Stance, HasNames) {
  for (const char* name : {"default", "force_eager", "eager_on_recompile",
                           "fail_on_recompile", "eager_while_compiling"}) {
    auto stance = ParseStance(name);
    ASSERT_TRUE(stance.ok()) << stance.status();
    EXPECT_EQ(Name(*stance), name);
  }
  EXPECT_THAT(std::string(ParseStance("eager").status().message()),
              HasSubstr("there are default, force_eager, "));
}

TEST(Stance, OfTheProcessIsSeenByAllThreads) {
  ASSERT_TRUE(SetStance(Stance::kForceEager).ok());
  std::thread([] { EXPECT_EQ(CurrentStance(), Stance::kForceEager); }).join();
  ASSERT_TRUE(SetStance(Stance::kDefault).ok());
  EXPECT_EQ(CurrentStance(), Stance::kDefault);
}

TEST(Stance, OfAScopeIsThisThreadsAndNests) {
  {
    const ScopedStance outer(Stance::kFailOnRecompile);
    std::thread([] { EXPECT_EQ(CurrentStance(), Stance::kDefault); }).join();
    {
      const ScopedStance inner(Stance::kForceEager);
      EXPECT_EQ(CurrentStance(), Stance::kForceEager);
    }
    EXPECT_EQ(CurrentStance(), Stance::kFailOnRecompile);
  }
  EXPECT_EQ(CurrentStance(), Stance::kDefault);
}

TEST(Stance, CantBeSetInsideOfACompiledModel) {
  for (const Kind kind : {Kind::kCall, Kind::kCompile}) {
    const ScopedActivity activity(kind);
    EXPECT_EQ(SetStance(Stance::kForceEager).code(),
              absl::StatusCode::kFailedPrecondition);
    const ScopedStance scope(Stance::kForceEager);
    EXPECT_FALSE(scope.status().ok());
    EXPECT_EQ(CurrentStance(), Stance::kDefault);
    EXPECT_EQ(Reset().code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(CurrentStance(), Stance::kDefault);
}

TEST(Activity, IsToldOnThisThread) {
  EXPECT_FALSE(IsCompiling());
  {
    const ScopedActivity compiling(Kind::kCompile);
    EXPECT_TRUE(IsCompiling());
    EXPECT_TRUE(IsDynamoCompiling());
    EXPECT_FALSE(IsExporting());
    std::thread([] { EXPECT_FALSE(IsCompiling()); }).join();
  }
  EXPECT_FALSE(IsCompiling());
  const ScopedActivity exporting(Kind::kExport);
  EXPECT_TRUE(IsExporting());
}

TEST(Reset, ForgetsAndSetsTheDefaultStance) {
  int forgotten = 0;
  {
    const ResetRegistration registration([&] { ++forgotten; });
    ASSERT_TRUE(SetStance(Stance::kForceEager).ok());
    ASSERT_TRUE(Reset().ok());
    EXPECT_EQ(forgotten, 1);
    EXPECT_EQ(CurrentStance(), Stance::kDefault);
  }
  ASSERT_TRUE(Reset().ok());
  EXPECT_EQ(forgotten, 1);
}

TEST(AllowInGraph, TakesOperatorsWithAndWithoutOverload) {
  EXPECT_FALSE(IsAllowedInGraph("aten::topk"));
  AllowInGraph("aten::topk");
  EXPECT_TRUE(IsAllowedInGraph("aten::topk"));
  EXPECT_TRUE(IsAllowedInGraph("aten::topk.values"));
  EXPECT_FALSE(IsAllowedInGraph("aten::topk2"));
  DisallowInGraph("aten::topk");
  EXPECT_FALSE(IsAllowedInGraph("aten::topk"));
  EXPECT_FALSE(IsAllowedInGraph("aten::topk.values"));
}

}  // namespace
}  // namespace aitune
