// Times linear layers as they are against quantised ones, with the kernels that
// they would get: what decides whether quantising them pays.
#ifndef AITUNE_COMPILER_DRIVER_LAYERTIMER_H
#define AITUNE_COMPILER_DRIVER_LAYERTIMER_H

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/dialect/Ait.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "quant/transforms/quantize_layers.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

/// On the device of the options. Layers of equal sizes and types are measured
/// once. Not thread-safe.
class LayerTimer {
public:
  /// `options` of the compilation that the layers are of; `constants`, the pool
  /// of its weights, must live as long; `symbols` is its ait.symbols (may be
  /// null).
  LayerTimer(const CompileOptions &options,
             absl::Span<const ConstantTensor> constants,
             mlir::ArrayAttr symbols);

  /// As quant::LayerTimer, at measuredSizes. The layers are
  /// compiled without what is before and after them, but with the
  /// quantisation of their input, and as one product of all their columns, as
  /// which a model mostly has them. Nothing when they could not be compiled or
  /// run.
  std::optional<quant::LayerTimes>
  time(llvm::ArrayRef<mlir::ait::MatmulOp> layers, const quant::Way &way);

private:
  /// Layers alone.
  struct Alone {
    std::string module;                  ///< the text of one with static sizes
    std::vector<ConstantTensor> weights; ///< its constants
  };
  Alone isolate(llvm::ArrayRef<mlir::ait::MatmulOp> layers) const;
  std::optional<quant::LayerTimes> measure(const Alone &alone,
                                           const std::string &way) const;

  CompileOptions options;
  const absl::Span<const ConstantTensor> constants;
  const llvm::SmallVector<int64_t> sizes; ///< the values of the symbols
  /// Times by the types of the layers and the way to quantise them.
  std::map<std::string, std::optional<quant::LayerTimes>> known;
};

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_LAYERTIMER_H
