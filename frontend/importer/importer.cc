#include "frontend/importer/importer.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/dialect/SizeExpressions.h"
#include "frontend/importer/import_state.h"
#include "frontend/importer/op_importer.h"
#include "frontend/importer/registry.h"
#include "frontend/trace/libtorch_operands.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;

absl::Status Malformed(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the trace contradicts itself: ", what));
}

std::string OpName(const TraceOp& op) {
  return op.overload.empty() ? op.name
                             : absl::StrCat(op.name, ".", op.overload);
}

// Checks all that the importer relies on without looking again.
class TraceChecker {
 public:
  explicit TraceChecker(const Trace& trace)
      : trace_(trace), defined_(trace.values.size()) {}

  absl::Status Check() {
    for (const TraceSymbol& symbol : trace_.symbols) {
      if (symbol.min < 0 || symbol.max < symbol.min) {
        return Malformed(absl::StrCat("symbol ", symbol.name, " ranges from ",
                                      symbol.min, " to ", symbol.max));
      }
      ranges_.emplace_back(symbol.min, symbol.max);
    }
    for (size_t id = 0; id < trace_.values.size(); ++id)
      AITUNE_RETURN_IF_ERROR(CheckValue(id));
    for (ValueId id : trace_.inputs) {
      AITUNE_RETURN_IF_ERROR(CheckId(id, "the inputs"));
      if (trace_.values[id].kind != TraceValue::Kind::kTensor) {
        return Malformed(absl::StrCat("input value ", id, " is no tensor"));
      }
      AITUNE_RETURN_IF_ERROR(Define(id));
    }
    for (size_t i = 0; i < trace_.ops.size(); ++i)
      AITUNE_RETURN_IF_ERROR(CheckOp(i));
    for (ValueId id : trace_.outputs) {
      AITUNE_RETURN_IF_ERROR(CheckId(id, "the outputs"));
      if (!IsAvailable(id))
        return Malformed(
            absl::StrCat("output value ", id, " is never produced"));
    }
    return absl::OkStatus();
  }

 private:
  bool IsAvailable(ValueId id) const {
    return defined_[id] ||
           trace_.values[id].kind == TraceValue::Kind::kConstant;
  }

  absl::Status CheckId(ValueId id, const std::string& where) {
    if (id >= 0 && id < static_cast<ValueId>(trace_.values.size()))
      return absl::OkStatus();
    return Malformed(
        absl::StrCat("value ", id, " of ", where, " doesn't exist"));
  }

  absl::Status Define(ValueId id) {
    if (IsAvailable(id))
      return Malformed(absl::StrCat("value ", id, " is produced twice"));
    defined_[id] = true;
    return absl::OkStatus();
  }

  absl::Status CheckSize(const SizeExpression& size, const std::string& where) {
    switch (size.kind()) {
      case SizeExpression::Kind::kConstant:
        return absl::OkStatus();
      case SizeExpression::Kind::kSymbol:
        if (size.symbol() < static_cast<int>(ranges_.size()))
          return absl::OkStatus();
        return Malformed(absl::StrCat("symbol s", size.symbol(), " of ", where,
                                      " doesn't exist"));
      default:
        AITUNE_RETURN_IF_ERROR(CheckSize(size.lhs(), where));
        return CheckSize(size.rhs(), where);
    }
  }

  absl::Status CheckValue(size_t id) {
    const TraceValue& value = trace_.values[id];
    const std::string where = absl::StrCat("value ", id);
    if (value.kind == TraceValue::Kind::kOpaque) return absl::OkStatus();
    for (const SizeExpression& size : value.type.sizes) {
      AITUNE_RETURN_IF_ERROR(CheckSize(size, where));
      const std::optional<int64_t> constant = size.constant();
      if (constant && *constant < 0)
        return Malformed(absl::StrCat(where, " has a negative size"));
      if (!constant && value.kind == TraceValue::Kind::kConstant) {
        return Malformed(
            absl::StrCat(where, " is a constant of unknown sizes"));
      }
    }
    if (value.kind != TraceValue::Kind::kConstant) return absl::OkStatus();
    if (value.constant < 0 ||
        value.constant >= static_cast<int32_t>(trace_.constants.size())) {
      return Malformed(absl::StrCat(where, " refers to constant ",
                                    value.constant, ", which doesn't exist"));
    }
    const TensorView& view = trace_.constants[value.constant].view;
    bool same = view.dtype == value.type.dtype &&
                view.sizes.size() == value.type.sizes.size();
    for (size_t i = 0; same && i < view.sizes.size(); ++i)
      same = value.type.sizes[i].constant() == view.sizes[i];
    return same ? absl::OkStatus()
                : Malformed(
                      absl::StrCat(where, " and its constant differ in type"));
  }

  absl::Status CheckOp(size_t index) {
    const TraceOp& op = trace_.ops[index];
    const std::string where =
        absl::StrCat("call ", index, " (", OpName(op), ")");
    if (op.argument_names.size() != op.arguments.size()) {
      return Malformed(absl::StrCat(where, " has ", op.arguments.size(),
                                    " arguments and ", op.argument_names.size(),
                                    " names"));
    }
    for (const Argument& argument : op.arguments) {
      absl::Status status;
      ForEachValue(argument, [&](ValueId id) {
        if (!status.ok()) return;
        status = CheckId(id, where);
        if (status.ok() && !IsAvailable(id)) {
          status = Malformed(absl::StrCat(where, " reads value ", id,
                                          " before it is produced"));
        }
      });
      AITUNE_RETURN_IF_ERROR(status);
      if (const auto* size = std::get_if<SizeExpression>(&argument))
        AITUNE_RETURN_IF_ERROR(CheckSize(*size, where));
      if (const auto* sizes =
              std::get_if<std::vector<SizeExpression>>(&argument)) {
        for (const SizeExpression& size : *sizes)
          AITUNE_RETURN_IF_ERROR(CheckSize(size, where));
      }
    }
    for (ValueId id : op.results) {
      if (id == -1) continue;  // Left undefined by the call.
      AITUNE_RETURN_IF_ERROR(CheckId(id, where));
      AITUNE_RETURN_IF_ERROR(Define(id));
    }
    return absl::OkStatus();
  }

  const Trace& trace_;
  std::vector<bool> defined_;
  std::vector<std::pair<int64_t, int64_t>> ranges_;
};

mlir::Location MakeLocation(const TraceOp& op, int index,
                            mlir::MLIRContext* context) {
  // "model.py:12" or "model.py:12:3"; anything else is kept as a file name.
  std::string file = op.location;
  unsigned numbers[2] = {0, 0};
  int count = 0;
  for (; count < 2; ++count) {
    const size_t colon = file.rfind(':');
    uint32_t number = 0;
    if (colon == std::string::npos ||
        !absl::SimpleAtoi(file.substr(colon + 1), &number))
      break;
    numbers[1] = numbers[0];
    numbers[0] = number;
    file.resize(colon);
  }
  mlir::Location source = mlir::UnknownLoc::get(context);
  if (!file.empty())
    source = mlir::FileLineColLoc::get(context, file, numbers[0], numbers[1]);
  const std::string name =
      op.scope.empty() ? op.name : absl::StrCat(op.scope, "/", op.name);
  mlir::Location named =
      mlir::NameLoc::get(mlir::StringAttr::get(context, name), source);
  return mlir::FusedLoc::get(
      {named},
      mlir::IntegerAttr::get(mlir::IntegerType::get(context, 64), index),
      context);
}

class ModuleImporter {
 public:
  ModuleImporter(const Trace& trace, mlir::MLIRContext& context,
                 ImportReport& report, const ImportOptions& options)
      : trace_(trace),
        context_(context),
        report_(report),
        options_(options),
        makers_(trace.values.size(), -1),
        uses_(trace.values.size()) {
    for (size_t i = 0; i < trace.ops.size(); ++i) {
      for (const ValueId id : trace.ops[i].results) {
        if (id >= 0) makers_[id] = static_cast<int>(i);
      }
      for (const Argument& argument : trace.ops[i].arguments)
        ForEachValue(argument, [&](ValueId id) { ++uses_[id]; });
    }
    for (const ValueId id : trace.outputs) {
      if (id >= 0) ++uses_[id];
    }
  }

  absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> Import() {
    mlir::Location location =
        mlir::NameLoc::get(mlir::StringAttr::get(&context_, "trace"));
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(location);
    mlir::ait::setModuleSymbols(*module, MakeSymbols());
    auto builder = mlir::OpBuilder::atBlockEnd(module->getBody());
    // The type is set at the end, when the values of the outputs are known.
    auto main = mlir::func::FuncOp::create(builder, location, "main",
                                           builder.getFunctionType({}, {}));
    mlir::Block* block = main.addEntryBlock();
    ImportState state(trace_, *block, options_.is_for_gpu);
    for (ValueId id : trace_.inputs)
      state.SetValue(id, block->addArgument(state.Type(id), location));
    for (size_t i = 0; i < trace_.ops.size(); ++i) ImportOp(state, *block, i);
    llvm::SmallVector<mlir::Value> outputs;
    for (ValueId id : trace_.outputs) outputs.push_back(state.Value(id));
    mlir::func::ReturnOp::create(state.builder(), location, outputs);
    main.setType(builder.getFunctionType(block->getArgumentTypes(),
                                         mlir::ValueRange(outputs).getTypes()));
    state.EraseUnusedConstants();
    return module;
  }

 private:
  mlir::ArrayAttr MakeSymbols() {
    mlir::Builder builder(&context_);
    llvm::SmallVector<mlir::Attribute> symbols;
    for (const TraceSymbol& symbol : trace_.symbols) {
      llvm::SmallVector<mlir::NamedAttribute> attributes = {
          builder.getNamedAttr("name", builder.getStringAttr(symbol.name)),
          builder.getNamedAttr("min", builder.getI64IntegerAttr(symbol.min)),
          builder.getNamedAttr("max", builder.getI64IntegerAttr(symbol.max)),
          builder.getNamedAttr("input",
                               builder.getI64IntegerAttr(symbol.input)),
          builder.getNamedAttr("axis", builder.getI64IntegerAttr(symbol.axis)),
      };
      if (symbol.typical > 0 && symbol.typical < symbol.max)
        attributes.push_back(builder.getNamedAttr(
            "typical", builder.getI64IntegerAttr(symbol.typical)));
      symbols.push_back(builder.getDictionaryAttr(attributes));
    }
    return builder.getArrayAttr(symbols);
  }

  void ImportOp(ImportState& state, mlir::Block& block, int index) {
    const TraceOp& op = trace_.ops[index];
    mlir::Location location = MakeLocation(op, index, &context_);
    mlir::Operation* last = block.empty() ? nullptr : &block.back();
    const absl::Status status = TryBuild(state, block, last, index, location);
    if (status.ok()) {
      ++report_.imported;
      return;
    }
    // Erase backwards, so that users go before their operands. Constants stay:
    // they are before `last` or at the block's start, and other calls may use
    // them.
    for (mlir::Operation& made :
         llvm::make_early_inc_range(llvm::reverse(block))) {
      if (&made == last) break;
      if (made.getLoc() == location) made.erase();
    }
    const std::string reason(status.message());
    BuildFallback(state, index, location, reason);
    report_.fallbacks.push_back(
        {index, OpName(op), op.location, op.scope, reason});
  }

  absl::Status TryBuild(ImportState& state, mlir::Block& block,
                        mlir::Operation* last, int index,
                        mlir::Location location) {
    const TraceOp& op = trace_.ops[index];
    if (auto wanted = options_.libtorch_ops.find(index);
        wanted != options_.libtorch_ops.end()) {
      return Reject(wanted->second);
    }
    if (!op.must_fall_back.empty()) return Reject(op.must_fall_back);
    if (trace_.libtorch_only) return Reject("nothing is to be compiled");
    if (op.results.empty()) return Reject("the call has no results");
    for (ValueId id : op.results) {
      if (id < 0) continue;
      const TraceValue& value = trace_.values[id];
      if (value.kind == TraceValue::Kind::kOpaque && state.IsUsed(id)) {
        return Reject(
            absl::StrCat("a result is a value only LibTorch understands: ",
                         value.why_opaque));
      }
    }
    const Builder* build = Registry::Get().Find(op.name);
    if (!build)
      return Reject(absl::StrCat("the importer has no builder for ", op.name));
    OpImporter call(state, op, location);
    AITUNE_RETURN_IF_ERROR((*build)(call));
    AITUNE_RETURN_IF_ERROR(call.status());
    for (ValueId id : op.results) {
      if (id >= 0 && state.IsUsed(id) && !state.Value(id))
        return Reject("the importer's builder left a result without a value");
    }
    return VerifyNewOps(block, last);
  }

  // A builder that made something the dialect forbids is rejected here, where
  // LibTorch can still take over, not by a verifier after the import.
  absl::Status VerifyNewOps(mlir::Block& block, mlir::Operation* last) {
    std::string text;
    mlir::ScopedDiagnosticHandler handler(&context_,
                                          [&](mlir::Diagnostic& diagnostic) {
                                            if (text.empty())
                                              text = diagnostic.str();
                                            return mlir::success();
                                          });
    for (auto made = last ? std::next(last->getIterator()) : block.begin();
         made != block.end(); ++made) {
      if (mlir::failed(mlir::verify(&*made)))
        return Reject(
            absl::StrCat("the importer made an invalid operation: ", text));
    }
    return absl::OkStatus();
  }

  void BuildFallback(ImportState& state, int index, mlir::Location location,
                     const std::string& reason) {
    const TraceOp& op = trace_.ops[index];
    const llvm::SmallVector<int64_t> indices = WithOwnOperands(index);
    llvm::SmallVector<mlir::Value> operands;
    llvm::SmallVector<int64_t> input_ids, output_ids;
    std::set<ValueId> made;
    for (const int64_t call : indices) {
      for (const Argument& argument : trace_.ops[call].arguments) {
        ForEachValue(argument, [&](ValueId id) {
          if (trace_.values[id].kind == TraceValue::Kind::kConstant ||
              made.count(id) > 0 || llvm::is_contained(input_ids, id))
            return;
          input_ids.push_back(id);
          operands.push_back(state.Value(id));
        });
      }
      made.insert(trace_.ops[call].results.begin(),
                  trace_.ops[call].results.end());
    }
    // Results that nobody reads are not checked: on a GPU LibTorch may give
    // others than on the CPU, where the trace was made (embedding_bag does).
    const bool is_read = llvm::any_of(
        op.results, [&](ValueId id) { return id >= 0 && state.IsUsed(id); });
    llvm::SmallVector<mlir::Type> types;
    for (ValueId id : op.results) {
      if (id < 0 || (is_read && !state.IsUsed(id))) continue;
      output_ids.push_back(id);
      types.push_back(state.Type(id));
    }
    mlir::OpBuilder& builder = state.builder();
    std::vector<std::string> names;
    for (const int64_t call : indices)
      names.push_back(OpName(trace_.ops[call]));
    const llvm::SmallVector<llvm::StringRef> name_refs(names.begin(),
                                                       names.end());
    const llvm::SmallVector<llvm::StringRef> reasons(indices.size(), reason);
    auto fallback = ait::FallbackOp::create(
        builder, location, types, operands, indices,
        builder.getStrArrayAttr(name_refs), builder.getStrArrayAttr(reasons),
        input_ids, output_ids);
    for (size_t i = 0; i < output_ids.size(); ++i) {
      state.SetValue(static_cast<ValueId>(output_ids[i]),
                     fallback.getResult(i));
    }
  }

  // Call `index` behind those that LibTorch makes operands of it with, as they
  // are no tensors in memory then.
  llvm::SmallVector<int64_t> WithOwnOperands(int index) const {
    const TraceOp& op = trace_.ops[index];
    std::set<ValueId> read;
    for (const Argument& argument : op.arguments)
      ForEachValue(argument, [&](ValueId id) { read.insert(id); });
    std::set<int64_t> calls;
    for (const ValueId id : read) {
      const int maker = makers_[id];
      if (maker < 0) continue;
      const TraceOp& made = trace_.ops[maker];
      // What LibTorch runs anyway is merged with this one.
      if (!made.must_fall_back.empty()) continue;
      const bool is_first = std::holds_alternative<ValueId>(op.arguments[0]) &&
                            std::get<ValueId>(op.arguments[0]) == id;
      // On a GPU LibTorch's operator writes to the plan's memory, and copies.
      const bool is_filled = !options_.is_for_gpu && FillsTensor(made.name) &&
                             is_first && WritesSomeElements(op.name) &&
                             uses_[id] == 1;
      // A tensor that only gives its sizes need not be in memory.
      bool is_there = true;
      for (size_t i = is_filled ? 0 : 1; i < made.arguments.size(); ++i) {
        ForEachValue(made.arguments[i], [&](ValueId other) {
          is_there &= read.count(other) > 0 ||
                      llvm::is_contained(trace_.inputs, other) ||
                      trace_.values[other].kind == TraceValue::Kind::kConstant;
        });
      }
      if ((is_filled || RepeatsElements(made.name)) && is_there)
        calls.insert(maker);
    }
    llvm::SmallVector<int64_t> indices(calls.begin(), calls.end());
    indices.push_back(index);
    return indices;
  }

  const Trace& trace_;
  mlir::MLIRContext& context_;
  ImportReport& report_;
  const ImportOptions& options_;
  // By the values' numbers: the call that makes it, or -1, and how many times
  // calls and the outputs name it.
  std::vector<int> makers_, uses_;
};

}  // namespace

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> ImportTrace(
    const Trace& trace, mlir::MLIRContext& context, ImportReport* report,
    const ImportOptions& options) {
  AITUNE_RETURN_IF_ERROR(TraceChecker(trace).Check());
  context.loadDialect<ait::AitDialect, mlir::func::FuncDialect>();
  ImportReport unread;
  return ModuleImporter(trace, context, report ? *report : unread, options)
      .Import();
}

std::vector<int64_t> TraceOpsOfLocation(mlir::Location location) {
  std::set<int64_t> ops;
  location->walk([&](mlir::Location inner) {
    if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(inner)) {
      if (auto index =
              mlir::dyn_cast_or_null<mlir::IntegerAttr>(fused.getMetadata()))
        ops.insert(index.getInt());
    }
    return mlir::WalkResult::advance();
  });
  return {ops.begin(), ops.end()};
}

std::vector<std::string> SupportedOperators() {
  std::vector<std::string> names;
  for (const auto& [name, builder] : Registry::Get().builders())
    names.push_back(name);
  return names;
}

}  // namespace aitune::frontend
