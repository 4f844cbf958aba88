// What LLVM's instruction selection gets wrong is rewritten before: the first
// test found a store of 4 bytes, the second ended its process.
#include "compiler/codegen/cpu/llvm/SelectionDefects.h"

#include <memory>
#include <string>

#include "compiler/codegen/cpu/llvm/EmitObject.h"
#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

/// Assembly of the LLVM dialect's `text` for `target`; "" if there is none.
std::string assemble(llvm::StringRef text, llvm::StringRef target) {
  mlir::DialectRegistry registry;
  registerTranslations(registry);
  registry.insert<mlir::LLVM::LLVMDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "";
  mlir::FailureOr<std::string> assembly =
      emitAssembly(*module, *Target::named(target));
  return succeeded(assembly) ? *assembly : "";
}

TEST(SelectionDefectsTest, OneElementOfAMaskedStoreIsWrittenAlone) {
  std::string text = R"(
llvm.func @f(%out: !llvm.ptr, %in: !llvm.ptr) {
  %mask = llvm.mlir.constant(dense<[false, true, false, false]> : vector<4xi1>) : vector<4xi1>
  %wide = llvm.load %in : !llvm.ptr -> vector<4xi32>
  %narrow = llvm.trunc %wide : vector<4xi32> to vector<4xi8>
  llvm.intr.masked.store %narrow, %out, %mask {alignment = 1 : i32} : vector<4xi8>, vector<4xi1> into !llvm.ptr
  llvm.return
})";
  for (const char *target : {"avx2", "avx512", "avx512bf16", "amx"}) {
    std::string assembly = assemble(text, target);
    EXPECT_NE(assembly.find("movb\t%al, 1(%rdi)"), std::string::npos)
        << target << "\n"
        << assembly;
    EXPECT_EQ(assembly.find(", (%rdi)"), std::string::npos) << assembly;
  }
}

TEST(SelectionDefectsTest, VectorsOfBfloatAreComparedInFloat) {
  for (const char *target : {"avx2", "avx512", "avx512bf16", "amx"})
    for (int lanes : {4, 8, 16, 32}) {
      std::string n = std::to_string(lanes);
      std::string assembly = assemble(
          "llvm.func @f(%x: !llvm.ptr, %y: !llvm.ptr, %out: !llvm.ptr) {\n"
          "  %a = llvm.load %x : !llvm.ptr -> vector<" +
              n +
              "xbf16>\n"
              "  %b = llvm.load %y : !llvm.ptr -> vector<" +
              n +
              "xbf16>\n"
              "  %c = llvm.fcmp \"oge\" %a, %b : vector<" +
              n +
              "xbf16>\n"
              "  %d = llvm.zext %c : vector<" +
              n + "xi1> to vector<" + n +
              "xi16>\n"
              "  llvm.store %d, %out : vector<" +
              n +
              "xi16>, !llvm.ptr\n"
              "  llvm.return\n}",
          target);
      EXPECT_NE(assembly.find("cmp"), std::string::npos) << target << " " << n;
    }
}

} // namespace
} // namespace aitune
