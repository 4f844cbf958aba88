// Filters for Winograd's minimal filtering algorithms F(m x m, 3 x 3) (Lavin
// and Gray, 2016), transformed once, at load.
//
// An m x m tile of a 3x3 convolution's result needs T x T inputs (T = m + 2).
// With the filter g as G g G^T, T x T too, and the inputs d as B^T d B, the
// sums over input channels are products of T * T numbers in place of 9 * m * m:
// 2.25 times fewer for m = 2, 4 times fewer for m = 4. The kernels that read
// these filters transform the inputs and the sums (Winograd.h in
// compiler/codegen/cpu/contraction). The interpolation points on both sides: 0,
// 1 and -1 for m = 2; 0, 1/sqrt(2), sqrt(2) and their negatives for m = 4,
// which round three times less than the 0, 1, -1, 2, -2 of the paper; and
// infinity.
#ifndef AITUNE_RUNTIME_CPU_PACK_WINOGRAD_H_
#define AITUNE_RUNTIME_CPU_PACK_WINOGRAD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

// Whether the packing is WINOGRAD_2X2 or WINOGRAD_4X4, which are the only ones
// that the functions below accept.
bool IsWinograd(const PackingProto& packing);

// Bytes of a filter of these sizes once transformed. kInvalidArgument unless it
// is [O, I, 3, 3] of float32 and block_n is positive, and on overflow.
absl::StatusOr<int64_t> WinogradBytes(const PackingProto& packing,
                                      DataType dtype,
                                      absl::Span<const int64_t> sizes);

// Transforms `source` into `packed`, which has WinogradBytes bytes. Computes in
// double precision. Runs on the thread pool. Errors as WinogradBytes.
// Thread-safe.
absl::Status PackWinograd(const PackingProto& packing, const TensorView& source,
                          void* packed);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_PACK_WINOGRAD_H_
