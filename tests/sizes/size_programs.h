// Programs that decide by the sizes of their input: written by hand for each
// way in which a program may, and generated.
//
// They are TorchScript texts of `forward(self, x: Tensor)` for x of
// float32[n,4]. What such a program gives is right for a range of n only if
// each decision is tested at the call or was proved for the range.
#ifndef AITUNE_TESTS_SIZES_SIZE_PROGRAMS_H_
#define AITUNE_TESTS_SIZES_SIZE_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace aitune::sizes {

struct SizeProgram {
  std::string name;
  std::string source;
};

// A branch on a size, on a remainder, on both; slices with fixed, negative and
// computed bounds; min and max; sizes by way of floating point; parts of a
// fixed length; masks of a fixed width; padding to a multiple; loops.
std::vector<SizeProgram> WrittenPrograms();

// A random program of up to a dozen such statements; the same for the same
// seed. It may raise for some sizes, as eager then does too.
SizeProgram GeneratedProgram(uint64_t seed);

}  // namespace aitune::sizes

#endif  // AITUNE_TESTS_SIZES_SIZE_PROGRAMS_H_
