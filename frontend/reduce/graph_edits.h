// Smaller programs out of one: without some nodes, outputs, control flow.
// Each edit gives a program of its own that type checks, or nothing where it
// would change nothing; whether it runs and still fails is for others to find.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_REDUCE_GRAPH_EDITS_H_
#define AITUNE_FRONTEND_REDUCE_GRAPH_EDITS_H_

#include <optional>
#include <vector>

#include "frontend/reduce/program.h"

namespace aitune::reduce {

// The nodes that KeepNodes numbers: those of all blocks but constants, a node
// before those inside of it.
int NodeCount(const Program& program);

// What takes the place of the result of a node that is removed.
enum class Filling {
  kRecorded,  // a new input with the recorded tensor, or a constant
  kOperand,   // an operand of the same dtype and sizes; if none, kRecorded
};

// The program without the nodes where `keep` is false. Nodes inside of control
// flow go with kOperand only, and stay where no operand has the type. What then
// nothing uses goes too. Nothing throws; one `keep` for each of NodeCount.
std::optional<Program> KeepNodes(const Program& program,
                                 const Recording& recording,
                                 const std::vector<bool>& keep,
                                 Filling filling);

// Nodes of the top block but constants: what CutAfter numbers.
int TopNodeCount(const Program& program);

// The program up to node `last` of the top block: the tensors that later nodes
// use or the program gives are its outputs.
std::optional<Program> CutAfter(const Program& program,
                                const Recording& recording, int last);

// Tensors and lists of tensors among the leaves of the output.
int OutputCount(const Program& program, const Recording& recording);
// The program with those outputs alone whose `keep` is true, without the
// containers around them.
std::optional<Program> KeepOutputs(const Program& program,
                                   const Recording& recording,
                                   const std::vector<bool>& keep);

// The branches that were taken in place of ifs of the top block, and loops of
// it that run few times unrolled as often as in the recording.
std::optional<Program> WithoutControlFlow(const Program& program,
                                          const Recording& recording);

// Functional operators in place of those that write to tensors and lists, where
// LibTorch can prove that it is the same.
std::optional<Program> WithoutMutation(const Program& program);

// Input `to` in place of input `from`, which has the same dtype and sizes.
std::optional<Program> MergeInputs(const Program& program, int from, int to);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_GRAPH_EDITS_H_
