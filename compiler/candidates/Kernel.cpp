#include "compiler/candidates/Kernel.h"

#include "compiler/dialect/SizeExpressions.h"
#include "compiler/fusion/KernelFunction.h"
#include "compiler/fusion/KernelGraph.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/support/Dump.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace aitune {

std::string moduleText(func::FuncOp function, ArrayAttr symbols) {
  OwningOpRef<ModuleOp> single(ModuleOp::create(function.getLoc()));
  if (symbols)
    (*single)->setAttr("ait.symbols", symbols);
  single->push_back(function.clone());
  return printToString(*single);
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

int64_t evaluateFlops(func::FuncOp kernel, ArrayAttr symbols) {
  return ait::toSizeExpression(countFlops(kernel))
      .Evaluate(largestSizes(symbols));
}

KernelImplementation generatedImplementation(func::FuncOp function,
                                             const CompiledKernel &compiled) {
  KernelImplementation implementation;
  implementation.name = "generated";
  ImplementationStep step;
  *step.call.mutable_kernel() = compiled.launch;
  step.call.mutable_checks()->Add(compiled.checks.begin(),
                                  compiled.checks.end());
  step.packings = compiled.packings;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    step.inputs.push_back(i);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    step.outputs.push_back(function.getNumArguments() + i);
  implementation.steps.push_back(std::move(step));
  implementation.objects.push_back(compiled.object);
  return implementation;
}

KernelImplementation cutImplementation(CutKernel &parts,
                                       const CompiledKernel &first,
                                       const CompiledKernel &second) {
  KernelImplementation implementation =
                           generatedImplementation(parts.first.function, first),
                       rest = generatedImplementation(parts.second.function,
                                                      second);
  Operation *next =
      &*llvm::find_if(parts.second.function.getBody().front(),
                      [](Operation &op) { return !isRecomputed(&op); });
  implementation.name = ("cut before " + next->getName().stripDialect()).str();
  implementation.cut = parts.cut;
  auto place = [](ImplementationStep &step, const CutKernel::Part &part) {
    step.inputs.assign(part.inputs.begin(), part.inputs.end());
    step.outputs.assign(part.outputs.begin(), part.outputs.end());
  };
  place(implementation.steps.front(), parts.first);
  place(rest.steps.front(), parts.second);
  rest.steps.front().call.set_kind("loop");
  implementation.steps.push_back(std::move(rest.steps.front()));
  implementation.objects.push_back(std::move(rest.objects.front()));
  implementation.temporaries.assign(parts.temporaries.begin(),
                                    parts.temporaries.end());
  return implementation;
}

} // namespace aitune
