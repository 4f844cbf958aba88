// Images as columns of patches, and back.
#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::Value;

// Each tap of a patch is an addition of its own in BuildFold.
constexpr int64_t kMaxTaps = 64;

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

// im2col: [N, C, H, W] -> [N, C * taps, patches].
absl::Status BuildUnfold(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const bool batched = call.RankOf(self) == 4;
  if (!batched && call.RankOf(self) != 3)
    return Reject("an image with channels is expected");
  if (!batched) self = call.Unsqueeze(self, 0);
  const Sizes sizes = call.SizesOf(self);
  AITUNE_ASSIGN_OR_RETURN(Patches patches,
                          ReadPatches(call, {sizes[2], sizes[3]}));
  const SmallVector<int64_t> around = {0, 0, patches.padding[0],
                                       patches.padding[1]};
  Value value = call.Pad(self, around, around, 0);
  for (int axis = 0; axis < 2; ++axis) {
    const Sizes grid = {call.Constant(patches.kernel[axis]),
                        call.Constant(patches.count[axis])};
    const double dilation = static_cast<double>(patches.dilation[axis]),
                 stride = static_cast<double>(patches.stride[axis]);
    Value index = call.Add(call.Iota(grid, 0, 0, dilation, DataType::kInt64),
                           call.Iota(grid, 1, 0, stride, DataType::kInt64));
    value = call.IndexSelect(value, 2 + axis, call.Flatten(index, 0, 1));
  }
  value = call.Reshape(
      value, {sizes[0], sizes[1], call.Constant(patches.kernel[0]),
              call.Constant(patches.count[0]), call.Constant(patches.kernel[1]),
              call.Constant(patches.count[1])});
  value = call.Permute(value, {0, 1, 2, 4, 3, 5});
  return call.SetResult(call.Reshape(value, call.ResultSizes()));
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
  const int64_t taps = patches.kernel[0] * patches.kernel[1];
  if (taps > kMaxTaps)
    return Reject(absl::StrCat("patches of ", taps,
                               " entries are too many to add one by one"));
  const mlir::AffineExpr batch = call.SizesOf(self)[0],
                         channels = call.SizesOf(self)[1].floorDiv(taps);
  Value columns = call.Reshape(
      call.ToComputeType(self),
      {batch, channels, call.Constant(taps), call.Constant(patches.count[0]),
       call.Constant(patches.count[1])});
  Value empty = call.Full(0,
                          {batch, channels, call.Constant(patches.padded[0]),
                           call.Constant(patches.padded[1])},
                          call.DataTypeOf(columns));
  Value sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
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
  const SmallVector<int64_t> cut = {0, 0, -patches.padding[0],
                                    -patches.padding[1]};
  Value image = call.Pad(sum, cut, cut, 0);
  return call.SetResult(batched ? image : call.Squeeze(image, {0}));
}

}  // namespace

void RegisterPatchOps(Registry& registry) {
  registry.Add({"im2col"}, BuildUnfold);
  registry.Add({"col2im"}, BuildFold);
}

}  // namespace aitune::frontend
