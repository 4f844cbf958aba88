// What the choice between kernels on a GPU makes of measurements.
#include "compiler/candidates/CudaCandidates.h"

#include "gtest/gtest.h"

namespace aitune {
namespace {

Measurement of(double microseconds) {
  Measurement measured;
  measured.microseconds = microseconds;
  return measured;
}

TEST(Fastest, LeavesOutWhatFailed) {
  EXPECT_EQ(fastest({}), -1);
  EXPECT_EQ(fastest({of(-1), of(-1)}), -1);
  EXPECT_EQ(fastest({of(-1), of(3), of(2), of(-1), of(2.5)}), 2);
}

TEST(MayLoseToCudnn, WhereNoKernelIsAsFastAsItsConvolutionsCanBe) {
  EXPECT_TRUE(mayLoseToCudnn({}));
  EXPECT_TRUE(mayLoseToCudnn({of(-1)}));
  EXPECT_TRUE(mayLoseToCudnn({of(5), of(-1), of(2.5)}));
  EXPECT_FALSE(mayLoseToCudnn({of(5), of(-1), of(1.5)}));
}

} // namespace
} // namespace aitune
