// Results that are written past the caches: the same wherever their memory is.
#include <algorithm>
#include <cmath>

#include "compiler/codegen/cpu/loops/LoopKernelTesting.h"

namespace aitune {
namespace testing {
namespace {

using StreamedStoresTest = LoopKernelTest;

/// Rows that are whole vectors in units of a part of a row, two results, rows
/// that are no whole vectors.
constexpr const char *kKernels = R"(
func.func private @flat(%x: tensor<9x4096xf32>) -> tensor<9x4096xf32> attributes {ait.kind = #ait.kind<loop>, ait.config = {streamed_bytes = 0 : i64, unit_work = 1000 : i64}} {
  %r = ait.relu %x : tensor<9x4096xf32>
  return %r : tensor<9x4096xf32>
}
func.func private @rows(%x: tensor<7x96xf32>) -> (tensor<7x96xf32>, tensor<7x96xf32>) attributes {ait.kind = #ait.kind<loop>, ait.config = {streamed_bytes = 0 : i64}} {
  %m = ait.amax %x {dims = array<i64: 1>} : tensor<7x96xf32> -> tensor<7x1xf32>
  %e = ait.expand %m : tensor<7x1xf32> -> tensor<7x96xf32>
  %d = ait.sub %x, %e : tensor<7x96xf32>
  %a = ait.abs %d : tensor<7x96xf32>
  return %d, %a : tensor<7x96xf32>, tensor<7x96xf32>
}
func.func private @odd(%x: tensor<7x97xf32>, %y: tensor<7x1xf32>) -> tensor<7x97xf32> attributes {ait.kind = #ait.kind<loop>, ait.config = {streamed_bytes = 0 : i64}} {
  %e = ait.expand %y : tensor<7x1xf32> -> tensor<7x97xf32>
  %r = ait.add %x, %e : tensor<7x97xf32>
  return %r : tensor<7x97xf32>
}
)";

/// Floats from a multiple of 64 bytes, or of 4 behind one.
struct Memory {
  Memory(size_t count, size_t offset) : floats(count + 32) {
    auto address = reinterpret_cast<uintptr_t>(floats.data());
    start = floats.data() + (-address % 64) / 4 + offset;
  }
  Floats floats;
  float *start;
};

TEST_P(StreamedStoresTest, AreRightAtAnyAddress) {
  const RunnableKernel kernel = compile(kKernels);
  for (size_t offset : {0, 1, 8}) {
    Floats x = random(9 * 4096);
    Memory flat(x.size(), offset);
    ASSERT_TRUE(kernel.run("flat", {data(x), flat.start}, {}, 3));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(flat.start[i], std::max(x[i], 0.f)) << i << " at " << offset;

    x = random(7 * 96);
    Memory difference(x.size(), offset), magnitude(x.size(), 0);
    ASSERT_TRUE(
        kernel.run("rows", {data(x), difference.start, magnitude.start}));
    for (size_t row = 0; row < 7; ++row) {
      const auto from = x.begin() + row * 96;
      const float most = *std::max_element(from, from + 96);
      for (size_t i = row * 96; i < (row + 1) * 96; ++i) {
        ASSERT_EQ(difference.start[i], x[i] - most) << i << " at " << offset;
        ASSERT_EQ(magnitude.start[i], std::fabs(x[i] - most)) << i;
      }
    }

    x = random(7 * 97);
    Floats y = random(7, -3, 3, 2);
    Memory odd(x.size(), offset);
    ASSERT_TRUE(kernel.run("odd", {data(x), data(y), odd.start}));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(odd.start[i], x[i] + y[i / 97]) << i << " at " << offset;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, StreamedStoresTest, allTargets());

} // namespace
} // namespace testing
} // namespace aitune
