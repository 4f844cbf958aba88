// Limits of runs on arguments that nobody gave.
//
// `while y.sum() < 100: y = y * 2` ends on a caller's data and never on zeros,
// and nothing stops LibTorch's interpreter from outside; nor is
// `torch.ones(int(1e9 / s))` a large tensor for the `s` of a branch that is
// only tried. So a copy of the program has looks at the clock in its loops, and
// at sizes that are numbers of the program.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_RUN_LIMITS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_RUN_LIMITS_H_

#include <torch/csrc/jit/ir/ir.h>

#include <chrono>

namespace aitune::frontend {

// Whether `block` or an inner block calls something, or forks. After
// InlineCallsAndForks of inline_calls.h: what is not known before it is called,
// as the method of an interface is, and has no limits.
bool HasCalls(torch::jit::Block* block);

// Puts a look at the clock into each loop of `block` and its inner blocks.
// Whether there is a loop.
bool LimitLoops(torch::jit::Block* block);

// Puts a look at the sizes before each operator in `block` and its inner blocks
// that makes tensors of sizes that are given as numbers. Whether there is one.
bool LimitSizes(torch::jit::Block* block);

// While it lives, looks on this thread throw once so many seconds have passed,
// and, if `limits_sizes`, at tensors of more than 2^26 elements. Not nested.
class RunLimits {
 public:
  RunLimits(double seconds, bool limits_sizes);
  ~RunLimits();
  RunLimits(const RunLimits&) = delete;
  RunLimits& operator=(const RunLimits&) = delete;

  // Whether one that limits sizes lives on this thread: the run goes where data
  // does not lead.
  static bool AreOfOtherWay();

  // Whether a look has found that the time is over.
  bool IsLate() const;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_RUN_LIMITS_H_
