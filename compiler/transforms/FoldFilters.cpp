// Filters of convolutions that are moved constants become constants: only those
// of the pool can be packed at load, which the fast code of every device needs.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace aitune {
#define GEN_PASS_DEF_FOLDFILTERS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace aitune {
namespace {

/// The content of a tensor, contiguous.
struct Content {
  std::vector<char> bytes;
  std::vector<int64_t> sizes;
  DataType dtype;
  std::string name; ///< the constant's that it was moved from

  int64_t elementBytes() const { return SizeInBytes(dtype); }
};

/// Calls `visit(number, start + sum(index[axis] * strides[axis]))` for each
/// element of a tensor of these sizes, with its number in row-major order.
void forEachElement(ArrayRef<int64_t> sizes, int64_t start,
                    ArrayRef<int64_t> strides,
                    llvm::function_ref<void(int64_t, int64_t)> visit) {
  SmallVector<int64_t> index(sizes.size(), 0);
  const int64_t count = ElementCount(sizes);
  for (int64_t number = 0; number < count; ++number) {
    visit(number, start);
    for (size_t axis = sizes.size(); axis-- > 0;) {
      start += strides[axis];
      if (++index[axis] < sizes[axis])
        break;
      start -= strides[axis] * sizes[axis];
      index[axis] = 0;
    }
  }
}

/// The elements at `start + sum(index[axis] * strides[axis])` of `source`.
Content gather(const Content &source, int64_t start, ArrayRef<int64_t> strides,
               ArrayRef<int64_t> sizes) {
  Content result = {{}, sizes.vec(), source.dtype, source.name};
  const int64_t width = source.elementBytes();
  result.bytes.resize(ElementCount(result.sizes) * width);
  forEachElement(sizes, start, strides, [&](int64_t number, int64_t from) {
    std::memcpy(&result.bytes[number * width], &source.bytes[from * width],
                width);
  });
  return result;
}

/// Nothing if `pad` adds other elements than zeros, or removes some.
std::optional<Content> padWithZeros(const Content &source, PadOp pad) {
  auto isNegative = [](int64_t number) { return number < 0; };
  if (!pad.getValue().isPosZero() || llvm::any_of(pad.getLow(), isNegative) ||
      llvm::any_of(pad.getHigh(), isNegative))
    return std::nullopt;
  Content result = {
      {}, pad.getType().getShape().vec(), source.dtype, source.name};
  const int64_t width = source.elementBytes();
  result.bytes.resize(ElementCount(result.sizes) * width, 0);
  const SmallVector<int64_t> strides = computeStrides(result.sizes);
  int64_t start = 0;
  for (auto [low, stride] : llvm::zip_equal(pad.getLow(), strides))
    start += low * stride;
  forEachElement(source.sizes, start, strides, [&](int64_t number, int64_t to) {
    std::memcpy(&result.bytes[to * width], &source.bytes[number * width],
                width);
  });
  return result;
}

class FoldFiltersPass : public impl::FoldFiltersBase<FoldFiltersPass> {
public:
  FoldFiltersPass() = default;
  explicit FoldFiltersPass(ConstantPool pool) : pool(std::move(pool)) {}

  void runOnOperation() override {
    if (!pool.find || !pool.add)
      return;
    llvm::DenseMap<Value, int64_t> made;
    getOperation().walk([&](ConvolutionOp op) {
      Value filter = op.getFilter();
      if (filter.getDefiningOp<ConstantOp>())
        return;
      auto [entry, isNew] = made.try_emplace(filter, -1);
      if (isNew)
        if (std::optional<Content> content = evaluate(filter))
          entry->second = add(*std::move(content));
      if (entry->second < 0)
        return;
      OpBuilder builder(op);
      op.getFilterMutable().assign(ConstantOp::create(
          builder, op.getLoc(), filter.getType(), entry->second));
    });
  }

private:
  /// Nothing for what is not moved from one constant.
  std::optional<Content> evaluate(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Operation *op = value.getDefiningOp();
    if (!op || !type.hasStaticShape())
      return std::nullopt;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      const ConstantTensor *tensor = pool.find(constant.getIndex());
      if (!tensor || !tensor->view.data)
        return std::nullopt;
      const TensorView &view = tensor->view;
      const auto *data = static_cast<const char *>(view.data);
      return Content{
          {data, data + BytesOf(view)}, view.sizes, view.dtype, tensor->name};
    }
    // A broadcast filter stays one: its elements would be stored many times.
    auto view = dyn_cast<LinearView>(op);
    if (!isa<ReshapeOp, PadOp>(op) && (!view || isa<ExpandOp>(op)))
      return std::nullopt;
    std::optional<Content> source = evaluate(op->getOperand(0));
    if (!source)
      return std::nullopt;
    if (isa<ReshapeOp>(op)) {
      source->sizes = type.getShape().vec();
      return source;
    }
    if (auto pad = dyn_cast<PadOp>(op))
      return padWithZeros(*source, pad);
    AffineExpr place = getAffineConstantExpr(0, op->getContext());
    SmallVector<AffineExpr> index;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      index.push_back(getAffineDimExpr(axis, op->getContext()));
    for (auto [at, stride] : llvm::zip_equal(view.getSourceIndex(index),
                                             computeStrides(source->sizes)))
      place = place + at * stride;
    // The factor of each axis, and the constant.
    SmallVector<int64_t> terms;
    if (failed(getFlattenedAffineExpr(place, type.getRank(), 0, &terms)))
      return std::nullopt;
    const int64_t start = terms.pop_back_val();
    return gather(*source, start, terms, type.getShape());
  }

  int64_t add(Content content) {
    auto bytes = std::make_shared<std::vector<char>>(std::move(content.bytes));
    ConstantTensor constant;
    constant.view = {bytes->data(), content.dtype, std::move(content.sizes)};
    constant.owner = bytes;
    constant.name = std::move(content.name);
    return pool.add(std::move(constant));
  }

  ConstantPool pool;
};

} // namespace

std::unique_ptr<Pass> createFoldFilters(ConstantPool pool) {
  return std::make_unique<FoldFiltersPass>(std::move(pool));
}

} // namespace aitune
