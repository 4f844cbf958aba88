#include "compiler/codegen/linalg/DescribeChecks.h"

#include "compiler/dialect/KernelAttributes.h"
#include "compiler/dialect/SizeExpressions.h"
#include "mlir/IR/AffineMap.h"
#include "runtime/plan/plan.h"

using namespace mlir;

namespace aitune {

std::vector<CheckProto> describeChecks(func::FuncOp kernel) {
  std::vector<CheckProto> checks;
  ArrayAttr described = mlir::ait::getKernelChecks(kernel);
  if (!described)
    return checks;
  for (auto check : described.getAsRange<DictionaryAttr>()) {
    CheckProto &proto = checks.emplace_back();
    proto.set_operator_(check.getAs<StringAttr>("operator").str());
    proto.set_number(
        static_cast<int32_t>(check.getAs<IntegerAttr>("number").getInt()));
    proto.set_from_end(check.contains("from_end"));
    if (auto size = check.getAs<AffineMapAttr>("size"))
      *proto.mutable_size() =
          ToProto(mlir::ait::toSizeExpression(size.getValue().getResult(0)));
  }
  return checks;
}

} // namespace aitune
