#include "compiler/candidates/CandidateChoice.h"

#include "compiler/measure/Measure.h"
#include "compiler/plan/PlanBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/cpu/kernel_loader.h"
#include "runtime/executable/cpu_executable.h"

#include <malloc.h>

using namespace mlir;

namespace aitune {
namespace {

/// Seconds to spend on measuring the candidates of one kernel.
constexpr double kBudgetSeconds = 0.03;

} // namespace

absl::StatusOr<std::unique_ptr<Executable>>
loadCandidate(func::FuncOp wrapper, ArrayAttr symbols, StringRef kernel,
              const KernelImplementation &candidate,
              absl::Span<const ConstantTensor> constants) {
  llvm::StringMap<KernelImplementation> implementations;
  implementations[kernel] = candidate;
  absl::StatusOr<ExecutablePlan> plan =
      buildPlan(wrapper, symbols, implementations);
  if (!plan.ok())
    return plan.status();
  plan->set_ignores_checks(true);
  readSymbolsFromInputs(*plan);
  std::vector<std::string> objects;
  for (const KernelObject &object : candidate.objects)
    objects.push_back(object.object);
  auto kernels = LoadKernels(objects);
  if (!kernels.ok())
    return kernels.status();
  return CpuExecutable::Load(*std::move(plan), *kernels,
                             {constants.begin(), constants.end()}, {});
}

/// Whether a value is a constant of the model, perhaps reshaped.
static bool isConstant(Value value) {
  if (auto reshape = value.getDefiningOp<ait::ReshapeOp>())
    return isConstant(reshape->getOperand(0));
  return value.getDefiningOp<ait::ConstantOp>() != nullptr;
}

/// Copies what a constant comes from to where `builder` is.
static void cloneConstant(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (mapping.contains(value))
    return;
  if (auto reshape = value.getDefiningOp<ait::ReshapeOp>())
    cloneConstant(builder, reshape->getOperand(0), mapping);
  builder.clone(*value.getDefiningOp(), mapping);
}

func::FuncOp wrapLaunch(ModuleOp module, ait::LaunchOp launch) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> inputTypes;
  for (Value input : launch.getInputs())
    if (!isConstant(input))
      inputTypes.push_back(input.getType());
  auto wrapper = func::FuncOp::create(
      builder, launch.getLoc(), "measured_launch",
      builder.getFunctionType(inputTypes, launch.getResultTypes()));
  Block *body = wrapper.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  unsigned argument = 0;
  for (Value input : launch.getInputs()) {
    if (isConstant(input))
      cloneConstant(builder, input, mapping);
    else
      // An input that the launch reads twice needs one argument for each read.
      mapping.map(input, body->getArgument(argument++));
  }
  Operation *copy = builder.clone(*launch.getOperation(), mapping);
  func::ReturnOp::create(builder, launch.getLoc(), copy->getResults());
  return wrapper;
}

KernelChoice
chooseByMeasurement(ModuleOp module, ait::LaunchOp launch,
                    const std::vector<KernelImplementation> &candidates,
                    absl::Span<const ConstantTensor> constants,
                    CompileResult &result) {
  if (candidates.size() == 1)
    return {};
  func::FuncOp wrapper = wrapLaunch(module, launch);
  std::vector<std::unique_ptr<Executable>> executables;
  std::vector<size_t> positions;
  for (size_t i = 0; i < candidates.size(); ++i) {
    auto executable =
        loadCandidate(wrapper, module->getAttrOfType<ArrayAttr>("ait.symbols"),
                      launch.getKernel(), candidates[i], constants);
    if (executable.ok()) {
      executables.push_back(*std::move(executable));
      positions.push_back(i);
    } else {
      result.candidates.push_back({launch.getKernel().str(), candidates[i].name,
                                   -1, false,
                                   std::string(executable.status().message())});
    }
  }
  wrapper.erase();

  std::vector<const Executable *> loaded;
  for (const std::unique_ptr<Executable> &executable : executables)
    loaded.push_back(executable.get());
  const std::vector<Measurement> measurements =
      measureCandidates(loaded, {kBudgetSeconds});
  // A later candidate must be faster than the interval that the best one's
  // median lies in: the generated kernel, which comes first, wins ties.
  auto fastest = [&](bool searchedToo) {
    size_t best = positions.empty() ? 0 : positions.front();
    double bestLow = -1;
    for (size_t i = 0; i < measurements.size(); ++i) {
      if (measurements[i].microseconds < 0 ||
          (candidates[positions[i]].isSearched && !searchedToo))
        continue;
      if (bestLow < 0 || measurements[i].microseconds < bestLow) {
        best = positions[i];
        bestLow = measurements[i].low;
      }
    }
    return best;
  };
  const KernelChoice choice{fastest(true), fastest(false)};
  for (size_t i = 0; i < measurements.size(); ++i)
    result.candidates.push_back(
        {launch.getKernel().str(), candidates[positions[i]].name,
         measurements[i].microseconds, positions[i] == choice.best,
         measurements[i].note});
  // The weights that candidates packed are most of the compiler's memory.
  executables.clear();
  malloc_trim(0);
  return choice;
}

} // namespace aitune
