#include "runtime/cpu/pack_winograd.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

constexpr int kTaps = 3;
constexpr int kMaxTile = 6;
constexpr double kPointA = 0.70710678118654752, kPointB = 1.4142135623730951;

// G of F(2x2, 3x3) and of F(4x4, 3x3): a row for each interpolation point x,
// (1, x, x * x) over the product of its distances to the others, and the last
// one for infinity. (The first row of F(2x2, 3x3) has the other sign, as the
// inputs' transform has.)
constexpr double kTransform2[4][kTaps] = {
    {1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
constexpr double kTransform4[kMaxTile][kTaps] = {
    {1, 0, 0},
    {-2.0 / 3, -2.0 / 3 * kPointA, -1.0 / 3},
    {-2.0 / 3, 2.0 / 3 * kPointA, -1.0 / 3},
    {1.0 / 6, 1.0 / 6 * kPointB, 1.0 / 3},
    {1.0 / 6, -1.0 / 6 * kPointB, 1.0 / 3},
    {0, 0, 1}};

int TileSize(const PackingProto& packing) {
  return packing.kind() == PackingProto::WINOGRAD_2X2 ? 4 : 6;
}

// result = G filter G^T.
void TransformFilter(const double (*transform)[kTaps], int tile,
                     const float* filter, float* result,
                     int64_t result_stride) {
  double rows[kMaxTile][kTaps];
  for (int y = 0; y < tile; ++y) {
    for (int x = 0; x < kTaps; ++x) {
      rows[y][x] = transform[y][0] * filter[x] +
                   transform[y][1] * filter[kTaps + x] +
                   transform[y][2] * filter[2 * kTaps + x];
    }
  }
  for (int y = 0; y < tile; ++y) {
    for (int x = 0; x < tile; ++x) {
      result[(y * tile + x) * result_stride] = static_cast<float>(
          rows[y][0] * transform[x][0] + rows[y][1] * transform[x][1] +
          rows[y][2] * transform[x][2]);
    }
  }
}

}  // namespace

bool IsWinograd(const PackingProto& packing) {
  return packing.kind() == PackingProto::WINOGRAD_2X2 ||
         packing.kind() == PackingProto::WINOGRAD_4X4;
}

absl::StatusOr<int64_t> WinogradBytes(const PackingProto& packing,
                                      DataType dtype,
                                      absl::Span<const int64_t> sizes) {
  const std::string name = PackingProto::Kind_Name(packing.kind());
  if (sizes.size() != 4 || sizes[2] != kTaps || sizes[3] != kTaps ||
      dtype != DataType::kFloat32) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " needs a filter [O, I, 3, 3] of float32, not ",
                     SizesToString(sizes), " of ", std::string(Name(dtype))));
  }
  constexpr int64_t kMaxBlock = int64_t{1} << 20;
  if (packing.block_n() < 1 || packing.block_n() > kMaxBlock) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has block_n = ", packing.block_n(), ", not in 1..", kMaxBlock));
  }
  AITUNE_ASSIGN_OR_RETURN(const int64_t source_bytes,
                          TensorBytes(dtype, sizes));
  if (source_bytes == 0) return 0;
  const int64_t blocks = (sizes[0] - 1) / packing.block_n() + 1;
  int64_t bytes = TileSize(packing) * TileSize(packing) * sizeof(float);
  for (int64_t factor : {blocks, sizes[1], packing.block_n()}) {
    if (__builtin_mul_overflow(bytes, factor, &bytes)) {
      return absl::InvalidArgumentError("the packed constant is too large");
    }
  }
  return bytes;
}

absl::Status PackWinograd(const PackingProto& packing, const TensorView& source,
                          void* packed) {
  AITUNE_ASSIGN_OR_RETURN(const int64_t bytes,
                          WinogradBytes(packing, source.dtype, source.sizes));
  if (bytes == 0) return absl::OkStatus();
  const int tile = TileSize(packing);
  const double (*transform)[kTaps] = tile == 4 ? kTransform2 : kTransform4;
  const int64_t outputs = source.sizes[0], inputs = source.sizes[1],
                block = packing.block_n();
  const auto* filters = static_cast<const float*>(source.data);
  auto* target = static_cast<float*>(packed);
  const int64_t panels = (outputs - 1) / block + 1;
  // A unit is one input channel of a panel.
  const int64_t grain = std::max<int64_t>(1, 4096 / block);
  ParallelFor(panels * inputs, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t panel = unit / inputs, input = unit % inputs;
      const int64_t columns = std::min(block, outputs - panel * block);
      float* first =
          target + panel * tile * tile * inputs * block + input * block;
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t output = panel * block + column;
        TransformFilter(transform, tile,
                        filters + (output * inputs + input) * kTaps * kTaps,
                        first + column, inputs * block);
      }
      for (int x = 0; x < tile * tile && columns < block; ++x) {
        std::memset(first + x * inputs * block + columns, 0,
                    (block - columns) * sizeof(float));
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace aitune
