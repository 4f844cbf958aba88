#include "runtime/cpu/pack.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/pack_winograd.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

// Every layout is one of panels: for each outer position (a batch entry, or a
// position in the filter window), blocks of columns; in a panel, rows of
// block_n columns, `interleave` rows at a time.
struct Panels {
  int64_t element_bytes = 0;
  int64_t blocks = 0, block_n = 1;  // blocks of block_n columns each
  int64_t columns = 0, rows = 0;
  int64_t interleave = 1;
  int64_t batch = 1;    // outer axis around the blocks
  int64_t windows = 1;  // axis between the blocks and the rows
  // Elements between neighbours in the source.
  int64_t batch_stride = 0, window_stride = 0, row_stride = 0,
          column_stride = 0;
  int64_t packed_bytes = 0;

  int64_t RowGroups() const { return (rows + interleave - 1) / interleave; }
  int64_t PanelElements() const { return RowGroups() * interleave * block_n; }
};

absl::StatusOr<int64_t> Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      return absl::InvalidArgumentError("the packed constant is too large");
    }
  }
  return product;
}

absl::Status CheckFit(const PackingProto& packing,
                      absl::Span<const int64_t> sizes) {
  const bool is_matmul = packing.kind() == PackingProto::MATMUL_PANELS;
  const std::string name = PackingProto::Kind_Name(packing.kind());
  if (name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the packing ", packing.kind(), " is unknown"));
  }
  const size_t least_rank = is_matmul ? 2 : 3;
  if (sizes.size() < least_rank) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " needs a constant of rank ", least_rank,
                     " or more, not ", SizesToString(sizes)));
  }
  if (packing.kind() == PackingProto::DEPTHWISE) {
    if (sizes[1] == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "DEPTHWISE needs a filter [C, 1, ...], not ", SizesToString(sizes)));
  }
  // Far above any register; keeps the padding from overflowing.
  constexpr int64_t kMaxBlock = int64_t{1} << 20;
  if (packing.block_n() < 1 || packing.block_n() > kMaxBlock) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has block_n = ", packing.block_n(), ", not in 1..", kMaxBlock));
  }
  // More than any instruction multiplies at once.
  constexpr int64_t kMaxStepsTogether = 64;
  if (packing.steps_together() < 0 ||
      packing.steps_together() > kMaxStepsTogether) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has steps_together = ", packing.steps_together(),
                     ", not in 0..", kMaxStepsTogether));
  }
  return absl::OkStatus();
}

absl::StatusOr<Panels> MakePanels(const PackingProto& packing, DataType dtype,
                                  absl::Span<const int64_t> sizes) {
  AITUNE_RETURN_IF_ERROR(CheckFit(packing, sizes));
  // Bounds every product of the sizes below.
  AITUNE_ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(dtype, sizes));
  if (bytes == 0) return Panels{};
  auto product_from = [&](size_t first, size_t last) {
    int64_t product = 1;
    for (size_t i = first; i < last; ++i) product *= sizes[i];
    return product;
  };
  const size_t rank = sizes.size();
  Panels panels;
  panels.element_bytes = SizeInBytes(dtype);
  panels.block_n = packing.block_n();
  switch (packing.kind()) {
    case PackingProto::MATMUL_PANELS:
      panels.interleave = std::max<int64_t>(packing.steps_together(), 1);
      panels.rows = sizes[packing.transposed() ? rank - 1 : rank - 2];
      panels.columns = sizes[packing.transposed() ? rank - 2 : rank - 1];
      panels.row_stride = packing.transposed() ? 1 : panels.columns;
      panels.column_stride = packing.transposed() ? panels.rows : 1;
      panels.batch = product_from(0, rank - 2);
      panels.batch_stride = panels.rows * panels.columns;
      break;
    case PackingProto::CONVOLUTION_PANELS:
      panels.interleave = std::max<int64_t>(packing.steps_together(), 1);
      panels.columns = sizes[0];
      panels.rows = sizes[1];
      panels.windows = product_from(2, rank);
      panels.column_stride = panels.rows * panels.windows;
      panels.row_stride = panels.windows;
      panels.window_stride = 1;
      break;
    default:  // DEPTHWISE: one panel of all channels, a row a window position
      panels.columns = sizes[0];
      panels.rows = 1;
      panels.windows = product_from(2, rank);
      panels.block_n = panels.columns;
      panels.column_stride = panels.windows;
      panels.window_stride = 1;
      break;
  }
  panels.blocks =
      panels.columns / panels.block_n + (panels.columns % panels.block_n != 0);
  AITUNE_ASSIGN_OR_RETURN(
      panels.packed_bytes,
      Product({panels.batch, panels.blocks, panels.windows, panels.RowGroups(),
               panels.interleave * panels.block_n, panels.element_bytes}));
  return panels;
}

// Fills the panel number `panel`: batch-major, then blocks, then windows.
template <typename Element>
void FillPanel(const Panels& p, const Element* source, Element* packed,
               int64_t panel) {
  const int64_t window = panel % p.windows;
  const int64_t block = panel / p.windows % p.blocks;
  const int64_t batch = panel / p.windows / p.blocks;
  const int64_t columns = std::min(p.block_n, p.columns - block * p.block_n);
  source += batch * p.batch_stride + window * p.window_stride +
            block * p.block_n * p.column_stride;
  packed += panel * p.PanelElements();
  if (columns < p.block_n || p.rows % p.interleave != 0) {
    std::memset(packed, 0, p.PanelElements() * sizeof(Element));
  }
  // The source is read along its shorter stride, a cache line at a time: read
  // across, every element of a wide matrix would be a line and a page of its
  // own.
  const int64_t tile =
      p.row_stride < p.column_stride ? 64 / sizeof(Element) : 1;
  for (int64_t begin = 0; begin < p.rows; begin += tile) {
    const int64_t end = std::min(begin + tile, p.rows);
    for (int64_t column = 0; column < columns; ++column) {
      const Element* from = source + column * p.column_stride;
      Element* to = packed + column * p.interleave;
      for (int64_t row = begin; row < end; ++row) {
        to[row / p.interleave * p.interleave * p.block_n + row % p.interleave] =
            from[row * p.row_stride];
      }
    }
  }
}

template <typename Element>
void Fill(const Panels& panels, const void* source, void* packed) {
  const int64_t bytes = panels.PanelElements() * sizeof(Element);
  const int64_t grain =
      std::max<int64_t>(1, (64 << 10) / std::max<int64_t>(bytes, 1));
  ParallelFor(panels.batch * panels.blocks * panels.windows, grain,
              [&](int64_t begin, int64_t end) {
                for (int64_t panel = begin; panel < end; ++panel) {
                  FillPanel(panels, static_cast<const Element*>(source),
                            static_cast<Element*>(packed), panel);
                }
              });
}

}  // namespace

absl::StatusOr<int64_t> PackedBytes(const PackingProto& packing, DataType dtype,
                                    absl::Span<const int64_t> sizes) {
  if (packing.kind() == PackingProto::NONE) return TensorBytes(dtype, sizes);
  if (IsWinograd(packing)) return WinogradBytes(packing, dtype, sizes);
  AITUNE_ASSIGN_OR_RETURN(const Panels panels,
                          MakePanels(packing, dtype, sizes));
  return panels.packed_bytes;
}

absl::Status Pack(const PackingProto& packing, const TensorView& source,
                  void* packed) {
  if (packing.kind() == PackingProto::NONE) {
    AITUNE_ASSIGN_OR_RETURN(const int64_t bytes,
                            TensorBytes(source.dtype, source.sizes));
    if (bytes > 0) std::memcpy(packed, source.data, bytes);
    return absl::OkStatus();
  }
  if (IsWinograd(packing)) return PackWinograd(packing, source, packed);
  AITUNE_ASSIGN_OR_RETURN(const Panels panels,
                          MakePanels(packing, source.dtype, source.sizes));
  if (panels.packed_bytes == 0) return absl::OkStatus();
  switch (panels.element_bytes) {
    case 1:
      Fill<uint8_t>(panels, source.data, packed);
      break;
    case 2:
      Fill<uint16_t>(panels, source.data, packed);
      break;
    case 4:
      Fill<uint32_t>(panels, source.data, packed);
      break;
    default:
      Fill<uint64_t>(panels, source.data, packed);
      break;
  }
  return absl::OkStatus();
}

}  // namespace aitune
