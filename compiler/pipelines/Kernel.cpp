#include "compiler/pipelines/Kernel.h"

#include "compiler/pipelines/Dump.h"
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

} // namespace aitune
