// What of a block can be outlined (outlining.h), node by node.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_OUTLINING_RULES_H_
#define AITUNE_FRONTEND_TRACING_OUTLINING_RULES_H_

#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <unordered_map>

namespace aitune::frontend {

// What may be done with the nodes of one graph. Nodes that are added are
// looked at when they are asked for; those that are destroyed must be
// forgotten. Not thread-safe.
class OutliningRules {
 public:
  // Whether `node` may be in a group: a functional operator from tensors to
  // tensors, or an if that sizes decide, with such in its branches.
  bool CanBeOutlined(torch::jit::Node* node);

  // Whether `node` is computed in each group that reads it: a constant, a
  // number that follows from sizes and such numbers, or a list of these or of
  // tensors that nobody changes.
  bool IsComputedAnew(torch::jit::Node* node);

  void Forget(torch::jit::Node* node);

 private:
  bool FindCanBeOutlined(torch::jit::Node* node);
  bool FindIsComputedAnew(torch::jit::Node* node);
  // Whether a value may be read in a group: it is computed there anew, or by
  // another operator of the group, or comes in as a tensor or an integer.
  bool CanBeRead(torch::jit::Value* value);
  // Whether it is a number of those that are computed anew, as a tensor.
  bool IsNumberTensor(torch::jit::Value* value);
  // Whether it is a constant number of a trace that nobody may write.
  bool IsNumberConstant(torch::jit::Value* value);
  // Whether the program may write the elements of a tensor, under any name.
  bool MayBeWritten(torch::jit::Value* value);
  bool AllCanBeRead(at::ArrayRef<torch::jit::Value*> values);
  // Whether the nodes in `block` and what it gives can be in a group or, with
  // `numbers_only`, be computed anew.
  bool IsPureBlock(torch::jit::Block* block, bool numbers_only);
  // Whether sizes decide this if, and its branches are as IsPureBlock says.
  bool IsDecidedBySizes(torch::jit::Node* node, bool numbers_only);

  std::unordered_map<torch::jit::Node*, bool> outlined_, anew_;
  std::optional<bool> writes_;  // whether the graph writes elements of tensors
};

// Whether a constant may be a number that a trace keeps as a tensor, such as
// the 2 of `x.size(1) // 2`: one without axes on the CPU that promotes dtypes
// as a number does, or an integer.
bool IsNumberOfTrace(const at::Tensor& tensor);

// Whether operators in `block`, or in its inner blocks, ask for strides or make
// tensors by them, which those that compiled code gives may lack.
bool AsksForLayout(torch::jit::Block* block);

// Whether they do, or change the sizes of tensors.
bool AsksForMemory(torch::jit::Block* block);

// Whether there are such that raise for the strides of some tensors, as view.
bool NeedsViews(torch::jit::Block* block);

// Whether tensors are written there, and operators may give an argument where
// their schemas do not say so: LibTorch's analysis does not see all writes.
bool WritesHiddenArguments(torch::jit::Block* block);

// Whether `node` may write the elements of a tensor. A list that it changes
// holds none that a group has made and reads.
bool MayWriteElements(torch::jit::Node* node);

// Whether a result of `node` may share memory with an argument.
bool MayGiveView(const torch::jit::Node* node);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_OUTLINING_RULES_H_
