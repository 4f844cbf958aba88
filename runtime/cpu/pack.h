// Rearranges constants once, at load, into the order in which a generated
// kernel reads them: a kernel's inner loop then walks memory linearly, one
// full vector register at a time, and never handles a ragged edge of the
// constant.
//
// The layouts move elements of any dtype without changing them (the pair
// layouts take 2-byte elements: bf16 or f16; that of matmuls also 1-byte ones,
// of which it holds fours in place of pairs), but for Winograd's, which are of
// transformed filters (pack_winograd.h). With B = block_n:
//
// MATMUL_PANELS, from [batch..., K, N] (or [batch..., N, K] if transposed):
//   packed[b][n / B][k][n % B]               = source[b][k][n]
//   of the sizes [batch][ceil(N / B)][K][B]
// MATMUL_PANELS_BF16_PAIRS, from the same:
//   packed[b][n / B][k / 2][n % B][k % 2]    = source[b][k][n]
//   of the sizes [batch][ceil(N / B)][ceil(K / 2)][B][2]
// CONVOLUTION_PANELS, from [O, I, spatial...] (I is the channels of one group;
// S the product of the spatial axes, s the position in it, row-major):
//   packed[o / B][s][i][o % B]               = source[o][i][s]
//   of the sizes [ceil(O / B)][S][I][B]
// CONVOLUTION_PANELS_BF16_PAIRS, from the same:
//   packed[o / B][s][i / 2][o % B][i % 2]    = source[o][i][s]
//   of the sizes [ceil(O / B)][S][ceil(I / 2)][B][2]
// DEPTHWISE, from [C, 1, spatial...]:
//   packed[s][c]                             = source[c][0][s]
// WINOGRAD_2X2, WINOGRAD_4X4, from [O, I, 3, 3] of float32 (x a position in the
// transformed T x T filter, T = 4 or 6, row-major):
//   packed[o / B][x][i][o % B]               = transformed(source[o][i])[x]
//   of the sizes [ceil(O / B)][T * T][I][B]
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
// block_n, element size, a DEPTHWISE filter whose second axis is not 1, a
// filter of Winograd's that is not 3x3 of float32) or on overflow.
absl::StatusOr<int64_t> PackedBytes(const PackingProto& packing, DataType dtype,
                                    absl::Span<const int64_t> sizes);

// Packs `source` into `packed`, which has PackedBytes bytes and does not
// overlap it. Runs on the thread pool. Errors as PackedBytes. Thread-safe.
absl::Status Pack(const PackingProto& packing, const TensorView& source,
                  void* packed);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_PACK_H_
