#include "compiler/candidates/LaunchModel.h"

#include "compiler/dialect/KernelAttributes.h"
#include "compiler/plan/PlanBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// What `value` is reshapes of; itself if it is none.
Value getReshaped(Value value) {
  while (auto reshape = value.getDefiningOp<ait::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

/// Clones, at `builder`'s insertion point, what `mapping` lacks of the
/// operations that make `value`: reshapes and the ait.constant that they are
/// of.
void cloneReshapes(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (mapping.contains(value))
    return;
  if (auto reshape = value.getDefiningOp<ait::ReshapeOp>())
    cloneReshapes(builder, reshape.getInput(), mapping);
  builder.clone(*value.getDefiningOp(), mapping);
}

/// Whether an operation that is not `inside` uses `value` or a reshape of it.
bool isUsedOutside(Value value,
                   const llvm::SmallPtrSetImpl<Operation *> &inside) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto reshape = dyn_cast<ait::ReshapeOp>(user);
    return reshape ? isUsedOutside(reshape.getResult(), inside)
                   : !inside.contains(user);
  });
}

} // namespace

bool isOfPool(Value value) {
  return getReshaped(value).getDefiningOp<ait::ConstantOp>() != nullptr;
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
      cloneReshapes(builder, input, mapping);
    else
      // An input that the launch reads twice needs one argument for each read.
      mapping.map(input, body->getArgument(argument++));
  }
  Operation *copy = builder.clone(*launch.getOperation(), mapping);
  func::ReturnOp::create(builder, launch.getLoc(), copy->getResults());
  return wrapper;
}

func::FuncOp wrapLaunches(ModuleOp module, ArrayRef<ait::LaunchOp> launches) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  const Location location = launches.front()->getLoc();
  auto wrapper = func::FuncOp::create(builder, location, "measured_launches",
                                      builder.getFunctionType({}, {}));
  Block *body = wrapper.addEntryBlock();
  builder.setInsertionPointToStart(body);
  llvm::SmallPtrSet<Operation *, 8> inside;
  for (ait::LaunchOp launch : launches)
    inside.insert(launch);
  IRMapping mapping;
  for (ait::LaunchOp launch : launches) {
    for (Value input : launch.getInputs())
      if (isOfPool(input) ||
          inside.contains(getReshaped(input).getDefiningOp()))
        cloneReshapes(builder, input, mapping);
      else if (!mapping.contains(input))
        mapping.map(input, body->addArgument(input.getType(), location));
    builder.clone(*launch.getOperation(), mapping);
  }
  SmallVector<Value> results;
  for (ait::LaunchOp launch : launches)
    for (Value result : launch.getResults())
      if (isUsedOutside(result, inside))
        results.push_back(mapping.lookup(result));
  func::ReturnOp::create(builder, location, results);
  wrapper.setFunctionType(
      builder.getFunctionType(body->getArgumentTypes(), ValueRange(results)));
  return wrapper;
}

absl::StatusOr<ExecutablePlan> buildLaunchesPlan(
    func::FuncOp wrapper, ArrayAttr symbols,
    const llvm::StringMap<KernelImplementation> &implementations) {
  AITUNE_ASSIGN_OR_RETURN(ExecutablePlan plan,
                          buildPlan(wrapper, symbols, implementations));
  plan.set_ignores_checks(true);
  readSymbolsFromInputs(plan);
  return plan;
}

absl::StatusOr<ExecutablePlan>
buildCandidatePlan(func::FuncOp wrapper, ArrayAttr symbols, StringRef kernel,
                   const KernelImplementation &candidate) {
  llvm::StringMap<KernelImplementation> implementations;
  implementations[kernel] = candidate;
  return buildLaunchesPlan(wrapper, symbols, implementations);
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
