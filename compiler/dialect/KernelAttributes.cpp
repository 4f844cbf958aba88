#include "compiler/dialect/KernelAttributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <string>

using namespace mlir;
using namespace mlir::ait;

#include "compiler/dialect/AitEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/AitAttributes.cpp.inc"

void AitDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialect/AitAttributes.cpp.inc"
      >();
}

namespace {
constexpr StringLiteral kKind = "ait.kind", kContraction = "ait.contraction",
                        kConfig = "ait.config", kChecks = "ait.checks",
                        kGrid = "ait.grid", kGrain = "ait.grain",
                        kPackings = "ait.packings", kConstant = "ait.constant",
                        kInitialized = "ait.initialized",
                        kSymbols = "ait.symbols", kRounds = "ait.rounds";

template <typename AttrT> bool isArrayOf(Attribute attribute) {
  auto array = dyn_cast<ArrayAttr>(attribute);
  return array &&
         llvm::all_of(array, [](Attribute entry) { return isa<AttrT>(entry); });
}

bool isGrid(Attribute attribute) {
  auto map = dyn_cast<AffineMapAttr>(attribute);
  return map && map.getValue().getNumDims() == 0 &&
         map.getValue().getNumResults() == 1;
}

/// All kinds, such as "#ait.kind<loop>, <matmul> or <convolution>".
std::string listKinds() {
  std::string text = "#ait.kind";
  constexpr unsigned kLast = getMaxEnumValForKernelKind();
  for (unsigned kind = 0; kind <= kLast; ++kind)
    text += (Twine(kind == 0       ? "<"
                   : kind == kLast ? " or <"
                                   : ", <") +
             stringifyKernelKind(static_cast<KernelKind>(kind)) + ">")
                .str();
  return text;
}

struct AttributeRule {
  StringLiteral name;
  std::string expected; ///< the right values, as the error says them
  bool (*holds)(Attribute);
};

ArrayRef<AttributeRule> getRules() {
  static const AttributeRule rules[] = {
      {kKind, listKinds(),
       [](Attribute value) { return isa<KernelKindAttr>(value); }},
      {kConfig, "a dictionary",
       [](Attribute value) { return isa<DictionaryAttr>(value); }},
      {kChecks, "an array of dictionaries", isArrayOf<DictionaryAttr>},
      {kContraction, "#ait.contraction",
       [](Attribute value) { return isa<ContractionAttr>(value); }},
      {kGrid, "an affine map of symbols to one number", isGrid},
      {kGrain, "an integer",
       [](Attribute value) { return isa<IntegerAttr>(value); }},
      {kPackings, "an array of #ait.packing", isArrayOf<PackingAttr>},
      {kSymbols, "an array of dictionaries", isArrayOf<DictionaryAttr>},
      {kRounds, "a unit attribute",
       [](Attribute value) { return isa<UnitAttr>(value); }},
  };
  return rules;
}
} // namespace

LogicalResult AitDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  const ArrayRef<AttributeRule> rules = getRules();
  const AttributeRule *rule = llvm::find_if(rules, [&](const auto &known) {
    return known.name == attribute.getName();
  });
  if (rule == rules.end())
    return op->emitOpError("has the attribute '")
           << attribute.getName().getValue()
           << "', which the dialect ait does not know";
  if (!rule->holds(attribute.getValue()))
    return op->emitOpError("needs ") << rule->expected << " as " << rule->name
                                     << ", not " << attribute.getValue();
  return success();
}

LogicalResult AitDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned argument,
                                                   NamedAttribute attribute) {
  if (attribute.getName() != kConstant && attribute.getName() != kInitialized)
    return op->emitOpError("argument ")
           << argument << " has the attribute '"
           << attribute.getName().getValue()
           << "', which the dialect ait does not know";
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError("argument ")
           << argument << " needs a unit attribute as " << attribute.getName()
           << ", not " << attribute.getValue();
  return success();
}

LogicalResult PackingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t argument, PackedLayout layout,
                                  int64_t blockColumns, int64_t stepsTogether,
                                  bool transposed) {
  if (argument < 0)
    return emitError() << "argument " << argument << " does not exist";
  const bool hasPanels = layout != PackedLayout::Depthwise;
  if (hasPanels ? blockColumns < 1 : blockColumns != 0)
    return emitError() << stringifyPackedLayout(layout) << " needs "
                       << (hasPanels ? "at least 1" : "0")
                       << " as block_columns, not " << blockColumns;
  if (stepsTogether < 1)
    return emitError() << "steps_together must be at least 1, not "
                       << stepsTogether;
  if (transposed && layout != PackedLayout::MatmulPanels)
    return emitError() << "only matrices are transposed, not "
                       << stringifyPackedLayout(layout);
  return success();
}

static bool isOfSymbols(AffineMap map) { return map.getNumDims() == 0; }

LogicalResult
OperandViewAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        int64_t argument, Type, AffineMap offset,
                        ArrayRef<AffineMap> axes) {
  if (argument < 0)
    return emitError() << "argument " << argument << " does not exist";
  if (!isOfSymbols(offset) || offset.getNumResults() != 1)
    return emitError() << "offset must be one expression of symbols, not "
                       << AffineMapAttr::get(offset);
  for (AffineMap axis : axes)
    if (!isOfSymbols(axis) || axis.getNumResults() % 2 != 0)
      return emitError()
             << "an axis needs a size and a stride, of symbols, for "
                "each mode, not "
             << AffineMapAttr::get(axis);
  return success();
}

LogicalResult
ContractionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        AffineMap sizes, ArrayAttr operands) {
  if (!isOfSymbols(sizes) || sizes.getNumResults() != 4)
    return emitError() << "sizes must be batch, m, n and k, of symbols, not "
                       << AffineMapAttr::get(sizes);
  for (Attribute operand : operands)
    if (!isa<OperandViewAttr, StringAttr>(operand))
      return emitError() << "operands must be #ait.operand_view or text, not "
                         << operand;
  return success();
}

namespace mlir::ait {

std::optional<KernelKind> getKernelKind(Operation *function) {
  auto kind = function->getAttrOfType<KernelKindAttr>(kKind);
  return kind ? std::optional(kind.getValue()) : std::nullopt;
}

void setKernelKind(Operation *function, KernelKind kind) {
  function->setAttr(kKind, KernelKindAttr::get(function->getContext(), kind));
}

DictionaryAttr getScheduleConfig(Operation *kernel) {
  return kernel->getAttrOfType<DictionaryAttr>(kConfig);
}

void setScheduleConfig(Operation *kernel, DictionaryAttr config) {
  kernel->setAttr(kConfig, config);
}

void removeScheduleConfig(Operation *kernel) { kernel->removeAttr(kConfig); }

std::string printScheduleConfig(DictionaryAttr config) {
  std::string text;
  llvm::raw_string_ostream(text) << config;
  return text;
}

ArrayAttr getKernelChecks(Operation *kernel) {
  return kernel->getAttrOfType<ArrayAttr>(kChecks);
}

void setKernelChecks(Operation *kernel, ArrayAttr checks) {
  kernel->setAttr(kChecks, checks);
}

ContractionAttr getContractionAnalysis(Operation *kernel) {
  return kernel->getAttrOfType<ContractionAttr>(kContraction);
}

void setContractionAnalysis(Operation *kernel, ContractionAttr analysis) {
  kernel->setAttr(kContraction, analysis);
}

std::optional<LaunchShape> getLaunchShape(Operation *kernel) {
  auto grid = kernel->getAttrOfType<AffineMapAttr>(kGrid);
  auto grain = kernel->getAttrOfType<IntegerAttr>(kGrain);
  if (!grid || !grain)
    return std::nullopt;
  return LaunchShape{grid.getValue().getResult(0), grain.getInt()};
}

void setLaunchShape(Operation *kernel, const LaunchShape &shape) {
  unsigned symbols = 0;
  shape.units.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  Builder builder(kernel->getContext());
  kernel->setAttr(kGrid,
                  AffineMapAttr::get(AffineMap::get(0, symbols, shape.units)));
  kernel->setAttr(kGrain, builder.getI64IntegerAttr(shape.grain));
}

SmallVector<PackingAttr> getPackings(Operation *kernel) {
  auto packings = kernel->getAttrOfType<ArrayAttr>(kPackings);
  if (!packings)
    return {};
  return llvm::to_vector(packings.getAsRange<PackingAttr>());
}

void setPackings(Operation *kernel, ArrayRef<PackingAttr> packings) {
  kernel->setAttr(
      kPackings,
      ArrayAttr::get(kernel->getContext(),
                     SmallVector<Attribute>(packings.begin(), packings.end())));
}

KnownAt getKnownAt(FunctionOpInterface kernel, unsigned argument) {
  if (kernel.getArgAttr(argument, kConstant))
    return KnownAt::Load;
  return kernel.getArgAttr(argument, kInitialized) ? KnownAt::Initialization
                                                   : KnownAt::Call;
}

void setKnownAt(FunctionOpInterface kernel, unsigned argument, KnownAt known) {
  auto set = [&](StringLiteral name, bool present) {
    if (present)
      kernel.setArgAttr(argument, name, UnitAttr::get(kernel->getContext()));
    else
      kernel.removeArgAttr(argument, name);
  };
  set(kConstant, known == KnownAt::Load);
  set(kInitialized, known == KnownAt::Initialization);
}

ArrayAttr getModuleSymbols(Operation *module) {
  return module->getAttrOfType<ArrayAttr>(kSymbols);
}

void setModuleSymbols(Operation *module, ArrayAttr symbols) {
  module->setAttr(kSymbols, symbols);
}

bool mustRound(Operation *convert) { return convert->hasAttr(kRounds); }

void setMustRound(Operation *convert) {
  convert->setAttr(kRounds, UnitAttr::get(convert->getContext()));
}

} // namespace mlir::ait
