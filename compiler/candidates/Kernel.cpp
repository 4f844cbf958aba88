#include "compiler/candidates/Kernel.h"

#include "absl/strings/str_cat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/dialect/SizeExpressions.h"
#include "compiler/fusion/KernelFunction.h"
#include "compiler/fusion/KernelGraph.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/support/Dump.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/hash/sha256.h"

using namespace mlir;

namespace aitune {

std::string labelOf(const KernelImplementation &candidate) {
  return candidate.description.empty()
             ? candidate.name
             : absl::StrCat(candidate.name, ": ", candidate.description);
}

std::string moduleText(func::FuncOp function, ArrayAttr symbols) {
  OwningOpRef<ModuleOp> single(ModuleOp::create(function.getLoc()));
  if (symbols)
    ait::setModuleSymbols(*single, symbols);
  single->push_back(function.clone());
  return printToString(*single);
}

std::string digestOf(func::FuncOp kernel, ArrayAttr symbols) {
  OwningOpRef<func::FuncOp> copy(kernel.clone());
  copy->setSymName("kernel");
  ait::removeScheduleConfig(*copy);
  return Sha256Hex(moduleText(*copy, symbols));
}

double countBytes(func::FuncOp kernel) {
  double bytes = 0;
  auto add = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += estimateBytes(tensor);
  };
  for (Type type : kernel.getArgumentTypes())
    add(type);
  for (Type type : kernel.getResultTypes())
    add(type);
  return bytes;
}

std::vector<int64_t> largestSizes(ArrayAttr symbols) {
  std::vector<int64_t> values;
  if (symbols)
    for (auto symbol : symbols.getAsRange<DictionaryAttr>())
      values.push_back(symbol.getAs<IntegerAttr>("max").getInt());
  return values;
}

std::vector<int64_t> measuredSizes(ArrayAttr symbols) {
  std::vector<int64_t> values = largestSizes(symbols);
  for (size_t i = 0; i < values.size(); ++i)
    if (auto typical =
            cast<DictionaryAttr>(symbols[i]).getAs<IntegerAttr>("typical"))
      values[i] = std::min(values[i], typical.getInt());
  return values;
}

int64_t evaluateFlops(func::FuncOp kernel, ArrayAttr symbols) {
  return ait::toSizeExpression(countFlops(kernel))
      .Evaluate(measuredSizes(symbols));
}

void appendSteps(const KernelImplementation &part, ArrayRef<int> operands,
                 int kernelOperands, KernelImplementation &whole) {
  const int known = static_cast<int>(operands.size());
  const int firstTemporary =
      kernelOperands + static_cast<int>(whole.temporaries.size());
  for (ImplementationStep step : part.steps) {
    for (std::vector<int> *numbers : {&step.inputs, &step.outputs})
      for (int &number : *numbers)
        number =
            number < known ? operands[number] : firstTemporary + number - known;
    whole.steps.push_back(std::move(step));
  }
  llvm::append_range(whole.temporaries, part.temporaries);
  llvm::append_range(whole.objects, part.objects);
}

} // namespace aitune
