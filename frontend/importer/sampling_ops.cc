// Sampling of images at computed positions.
#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using mlir::AffineExpr;
using mlir::Value;

// ATen's numbers for the modes.
enum Interpolation { kBilinear = 0, kNearest = 1 };
enum PaddingMode { kZeros = 0, kBorder = 1 };

class GridSampler {
 public:
  GridSampler(OpImporter& call, Value input, Value grid)
      : call_(call), result_dtype_(call.DataTypeOf(input)) {
    const Sizes sizes = call.SizesOf(input), points = call.SizesOf(grid);
    height_ = sizes[2];
    width_ = sizes[3];
    // [N, C, H * W], and positions [N, 1, points].
    image_ = call.Flatten(call.ToComputeType(input), 2, 3);
    positions_ = {points[0], call.Constant(1), points[1] * points[2]};
    grid_ = call.Reshape(call.ToComputeType(grid),
                         {points[0], points[1] * points[2], points[3]});
    sampled_ = {sizes[0], sizes[1], positions_[2]};
    result_ = {sizes[0], sizes[1], points[1], points[2]};
  }

  Value Sample(Interpolation interpolation, PaddingMode padding,
               bool align_corners) {
    padding_ = padding;
    Value x = SourcePosition(0, width_, align_corners),
          y = SourcePosition(1, height_, align_corners);
    Value sum;
    if (interpolation == kNearest) {
      sum = Corner(call_.Unary<ait::RoundOp>(x), call_.Unary<ait::RoundOp>(y),
                   Value());
    } else {
      Value left = call_.Unary<ait::FloorOp>(x),
            top = call_.Unary<ait::FloorOp>(y);
      Value right_weight = call_.Subtract(x, left),
            bottom_weight = call_.Subtract(y, top);
      auto rest = [&](Value weight) {
        return call_.Subtract(call_.FullLike(1, weight), weight);
      };
      for (int corner = 0; corner < 4; ++corner) {
        const bool right = corner % 2, bottom = corner / 2;
        Value weight =
            call_.Multiply(right ? right_weight : rest(right_weight),
                           bottom ? bottom_weight : rest(bottom_weight));
        Value part = Corner(right ? call_.Add(left, 1.0) : left,
                            bottom ? call_.Add(top, 1.0) : top, weight);
        sum = sum ? call_.Add(sum, part) : part;
      }
    }
    return call_.Convert(call_.Reshape(sum, result_), result_dtype_);
  }

 private:
  // Coordinate `index` of the grid in pixels, [N, 1, points].
  Value SourcePosition(int64_t index, AffineExpr size, bool align_corners) {
    Value coordinate =
        call_.Reshape(call_.Slice(grid_, 2, index, 1), positions_);
    Value extent =
        call_.Full(Scalar(size), positions_, call_.DataTypeOf(coordinate));
    // Half of the extent first: the product of a large coordinate stays finite.
    Value from_edge = call_.Add(coordinate, 1.0);
    Value pixels =
        align_corners
            ? call_.Multiply(from_edge,
                             call_.Multiply(call_.Subtract(extent, 1.0), 0.5))
            : call_.Subtract(
                  call_.Multiply(from_edge, call_.Multiply(extent, 0.5)), 0.5);
    return padding_ == kBorder ? Limit(pixels, call_.Subtract(extent, 1.0))
                               : pixels;
  }

  // NaN is the first pixel.
  Value Limit(Value value, Value last) {
    Value number = call_.Where(call_.Predicate<ait::IsNanOp>(value),
                               call_.FullLike(0, value), value);
    return call_.Binary<ait::MinimumOp>(
        call_.Binary<ait::MaximumOp>(number, Scalar(0.0)), last);
  }

  // The pixels at whole positions, 0 outside, times `weight` (null: 1), which
  // may be NaN.
  Value Corner(Value x, Value y, Value weight) {
    auto last = [&](AffineExpr size) {
      return call_.Full(Scalar(size - 1), positions_, call_.DataTypeOf(x));
    };
    auto inside = [&](Value position, Value end) {
      return call_.Binary<ait::BitwiseAndOp>(
          call_.Compare<ait::GeOp>(position, Scalar(0.0)),
          call_.Compare<ait::LeOp>(position, end));
    };
    Value last_x = last(width_), last_y = last(height_);
    Value valid =
        call_.Binary<ait::BitwiseAndOp>(inside(x, last_x), inside(y, last_y));
    // Invalid positions read some pixel that the selection drops.
    Value column = call_.Convert(call_.Where(valid, x, call_.FullLike(0, x)),
                                 DataType::kInt64);
    Value row = call_.Convert(call_.Where(valid, y, call_.FullLike(0, y)),
                              DataType::kInt64);
    Value width = call_.Full(Scalar(width_), positions_, DataType::kInt64);
    Value index =
        call_.Expand(call_.Add(call_.Multiply(row, width), column), sampled_);
    Value pixels = ait::GatherOp::create(
        call_.builder(), call_.location(),
        call_.TypeOf(sampled_, call_.DataTypeOf(image_)), image_, index, 2);
    pixels = call_.Where(valid, pixels, call_.FullLike(0, pixels));
    return weight ? call_.Multiply(pixels, weight) : pixels;
  }

  OpImporter& call_;
  DataType result_dtype_;
  PaddingMode padding_ = kZeros;
  AffineExpr height_, width_;
  Value image_, grid_;
  Sizes positions_, sampled_, result_;
};

absl::Status BuildGridSampler(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value input, call.Tensor("input"));
  AITUNE_ASSIGN_OR_RETURN(Value grid, call.Tensor("grid"));
  AITUNE_ASSIGN_OR_RETURN(int64_t interpolation,
                          call.Int("interpolation_mode"));
  AITUNE_ASSIGN_OR_RETURN(int64_t padding, call.Int("padding_mode"));
  AITUNE_ASSIGN_OR_RETURN(bool align_corners, call.Bool("align_corners"));
  if (call.RankOf(input) != 4 || call.RankOf(grid) != 4)
    return Reject("sampling of volumes is not supported");
  if (interpolation != kBilinear && interpolation != kNearest) {
    return Reject(absl::StrCat("interpolation mode ", interpolation,
                               " is not supported"));
  }
  if (padding != kZeros && padding != kBorder)
    return Reject(absl::StrCat("padding mode ", padding, " is not supported"));
  if (!IsFloatingPoint(call.DataTypeOf(input)) ||
      !IsFloatingPoint(call.DataTypeOf(grid))) {
    return Reject("sampling of integers is not supported");
  }
  GridSampler sampler(call, input, grid);
  AITUNE_RETURN_IF_ERROR(call.status());
  return call.SetResult(
      sampler.Sample(static_cast<Interpolation>(interpolation),
                     static_cast<PaddingMode>(padding), align_corners));
}

}  // namespace

void RegisterSamplingOps(Registry& registry) {
  registry.Add({"grid_sampler", "grid_sampler_2d"}, BuildGridSampler);
}

}  // namespace aitune::frontend
