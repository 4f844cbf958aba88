#include "frontend/importer/trace_maker.h"

#include "absl/strings/str_cat.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace aitune::frontend {

std::vector<SizeExpression> IntList(std::initializer_list<int64_t> values) {
  return {values.begin(), values.end()};
}

ValueId TraceMaker::Input(DataType dtype, std::vector<SizeExpression> sizes) {
  TraceValue value;
  value.type = {dtype, std::move(sizes)};
  trace_.values.push_back(value);
  trace_.inputs.push_back(static_cast<ValueId>(trace_.values.size() - 1));
  return trace_.inputs.back();
}

SizeExpression TraceMaker::Symbol(int64_t min, int64_t max) {
  const int index = static_cast<int>(trace_.symbols.size());
  trace_.symbols.push_back({absl::StrCat("s", index), min, max, 0, index});
  return SizeExpression::Symbol(index);
}

ValueId TraceMaker::AddConstant(DataType dtype,
                                std::vector<SizeExpression> sizes,
                                std::shared_ptr<const void> data) {
  TraceValue value;
  value.kind = TraceValue::Kind::kConstant;
  value.type = {dtype, std::move(sizes)};
  value.constant = static_cast<int32_t>(trace_.constants.size());
  ConstantTensor constant;
  constant.view.dtype = dtype;
  for (const SizeExpression& size : value.type.sizes)
    constant.view.sizes.push_back(*size.constant());
  constant.view.data = const_cast<void*>(data.get());
  constant.owner = std::move(data);
  constant.name = absl::StrCat("constant", value.constant);
  trace_.constants.push_back(std::move(constant));
  trace_.values.push_back(std::move(value));
  return static_cast<ValueId>(trace_.values.size() - 1);
}

ValueId TraceMaker::Weight(DataType dtype, std::vector<SizeExpression> sizes) {
  return AddConstant(dtype, std::move(sizes), nullptr);
}

ValueId TraceMaker::Number(float value) {
  return AddConstant(DataType::kFloat32, {}, std::make_shared<float>(value));
}

ValueId TraceMaker::Number(int64_t value) {
  return AddConstant(DataType::kInt64, {}, std::make_shared<int64_t>(value));
}

std::vector<ValueId> TraceMaker::Call(
    const std::string& name,
    std::vector<std::pair<std::string, Argument>> arguments,
    std::vector<Result> results) {
  TraceOp op;
  const size_t dot = name.find('.');
  op.name = name.substr(0, dot);
  if (dot != std::string::npos) op.overload = name.substr(dot + 1);
  for (auto& [argument_name, argument] : arguments) {
    op.argument_names.push_back(argument_name);
    op.arguments.push_back(std::move(argument));
  }
  for (Result& result : results) {
    TraceValue value;
    value.type = {result.dtype, std::move(result.sizes)};
    trace_.values.push_back(std::move(value));
    op.results.push_back(static_cast<ValueId>(trace_.values.size() - 1));
  }
  op.location = absl::StrCat("model.py:", 10 + trace_.ops.size());
  op.scope = "layer";
  trace_.ops.push_back(op);
  return op.results;
}

void TraceMaker::MakeOpaque(ValueId id, const std::string& why) {
  trace_.values[id].kind = TraceValue::Kind::kOpaque;
  trace_.values[id].why_opaque = why;
}

std::string TraceMaker::Import() {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  report_ = {};
  absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module =
      ImportTrace(trace_, context, &report_);
  if (!module.ok()) return module.status().ToString();
  if (mlir::failed(mlir::verify(**module))) return "the module doesn't verify";
  mlir::PassManager manager(&context);
  manager.addPass(mlir::createCSEPass());
  if (mlir::failed(manager.run(**module))) return "CSE failed";
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto main = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
  mlir::AsmState state(main);
  for (mlir::Operation& op : main.getBody().front()) {
    op.print(stream, state);
    stream << "\n";
  }
  return text;
}

std::string TraceMaker::Reason() const {
  if (report_.fallbacks.empty()) return "";
  if (report_.fallbacks.size() > 1)
    return absl::StrCat(report_.fallbacks.size(), " fallbacks");
  return report_.fallbacks[0].reason;
}

}  // namespace aitune::frontend
