// Memory access of PointEmitter.
#include "compiler/codegen/cpu/loops/PointEmitter.h"

#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/Ait.h"

using namespace mlir;

namespace aitune {
namespace {

/// The largest stride, in elements, of lanes that are taken out of vectors of
/// memory: each step of it is a load and a shuffle, where a gather is one load
/// for each lane. A vector of fewer lanes than steps is not worth it either.
constexpr int64_t kMostSteps = 8;

/// bool is one byte in memory; integers have no sign.
Type memoryType(Type elementType) {
  if (elementType.isInteger(1))
    return IntegerType::get(elementType.getContext(), 8);
  return getRegisterType(elementType);
}

int64_t bytesOf(Type elementType) {
  return memoryType(elementType).getIntOrFloatBitWidth() / 8;
}

/// Where the element at `exprs` lies in the buffer.
AffineExpr addressIn(const RowBuffer &buffer, ArrayRef<AffineExpr> exprs) {
  AffineExpr address = getAffineConstantExpr(0, buffer.pointer.getContext());
  for (auto [expr, stride] : llvm::zip(exprs, buffer.strides))
    address = address + expr * stride;
  return address;
}

/// Whether the form's value is a multiple of `number` where that of `dim`,
/// which has the coefficient 1, is.
bool isMultipleOf(const LinearForm &form, unsigned dim, int64_t number) {
  auto isMultiple = [&](AffineExpr expr) {
    std::optional<int64_t> value = getConstant(expr);
    return value && *value % number == 0;
  };
  return isMultiple(form.constant) &&
         llvm::all_of(form.terms, [&](const LinearForm::Term &term) {
           auto of = dyn_cast<AffineDimExpr>(term.term);
           return (of && of.getPosition() == dim) ||
                  isMultiple(term.coefficient);
         });
}

} // namespace

Value PointEmitter::element(Value pointer, Type elementType, Value index) {
  Type type = pointer.getType();
  if (auto vector = dyn_cast<VectorType>(index.getType()))
    type = VectorType::get(vector.getShape(), type);
  return LLVM::GEPOp::create(b, location, type, memoryType(elementType),
                             pointer,
                             ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(index)});
}

/// Whether no value of the dims gives an index outside of the tensor.
static bool isWithin(RankedTensorType tensor, ArrayRef<AffineExpr> exprs,
                     const DimTable &dims) {
  const auto isOfAxis = [&](AffineExpr index, AffineExpr size) {
    if (auto dim = dyn_cast<AffineDimExpr>(index)) {
      std::optional<DimRange> range = dims.range(dim.getPosition());
      return range && range->upper == size;
    }
    auto place = dyn_cast<AffineConstantExpr>(index);
    auto count = dyn_cast<AffineConstantExpr>(size);
    return place && count && place.getValue() >= 0 &&
           place.getValue() < count.getValue();
  };
  return llvm::all_of(
      llvm::zip_equal(exprs, mlir::ait::getSymbolicSizes(tensor)),
      [&](auto axis) {
        return isOfAxis(std::get<0>(axis), std::get<1>(axis));
      });
}

Value PointEmitter::isAnyActive(Value mask) {
  return vector::ReductionOp::create(b, location, vector::CombiningKind::OR,
                                     mask);
}

/// `place` in the tensor's `memory`, or that memory itself if no lane of `mask`
/// is active: a load without lanes raises nothing, but takes hundreds of cycles
/// where there is no page, as may be where a branch that is not taken would
/// read.
Value PointEmitter::placeIfAny(Value mask, Value place, Value memory) {
  return arith::SelectOp::create(b, location, isAnyActive(mask), place, memory);
}

/// The scalar at `place` in a tensor's `memory`, which is read only if a lane
/// of `mask` is active, as it may be outside of all memory otherwise; else 0.
Value PointEmitter::loadIfAny(Value mask, Value place, Value memory,
                              Type type) {
  Value any = isAnyActive(mask);
  auto one = VectorType::get({1}, type);
  Value isRead = vector::BroadcastOp::create(
      b, location, VectorType::get({1}, any.getType()), any);
  Value loaded = LLVM::MaskedLoadOp::create(
      b, location, one, placeIfAny(mask, place, memory), isRead,
      arith::ConstantOp::create(b, location, b.getZeroAttr(one)),
      static_cast<unsigned>(bytesOf(type)));
  return vector::ExtractOp::create(b, location, loaded, ArrayRef<int64_t>{0});
}

Value PointEmitter::load(BlockArgument argument, ArrayRef<AffineExpr> exprs) {
  auto tensor = cast<RankedTensorType>(argument.getType());
  Type elementType = tensor.getElementType();
  Value pointer = pointers.lookup(argument);
  LinearForm form = decompose(linearize(tensor, exprs));
  AffineExpr simplified = form.toExpr();
  Type inMemory = memoryType(elementType);
  Value value;
  if (!isLaneVarying(simplified)) {
    Value at = element(pointer, elementType, materializeUniform(simplified));
    Value mask = isWithin(tensor, exprs, dims) ? Value() : branchMask();
    value = mask ? loadIfAny(mask, at, pointer, inMemory)
                 : LLVM::LoadOp::create(b, location, inMemory, at,
                                        bytesOf(elementType));
  } else {
    EmissionScope *scope = laneScope();
    unsigned laneDim = *scope->laneDim;
    auto type = VectorType::get({scope->lanes}, inMemory);
    Value mask = activeMask();
    AffineExpr rest =
        simplified - getAffineDimExpr(laneDim, elementType.getContext());
    bool contiguous = !form.isNonlinearIn(laneDim) &&
                      form.coefficientOf(laneDim) == 1 &&
                      !isLaneVarying(decompose(rest).toExpr());
    Value zero = arith::ConstantOp::create(b, location, b.getZeroAttr(type));
    const bool mayBeOutside = branchMask() && !isWithin(tensor, exprs, dims);
    if (contiguous) {
      Value at = element(pointer, elementType, materializeUniform(simplified));
      if (mayBeOutside)
        at = placeIfAny(mask, at, pointer);
      value = mask ? Value(LLVM::MaskedLoadOp::create(
                         b, location, type, at, mask, zero,
                         static_cast<unsigned>(bytesOf(elementType))))
                   : Value(LLVM::LoadOp::create(b, location, type, at,
                                                bytesOf(elementType)));
    } else if (Value lanes = loadFromTile(pointer, elementType, form)) {
      value = lanes;
    } else if (Value lanes =
                   loadStrided(pointer, elementType, form, mayBeOutside)) {
      value = lanes;
    } else {
      Value at = element(pointer, elementType, materializeLanes(simplified));
      Value all =
          mask ? mask
               : broadcast(arith::ConstantIntOp::create(b, location, 1, 1),
                           scope->lanes);
      value = LLVM::masked_gather::create(
          b, location, type, at, all, ValueRange{zero},
          static_cast<unsigned>(bytesOf(elementType)));
    }
  }
  if (!elementType.isInteger(1))
    return value;
  Value zero =
      arith::ConstantOp::create(b, location, b.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(b, location, arith::CmpIPredicate::ne, value,
                               zero);
}

Value PointEmitter::loadStrided(Value pointer, Type elementType,
                                const LinearForm &address, bool mayBeOutside) {
  EmissionScope *scope = laneScope();
  const unsigned laneDim = *scope->laneDim;
  const int64_t lanes = scope->lanes;
  auto stride = dyn_cast<AffineConstantExpr>(address.coefficientOf(laneDim));
  AffineExpr whole = address.toExpr();
  if (!stride || address.isNonlinearIn(laneDim) ||
      isLaneVarying(
          decompose(whole - getAffineDimExpr(laneDim, b.getContext()) *
                                stride.getValue())
              .toExpr()))
    return nullptr;
  const int64_t step = stride.getValue();
  auto type = VectorType::get({lanes}, memoryType(elementType));
  Value mask = activeMask();
  auto loadFrom = [&](int64_t offset, Value mask) -> Value {
    Value at = element(pointer, elementType,
                       b.createOrFold<arith::AddIOp>(
                           location, materializeUniform(whole), i64(offset)));
    if (!mask)
      return LLVM::LoadOp::create(b, location, type, at, bytesOf(elementType));
    if (mayBeOutside)
      at = placeIfAny(mask, at, pointer);
    Value zero = arith::ConstantOp::create(b, location, b.getZeroAttr(type));
    return LLVM::MaskedLoadOp::create(b, location, type, at, mask, zero,
                                      unsigned(bytesOf(elementType)));
  };
  if (step == -1) {
    SmallVector<int64_t> reversed;
    for (int64_t lane = lanes - 1; lane >= 0; --lane)
      reversed.push_back(lane);
    if (mask)
      mask = vector::ShuffleOp::create(b, location, mask, mask, reversed);
    Value backwards = loadFrom(1 - lanes, mask);
    return vector::ShuffleOp::create(b, location, backwards, backwards,
                                     reversed);
  }
  if (mask || step < 2 || step > std::min(kMostSteps, lanes))
    return nullptr;
  // The last vector ends with the last element that is asked for.
  SmallVector<int64_t> starts;
  for (int64_t i = 0; i + 1 < step; ++i)
    starts.push_back(i * lanes);
  starts.push_back((step - 1) * (lanes - 1));
  Value value = loadFrom(starts[0], nullptr);
  for (int64_t i = 1; i < step; ++i) {
    SmallVector<int64_t> chosen;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t offset = lane * step;
      // Of the first vector that has it; lanes of later ones stay as they are.
      if (offset < i * lanes)
        chosen.push_back(i == 1 ? offset : lane);
      else
        chosen.push_back(std::min(lanes + offset - starts[i], 2 * lanes - 1));
    }
    value = vector::ShuffleOp::create(b, location, value,
                                      loadFrom(starts[i], nullptr), chosen);
  }
  return value;
}

Value PointEmitter::loadFromTile(Value pointer, Type elementType,
                                 const LinearForm &address) {
  // A loop or branch inside of the step may bind what the address needs, or be
  // what allows the load.
  if (!current->tileStep)
    return nullptr;
  EmissionScope *lanes = laneScope(), *tile = current->parent;
  const unsigned laneDim = *lanes->laneDim, tileDim = *tile->tileDim;
  AffineExpr stride = address.coefficientOf(laneDim), whole = address.toExpr();
  AffineExpr rest =
      decompose(whole - stride * getAffineDimExpr(laneDim, b.getContext()))
          .toExpr();
  if (address.isNonlinearIn(laneDim) || address.isNonlinearIn(tileDim) ||
      address.coefficientOf(tileDim) != 1 || isLaneVarying(rest))
    return nullptr;
  // An index that is computed in the step is not known where the square is
  // loaded.
  bool isKnown = true;
  runIn(tile, [&] {
    for (unsigned dim : dimsOf(whole))
      isKnown &= binding(dim) != nullptr;
  });
  if (!isKnown)
    return nullptr;
  SmallVector<Value> &columns = tile->tiles[{pointer, whole}];
  if (columns.empty())
    runIn(tile, [&] {
      auto type = VectorType::get({lanes->lanes}, memoryType(elementType));
      Value first = materializeUniform(whole),
            step = materializeUniform(stride), mask = activeMask();
      SmallVector<Value> rows;
      for (int64_t lane = 0; lane < lanes->lanes; ++lane) {
        Value offset = arith::MulIOp::create(b, location, step, i64(lane));
        // Lanes that are not active need not exist; lane 0 does.
        if (mask)
          offset = arith::SelectOp::create(
              b, location, vector::ExtractOp::create(b, location, mask, lane),
              offset, i64(0));
        Value at = element(pointer, elementType,
                           arith::AddIOp::create(b, location, first, offset));
        rows.push_back(
            LLVM::LoadOp::create(b, location, type, at, bytesOf(elementType)));
      }
      columns = transpose(std::move(rows));
    });
  return columns[*current->tileStep];
}

SmallVector<Value> PointEmitter::transpose(SmallVector<Value> vectors) {
  // Each round moves the highest bit of a lane's number to the lowest of its
  // vector's and the other way round, which takes the bits of both numbers in
  // turn.
  const auto count = static_cast<int64_t>(vectors.size());
  SmallVector<int64_t> low, high;
  for (int64_t lane = 0; lane < count; ++lane) {
    low.push_back(lane / 2 + lane % 2 * count);
    high.push_back(low.back() + count / 2);
  }
  for (int64_t round = 1; round < count; round *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < count / 2; ++i)
      for (ArrayRef<int64_t> lanes : {low, high})
        next.push_back(vector::ShuffleOp::create(
            b, location, vectors[i], vectors[i + count / 2], lanes));
    vectors = std::move(next);
  }
  return vectors;
}

std::optional<Value> PointEmitter::reload(Value tensor,
                                          ArrayRef<AffineExpr> exprs) {
  auto found = rowBuffers.find(tensor);
  if (found == rowBuffers.end())
    return std::nullopt;
  const RowBuffer &buffer = found->second;
  AffineExpr address = addressIn(buffer, exprs);
  if (!buffer.isUsable || !buffer.isFilled || !fits(buffer, address))
    return std::nullopt;
  return loadBuffer(buffer, address);
}

void PointEmitter::keep(Value tensor, ArrayRef<AffineExpr> exprs,
                        const Value &element) {
  auto found = rowBuffers.find(tensor);
  if (found == rowBuffers.end() || found->second.isFilled)
    return;
  AffineExpr address = addressIn(found->second, exprs);
  if (fits(found->second, address))
    storeBuffer(found->second, address, element);
  else
    found->second.isUsable = false;
}

bool PointEmitter::fits(const RowBuffer &buffer, AffineExpr address) const {
  EmissionScope *scope = laneScope();
  if (buffer.isColumn)
    return scope && !isLaneVarying(address);
  if (!scope)
    return true;
  LinearForm form = decompose(address);
  return !form.isNonlinearIn(*scope->laneDim) &&
         form.coefficientOf(*scope->laneDim) == 1;
}

Value PointEmitter::loadBuffer(const RowBuffer &buffer, AffineExpr address) {
  EmissionScope *scope = laneScope();
  Type type = memoryType(buffer.elementType);
  Value at = element(buffer.pointer, buffer.elementType,
                     materializeUniform(decompose(address).toExpr()));
  if (scope)
    type = VectorType::get({scope->lanes}, type);
  // Lanes beyond the row hold something, and are masked where it matters.
  Value value =
      LLVM::LoadOp::create(b, location, type, at, bytesOf(buffer.elementType));
  if (!buffer.elementType.isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(b, location, b.getZeroAttr(type));
  return arith::CmpIOp::create(b, location, arith::CmpIPredicate::ne, value,
                               zero);
}

void PointEmitter::storeBuffer(const RowBuffer &buffer, AffineExpr address,
                               Value value) {
  EmissionScope *scope = laneScope();
  value = broadcast(value, scope ? scope->lanes : 1);
  if (buffer.elementType.isInteger(1)) {
    Type bytes = b.getI8Type();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      bytes = vector.clone(bytes);
    value = arith::ExtUIOp::create(b, location, bytes, value);
  }
  Value at = element(buffer.pointer, buffer.elementType,
                     materializeUniform(decompose(address).toExpr()));
  LLVM::StoreOp::create(b, location, value, at, bytesOf(buffer.elementType));
}

void PointEmitter::store(Value value, Value pointer, RankedTensorType type,
                         ArrayRef<AffineExpr> exprs) {
  Type elementType = type.getElementType();
  if (elementType.isInteger(1)) {
    Type bytes = b.getI8Type();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      bytes = vector.clone(bytes);
    value = arith::ExtUIOp::create(b, location, bytes, value);
  }
  LinearForm form = decompose(linearize(type, exprs));
  AffineExpr address = form.toExpr();
  unsigned alignment = bytesOf(elementType);
  EmissionScope *scope = laneScope();
  if (!scope || !isLaneVarying(address)) {
    Value at = element(pointer, elementType, materializeUniform(address));
    LLVM::StoreOp::create(b, location, value, at, alignment);
    return;
  }
  value = broadcast(value, scope->lanes);
  Value mask = activeMask();
  bool contiguous = !form.isNonlinearIn(*scope->laneDim) &&
                    form.coefficientOf(*scope->laneDim) == 1;
  if (contiguous) {
    Value at = element(pointer, elementType, materializeUniform(address));
    if (mask)
      LLVM::MaskedStoreOp::create(b, location, value, at, mask, alignment);
    else if (streamed.contains(pointer) &&
             isMultipleOf(form, *scope->laneDim, scope->lanes))
      LLVM::StoreOp::create(
          b, location, value, at,
          std::min<unsigned>(alignment * scope->lanes, kStreamedAlignment),
          /*isVolatile=*/false, /*isNonTemporal=*/true);
    else
      LLVM::StoreOp::create(b, location, value, at, alignment);
    return;
  }
  Value at = element(pointer, elementType, materializeLanes(address));
  Value all = mask ? mask
                   : broadcast(arith::ConstantIntOp::create(b, location, 1, 1),
                               scope->lanes);
  LLVM::masked_scatter::create(b, location, value, at, all, alignment);
}

} // namespace aitune
