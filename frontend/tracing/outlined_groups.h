// The groups of operators of a block that can be outlined (outlining.h).
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_OUTLINED_GROUPS_H_
#define AITUNE_FRONTEND_TRACING_OUTLINED_GROUPS_H_

#include <torch/csrc/jit/ir/ir.h>

#include <vector>

#include "frontend/tracing/outlining_rules.h"

namespace aitune::frontend {

// Operators that stand one behind another in a block.
struct OutlinedGroup {
  std::vector<torch::jit::Node*> nodes;     // in their order
  std::vector<torch::jit::Value*> outputs;  // those that others read
  int operators = 0;                        // those that compute
};

// Reorders the nodes of `block` where no result depends on it, so that there
// are few groups, and returns those that are worth a call. `strides_matter` as
// OutlinedProgram has it.
std::vector<OutlinedGroup> FormGroups(torch::jit::Block* block,
                                      OutliningRules& rules,
                                      bool strides_matter);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_OUTLINED_GROUPS_H_
