// Images of columns of patches. Columns of images are made of other operators
// already while tracing (frontend/tracing/decompositions.cc).
#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::Value;

// The most images that BuildFold adds up: each is operations of its own.
constexpr int64_t kMostAdditions = 64;

struct Patches {
  SmallVector<int64_t> kernel, dilation, padding, stride;
  // Of the image with its padding, and how many patches fit, along both axes.
  int64_t padded[2] = {0, 0}, count[2] = {0, 0};
};

// `sizes` are the image's height and width.
absl::StatusOr<Patches> ReadPatches(OpImporter& call,
                                    llvm::ArrayRef<mlir::AffineExpr> sizes) {
  Patches patches;
  AITUNE_ASSIGN_OR_RETURN(patches.kernel, call.Ints("kernel_size", 2));
  AITUNE_ASSIGN_OR_RETURN(patches.dilation, call.Ints("dilation", 2));
  AITUNE_ASSIGN_OR_RETURN(patches.padding, call.Ints("padding", 2));
  AITUNE_ASSIGN_OR_RETURN(patches.stride, call.Ints("stride", 2));
  for (int axis = 0; axis < 2; ++axis) {
    const std::optional<int64_t> size = call.StaticSize(sizes[axis]);
    if (!size)
      return Reject("patches of an image of dynamic size are not supported");
    if (patches.kernel[axis] < 1 || patches.stride[axis] < 1 ||
        patches.dilation[axis] < 1 || patches.padding[axis] < 0) {
      return Reject("kernel, stride and dilation must be positive");
    }
    patches.padded[axis] = *size + 2 * patches.padding[axis];
    const int64_t reach =
        patches.dilation[axis] * (patches.kernel[axis] - 1) + 1;
    if (reach > patches.padded[axis])
      return Reject("a patch is larger than the image");
    patches.count[axis] =
        (patches.padded[axis] - reach) / patches.stride[axis] + 1;
  }
  return patches;
}

// Taps that a stride apart are neighbours: taps [0, stride) of all patches make
// an image without gaps and overlaps, which is a permutation of the columns,
// and so do taps [stride, 2 * stride), which lies a stride further. `columns`
// are [N, C, taps of axis 0, taps of axis 1, patches of axis 0, patches of axis
// 1]; the result is the sum of these images with their padding.
Value AddBlocks(OpImporter& call, Value columns, const Patches& patches) {
  SmallVector<int64_t> blocks, none(6, 0), missing(6, 0);
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t taps = patches.kernel[axis], stride = patches.stride[axis];
    blocks.push_back((taps + stride - 1) / stride);
    missing[2 + axis] = blocks[axis] * stride - taps;
  }
  columns = call.Pad(columns, none, missing, 0);
  Value sum;
  for (int64_t block = 0; block < blocks[0] * blocks[1]; ++block) {
    const int64_t numbers[2] = {block / blocks[1], block % blocks[1]};
    Value part = columns;
    Sizes image = {call.SizesOf(columns)[0], call.SizesOf(columns)[1]};
    SmallVector<int64_t> before = {0, 0}, after = {0, 0};
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t stride = patches.stride[axis],
                    size = stride * patches.count[axis],
                    start = numbers[axis] * stride;
      part = call.Slice(part, 2 + axis, start, stride);
      image.push_back(call.Constant(size));
      before.push_back(start);
      // Below 0 where taps that are missing would lie behind the image.
      after.push_back(patches.padded[axis] - start - size);
    }
    part = call.Reshape(call.Permute(part, {0, 1, 4, 2, 5, 3}), image);
    part = call.Pad(part, before, after, 0);
    sum = sum ? call.Add(sum, part) : part;
  }
  return sum;
}

// The same for taps that a dilation sets apart, one by one. `columns` has all
// taps along one axis, the third of five.
Value AddTaps(OpImporter& call, Value columns, const Patches& patches) {
  const Sizes sizes = call.SizesOf(columns);
  Value empty = call.Full(0,
                          {sizes[0], sizes[1], call.Constant(patches.padded[0]),
                           call.Constant(patches.padded[1])},
                          call.DataTypeOf(columns));
  Value sum;
  for (int64_t tap = 0; tap < patches.kernel[0] * patches.kernel[1]; ++tap) {
    Value part = call.Squeeze(call.Slice(columns, 2, tap, 1), {2});
    const SmallVector<int64_t> starts = {
        0, 0, tap / patches.kernel[1] * patches.dilation[0],
        tap % patches.kernel[1] * patches.dilation[1]};
    const SmallVector<int64_t> steps = {1, 1, patches.stride[0],
                                        patches.stride[1]};
    Value placed = ait::SliceScatterOp::create(call.builder(), call.location(),
                                               empty.getType(), empty, part,
                                               starts, steps);
    sum = sum ? call.Add(sum, placed) : placed;
  }
  return sum;
}

// col2im: [N, C * taps, patches] -> [N, C, H, W], overlapping patches added.
absl::Status BuildFold(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const bool batched = call.RankOf(self) == 3;
  if (!batched && call.RankOf(self) != 2)
    return Reject("columns of patches are expected");
  if (!batched) self = call.Unsqueeze(self, 0);
  AITUNE_ASSIGN_OR_RETURN(Sizes output, call.SizeList("output_size"));
  if (output.size() != 2)
    return Reject("argument 'output_size' doesn't have two numbers");
  AITUNE_ASSIGN_OR_RETURN(Patches patches, ReadPatches(call, output));
  bool is_spread = false;
  int64_t taps = 1, additions = 1;
  for (int axis = 0; axis < 2; ++axis) {
    is_spread |= patches.kernel[axis] > 1 && patches.dilation[axis] > 1;
    taps *= patches.kernel[axis];
    additions *= (patches.kernel[axis] + patches.stride[axis] - 1) /
                 patches.stride[axis];
  }
  if ((is_spread ? taps : additions) > kMostAdditions)
    return Reject(absl::StrCat("patches of ", taps,
                               " entries overlap too often to be added"));
  const Sizes sizes = call.SizesOf(self);
  Sizes split = {sizes[0], sizes[1].floorDiv(taps)};
  if (is_spread) {
    split.push_back(call.Constant(taps));
  } else {
    for (int64_t entries : patches.kernel)
      split.push_back(call.Constant(entries));
  }
  for (int64_t count : patches.count) split.push_back(call.Constant(count));
  const Value columns = call.Reshape(call.ToComputeType(self), split);
  const Value sum = is_spread ? AddTaps(call, columns, patches)
                              : AddBlocks(call, columns, patches);
  const SmallVector<int64_t> cut = {0, 0, -patches.padding[0],
                                    -patches.padding[1]};
  Value image = call.Pad(sum, cut, cut, 0);
  return call.SetResult(batched ? image : call.Squeeze(image, {0}));
}

}  // namespace

void RegisterPatchOps(Registry& registry) {
  registry.Add({"col2im"}, BuildFold);
}

}  // namespace aitune::frontend
