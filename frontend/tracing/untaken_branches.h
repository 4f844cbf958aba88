// Runs of control flow that go where its data does not lead.
//
// A part of control flow (frontend/trace/outlined_program.h) is compiled for
// the inputs that it was seen with. Behind an if that went one way in all runs,
// such as the second stage of a network that mostly stops after its first,
// nothing was seen. So the graph is run once more for each such part, with the
// conditions around it decided so that it is reached. Its elements may then be
// any, but its sizes and dtypes are mostly those of later calls.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_UNTAKEN_BRANCHES_H_
#define AITUNE_FRONTEND_TRACING_UNTAKEN_BRANCHES_H_

#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <memory>
#include <vector>

#include "frontend/trace/outlined_program.h"

namespace aitune::frontend {

// Has `run` run, for each of `programs` that has not been seen, a copy of
// `graph`, which has them, that comes to it: loops end after a few rounds, and
// it has limits (WithLimits). `run` interprets the copy on the arguments of the
// runs before, and catches what it throws. Programs that
// have been seen record nothing from now on. Not thread-safe.
void SeeUntakenBranches(
    const std::shared_ptr<torch::jit::Graph>& graph,
    const std::vector<std::shared_ptr<OutlinedProgram>>& programs,
    const std::function<void(const std::shared_ptr<torch::jit::Graph>&)>& run);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_UNTAKEN_BRANCHES_H_
