// Interpolation of images.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

struct Resize {
  Value input;                // [N, C, spatial...]
  SmallVector<double> scale;  // source distance between neighbours of the
                              // result, one a spatial axis
  Sizes sizes;                // of the result's spatial axes
  bool align_corners = false;
  DataType position_type = DataType::kFloat32;  // of places in the source
};

// The scale factor the caller gave for a spatial axis; nothing where ATen takes
// the ratio of the sizes.
absl::StatusOr<std::optional<double>> ReadFactor(OpImporter& call, int64_t axis,
                                                 int64_t spatial) {
  if (const Argument* list = call.Find("scale_factors")) {
    if (const auto* factors = std::get_if<std::vector<double>>(list)) {
      if (static_cast<int64_t>(factors->size()) != spatial)
        return Reject("one scale factor an axis is expected");
      return (*factors)[axis] > 0 ? std::optional<double>((*factors)[axis])
                                  : std::nullopt;
    }
    return std::optional<double>();
  }
  constexpr const char* kNames[] = {"scales_d", "scales_h", "scales_w"};
  const char* name = spatial == 1 ? "scales" : kNames[3 - spatial + axis];
  if (call.IsNone(name)) return std::optional<double>();
  AITUNE_ASSIGN_OR_RETURN(double factor, call.Double(name));
  return factor > 0 ? std::optional<double>(factor) : std::nullopt;
}

// Multiples of an axis's size to which ATen resizes it without looking at the
// scale factor that the caller gave. kOneOfAll: once, if all axes are.
enum class KnownMultiples { kNone, kOne, kOneAndTwo, kOneOfAll };

// The multiple of `from` that `to` is, if it is one of these.
std::optional<int64_t> KnownMultiple(KnownMultiples known, int64_t from,
                                     int64_t to) {
  const bool has_two = known == KnownMultiples::kOneAndTwo;
  if (to == from && (has_two || known == KnownMultiples::kOne)) return 1;
  if (to == 2 * from && has_two) return 2;
  return std::nullopt;
}

// Whether ATen's CPU finds nearest neighbours in images by the kernel that
// knows multiples: in small ones, and in those with channels last if there are
// more than 3 (_use_vectorized_kernel_cond_2d of PyTorch 2.11's
// UpSampleKernel.cpp).
absl::StatusOr<bool> LooksAtMultiples(OpImporter& call, const Sizes& sizes) {
  constexpr int64_t kSmall = 128;  // rows and columns together
  const std::optional<int64_t> sum = call.StaticSize(sizes[0] + sizes[1]);
  if (sum && *sum <= kSmall) return true;
  const std::optional<int64_t> channels =
      call.StaticSize(call.ResultSizes()[1]);
  if (sum && channels && *channels <= 3) return false;
  return Reject(
      "the scale is not the sizes' ratio, and whether ATen looks at it depends "
      "on the layout in memory");
}

// Whether the axis of the input keeps its size, at all sizes of a range.
bool KeepsSize(OpImporter& call, const Resize& resize, size_t axis) {
  return call.SameSize(resize.sizes[axis],
                       call.SizesOf(resize.input)[2 + axis]);
}

bool KeepsAllSizes(OpImporter& call, const Resize& resize) {
  bool all = true;
  for (size_t axis = 0; axis < resize.sizes.size(); ++axis)
    all = all && KeepsSize(call, resize, axis);
  return all;
}

// kOne if all axes keep their sizes, else kNone; kOneOfAll, which decides
// nothing, if some sizes of a range may make them do so.
KnownMultiples IfAllAreKept(OpImporter& call, const Resize& resize) {
  bool may_differ = false;
  for (size_t axis = 0; axis < resize.sizes.size(); ++axis) {
    if (KeepsSize(call, resize, axis)) continue;
    if (call.StaticSize(resize.sizes[axis]) &&
        call.StaticSize(call.SizesOf(resize.input)[2 + axis]))
      return KnownMultiples::kNone;
    may_differ = true;
  }
  return may_differ ? KnownMultiples::kOneOfAll : KnownMultiples::kOne;
}

absl::StatusOr<Resize> ReadResize(
    OpImporter& call, int64_t spatial,
    KnownMultiples known = KnownMultiples::kNone) {
  Resize resize;
  AITUNE_ASSIGN_OR_RETURN(resize.input,
                          call.Tensor(call.Find("input") ? "input" : "self"));
  if (call.RankOf(resize.input) != spatial + 2)
    return Reject("an input with batch and channels is expected");
  if (!IsFloatingPoint(call.DataTypeOf(resize.input)))
    return Reject("interpolation of integers is not supported");
  // Nearest neighbours, which have no align_corners, are found in float32.
  if (call.Find("align_corners") &&
      call.DataTypeOf(resize.input) == DataType::kFloat64)
    resize.position_type = DataType::kFloat64;
  if (call.Find("align_corners")) {
    AITUNE_ASSIGN_OR_RETURN(resize.align_corners, call.Bool("align_corners"));
  }
  const Sizes result = call.ResultSizes();
  if (static_cast<int64_t>(result.size()) != spatial + 2)
    return Reject("the result's rank is not the input's");
  resize.sizes.assign(result.begin() + 2, result.end());
  if (known == KnownMultiples::kOneOfAll) known = IfAllAreKept(call, resize);
  for (int64_t axis = 0; axis < spatial; ++axis) {
    const std::optional<int64_t> from =
        call.StaticSize(call.SizesOf(resize.input)[2 + axis]);
    const std::optional<int64_t> to = call.StaticSize(resize.sizes[axis]);
    AITUNE_ASSIGN_OR_RETURN(std::optional<double> factor,
                            ReadFactor(call, axis, spatial));
    const bool is_static = from && to && *to > 0;
    // Of all sizes of a range.
    const std::optional<int64_t> times = call.StaticSize(
        resize.sizes[axis].floorDiv(call.SizesOf(resize.input)[2 + axis]));
    const bool is_multiple =
        times && *times > 0 &&
        call.SameSize(resize.sizes[axis],
                      call.SizesOf(resize.input)[2 + axis] * *times);
    if (factor && is_static &&
        (known != KnownMultiples::kOneOfAll || *to != *from)) {
      const std::optional<int64_t> multiple = KnownMultiple(known, *from, *to);
      if (multiple && *factor != static_cast<double>(*multiple)) {
        bool is_known = true;
        if (known == KnownMultiples::kOneAndTwo) {
          AITUNE_ASSIGN_OR_RETURN(is_known,
                                  LooksAtMultiples(call, resize.sizes));
        }
        if (is_known) factor = static_cast<double>(*multiple);
      }
    } else if (factor && known != KnownMultiples::kNone &&
               (!is_multiple || *factor != static_cast<double>(*times))) {
      return Reject(
          "the scale is not the sizes' ratio, which may be one for which ATen "
          "does not look at it");
    }
    double scale = 0;
    if (resize.align_corners) {
      if (!is_static)
        return Reject("align_corners with dynamic sizes is not supported");
      scale = *to > 1 ? static_cast<double>(*from - 1) /
                            static_cast<double>(*to - 1)
                      : 0;
    } else if (factor) {
      scale = 1 / *factor;
    } else if (is_static) {
      scale = static_cast<double>(*from) / static_cast<double>(*to);
    } else if (is_multiple) {
      scale = 1 / static_cast<double>(*times);
    } else {
      return Reject(
          "a scale that depends on the sizes of the inputs is not supported");
    }
    // ATen keeps scales in the type that it computes in.
    resize.scale.push_back(resize.position_type == DataType::kFloat64
                               ? scale
                               : static_cast<float>(scale));
  }
  return resize;
}

// The source positions of one axis's entries, of rank 1.
Value SourcePositions(OpImporter& call, const Resize& resize, int64_t axis,
                      bool clamp) {
  Value position = call.Iota(resize.sizes[axis], 0, 1, resize.position_type);
  if (resize.align_corners) return call.Multiply(position, resize.scale[axis]);
  position = call.Subtract(
      call.Multiply(call.Add(position, 0.5), resize.scale[axis]), 0.5);
  return clamp ? call.Binary<ait::MaximumOp>(position, Scalar(0.0)) : position;
}

// Entries of the input at floor(position) + offset, the axis's ends repeated.
Value Tap(OpImporter& call, Value input, int64_t dim, Value position,
          int64_t offset) {
  Value index =
      call.Convert(call.Unary<ait::FloorOp>(position), DataType::kInt64);
  if (offset != 0) index = call.Add(index, offset);
  Value last = call.Full(Scalar(call.SizesOf(input)[dim] - 1),
                         call.SizesOf(index), DataType::kInt64);
  index = call.Binary<ait::MinimumOp>(
      call.Binary<ait::MaximumOp>(index, Scalar(0)), last);
  return call.IndexSelect(input, dim, index);
}

// `weights` of rank 1 along axis `dim` of a tensor of this rank.
Value AlongAxis(OpImporter& call, Value weights, int64_t dim, int64_t rank) {
  Sizes sizes(rank, call.Constant(1));
  sizes[dim] = call.SizesOf(weights)[0];
  return call.Reshape(weights, sizes);
}

// One axis as the weighted sum of taps around each source position.
Value Interpolate(OpImporter& call, Value input, int64_t dim, Value position,
                  ArrayRef<std::pair<int64_t, Value>> weighted_offsets) {
  Value sum;
  for (const auto& [offset, weight] : weighted_offsets) {
    Value tap = call.Multiply(Tap(call, input, dim, position, offset),
                              AlongAxis(call, weight, dim, call.RankOf(input)));
    sum = sum ? call.Add(sum, tap) : tap;
  }
  return sum;
}

Value Fraction(OpImporter& call, Value position) {
  return call.Subtract(position, call.Unary<ait::FloorOp>(position));
}

absl::Status BuildNearest(OpImporter& call, int64_t spatial, bool exact) {
  const bool is_plain_2d = spatial == 2 && !exact;
  AITUNE_ASSIGN_OR_RETURN(
      Resize resize,
      ReadResize(call, spatial,
                 spatial != 2                ? KnownMultiples::kNone
                 : call.state().is_for_gpu() ? KnownMultiples::kOne
                 : exact                     ? KnownMultiples::kNone
                                             : KnownMultiples::kOneAndTwo));
  if (is_plain_2d) {
    return call.SetResult(ait::UpsampleNearest2dOp::create(
        call.builder(), call.location(), call.ResultType(), resize.input,
        llvm::APFloat(resize.scale[0]), llvm::APFloat(resize.scale[1])));
  }
  Value value = resize.input;
  for (int64_t axis = 0; axis < spatial; ++axis) {
    Value position =
        call.Iota(resize.sizes[axis], exact ? 0.5 : 0, 1, DataType::kFloat32);
    value = Tap(call, value, 2 + axis,
                call.Multiply(position, resize.scale[axis]), 0);
  }
  return call.SetResult(value);
}

absl::Status BuildLinearResize(OpImporter& call, int64_t spatial) {
  const bool is_for_gpu = call.state().is_for_gpu();
  AITUNE_ASSIGN_OR_RETURN(Resize resize,
                          ReadResize(call, spatial,
                                     is_for_gpu ? KnownMultiples::kOneOfAll
                                                : KnownMultiples::kOne));
  // An axis that keeps its size is not interpolated, on a GPU only if all do: a
  // weight of 0 would make NaN of a neighbour's NaN.
  const bool all_are_kept = KeepsAllSizes(call, resize);
  const auto is_kept = [&](int64_t axis) {
    return is_for_gpu
               ? all_are_kept
               : resize.scale[axis] == 1 && KeepsSize(call, resize, axis);
  };
  if (spatial == 2 && !is_kept(0) && !is_kept(1)) {
    return call.SetResult(ait::UpsampleBilinear2dOp::create(
        call.builder(), call.location(), call.ResultType(), resize.input,
        llvm::APFloat(resize.scale[0]), llvm::APFloat(resize.scale[1]),
        resize.align_corners));
  }
  Value value = call.ToComputeType(resize.input);
  for (int64_t axis = 0; axis < spatial; ++axis) {
    if (is_kept(axis)) continue;
    Value position = SourcePositions(call, resize, axis, /*clamp=*/true);
    Value fraction = Fraction(call, position);
    Value rest = call.Subtract(call.FullLike(1, fraction), fraction);
    value = Interpolate(call, value, 2 + axis, position,
                        {{0, rest}, {1, fraction}});
  }
  return call.SetResult(value);
}

// Keys' cubic convolution with a = -0.75, as ATen's.
absl::Status BuildCubicResize(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(
      Resize resize,
      ReadResize(call, 2,
                 call.state().is_for_gpu() ? KnownMultiples::kOneOfAll
                                           : KnownMultiples::kNone));
  constexpr double kA = -0.75;
  Value value = call.ToComputeType(resize.input);
  if (call.state().is_for_gpu() && KeepsAllSizes(call, resize))
    return call.SetResult(value);
  for (int64_t axis = 0; axis < 2; ++axis) {
    Value position = SourcePositions(call, resize, axis, /*clamp=*/false);
    Value t = Fraction(call, position);
    Value rest = call.Subtract(call.FullLike(1, t), t);
    // ((a + 2) x - (a + 3)) x^2 + 1 for distances up to 1.
    auto near = [&](Value x) {
      Value inner = call.Subtract(call.Multiply(x, kA + 2), kA + 3);
      return call.Add(call.Multiply(call.Multiply(inner, x), x), 1.0);
    };
    // a (x^3 - 5 x^2 + 8 x - 4) for distances from 1 to 2.
    auto far = [&](Value x) {
      Value inner = call.Subtract(call.Multiply(x, kA), 5 * kA);
      inner = call.Add(call.Multiply(inner, x), 8 * kA);
      return call.Subtract(call.Multiply(inner, x), 4 * kA);
    };
    value = Interpolate(call, value, 2 + axis, position,
                        {{-1, far(call.Add(t, 1.0))},
                         {0, near(t)},
                         {1, near(rest)},
                         {2, far(call.Add(rest, 1.0))}});
  }
  return call.SetResult(value);
}

}  // namespace

void RegisterResizeOps(Registry& registry) {
  registry.Add({"upsample_nearest1d"},
               [](OpImporter& call) { return BuildNearest(call, 1, false); });
  registry.Add({"upsample_nearest2d"},
               [](OpImporter& call) { return BuildNearest(call, 2, false); });
  registry.Add({"upsample_nearest3d"},
               [](OpImporter& call) { return BuildNearest(call, 3, false); });
  registry.Add({"_upsample_nearest_exact1d"},
               [](OpImporter& call) { return BuildNearest(call, 1, true); });
  registry.Add({"_upsample_nearest_exact2d"},
               [](OpImporter& call) { return BuildNearest(call, 2, true); });
  registry.Add({"_upsample_nearest_exact3d"},
               [](OpImporter& call) { return BuildNearest(call, 3, true); });
  registry.Add({"upsample_linear1d"},
               [](OpImporter& call) { return BuildLinearResize(call, 1); });
  registry.Add({"upsample_bilinear2d"},
               [](OpImporter& call) { return BuildLinearResize(call, 2); });
  registry.Add({"upsample_trilinear3d"},
               [](OpImporter& call) { return BuildLinearResize(call, 3); });
  registry.Add({"upsample_bicubic2d"}, BuildCubicResize);
}

}  // namespace aitune::frontend
