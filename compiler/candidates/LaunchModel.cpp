#include "compiler/candidates/LaunchModel.h"

#include "compiler/dialect/KernelAttributes.h"
#include "compiler/plan/PlanBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// Clones the operations that make the constant `value`, an ait.constant and
/// reshapes of it, at `builder`'s insertion point.
void cloneConstant(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (mapping.contains(value))
    return;
  if (auto reshape = value.getDefiningOp<ait::ReshapeOp>())
    cloneConstant(builder, reshape->getOperand(0), mapping);
  builder.clone(*value.getDefiningOp(), mapping);
}

} // namespace

bool isOfPool(Value value) {
  while (auto reshape = value.getDefiningOp<ait::ReshapeOp>())
    value = reshape.getInput();
  return value.getDefiningOp<ait::ConstantOp>() != nullptr;
}

func::FuncOp wrapLaunch(ModuleOp module, ait::LaunchOp launch) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> inputTypes;
  for (Value input : launch.getInputs())
    if (!isOfPool(input))
      inputTypes.push_back(input.getType());
  auto wrapper = func::FuncOp::create(
      builder, launch.getLoc(), "measured_launch",
      builder.getFunctionType(inputTypes, launch.getResultTypes()));
  Block *body = wrapper.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  unsigned argument = 0;
  for (Value input : launch.getInputs()) {
    if (isOfPool(input))
      cloneConstant(builder, input, mapping);
    else
      // An input that the launch reads twice needs one argument for each read.
      mapping.map(input, body->getArgument(argument++));
  }
  Operation *copy = builder.clone(*launch.getOperation(), mapping);
  func::ReturnOp::create(builder, launch.getLoc(), copy->getResults());
  return wrapper;
}

absl::StatusOr<ExecutablePlan>
buildCandidatePlan(func::FuncOp wrapper, ArrayAttr symbols, StringRef kernel,
                   const KernelImplementation &candidate) {
  llvm::StringMap<KernelImplementation> implementations;
  implementations[kernel] = candidate;
  AITUNE_ASSIGN_OR_RETURN(ExecutablePlan plan,
                          buildPlan(wrapper, symbols, implementations));
  plan.set_ignores_checks(true);
  readSymbolsFromInputs(plan);
  return plan;
}

std::unique_ptr<CandidateRace>
raceCandidates(const CompilationTarget &target, ModuleOp module,
               const Kernel &kernel,
               absl::Span<const KernelImplementation> candidates,
               absl::Span<const ConstantTensor> constants) {
  ait::LaunchOp launch = kernel.launches.front();
  func::FuncOp wrapper = wrapLaunch(module, launch);
  std::vector<RaceEntry> entries;
  for (const KernelImplementation &candidate : candidates)
    entries.push_back(
        {buildCandidatePlan(wrapper, ait::getModuleSymbols(module),
                            launch.getKernel(), candidate),
         candidate.objects});
  wrapper.erase();
  return target.race(std::move(entries), &kernel, constants);
}

} // namespace aitune
