// LLVM IR without what the X86 instruction selection of LLVM 22 gets wrong.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_SELECTIONDEFECTS_H
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_SELECTIONDEFECTS_H

namespace llvm {
class Module;
} // namespace llvm

namespace aitune {

/// Rewrites, after all optimisations, which would bring them back:
///  - masked stores of one element, the mask constant: of truncated elements
///    AVX-512 writes as many bytes as they had before (4 of an i32 as i8);
///  - comparisons of vectors of bfloat, in float: of 16 elements no instruction
///    is found with AVX512-BF16, which ends the process.
/// Results stay the same. Modules of different contexts may be rewritten at the
/// same time.
void avoidSelectionDefects(llvm::Module &module);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_SELECTIONDEFECTS_H
