#include "compiler/driver/Audit.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/measure/HostTensor.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/reference/Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/status/status_macros.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace aitune {
namespace {

/// Runs of the model, one after the other.
constexpr int kCalls = 2;
/// Bytes of values that are kept of one run; the model runs again for the rest.
constexpr int64_t kMostBytes = int64_t{1} << 30;

/// What memory holds before a step writes it: no number of any float type.
constexpr char kUnwritten = '\xff';

/// The values of one run, in memory of their own.
struct Kept {
  std::vector<HostTensor> memory;
  llvm::DenseMap<Value, TensorView> views;
};

class Audit {
public:
  Audit(ModuleOp module, const ChosenKernels &chosen,
        const std::vector<KernelObject> &objects,
        const CompilationTarget &target,
        absl::Span<const ConstantTensor> constants,
        const CompileOptions &options)
      : module(module), main(module.lookupSymbol<func::FuncOp>("main")),
        chosen(chosen), objects(objects), target(target), constants(constants),
        options(options) {}

  absl::StatusOr<std::vector<WrongCandidate>> run();

private:
  using Values = llvm::SetVector<Value>;

  absl::Status readSymbols();
  absl::StatusOr<ExecutablePlan> planThatReturns(const Values &values);
  absl::Status runModel(const Values &values);
  void judge(ait::LaunchOp launch);
  TensorView viewOf(Value value, const Kept &call) const;
  TensorView shapeOf(Value value) const;
  void addOperands(ait::LaunchOp launch, Values &values) const;

  ModuleOp module;
  func::FuncOp main;
  const ChosenKernels &chosen;
  const std::vector<KernelObject> &objects;
  const CompilationTarget &target;
  const absl::Span<const ConstantTensor> constants;
  const CompileOptions &options;
  std::vector<int64_t> symbols;
  std::vector<Kept> calls;
  std::set<std::string> guilty;
  std::vector<WrongCandidate> wrong;
};

/// The values of the module's symbols for these inputs.
absl::Status Audit::readSymbols() {
  AITUNE_ASSIGN_OR_RETURN(ExecutablePlan plan, planThatReturns({}));
  for (const SymbolProto &symbol : plan.symbols())
    symbols.push_back(
        options.audit.inputs[symbol.input()].sizes[symbol.axis()]);
  return absl::OkStatus();
}

/// The plan of @main with other results.
absl::StatusOr<ExecutablePlan> Audit::planThatReturns(const Values &values) {
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(main->clone(mapping));
  copy.setSymName("audited");
  copy.removeResAttrsAttr();
  module.push_back(copy);
  SmallVector<Value> results;
  for (Value value : values)
    results.push_back(mapping.lookup(value));
  copy.getBody().front().getTerminator()->setOperands(results);
  copy.setFunctionType(FunctionType::get(copy.getContext(),
                                         copy.getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  absl::StatusOr<ExecutablePlan> plan =
      buildPlan(copy, ait::getModuleSymbols(module), chosen.best);
  copy.erase();
  if (plan.ok())
    plan->set_device(target.device());
  return plan;
}

/// The value's type and sizes, without memory.
TensorView Audit::shapeOf(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  return {nullptr, *ait::toDataType(type.getElementType()),
          evaluateSizes(type, symbols)};
}

/// Whether `value` is computed by the model, not given to it.
bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !isa<ait::ConstantOp, ait::ReshapeOp>(op);
}

Value throughReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ait::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

void Audit::addOperands(ait::LaunchOp launch, Values &values) const {
  for (Value input : launch.getInputs())
    if (Value source = throughReshapes(input); isComputed(source))
      values.insert(source);
  for (Value result : launch.getResults())
    values.insert(result);
}

TensorView Audit::viewOf(Value value, const Kept &call) const {
  value = throughReshapes(value);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return options.audit.inputs[argument.getArgNumber()];
  if (auto constant = value.getDefiningOp<ait::ConstantOp>())
    return constants[constant.getIndex()].view;
  return call.views.lookup(value);
}

absl::Status Audit::runModel(const Values &values) {
  AITUNE_ASSIGN_OR_RETURN(ExecutablePlan plan, planThatReturns(values));
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  const bool hasRegions = llvm::any_of(
      plan.steps(), [](const Step &step) { return step.has_fallback(); });
  if (hasRegions && !options.audit.makeRegions)
    return absl::UnimplementedError(
        "LibTorch runs a part of the model that is not at hand here");
  if (hasRegions) {
    AITUNE_ASSIGN_OR_RETURN(regions, options.audit.makeRegions(module));
  }
  calls = std::vector<Kept>(kCalls);
  std::vector<std::vector<TensorView>> outputs;
  for (Kept &call : calls) {
    std::vector<TensorView> &views = outputs.emplace_back();
    call.memory.reserve(values.size());
    for (Value value : values) {
      HostTensor &tensor = call.memory.emplace_back(shapeOf(value));
      tensor.fill(kUnwritten);
      views.push_back(tensor.view());
      call.views[value] = tensor.view();
    }
  }
  ModelCalls model;
  model.plan = std::move(plan);
  model.objects = objects;
  model.regions = std::move(regions);
  model.inputs = options.audit.inputs;
  model.outputs = outputs;
  return target.runModel(std::move(model), constants);
}

void Audit::judge(ait::LaunchOp launch) {
  const std::string name = launch.getKernel().str();
  auto found = chosen.best.find(name);
  auto kernel = module.lookupSymbol<func::FuncOp>(name);
  if (found == chosen.best.end() || !kernel || guilty.count(name))
    return;
  ReferenceOptions reference;
  reference.tf32Matmul = options.tf32Matmul;
  reference.tf32Convolution =
      options.tf32Convolution && !target.device().empty();
  for (int call = 0; call < kCalls; ++call) {
    std::vector<TensorView> arguments, results;
    for (Value input : launch.getInputs())
      arguments.push_back(viewOf(input, calls[call]));
    for (Value result : launch.getResults())
      results.push_back(viewOf(result, calls[call]));
    auto right = computeReference(kernel, arguments, symbols, reference);
    if (!right.ok())
      return;
    const std::string difference = compareWithReference(*right, results);
    if (difference.empty())
      continue;
    guilty.insert(name);
    wrong.push_back({name, labelOf(found->second),
                     absl::StrCat(difference, ", in the model",
                                  call > 0 ? ", in a second run" : ""),
                     "", ""});
    return;
  }
}

absl::StatusOr<std::vector<WrongCandidate>> Audit::run() {
  if (!main)
    return absl::InvalidArgumentError("the module has no function @main");
  AITUNE_RETURN_IF_ERROR(readSymbols());
  SmallVector<ait::LaunchOp> launches(main.getOps<ait::LaunchOp>());
  for (size_t first = 0; first < launches.size();) {
    Values values;
    int64_t bytes = 0;
    size_t last = first;
    while (last < launches.size() && (last == first || bytes < kMostBytes)) {
      addOperands(launches[last++], values);
      bytes = 0;
      for (Value value : values)
        bytes += BytesOf(shapeOf(value));
    }
    AITUNE_RETURN_IF_ERROR(runModel(values));
    for (; first < last; ++first)
      judge(launches[first]);
  }
  return std::move(wrong);
}

} // namespace

absl::StatusOr<std::vector<WrongCandidate>> auditModel(
    ModuleOp module, const ChosenKernels &chosen,
    const std::vector<KernelObject> &objects, const CompilationTarget &target,
    absl::Span<const ConstantTensor> constants, const CompileOptions &options) {
  return Audit(module, chosen, objects, target, constants, options).run();
}

} // namespace aitune
