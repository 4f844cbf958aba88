// Nodes of operations. Private to the room.
#ifndef AITUNE_COMPILER_REFERENCE_BUILDER_H
#define AITUNE_COMPILER_REFERENCE_BUILDER_H

#include <memory>

#include "compiler/reference/Node.h"
#include "mlir/IR/Operation.h"

namespace aitune::reference {

/// What a node is made of: the operation, its operands' nodes in their order,
/// and its result's format and sizes.
struct Site {
  mlir::Operation *op;
  llvm::SmallVector<Node *> operands;
  NumberFormat format;
  Sizes sizes;
  Effort &effort;
  absl::Span<const int64_t> symbols;
  const ReferenceOptions &options;
};

/// The node of an operation; null for one that is not of the function's kind.
/// An operation is in one of these files.
std::unique_ptr<Node> makeUnary(const Site &site);
std::unique_ptr<Node> makeBinary(const Site &site);
std::unique_ptr<Node> makeSource(const Site &site);
std::unique_ptr<Node> makeView(const Site &site);
std::unique_ptr<Node> makeMovement(const Site &site);
std::unique_ptr<Node> makeReduction(const Site &site);
std::unique_ptr<Node> makeWindow(const Site &site);
std::unique_ptr<Node> makeContraction(const Site &site);

/// A tensor in memory.
std::unique_ptr<Node> makeArgument(NumberFormat format, Sizes sizes,
                                   Effort &effort, const TensorView &view);

/// An index that data gives, brought into [0, size): a negative one counts from
/// the end where `wraps`. Nothing where it is not known for sure.
std::optional<int64_t> readIndex(Node &node, const int64_t *index, int64_t size,
                                 bool wraps);

/// Whether an element is other than zero, and whether that is uncertain.
struct Truth {
  bool holds = false, isUncertain = false;
};
Truth truthOf(const NumberFormat &format, const Element &element);

} // namespace aitune::reference

#endif // AITUNE_COMPILER_REFERENCE_BUILDER_H
