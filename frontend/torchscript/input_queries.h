// Finds programs that ask what compiled code does not know of its inputs: how
// they lie in memory, whether two are one tensor, whether they require a
// gradient. It gets contiguous tensors of their own, for which the answers are
// known, so that calls with others are not for it. Nor are those of programs
// that write to an input, where that would be a copy. A program that changes
// the sizes of an input, or that takes dicts with tensors as keys, needs the
// caller's own tensors in every call.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_INPUT_QUERIES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_INPUT_QUERIES_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

// A call that asks how a tensor lies in memory: for its strides or contiguity,
// or for a view of its memory.
struct LayoutQuery {
  std::string call;         // as below
  bool sees_offset;         // where in the memory the tensor begins, too
  std::set<int> arguments;  // whose layout the answer may depend on
};

// The first calls in the program that ask, such as "aten::stride at
// model.py:12"; empty where there is none.
struct InputQueries {
  // Of each argument the first that sees its layout, and its offset.
  std::vector<LayoutQuery> layout;
  std::string identity;  // `x is y` of tensors
  std::string gradient;  // x.requires_grad
  std::string write;     // to an input, or to what one holds
  // The arguments that such writes may be to: all of them where it is not known
  // which; none if `write` is empty.
  std::set<int> written_arguments;
  // Of a list or dict that an input is or holds: which tensors it holds then.
  std::string container_write;
  // Why LibTorch must run each call, with the arguments themselves: compiled
  // code gets copies or other tensors on their memory.
  std::string own_arguments;
};

InputQueries FindInputQueries(const Model& model);

// kInvalidArgument names the first tensor among `arguments` that the program
// would see: one whose layout it asks for, not contiguous or, for an offset, a
// part of a larger tensor; one that is given twice; one that requires a
// gradient.
absl::Status CheckQueries(const InputQueries& queries,
                          const ValueList& arguments);

// kInvalidArgument names the first tensor among `arguments` that is not
// contiguous and that the program may write to: to the tensor itself, or to
// another that has its memory.
absl::Status CheckWrites(const InputQueries& queries,
                         const ValueList& arguments);

// The same for a caller who does not look at the arguments after the call: the
// first tensor that is not contiguous and has memory of another, which a write
// to a copy does not reach.
absl::Status CheckSharedWrites(const InputQueries& queries,
                               const ValueList& arguments);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_INPUT_QUERIES_H_
