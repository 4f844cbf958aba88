// The attributes that kernel functions, their arguments and modules of kernels
// carry from one pass to the next: their names, here alone, and what reads and
// writes them.
//
// A kernel is a func.func with ait.kind. The dialect's verifier rejects values
// of other types than these functions set, and names that it does not know.
#ifndef AITUNE_COMPILER_DIALECT_KERNELATTRIBUTES_H
#define AITUNE_COMPILER_DIALECT_KERNELATTRIBUTES_H

#include "compiler/dialect/Ait.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <optional>

namespace mlir::ait {

//===-- Of a kernel ------------------------------------------------------===//

/// The value of ait.kind; none if `function` is no kernel.
std::optional<KernelKind> getKernelKind(Operation *function);
void setKernelKind(Operation *function, KernelKind kind);

inline bool isKernel(Operation *function) {
  return getKernelKind(function).has_value();
}

/// The schedule's parameters (ait.config), by the names that the kernel's
/// template gives them. Null if it was never set; what it does not name is the
/// template's own choice.
DictionaryAttr getScheduleConfig(Operation *kernel);
void setScheduleConfig(Operation *kernel, DictionaryAttr config);
void removeScheduleConfig(Operation *kernel);

/// What the kernel checks of its operands (ait.checks), one dictionary a check:
/// `operator` (text), `number` (i64), `from_end` (unit, or missing) and `size`
/// (a map of the symbols to the checked axis's entries, or missing). Null if it
/// checks nothing.
ArrayAttr getKernelChecks(Operation *kernel);
void setKernelChecks(Operation *kernel, ArrayAttr checks);

/// What ait-analyze-contractions found (ait.contraction); null before.
ContractionAttr getContractionAnalysis(Operation *kernel);
void setContractionAnalysis(Operation *kernel, ContractionAttr analysis);

//===-- Of a kernel with code for a CPU ----------------------------------===//

/// How the runtime divides a kernel's work (runtime/cpu/kernel_abi.h).
struct LaunchShape {
  /// ait.grid: work units, over the module's symbols.
  AffineExpr units;
  /// ait.grain: the fewest units worth a thread.
  int64_t grain;
};

/// None for kernels without code.
std::optional<LaunchShape> getLaunchShape(Operation *kernel);
void setLaunchShape(Operation *kernel, const LaunchShape &shape);

/// The arguments that must be packed at load (ait.packings), in no order.
SmallVector<PackingAttr> getPackings(Operation *kernel);
void setPackings(Operation *kernel, ArrayRef<PackingAttr> packings);

//===-- Of a kernel's argument -------------------------------------------===//

/// When an argument's content is known.
enum class KnownAt {
  Call,
  /// ait.initialized: once the model is loaded, as its initialisation computes
  /// it.
  Initialization,
  /// ait.constant: from the start, as it is a constant of the pool. Only these
  /// can be packed.
  Load,
};

KnownAt getKnownAt(FunctionOpInterface kernel, unsigned argument);
void setKnownAt(FunctionOpInterface kernel, unsigned argument, KnownAt known);

//===-- Of other operations ----------------------------------------------===//

/// The module's symbols (ait.symbols), one dictionary a symbol: `name` (text),
/// `min` and `max` (i64, both included), `input` and `axis` (i64), the place of
/// the size in the model's inputs. Null if the module declares none.
ArrayAttr getModuleSymbols(Operation *module);
void setModuleSymbols(Operation *module, ArrayAttr symbols);

/// Whether the model itself asks for the rounding of an ait.convert
/// (ait.rounds): arithmetic in a wider type must not skip it.
bool mustRound(Operation *convert);
void setMustRound(Operation *convert);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_KERNELATTRIBUTES_H
