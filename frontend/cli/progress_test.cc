#include "frontend/cli/progress.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::cli {
namespace {

TEST(Progress, LogHasOneLineAPhaseAndOneEveryTenSeconds) {
  std::ostringstream out;
  double now = 0;
  Progress progress(out, Progress::Style::kLog, [&] { return now; });
  progress.Update("import", 0, 0, "12 operators");
  now = 1;
  progress.Update("compile", 0, 8);
  now = 5;
  progress.Update("compile", 2, 8);
  now = 11;
  progress.Update("compile", 5, 8);
  EXPECT_EQ(out.str(),
            "[  0.0 s] import, 12 operators\n"
            "[  1.0 s] compile 0/8\n"
            "[ 11.0 s] compile 5/8, about 6 s left\n");
}

TEST(Progress, PhasesThatTakeTurnsHaveOneLineEach) {
  std::ostringstream out;
  double now = 0;
  Progress progress(out, Progress::Style::kLog, [&] { return now; });
  for (int kernel = 1; kernel <= 30; ++kernel) {
    progress.Update("loading", 1, 2);
    progress.Update("choosing", kernel, 30);
    now += 0.5;
  }
  EXPECT_EQ(out.str(),
            "[  0.0 s] loading 1/2\n"
            "[  0.0 s] choosing 1/30\n"
            "[ 10.0 s] loading 1/2\n");
}

TEST(Progress, LineIsRewrittenAndErased) {
  std::ostringstream out;
  double now = 0;
  {
    Progress progress(out, Progress::Style::kLine, [&] { return now; });
    progress.Update("compile", 0, 8);
    now = 0.05;
    progress.Update("compile", 1, 8);  // too soon
    now = 0.2;
    progress.Update("compile", 2, 8);
  }
  EXPECT_THAT(out.str(), testing::Not(testing::HasSubstr("1/8")));
  EXPECT_THAT(out.str(), testing::Not(testing::HasSubstr("\n")));
  EXPECT_THAT(out.str(), testing::EndsWith("2/8\r\033[K"));
}

TEST(Progress, SilentPrintsNothing) {
  std::ostringstream out;
  Progress progress(out, Progress::Style::kSilent);
  progress.Update("compile", 0, 8);
  progress.Finish();
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace aitune::cli
