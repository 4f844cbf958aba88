#include "runtime/target/host_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace aitune {
namespace {

constexpr char kZen4[] =
    "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
    "model\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu sse2 avx2 avx "
    "avx512f svm\n\nprocessor\t: 1\nvendor_id\t: Other\n";

TEST(HostTarget, NamesCpuAndExtensions) {
  EXPECT_EQ(TargetOf("x86_64", kZen4),
            "x86_64; AuthenticAMD 25.17; avx avx2 avx512f sse2");
}

TEST(HostTarget, OfThisMachineIsStableAndNotEmpty) {
  EXPECT_EQ(HostTarget(), HostTarget());
  EXPECT_THAT(HostTarget(), testing::HasSubstr("; "));
  // Code that calls libmvec is for machines that have it.
  EXPECT_EQ(HostTarget().find(" libmvec") != std::string::npos,
            HasVectorMath());
}

TEST(HostTarget, SurvivesTextWithoutFields) {
  EXPECT_EQ(TargetOf("riscv64", "nothing"), "riscv64;  .; ");
}

TEST(TargetDifference, SaysWhat) {
  EXPECT_EQ(TargetDifference("a; b; c", "a; b; c"), "");
  EXPECT_EQ(TargetDifference("x86_64; Intel 6.1; avx avx2",
                             "x86_64; AMD 25.17; avx fma"),
            "the CPU is AMD 25.17, not Intel 6.1; missing avx2; additional "
            "fma");
  EXPECT_EQ(TargetDifference("x86_64; a; b", "aarch64; a; b"),
            "the architecture is aarch64, not x86_64");
  EXPECT_NE(TargetDifference("", "x86_64; a; b"), "");
}

}  // namespace
}  // namespace aitune
