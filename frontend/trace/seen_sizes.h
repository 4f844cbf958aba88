// For which sizes a program is compiled that was seen with some.
//
// Tracing runs a part of control flow on made-up elements, which decide how
// often a loop runs and how long what it makes becomes. Calls have others, so
// an axis that differs between the runs is a range that reaches beyond them.
#ifndef AITUNE_FRONTEND_TRACE_SEEN_SIZES_H_
#define AITUNE_FRONTEND_TRACE_SEEN_SIZES_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "frontend/torchscript/input_spec.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// One call: the sizes of each input.
using SeenSizes = std::vector<std::vector<int64_t>>;

// The greatest integer that is passed as a size, so that its tensor has memory:
// one byte an element, which nobody reads or writes.
inline constexpr int64_t kGreatestInteger = (int64_t{1} << 20) - 1;

class SizesToCompile {
 public:
  // `seen` are the different calls, all of the same ranks. It must outlive
  // this.
  explicit SizesToCompile(const std::vector<SeenSizes>& seen) : seen_(seen) {}

  // Has the size of input `i` stand for an integer (OutlinedInput).
  void set_is_integer(size_t i) { integers_.insert(i); }

  // The kinds of inputs of these dtypes to compile for, so that `around`, which
  // is one of the calls, is among them: axes that were seen with one size have
  // that; others are ranges, and have one name where they were always equal.
  // Tracing makes inputs of these sizes: with few symbols, and no large ones
  // that were not seen.
  std::vector<InputSpec> SpecsAround(const SeenSizes& around,
                                     const std::vector<DataType>& dtypes) const;

 private:
  const std::vector<SeenSizes>& seen_;
  std::set<size_t> integers_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_SEEN_SIZES_H_
