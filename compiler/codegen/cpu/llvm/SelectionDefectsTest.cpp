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

// Each scalar of them was rounded again.
TEST(SelectionDefectsTest, BfloatsAreMovedAsTheyAre) {
  const char *accesses[] = {
      R"(
  %v = llvm.intr.masked.load %x, %mask, %zero {alignment = 2 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xbf16>) -> vector<8xbf16>
  llvm.store %v, %y : vector<8xbf16>, !llvm.ptr)",
      R"(
  %v = llvm.intr.masked.gather %at, %mask, %zero {alignment = 2 : i32} : (vector<8x!llvm.ptr>, vector<8xi1>, vector<8xbf16>) -> vector<8xbf16>
  llvm.store %v, %y : vector<8xbf16>, !llvm.ptr)",
      R"(
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  llvm.intr.masked.store %v, %y, %mask {alignment = 2 : i32} : vector<8xbf16>, vector<8xi1> into !llvm.ptr)",
      R"(
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  %first = llvm.mlir.constant(dense<[true, false, false, false, false, false, false, false]> : vector<8xi1>) : vector<8xi1>
  llvm.intr.masked.store %v, %y, %first {alignment = 2 : i32} : vector<8xbf16>, vector<8xi1> into !llvm.ptr)",
      R"(
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  llvm.intr.masked.scatter %v, %at, %mask {alignment = 2 : i32} : vector<8xbf16>, vector<8xi1> into vector<8x!llvm.ptr>)",
      R"(
  %a = llvm.load %x : !llvm.ptr -> bf16
  %p = llvm.getelementptr %x[3] : (!llvm.ptr) -> !llvm.ptr, bf16
  %b = llvm.load %p : !llvm.ptr -> bf16
  %i = llvm.mlir.constant(0 : i32) : i32
  %j = llvm.mlir.constant(5 : i32) : i32
  %v = llvm.insertelement %a, %zero[%i : i32] : vector<8xbf16>
  %w = llvm.insertelement %b, %v[%j : i32] : vector<8xbf16>
  llvm.store %w, %y : vector<8xbf16>, !llvm.ptr)",
      R"(
  %a = llvm.load %x : !llvm.ptr -> bf16
  llvm.store %a, %y : bf16, !llvm.ptr)",
      R"(
  %n = llvm.load %x : !llvm.ptr -> i1
  llvm.cond_br %n, ^bb1, ^bb2(%zero : vector<8xbf16>)
^bb1:
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  llvm.br ^bb2(%v : vector<8xbf16>)
^bb2(%w: vector<8xbf16>):
  llvm.store %w, %y : vector<8xbf16>, !llvm.ptr)",
      R"(
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  %p = llvm.load %places : !llvm.ptr -> vector<8xbf16>
  %s = llvm.shufflevector %v, %p [0, 8, 1, 9, 5, 13, 2, 11] : vector<8xbf16>
  llvm.store %s, %y : vector<8xbf16>, !llvm.ptr)",
      R"(
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  %e = llvm.fpext %v : vector<8xbf16> to vector<8xf32>
  %f = llvm.intr.floor(%e) : (vector<8xf32>) -> vector<8xf32>
  llvm.store %f, %y : vector<8xf32>, !llvm.ptr)",
      R"(
  %a = llvm.load %x : !llvm.ptr -> bf16
  %e = llvm.fpext %a : bf16 to f32
  %f = llvm.intr.roundeven(%e) : (f32) -> f32
  llvm.store %f, %y : f32, !llvm.ptr)",
      R"(
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  %w = llvm.load %places : !llvm.ptr -> vector<8xbf16>
  %d = llvm.fpext %v : vector<8xbf16> to vector<8xf32>
  %e = llvm.fpext %w : vector<8xbf16> to vector<8xf32>
  %f = llvm.intr.maxnum(%d, %e) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  llvm.store %f, %y : vector<8xf32>, !llvm.ptr)",
      R"(
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  %c = llvm.fcmp "ogt" %v, %zero : vector<8xbf16>
  %s = llvm.select %c, %v, %zero : vector<8xi1>, vector<8xbf16>
  %w = llvm.fpext %s : vector<8xbf16> to vector<8xf32>
  llvm.store %w, %y : vector<8xf32>, !llvm.ptr)",
      R"(
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  %a = llvm.load %places : !llvm.ptr -> bf16
  %d = llvm.fpext %v : vector<8xbf16> to vector<8xf32>
  %e = llvm.fpext %a : bf16 to f32
  %i = llvm.mlir.constant(0 : i32) : i32
  %z = llvm.mlir.zero : vector<8xf32>
  %f = llvm.insertelement %e, %z[%i : i32] : vector<8xf32>
  %g = llvm.shufflevector %f, %f [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32>
  %c = llvm.fcmp "ogt" %g, %d : vector<8xf32>
  %n = llvm.fcmp "uno" %g, %g : vector<8xf32>
  %t = llvm.mlir.constant(dense<true> : vector<8xi1>) : vector<8xi1>
  %o = llvm.select %n, %t, %c : vector<8xi1>, vector<8xi1>
  %s = llvm.select %o, %g, %d : vector<8xi1>, vector<8xf32>
  llvm.store %s, %y : vector<8xf32>, !llvm.ptr)",
      R"(
  %a = llvm.load %x : !llvm.ptr -> bf16
  %b = llvm.load %places : !llvm.ptr -> bf16
  %c = llvm.fcmp "olt" %a, %b : bf16
  %s = llvm.select %c, %b, %a : i1, bf16
  %e = llvm.fpext %s : bf16 to f32
  llvm.store %e, %y : f32, !llvm.ptr)",
      R"(
  %v = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  %i = llvm.mlir.constant(3 : i32) : i32
  %a = llvm.extractelement %v[%i : i32] : vector<8xbf16>
  %e = llvm.fpext %a : bf16 to f32
  %f = llvm.intr.floor(%e) : (f32) -> f32
  llvm.store %f, %y : f32, !llvm.ptr)"};
  for (const char *target : {"avx2", "avx512", "avx512bf16", "amx"})
    for (std::string access : accesses) {
      std::string assembly = assemble(
          "llvm.func @f(%x: !llvm.ptr, %y: !llvm.ptr, %places: !llvm.ptr, "
          "%masks: !llvm.ptr) {\n"
          "  %zero = llvm.mlir.zero : vector<8xbf16>\n"
          "  %at = llvm.load %places : !llvm.ptr -> vector<8x!llvm.ptr>\n"
          "  %bytes = llvm.load %masks : !llvm.ptr -> vector<8xi8>\n"
          "  %mask = llvm.trunc %bytes : vector<8xi8> to vector<8xi1>\n" +
              access + "\n  llvm.return\n}",
          target);
      EXPECT_NE(assembly.find("ret"), std::string::npos) << target << access;
      EXPECT_EQ(assembly.find("truncsfbf2"), std::string::npos)
          << target << "\n"
          << assembly;
    }
}

TEST(SelectionDefectsTest, HalvesAreRoundedAsVectorsOfFloats) {
  const std::string text = R"(
llvm.func @f(%in: !llvm.ptr, %out: !llvm.ptr) {
  %halves = llvm.load %in : !llvm.ptr -> vector<16xf16>
  %wide = llvm.fpext %halves : vector<16xf16> to vector<16xf32>
  %floor = llvm.intr.floor(%wide) : (vector<16xf32>) -> vector<16xf32>
  %narrow = llvm.fptrunc %floor : vector<16xf32> to vector<16xf16>
  llvm.store %narrow, %out : vector<16xf16>, !llvm.ptr
  llvm.return
})";
  for (const char *target : {"avx2", "avx512", "avx512bf16"}) {
    const std::string assembly = assemble(text, target);
    EXPECT_NE(assembly.find("vcvtps2ph"), std::string::npos) << assembly;
    EXPECT_EQ(assembly.find("roundss"), std::string::npos) << assembly;
    EXPECT_EQ(assembly.find("rndscaless"), std::string::npos) << assembly;
  }
}

TEST(SelectionDefectsTest, ALoadedHalfWaitsForNoRegister) {
  for (const std::string type : {"f32", "f64"}) {
    const std::string text = "llvm.func @f(%in: !llvm.ptr, %x: " + type +
                             ") -> " + type + R"( {
  %half = llvm.load %in : !llvm.ptr -> f16
  %wide = llvm.fpext %half : f16 to )" +
                             type + "\n  %sum = llvm.fadd %x, %wide : " + type +
                             "\n  llvm.return %sum : " + type + "\n}";
    for (const char *target : {"avx2", "avx512", "avx512bf16"}) {
      const std::string assembly = assemble(text, target);
      EXPECT_NE(assembly.find("vcvtph2ps"), std::string::npos) << assembly;
      EXPECT_EQ(assembly.find("vpinsrw"), std::string::npos) << assembly;
    }
  }
}

} // namespace
} // namespace aitune
