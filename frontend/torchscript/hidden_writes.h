// Operators of whose memory their schemas do not tell all: normalisations that
// update running statistics, and those whose result may be an argument or a
// view of one. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_HIDDEN_WRITES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_HIDDEN_WRITES_H_

#include <ATen/core/function_schema.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace aitune::frontend {

struct HiddenWrites {
  // The positions of the arguments that it writes to, where they are tensors.
  std::vector<size_t> arguments;
  // The position of the argument that says whether it does; not set: always.
  std::optional<size_t> flag;
};

// No arguments for operators that hide nothing. Thread-safe.
HiddenWrites HiddenWritesOf(const c10::FunctionSchema& schema);

// Whether a result may be an argument, or lie in its memory, where the schema
// says nothing of it, as that of x.type_as(y) with y of the same dtype. The
// list is of what PyTorch 2.11 does. Thread-safe.
bool MayGiveArgument(const c10::FunctionSchema& schema);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_HIDDEN_WRITES_H_
