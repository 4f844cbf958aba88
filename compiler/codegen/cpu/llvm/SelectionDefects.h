// Works around defects of LLVM 22's instruction selection for x86: what it
// compiles wrongly, or much slower than it need.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_SELECTIONDEFECTS_H
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_SELECTIONDEFECTS_H

namespace llvm {
class Module;
} // namespace llvm

namespace aitune {

/// Rewrites operations that LLVM 22 compiles wrongly or slowly. Must run after
/// all optimisations, because they would undo the changes. It replaces
///  - masked stores of one element with a constant mask: if the element was
///    truncated, AVX-512 code writes as many bytes as it had before (4 bytes
///    for an i32 truncated to i8);
///  - comparisons of bfloat, by comparisons in float: for vectors of 16
///    elements no instruction is found with AVX512-BF16, which ends the
///    process;
///  - whatever only moves bfloat (loads, stores, selections, shuffles, phis,
///    elements into and out of vectors) or extends it, by the same of i16:
///    without AVX512-BF16 vectors are taken apart into scalars, and scalars are
///    rounded again, by a function of compiler-rt;
///  - roundings of halves to whole numbers, of which vectors are taken apart
///    into scalars (a floor of 100,000 took 40 us in place of 8), by those of
///    floats;
///  - extensions of a half from memory, which wait for what the register had
///    before (each step of a cumulative sum for the sum), by those of vectors.
/// Results stay the same. Modules of different contexts may be rewritten at the
/// same time.
void avoidSelectionDefects(llvm::Module &module);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_SELECTIONDEFECTS_H
