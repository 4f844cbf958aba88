// Makes the node of an operation. For the files of this folder only.
#ifndef AITUNE_COMPILER_REFERENCE_BUILDER_H
#define AITUNE_COMPILER_REFERENCE_BUILDER_H

#include <memory>

#include "compiler/reference/Node.h"
#include "mlir/IR/Operation.h"

namespace aitune::reference {

/// The parts of which a node is made.
struct Site {
  mlir::Operation *op;
  llvm::SmallVector<Node *> operands; ///< the nodes of the operands, in order
  NumberFormat format;                ///< the format of the result
  Sizes sizes;                        ///< the sizes of the result
  Effort &effort;                     ///< the effort of the whole computation
  absl::Span<const int64_t> symbols;  ///< the values of the module's symbols
  const ReferenceOptions &options;
};

/// The node of the operation of `site`. Null if the operation is of another
/// kind than the function; each is of one kind at most.
std::unique_ptr<Node> makeUnary(const Site &site);
std::unique_ptr<Node> makeBinary(const Site &site);
std::unique_ptr<Node> makeSource(const Site &site);
std::unique_ptr<Node> makeView(const Site &site);
std::unique_ptr<Node> makeMovement(const Site &site);
std::unique_ptr<Node> makeReduction(const Site &site);
std::unique_ptr<Node> makeWindow(const Site &site);
std::unique_ptr<Node> makeContraction(const Site &site);

/// The node of a tensor in memory.
std::unique_ptr<Node> makeArgument(NumberFormat format, Sizes sizes,
                                   Effort &effort, const TensorView &view);

/// The element at `index` of `node` as an index in [0, size), as ait.gather
/// reads it; with `wraps` a negative one counts from the end. Not set if the
/// element has an error.
std::optional<int64_t> readIndex(Node &node, const int64_t *index, int64_t size,
                                 bool wraps);

/// An element as a condition.
struct Truth {
  bool holds = false;       ///< whether the element is not zero
  bool isUncertain = false; ///< whether a right element may be either
};
Truth truthOf(const NumberFormat &format, const Element &element);

} // namespace aitune::reference

#endif // AITUNE_COMPILER_REFERENCE_BUILDER_H
