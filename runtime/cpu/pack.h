// Rearranges constants once, at load, into the order in which a generated
// kernel reads them: a kernel's inner loop then walks memory linearly, one
// full vector register at a time, and never handles a ragged edge of the
// constant.
//
// The layouts move elements of any dtype without changing them, but for
// Winograd's, which are of transformed filters (pack_winograd.h). With
// B = block_n and T = steps_together (1 for 0):
//
// MATMUL_PANELS, from [batch..., K, N] (or [batch..., N, K] if transposed):
//   packed[b][n / B][k / T][n % B][k % T]    = source[b][k][n]
//   of the sizes [batch][ceil(N / B)][ceil(K / T)][B][T]
// CONVOLUTION_PANELS, from [O, I, spatial...] (I is the channels of one group;
// S the product of the spatial axes, s the position in it, row-major):
//   packed[o / B][s][i / T][o % B][i % T]    = source[o][i][s]
//   of the sizes [ceil(O / B)][S][ceil(I / T)][B][T]
// DEPTHWISE, from [C, 1, spatial...]:
//   packed[s][c]                             = source[c][0][s]
// WINOGRAD_2X2, WINOGRAD_4X4, from [O, I, 3, 3] of float32 (x a position in the
// transformed W x W filter, W = 4 or 6, row-major):
//   packed[o / B][x][i][o % B]               = transformed(source[o][i])[x]
//   of the sizes [ceil(O / B)][W * W][I][B]
//
// Elements of `packed` that no source element is mapped to are zero. With
// groups, all filters of a panel are of one group only if B divides the number
// of output channels of a group.
#ifndef AITUNE_RUNTIME_CPU_PACK_H_
#define AITUNE_RUNTIME_CPU_PACK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

// Bytes of a tensor of this dtype and these sizes once packed; those of the
// dense tensor for NONE. kInvalidArgument when the layout does not fit (rank,
// block_n, steps_together, a DEPTHWISE filter whose second axis is not 1, a
// filter of Winograd's that is not 3x3 of float32) or on overflow.
absl::StatusOr<int64_t> PackedBytes(const PackingProto& packing, DataType dtype,
                                    absl::Span<const int64_t> sizes);

// Packs `source` into `packed`, which has PackedBytes bytes and does not
// overlap it. Runs on the thread pool. Errors as PackedBytes. Thread-safe.
absl::Status Pack(const PackingProto& packing, const TensorView& source,
                  void* packed);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_PACK_H_
