// MLIR: generated ops, parsing, a pass pipeline and the JIT.
#include "gtest/gtest.h"
#include "llvm/Support/TargetSelect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

// Generated.
#include "third_party/check/CheckDialect.h.inc"
#define GET_OP_CLASSES
#include "third_party/check/CheckDialect.cpp.inc"
#include "third_party/check/CheckOps.h.inc"
#define GET_OP_CLASSES
#include "third_party/check/CheckOps.cpp.inc"

void check::CheckDialect::initialize() { addOperations<check::TwiceOp>(); }

namespace {

TEST(MlirTest, ParsesGeneratedOp) {
  mlir::MLIRContext context;
  context.loadDialect<check::CheckDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @f(%a: i32) -> i32 { %b = check.twice %a return %b : i32 }",
      &context);
  ASSERT_TRUE(module);
  int count = 0;
  module->walk([&](check::TwiceOp) { ++count; });
  EXPECT_EQ(count, 1);
}

TEST(MlirTest, RunsFunctionThroughJit) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::MLIRContext context(registry);
  context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect,
                      mlir::LLVM::LLVMDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(func.func @f(%a: i64) -> i64 attributes {llvm.emit_c_interface} {
        %c = arith.constant 42 : i64
        %r = arith.addi %a, %c : i64
        return %r : i64
      })",
      &context);
  ASSERT_TRUE(module);
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createConvertFuncToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  auto engine = mlir::ExecutionEngine::create(*module);
  ASSERT_TRUE(static_cast<bool>(engine));
  int64_t argument = 1, result = 0;
  auto error = (*engine)->invoke(
      "f", argument, mlir::ExecutionEngine::Result<int64_t>(result));
  ASSERT_FALSE(error);
  EXPECT_EQ(result, 43);
}

}  // namespace
