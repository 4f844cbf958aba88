// Results for one size of the input, ours beside eager's.
#ifndef AITUNE_TESTS_SIZES_COMPARE_SIZES_H_
#define AITUNE_TESTS_SIZES_COMPARE_SIZES_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace aitune::sizes {

// Programs are compared for 1 to so many rows: two vectors of the widest, and
// beyond all sizes that the programs name.
inline constexpr int64_t kLargest = 130;

// float32[rows,4], random but the same for the same number of rows.
at::Tensor InputOf(int64_t rows);

// Why they differ; empty if they agree or both raise. Their leaves are tensors.
std::string Difference(const absl::StatusOr<c10::IValue>& ours,
                       const absl::StatusOr<c10::IValue>& eager);

}  // namespace aitune::sizes

#endif  // AITUNE_TESTS_SIZES_COMPARE_SIZES_H_
