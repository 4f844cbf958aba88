// Whether a model is faster with the layers that it has in 8 bits.
//
// Each layer is timed alone (LayerTimer.h), which leaves out what is before and
// after it: a kernel that makes codes may cost a model more than it cost the
// layer. So where some layers gain little, the whole model is timed with and
// without them.
#ifndef AITUNE_COMPILER_DRIVER_WHOLEMODELGAIN_H
#define AITUNE_COMPILER_DRIVER_WHOLEMODELGAIN_H

#include <map>
#include <string>
#include <utility>

#include "compiler/Compiler.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

/// Whether the gain of a model whose layers were timed alone is to be looked
/// at: it was asked for by measuring, and LibTorch runs nothing of it.
bool canTimeWhole(mlir::ModuleOp module, const CompileOptions &options);

/// Whether one of the layers that are quantised saved so little alone that the
/// model may not be faster for it.
bool isGainDoubtful(llvm::ArrayRef<QuantizedLayer> layers);

/// What a model took as a whole, in microseconds.
struct WholeModelTimes {
  double quantized = 0;
  double plain = 0; ///< the time without quantised layers

  bool isFaster() const { return quantized < plain; }
};

/// The layers with schemes to leave alone as the model is not faster with them
/// (LayerKnowledge::slow): those of doubtful gain.
std::map<std::pair<std::string, std::string>, std::string>
findSlow(llvm::ArrayRef<QuantizedLayer> layers, const WholeModelTimes &times);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_WHOLEMODELGAIN_H
