// What a region of control flow writes that a trace does not see, as its
// program shows. A region gets copies of the tensors and lists that it writes
// by name; what it reaches in another way would be changed, or not, behind the
// trace's back. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_REGION_WRITES_H_
#define AITUNE_FRONTEND_TRACING_REGION_WRITES_H_

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/ir.h>

#include "absl/types/span.h"

namespace aitune::frontend {

// Whether `node` may write a tensor, list or dict that is read from an
// attribute or is a constant, inside its blocks.
bool WritesState(torch::jit::Node* node, torch::jit::AliasDb& aliases);

// Whether an operator in the blocks of `node` writes to arguments that its
// schema does not mark, such as running statistics.
bool UpdatesStatistics(torch::jit::Node* node);

// Whether an operator in the blocks of `node` gives a tensor other sizes or
// other memory, as resize_ and squeeze_ do, that one of the values
// `from_outside` of them may be or hold.
bool ChangesSizes(torch::jit::Node* node,
                  absl::Span<torch::jit::Value* const> from_outside,
                  torch::jit::AliasDb& aliases);

// Whether the blocks of `node` write a tensor, list or dict that may be in
// `container`, which is from outside of them: a list, a dict or a tuple. Such
// are those that are taken out of it, and those that were put into it.
bool WritesElements(torch::jit::Node* node, torch::jit::Value* container,
                    torch::jit::AliasDb& aliases);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_REGION_WRITES_H_
