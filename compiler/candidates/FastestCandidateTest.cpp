// What the choice between a kernel's candidates makes of measurements.
#include "compiler/candidates/FastestCandidate.h"

#include "gtest/gtest.h"

namespace aitune {
namespace {

Measurement of(double microseconds, double low = -1) {
  Measurement measured;
  measured.microseconds = microseconds;
  measured.low = low;
  return measured;
}

TEST(Fastest, LeavesOutWhatFailed) {
  EXPECT_EQ(fastest({}, false), -1);
  EXPECT_EQ(fastest({of(-1), of(-1)}, false), -1);
  EXPECT_EQ(fastest({of(-1), of(3), of(2), of(-1), of(2.5)}, false), 2);
}

TEST(Fastest, EarlierOnesWinTiesWhereTheyMay) {
  const Measurement measured[] = {of(-1), of(3, 2.5), of(2.8, 2.7), of(2, 1)};
  EXPECT_EQ(fastest(measured, true), 3);
  EXPECT_EQ(fastest(absl::MakeSpan(measured, 3), true), 1);
  EXPECT_EQ(fastest(absl::MakeSpan(measured, 3), false), 2);
}

Measurement withLeast(double microseconds, double least) {
  Measurement measured = of(microseconds, least);
  measured.least = least;
  return measured;
}

TEST(Fastest, ByTheFastestRunsWhereTheyAreKnown) {
  // The second was disturbed in most of its runs.
  EXPECT_EQ(fastest({withLeast(7034, 6950), withLeast(7600, 1873)}, true), 1);
  EXPECT_EQ(fastest({withLeast(100, 90), withLeast(88, 88)}, true), 0)
      << "no clear margin";
  EXPECT_EQ(fastest({withLeast(100, 90), withLeast(88, 88)}, false), 1);
  EXPECT_EQ(fastest({withLeast(100, 90), withLeast(95, 80)}, true), 1);
}

TEST(Fastest, OnlyOfThoseThatMayBeTaken) {
  EXPECT_EQ(
      fastest({of(1), of(3), of(2)}, false, [](size_t i) { return i != 0; }),
      2);
  EXPECT_EQ(fastest({of(1)}, false, [](size_t) { return false; }), -1);
}

TEST(MayBeFaster, WhereNoneIsAsFastAsItCanBe) {
  EXPECT_TRUE(mayBeFaster(2, {}));
  EXPECT_TRUE(mayBeFaster(2, {of(-1)}));
  EXPECT_TRUE(mayBeFaster(2, {of(5), of(-1), of(2.5)}));
  EXPECT_FALSE(mayBeFaster(2, {of(5), of(-1), of(1.5)}));
}

} // namespace
} // namespace aitune
