// Makes smaller programs: without some nodes, outputs or control flow. Each
// function returns a new program that type checks; the result is not set if it
// would be the same program. The caller must find out whether the new program
// runs and still fails. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_REDUCE_GRAPH_EDITS_H_
#define AITUNE_FRONTEND_REDUCE_GRAPH_EDITS_H_

#include <optional>
#include <vector>

#include "frontend/reduce/program.h"

namespace aitune::reduce {

// The number of nodes that KeepNodes numbers: those of all blocks except
// constants, each node before the nodes inside of it.
int NodeCount(const Program& program);

// The value that replaces the result of a removed node.
enum class Filling {
  kRecorded,  // a new input with the recorded tensor, or a constant
  kOperand,   // an operand of the same dtype and sizes; if none, kRecorded
};

// The program without the nodes i for which keep[i] is false; `keep` has
// NodeCount elements. Nodes inside of control flow are removed with kOperand
// only, and only if an operand has the result's type. Nodes whose results are
// then unused are removed too. Throws nothing.
std::optional<Program> KeepNodes(const Program& program,
                                 const Recording& recording,
                                 const std::vector<bool>& keep,
                                 Filling filling);

// The number of nodes that CutAfter numbers: those of the top block except
// constants.
int TopNodeCount(const Program& program);

// The program up to node `last` of the top block. Its outputs are the tensors
// that later nodes use or that the program returns.
std::optional<Program> CutAfter(const Program& program,
                                const Recording& recording, int last);

// The number of tensors and lists of tensors among the leaves of the output.
int OutputCount(const Program& program, const Recording& recording);
// The program with the outputs i for which keep[i] is true, without the
// containers around them.
std::optional<Program> KeepOutputs(const Program& program,
                                   const Recording& recording,
                                   const std::vector<bool>& keep);

// The program in which each `if` of the top block is replaced by the branch
// that was taken in the recording, and each loop with few iterations is
// unrolled.
std::optional<Program> WithoutControlFlow(const Program& program,
                                          const Recording& recording);

// The program in which operators that write to tensors and lists are replaced
// by functional ones, where LibTorch can prove that this changes nothing.
std::optional<Program> WithoutMutation(const Program& program);

// The program in which input `to` replaces input `from`, which must have the
// same dtype and sizes.
std::optional<Program> MergeInputs(const Program& program, int from, int to);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_GRAPH_EDITS_H_
