#include "compiler/dialect/Ait.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ait;

#include "compiler/dialect/AitDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/AitTypes.cpp.inc"

#include "compiler/dialect/AitInterfaces.cpp.inc"

void AitDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/dialect/AitTypes.cpp.inc"
      >();
  registerAttributes();
  registerOperations();
}

bool mlir::ait::isReshapedConstant(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value.getDefiningOp<ConstantOp>() != nullptr;
}
