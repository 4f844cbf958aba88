#include "compiler/pipelines/Kernel.h"

#include "compiler/dialect/SizeExpressions.h"
#include "compiler/fusion/KernelGraph.h"
#include "compiler/pipelines/Dump.h"
#include "compiler/pipelines/PlanBuilder.h"
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
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return;
    double elements = 1;
    for (int64_t size : tensor.getShape())
      elements *= ShapedType::isDynamic(size) ? 128.0 : double(size);
    bytes += elements * std::max(tensor.getElementTypeBitWidth() / 8, 1u);
  };
  for (Type type : kernel.getArgumentTypes())
    add(type);
  for (Type type : kernel.getResultTypes())
    add(type);
  return bytes;
}

double evaluateFlops(func::FuncOp kernel, ArrayAttr symbols) {
  std::vector<int64_t> values;
  if (symbols)
    for (auto symbol : symbols.getAsRange<DictionaryAttr>())
      values.push_back(symbol.getAs<IntegerAttr>("max").getInt());
  return double(ait::toSizeExpression(countFlops(kernel)).Evaluate(values));
}

KernelImplementation generatedImplementation(func::FuncOp function,
                                             const CompiledKernel &compiled) {
  KernelImplementation implementation;
  implementation.name = "generated";
  ImplementationStep step;
  *step.call.mutable_kernel() = compiled.launch;
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
