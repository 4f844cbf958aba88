// Compiles a module of the LLVM dialect to machine code.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_EMITOBJECT_H
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_EMITOBJECT_H

#include <string>

#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {

/// The module as an ELF relocatable object, optimised for `target`: O3, fused
/// multiply-adds allowed, NaN and infinity respected. Every non-private
/// function is a symbol of the object; its only undefined symbols are libm's
/// and memcpy, memset, memmove. Failure with a diagnostic at the module.
/// Modules of different MLIRContexts may be emitted at the same time.
mlir::FailureOr<std::string> emitObject(mlir::ModuleOp module,
                                        const Target &target);

/// The assembly text (AT&T syntax) of the object that emitObject makes, for
/// dumps.
mlir::FailureOr<std::string> emitAssembly(mlir::ModuleOp module,
                                          const Target &target);

/// The optimised LLVM IR, as text, for dumps.
mlir::FailureOr<std::string> emitLLVMIR(mlir::ModuleOp module,
                                        const Target &target);

/// Registers the translations of every dialect emitObject accepts. Call it on
/// the registry of a context before a module of it is emitted.
void registerTranslations(mlir::DialectRegistry &registry);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_EMITOBJECT_H
