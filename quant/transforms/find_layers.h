// The linear layers of a graph: its matmuls with constant weights, each with
// the module that it is of.
#ifndef AITUNE_QUANT_TRANSFORMS_FIND_LAYERS_H_
#define AITUNE_QUANT_TRANSFORMS_FIND_LAYERS_H_

#include <string>
#include <vector>

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "quant/transforms/quantize_layers.h"

namespace aitune::quant {

// A matmul with a constant weight.
struct Layer {
  mlir::ait::MatmulOp matmul;
  mlir::ait::ConstantOp weight;
  std::string path;  // its module's path, or what it is known by
  std::vector<std::string> holders;  // the paths of all with its weight
  std::string no_linear;  // why it is no torch.nn.Linear; empty if it is
};

// The layers of `function` in its order. What `context` knows of the model's
// modules says which a layer is of.
std::vector<Layer> FindLayers(mlir::func::FuncOp function,
                              const QuantizationContext& context);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_TRANSFORMS_FIND_LAYERS_H_
