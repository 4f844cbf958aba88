#include "compiler/plan/PlanBuilder.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/dialect/SizeExpressions.h"
#include "compiler/dialect/SlicedMemory.h"
#include "compiler/fusion/KernelFunction.h"
#include "runtime/plan/plan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace aitune {
namespace {

class PlanBuilder {
public:
  PlanBuilder(func::FuncOp main, ArrayAttr symbols,
              const llvm::StringMap<KernelImplementation> &implementations)
      : main(main), symbols(symbols), implementations(implementations) {}

  absl::StatusOr<ExecutablePlan> build();

private:
  int addValue(ValueProto value, bool constant);
  int constantValue(ait::ConstantOp op, const PackingProto &packing);
  absl::Status addLaunch(ait::LaunchOp launch);
  void addFallback(ait::FallbackOp fallback);
  void addOutputs(func::ReturnOp returned);
  int lookUp(Value value, const PackingProto &packing);

  func::FuncOp main;
  ArrayAttr symbols;
  const llvm::StringMap<KernelImplementation> &implementations;
  ExecutablePlan plan;
  DenseMap<Value, int> values;
  std::map<std::pair<int64_t, std::string>, int> constants;
  /// For each plan value: whether it depends on constants only.
  std::vector<bool> isConstant;
  llvm::StringMap<int> launches;
  int regions = 0;
  int groups = 0; ///< the number of groups of alternatives
};

bool usesSymbols(func::FuncOp kernel) {
  return kernel
      .walk([](Operation *op) {
        const bool isDynamic =
            llvm::any_of(op->getResultTypes(), [](Type type) {
              auto tensor = dyn_cast<RankedTensorType>(type);
              return tensor && !tensor.hasStaticShape();
            });
        // Such as the size that an index is checked against.
        const bool hasDynamicSize =
            llvm::any_of(op->getAttrs(), [](NamedAttribute attribute) {
              auto map = dyn_cast<AffineMapAttr>(attribute.getValue());
              return map && map.getValue().getNumSymbols() > 0;
            });
        return isDynamic || hasDynamicSize || isa<ait::SymbolOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

int PlanBuilder::addValue(ValueProto value, bool constant) {
  *plan.add_values() = std::move(value);
  isConstant.push_back(constant);
  return plan.values_size() - 1;
}

int PlanBuilder::constantValue(ait::ConstantOp op,
                               const PackingProto &packing) {
  auto [it, inserted] = constants.try_emplace(
      {static_cast<int64_t>(op.getIndex()), packing.SerializeAsString()}, 0);
  if (inserted) {
    ValueProto value;
    value.set_storage(ValueProto::CONSTANT);
    value.set_index(op.getIndex());
    *value.mutable_type() = toProto(cast<RankedTensorType>(op.getType()));
    if (packing.kind() != PackingProto::NONE)
      *value.mutable_packing() = packing;
    it->second = addValue(std::move(value), /*constant=*/true);
  }
  return it->second;
}

int PlanBuilder::lookUp(Value value, const PackingProto &packing) {
  if (auto constant = value.getDefiningOp<ait::ConstantOp>())
    return constantValue(constant, packing);
  Operation *view = value.getDefiningOp();
  if (isa_and_nonnull<ait::ReshapeOp, ait::SliceOp>(view) &&
      !values.contains(value)) {
    ValueProto alias;
    alias.set_storage(ValueProto::ALIAS);
    alias.set_index(lookUp(view->getOperand(0), PackingProto()));
    *alias.mutable_type() = toProto(cast<RankedTensorType>(value.getType()));
    if (auto slice = dyn_cast<ait::SliceOp>(view))
      *alias.mutable_offset() =
          ToProto(ait::toSizeExpression(*ait::findOffsetInMemory(slice)));
    const bool constant = isConstant[alias.index()];
    values[value] = addValue(std::move(alias), constant);
  }
  return values.lookup(value);
}

absl::Status PlanBuilder::addLaunch(ait::LaunchOp launch) {
  auto it = implementations.find(launch.getKernel());
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      launch, launch.getKernelAttr());
  if (it == implementations.end() || !kernel)
    return absl::InternalError(absl::StrCat("kernel ", launch.getKernel().str(),
                                            " has no implementation"));
  const KernelImplementation &implementation = it->second;

  // Operands by the implementation's numbering; inputs are looked up when a
  // step reads them, for only then is their packing known.
  const int inputCount = launch.getInputs().size();
  std::vector<int> operands(inputCount, -1);
  // For each operand, whether it is known at load. Only kernels without dynamic
  // sizes can run at load, because the sizes of an initialization are fixed.
  const bool isStatic = !usesSymbols(kernel);
  std::vector<bool> known;
  for (Value input : launch.getInputs())
    known.push_back(input.getDefiningOp<ait::ConstantOp>() ||
                    isConstant[lookUp(input, PackingProto())]);
  const bool constant =
      isStatic && llvm::all_of(known, [](bool is) { return is; });
  known.resize(inputCount + launch.getNumResults(), constant);
  const int firstTemporary = static_cast<int>(known.size());
  known.resize(known.size() + implementation.temporaries.size(), constant);
  // A step may prepare a temporary of constants alone for the others.
  std::vector<bool> isAtLoad;
  for (const ImplementationStep &step : implementation.steps) {
    isAtLoad.push_back(
        constant ||
        (isStatic &&
         llvm::all_of(step.inputs, [&](int input) { return known[input]; }) &&
         llvm::all_of(step.outputs,
                      [&](int output) { return output >= firstTemporary; })));
    for (int output : step.outputs)
      if (isAtLoad.back())
        known[output] = true;
  }
  // Those that count as the kernel, one of each alternative: what comes before
  // only prepares.
  std::set<int> mains;
  auto isMain = [&](size_t step) {
    return constant ? step == 0
                    : !isAtLoad[step] && mains
                                             .insert(implementation.steps[step]
                                                         .call.alternative()
                                                         .number())
                                             .second;
  };
  const bool hasAlternatives =
      llvm::any_of(implementation.steps, [](const ImplementationStep &step) {
        return step.call.has_alternative();
      });
  const int group = hasAlternatives ? ++groups : 0;
  auto addArena = [&](TensorTypeProto type) {
    const bool isKnown = known[operands.size()];
    ValueProto value;
    value.set_storage(ValueProto::ARENA);
    *value.mutable_type() = std::move(type);
    value.set_persistent(isKnown);
    operands.push_back(addValue(std::move(value), isKnown));
    return operands.back();
  };
  for (Value result : launch.getResults())
    values[result] =
        addArena(toProto(cast<RankedTensorType>(result.getType())));
  for (const TensorTypeProto &type : implementation.temporaries)
    addArena(type);

  const int number = launches[launch.getKernel()]++;
  for (auto [index, step] : llvm::enumerate(implementation.steps)) {
    Step &call =
        isAtLoad[index] ? *plan.add_initialization() : *plan.add_steps();
    call = step.call;
    call.set_name(absl::StrCat(launch.getKernel().str(),
                               index ? absl::StrCat(".", index) : "", "#",
                               number));
    for (auto [position, operand] : llvm::enumerate(step.inputs)) {
      PackingProto packing = position < step.packings.size()
                                 ? step.packings[position]
                                 : PackingProto();
      call.add_inputs(operand < inputCount
                          ? lookUp(launch.getInputs()[operand], packing)
                          : operands[operand]);
    }
    for (int operand : step.outputs)
      call.add_outputs(operands[operand]);
    if (isAtLoad[index])
      call.clear_alternative();
    if (call.has_alternative())
      call.mutable_alternative()->set_group(group);
    if (isMain(index))
      *call.mutable_flops() =
          ToProto(ait::toSizeExpression(countFlops(kernel)));
    call.set_location(describeSource(launch.getLoc()));
    call.set_scope(describeScope(launch.getLoc()));
    if (ArrayAttr sources = launch.getCheckLocationsAttr())
      for (CheckProto &check : *call.mutable_checks())
        if (check.number() < static_cast<int>(sources.size()))
          check.set_location(cast<StringAttr>(sources[check.number()]).str());
    if (call.kind().empty())
      call.set_kind(
          ait::stringifyKernelKind(*ait::getKernelKind(kernel)).str());
    if (call.implementation().empty())
      call.set_implementation(implementation.name);
  }
  return absl::OkStatus();
}

void PlanBuilder::addFallback(ait::FallbackOp fallback) {
  Step step;
  step.set_name(absl::StrCat("fallback#", regions));
  step.set_kind("fallback");
  step.set_implementation("libtorch");
  step.set_location(describeSource(fallback.getLoc()));
  step.set_scope(describeScope(fallback.getLoc()));
  for (Value input : fallback.getInputs())
    step.add_inputs(lookUp(input, PackingProto()));
  for (Value result : fallback.getResults()) {
    ValueProto value;
    // What nothing reads needs no memory, and may have other sizes each time:
    // some of LibTorch's kernels for a GPU give other sizes than for a CPU.
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (type && !result.use_empty()) {
      value.set_storage(ValueProto::ARENA);
      *value.mutable_type() = toProto(type);
    } else {
      value.set_storage(ValueProto::OPAQUE);
    }
    values[result] = addValue(std::move(value), /*constant=*/false);
    step.add_outputs(values[result]);
  }
  FallbackCall &call = *step.mutable_fallback();
  call.set_region(regions++);
  auto join = [](ArrayAttr texts) {
    std::string joined;
    llvm::StringSet<> seen;
    for (auto text : texts.getAsRange<StringAttr>())
      if (seen.insert(text.getValue()).second)
        absl::StrAppend(&joined, joined.empty() ? "" : ", ", text.str());
    return joined;
  };
  call.set_operator_(join(fallback.getOperators()));
  call.set_reason(join(fallback.getReasons()));
  *plan.add_steps() = std::move(step);
}

void PlanBuilder::addOutputs(func::ReturnOp returned) {
  for (auto [index, result] : llvm::enumerate(returned.getOperands())) {
    const int id = lookUp(result, PackingProto());
    TensorTypeProto &type = *plan.add_outputs();
    if (auto tensor = dyn_cast<RankedTensorType>(result.getType()))
      type = toProto(tensor);
    // A step writes its result directly to the caller's memory. An output that
    // is another view of a value, or that is given twice, is copied at the end.
    if (ValueProto &value = *plan.mutable_values(id);
        value.storage() == ValueProto::ARENA && !value.persistent()) {
      value.set_storage(ValueProto::OUTPUT);
      value.set_index(index);
    }
    plan.add_output_values(id);
  }
}

absl::StatusOr<ExecutablePlan> PlanBuilder::build() {
  for (auto [index, argument] : llvm::enumerate(main.getArguments())) {
    auto type = toProto(cast<RankedTensorType>(argument.getType()));
    *plan.add_inputs() = type;
    ValueProto value;
    value.set_storage(ValueProto::INPUT);
    value.set_index(index);
    *value.mutable_type() = std::move(type);
    values[argument] = addValue(std::move(value), /*constant=*/false);
  }
  if (symbols)
    for (auto symbol : symbols.getAsRange<DictionaryAttr>()) {
      SymbolProto &proto = *plan.add_symbols();
      proto.set_name(symbol.getAs<StringAttr>("name").str());
      proto.set_min(symbol.getAs<IntegerAttr>("min").getInt());
      proto.set_max(symbol.getAs<IntegerAttr>("max").getInt());
      proto.set_input(symbol.getAs<IntegerAttr>("input").getInt());
      proto.set_axis(symbol.getAs<IntegerAttr>("axis").getInt());
      if (auto typical = symbol.getAs<IntegerAttr>("typical"))
        proto.set_typical(typical.getInt());
    }
  for (Operation &op : main.getBody().front()) {
    absl::Status status =
        llvm::TypeSwitch<Operation *, absl::Status>(&op)
            .Case<ait::ConstantOp, ait::ReshapeOp>(
                [](auto) { return absl::OkStatus(); })
            .Case([](ait::SliceOp slice) {
              return ait::findOffsetInMemory(slice)
                         ? absl::OkStatus()
                         : absl::InternalError(
                               "a slice outside of kernels is no run of "
                               "memory");
            })
            .Case([&](ait::LaunchOp launch) { return addLaunch(launch); })
            .Case([&](ait::FallbackOp fallback) {
              addFallback(fallback);
              return absl::OkStatus();
            })
            .Case([&](func::ReturnOp returned) {
              addOutputs(returned);
              return absl::OkStatus();
            })
            .Default([&](Operation *other) {
              return absl::InternalError(
                  absl::StrCat(other->getName().getStringRef().str(),
                               " is in no kernel after fusion"));
            });
    if (!status.ok())
      return status;
  }
  return std::move(plan);
}

} // namespace

TensorTypeProto toProto(RankedTensorType type) {
  TensorTypeProto proto;
  proto.set_dtype(
      static_cast<int32_t>(*ait::toDataType(type.getElementType())));
  for (AffineExpr size : ait::getSymbolicSizes(type))
    *proto.add_sizes() = ToProto(ait::toSizeExpression(size));
  return proto;
}

static PackingProto::Kind toProto(ait::PackedLayout layout) {
  switch (layout) {
  case ait::PackedLayout::MatmulPanels:
    return PackingProto::MATMUL_PANELS;
  case ait::PackedLayout::ConvolutionPanels:
    return PackingProto::CONVOLUTION_PANELS;
  case ait::PackedLayout::Depthwise:
    return PackingProto::DEPTHWISE;
  case ait::PackedLayout::Winograd2x2:
    return PackingProto::WINOGRAD_2X2;
  case ait::PackedLayout::Winograd4x4:
    return PackingProto::WINOGRAD_4X4;
  }
  llvm_unreachable("all layouts are listed");
}

PackingProto toProto(ait::PackingAttr packing) {
  PackingProto proto;
  proto.set_kind(toProto(packing.getLayout()));
  proto.set_block_n(packing.getBlockColumns());
  proto.set_transposed(packing.getTransposed());
  proto.set_steps_together(packing.getStepsTogether());
  return proto;
}

AffineExpr countFlops(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  auto contractions = body.getOps<ait::Contraction>();
  if (!contractions.empty())
    return (*contractions.begin()).countFlops();
  AffineExpr total = getAffineConstantExpr(0, kernel.getContext());
  for (Operation &op : body) {
    if (!ait::isReduction(&op) && !ait::isPointwise(&op))
      continue;
    Value computed = ait::isReduction(&op) ? op.getOperand(0) : op.getResult(0);
    total = total +
            ait::getElementCount(cast<RankedTensorType>(computed.getType()));
  }
  return total;
}

llvm::DenseSet<Value> findKnownAtLoad(func::FuncOp main) {
  llvm::DenseSet<Value> known;
  SymbolTable kernels(main->getParentOfType<ModuleOp>());
  main.walk([&](Operation *op) {
    bool isKnown = isa<ait::ConstantOp>(op);
    if (auto launch = dyn_cast<ait::LaunchOp>(op)) {
      auto kernel = kernels.lookup<func::FuncOp>(launch.getKernel());
      isKnown = kernel && !usesSymbols(kernel);
    }
    if ((isKnown || isa<ait::ReshapeOp>(op)) &&
        llvm::all_of(op->getOperands(),
                     [&](Value input) { return known.contains(input); }))
      known.insert(op->result_begin(), op->result_end());
  });
  return known;
}

absl::StatusOr<ExecutablePlan>
buildPlan(func::FuncOp main, ArrayAttr symbols,
          const llvm::StringMap<KernelImplementation> &implementations) {
  return PlanBuilder(main, symbols, implementations).build();
}

void readSymbolsFromInputs(ExecutablePlan &plan) {
  for (int s = 0; s < plan.symbols_size(); ++s) {
    const SizeExpressionProto wanted = ToProto(SizeExpression::Symbol(s));
    SymbolProto &symbol = *plan.mutable_symbols(s);
    symbol.set_input(-1);
    for (int i = 0; i < plan.inputs_size() && symbol.input() < 0; ++i)
      for (int axis = 0; axis < plan.inputs(i).sizes_size(); ++axis)
        if (plan.inputs(i).sizes(axis).SerializeAsString() ==
            wanted.SerializeAsString()) {
          symbol.set_input(i);
          symbol.set_axis(axis);
          break;
        }
    if (symbol.input() >= 0)
      continue;
    symbol.set_input(plan.inputs_size());
    symbol.set_axis(0);
    TensorTypeProto &input = *plan.add_inputs();
    input.set_dtype(static_cast<int>(DataType::kBool));
    *input.add_sizes() = wanted;
  }
}

} // namespace aitune
