// The generated operation classes, alone: they take long to compile and change
// only with the .td files.
#include "compiler/dialect/Ait.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::ait;

void AitDialect::registerOperations() {
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/AitOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "compiler/dialect/AitOps.cpp.inc"
