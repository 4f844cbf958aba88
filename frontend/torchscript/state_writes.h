// What of a model's state its program may write: which attributes it sets, and
// which tensors its writing operators reach. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_STATE_WRITES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_STATE_WRITES_H_

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace aitune::frontend {

// Follows each written value to where it may come from: through views,
// containers, branches and loops, and through the attributes that the program
// sets, whatever object they are of. Not thread-safe while it is made; const
// functions are.
class StateWrites {
 public:
  // Walks a copy of the program once. May throw LibTorch's exceptions.
  explicit StateWrites(const torch::jit::Module& module);

  // Whether a call may write anything.
  bool any() const { return any_; }
  // Why it may write something else than elements of tensors that are
  // attributes and that Has tells from others, or in ways that LibTorch's own
  // optimisation does not see; empty if it does not.
  std::string WhyUnknown() const;
  // Whether attributes of this name may be set.
  bool Sets(const std::string& attribute) const {
    return set_.count(attribute) > 0;
  }
  // Whether a call may write to `tensor`, which an attribute has.
  bool Has(const at::Tensor& tensor) const {
    return all_tensors_ || tensors_.count(tensor.unsafeGetTensorImpl()) > 0;
  }
  // Whether it writes tensors that may be any.
  bool MayWriteAny() const { return all_tensors_; }
  // As Has, but not for the reason alone that MayWriteAny.
  bool IsKnownToHave(const at::Tensor& tensor) const {
    return tensors_.count(tensor.unsafeGetTensorImpl()) > 0;
  }
  // The tensors that may be written and are no attributes but constants of the
  // program.
  const std::vector<at::Tensor>& constants() const { return constants_; }

 private:
  using Block = torch::jit::Block;
  using Node = torch::jit::Node;
  using Value = torch::jit::Value;

  // Of a value, what is written: the elements of tensors that it is or holds,
  // or itself, a list or dict, whose tensors stay as they are.
  enum class Written { kElements, kContainer };

  // What was found of one of them.
  struct Found {
    // What Follow gave; true while it goes on.
    std::unordered_map<const Value*, bool> followed;
    std::optional<bool> contents;  // of FollowContents, once it was called
  };

  void VisitBlock(const Block& block);
  void VisitNode(const Node& node);
  // These mark what is written, and say whether it may be the model's own.
  bool Follow(const Value* written, Written what);
  bool FollowDefinition(const Value* written, Written what);
  bool FollowOperator(const Node& node, const c10::FunctionSchema& schema,
                      Written what);
  bool FollowAll(at::ArrayRef<const Value*> values, Written what);
  bool FollowContents(const Node& node, Written what);
  Found& FoundOf(Written what);
  void MarkAttribute(const Node& node, Written what);
  void MarkTensors(const c10::IValue& value);

  const c10::IValue self_;
  std::shared_ptr<torch::jit::Graph> graph_;
  bool any_ = false, all_tensors_ = false;
  bool containers_ = false;  // whether lists or dicts of its own are written
  // An operator of MayGiveArgument through whose result it writes a tensor of
  // its own; empty: none.
  std::string hides_;
  std::unordered_set<const c10::TensorImpl*> tensors_;
  std::vector<at::Tensor> constants_;
  std::unordered_set<std::string> set_;
  std::vector<const Node*> setters_;  // the nodes that set attributes
  std::vector<const Node*> fillers_;  // the nodes that write lists and dicts
  Found elements_found_, containers_found_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_STATE_WRITES_H_
