#include "compiler/reference/ReferenceTesting.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/ElementTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace aitune {
namespace {

template <typename T> void append(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void appendAs(DataType dtype, double number, std::string &bytes) {
  switch (dtype) {
  case DataType::kFloat64:
    return append(bytes, number);
  case DataType::kFloat32:
    return append(bytes, static_cast<float>(number));
  case DataType::kFloat16:
    return append(bytes, static_cast<_Float16>(number));
  case DataType::kBFloat16: {
    const float wide = static_cast<float>(number);
    uint32_t bits;
    std::memcpy(&bits, &wide, sizeof bits);
    return append(bytes, static_cast<uint16_t>(bits >> 16));
  }
  case DataType::kInt64:
    return append(bytes, static_cast<int64_t>(number));
  case DataType::kInt32:
    return append(bytes, static_cast<int32_t>(number));
  case DataType::kInt16:
    return append(bytes, static_cast<int16_t>(number));
  case DataType::kInt8:
    return append(bytes, static_cast<int8_t>(number));
  default:
    return append(bytes, static_cast<uint8_t>(number));
  }
}

} // namespace

std::vector<ReferenceResult> referenceOf(
    const std::string &text, const std::vector<std::vector<double>> &arguments,
    const std::vector<int64_t> &symbols, const ReferenceOptions &options) {
  MLIRContext context;
  context.loadDialect<ait::AitDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "no module: " << text;
    return {};
  }
  func::FuncOp kernel = *module->getOps<func::FuncOp>().begin();
  std::vector<std::string> memory;
  std::vector<TensorView> views;
  for (auto [argument, numbers] :
       llvm::zip_equal(kernel.getArguments(), arguments)) {
    auto type = cast<RankedTensorType>(argument.getType());
    const DataType dtype = *ait::toDataType(type.getElementType());
    std::string &bytes = memory.emplace_back();
    for (double number : numbers)
      appendAs(dtype, number, bytes);
    views.push_back({nullptr, dtype, evaluateSizes(type, symbols)});
  }
  for (size_t i = 0; i < views.size(); ++i)
    views[i].data = memory[i].data();
  absl::StatusOr<std::vector<ReferenceResult>> results =
      computeReference(kernel, views, symbols, options);
  if (!results.ok()) {
    ADD_FAILURE() << results.status() << ": " << text;
    return {};
  }
  return *std::move(results);
}

std::vector<double> valuesOf(const std::string &text,
                             const std::vector<std::vector<double>> &arguments,
                             const std::vector<int64_t> &symbols) {
  std::vector<double> values;
  for (const ReferenceResult &result : referenceOf(text, arguments, symbols)) {
    for (const ReferenceElement &element : result.elements)
      values.push_back(element.number != 0 || element.integer == 0
                           ? element.number
                           : static_cast<double>(element.integer));
    break;
  }
  return values;
}

std::string kernelOf(const std::string &operation,
                     const std::vector<std::string> &arguments,
                     const std::string &result) {
  std::string text = "func.func @kernel(";
  for (size_t i = 0; i < arguments.size(); ++i)
    absl::StrAppend(&text, i ? ", " : "", "%a", i, ": ", arguments[i]);
  return absl::StrCat(text, ") -> ", result, " {\n  %r = ", operation,
                      "\n  return %r : ", result, "\n}\n");
}

} // namespace aitune
