#include "compiler/codegen/cpu/target/Target.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

TEST(Target, SaysWhatAMachineLacks) {
  const Target avx2 = *Target::named("avx2"), amx = *Target::named("amx");
  EXPECT_EQ(avx2.missingOn(amx), "");
  EXPECT_EQ(amx.missingOn(amx), "");
  EXPECT_THAT(amx.missingOn(avx2), testing::HasSubstr("amx-tile, avx512"));
  EXPECT_EQ(Target::named("avx512bf16")->missingOn(*Target::named("avx512")),
            "avx512bf16, avx512vnni");
  EXPECT_EQ(Target::host().missingOn(Target::host()), "");
}

} // namespace
} // namespace aitune
