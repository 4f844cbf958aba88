// Helpers for tests of loop kernels: data, comparison, and a fixture that runs
// each test for several vector widths.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPKERNELTESTING_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPKERNELTESTING_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "compiler/codegen/cpu/testing/RunKernel.h"
#include "gtest/gtest.h"

namespace aitune {
namespace testing {

using Floats = std::vector<float>;

inline Floats random(size_t count, float low = -3, float high = 3,
                     int seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  Floats values(count);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

inline std::string replaceAll(std::string text, const std::string &from,
                              const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

inline void expectNear(const Floats &actual, const Floats &expected,
                       float tolerance, const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size());
  int reported = 0;
  for (size_t i = 0; i < actual.size() && reported < 5; ++i) {
    float bound = tolerance * std::max(1.0f, std::fabs(expected[i]));
    bool same = std::isnan(expected[i])
                    ? std::isnan(actual[i])
                    : std::fabs(actual[i] - expected[i]) <= bound;
    same |= actual[i] == expected[i];
    if (!same) {
      ADD_FAILURE() << what << " at " << i << ": " << actual[i]
                    << " instead of " << expected[i];
      ++reported;
    }
  }
}

template <typename T> void *data(const std::vector<T> &values) {
  return const_cast<T *>(values.data());
}

/// Every test runs for both vector widths, where the host has them.
class LoopKernelTest : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (std::string(GetParam()) == "avx512" &&
        !__builtin_cpu_supports("avx512f"))
      GTEST_SKIP() << "no AVX-512 here";
    if (std::string(GetParam()) == "avx2" && !__builtin_cpu_supports("avx2"))
      GTEST_SKIP() << "no AVX2 here";
  }
  RunnableKernel compile(const std::string &text) {
    RunnableKernel kernel = RunnableKernel::compile(text, GetParam());
    EXPECT_EQ(kernel.error(), "") << text;
    return kernel;
  }
};

/// The names the tests are instantiated for; "host" may be wider still.
inline auto allTargets() { return ::testing::Values("avx2", "avx512", "host"); }

} // namespace testing
} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPKERNELTESTING_H
