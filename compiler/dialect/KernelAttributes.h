// The attributes in which passes leave facts for later passes on kernel
// functions, their arguments, modules and conversions, and the functions that
// read and write them. Their names are written in KernelAttributes.cpp alone.
//
// A kernel is a func.func with ait.kind. The dialect's verifier rejects values
// of other types than these functions set, and attributes of the dialect with
// other names.
#ifndef AITUNE_COMPILER_DIALECT_KERNELATTRIBUTES_H
#define AITUNE_COMPILER_DIALECT_KERNELATTRIBUTES_H

#include "compiler/dialect/Ait.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <optional>
#include <string>

namespace mlir::ait {

//===-- Of a kernel ------------------------------------------------------===//

/// The value of ait.kind; not set if `function` is no kernel.
std::optional<KernelKind> getKernelKind(Operation *function);
void setKernelKind(Operation *function, KernelKind kind);

inline bool isKernel(Operation *function) {
  return getKernelKind(function).has_value();
}

/// The parameters of the kernel's schedule (ait.config), by the names that the
/// template of the kernel's kind gives them. The template chooses those that
/// are missing. Null if it was never set.
DictionaryAttr getScheduleConfig(Operation *kernel);
void setScheduleConfig(Operation *kernel, DictionaryAttr config);
void removeScheduleConfig(Operation *kernel);
/// The text of `config`, as Schedule::config holds it.
std::string printScheduleConfig(DictionaryAttr config);

/// The checks that the kernel reports (ait.checks), a dictionary for each, with
/// the attributes of its ait.check: `operator` (operator_name), `number`,
/// `from_end` and `size` (both may be missing). Null if it reports none.
ArrayAttr getKernelChecks(Operation *kernel);
void setKernelChecks(Operation *kernel, ArrayAttr checks);

/// What ait-analyze-contractions found (ait.contraction); null before that pass
/// and for loop kernels.
ContractionAttr getContractionAnalysis(Operation *kernel);
void setContractionAnalysis(Operation *kernel, ContractionAttr analysis);

//===-- Of a kernel with code for a CPU ----------------------------------===//

/// How the runtime divides a kernel's work (runtime/cpu/kernel_abi.h).
struct LaunchShape {
  /// ait.grid: the number of work units, over the module's symbols.
  AffineExpr units;
  /// ait.grain: the least number of units that are worth a thread of their own.
  int64_t grain;
};

/// Not set for kernels that have no code yet.
std::optional<LaunchShape> getLaunchShape(Operation *kernel);
void setLaunchShape(Operation *kernel, const LaunchShape &shape);

/// How arguments must be packed at load (ait.packings), at most one packing for
/// each argument, in no order.
SmallVector<PackingAttr> getPackings(Operation *kernel);
void setPackings(Operation *kernel, ArrayRef<PackingAttr> packings);

//===-- Of a kernel's argument -------------------------------------------===//

/// The time from which the content of an argument is known.
enum class KnownAt {
  /// Neither attribute: from the call on.
  Call,
  /// ait.initialized: from the end of the load on, in which kernels compute it
  /// from constants.
  Initialization,
  /// ait.constant: before the load, as it is a constant of the pool. Only such
  /// an argument can be packed.
  Load,
};

KnownAt getKnownAt(FunctionOpInterface kernel, unsigned argument);
void setKnownAt(FunctionOpInterface kernel, unsigned argument, KnownAt known);

//===-- Of other operations ----------------------------------------------===//

/// The module's symbols (ait.symbols), a dictionary for each: `name` (text),
/// `min` and `max` (i64, the least and the greatest value), `input` and `axis`
/// (i64, the model's input that has this size, and its axis). Null if the
/// module has no symbols.
ArrayAttr getModuleSymbols(Operation *module);
void setModuleSymbols(Operation *module, ArrayAttr symbols);

/// Whether the ait.convert `convert` gives what eager stores (ait.rounds), as
/// the model asks for it or an operator reads it: to 16 bits it rounds, and
/// from 16 bits it converts what was rounded, also inside a kernel
/// (ait-promote-kernel-arithmetic).
bool mustRound(Operation *convert);
void setMustRound(Operation *convert);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_KERNELATTRIBUTES_H
