// What LibTorch's tags say of operators. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_OPERATOR_TAGS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_OPERATOR_TAGS_H_

#include <ATen/core/enum_tag.h>
#include <ATen/core/function_schema.h>

namespace aitune::frontend {

// Whether an operator with this schema is registered and has the tag.
// Thread-safe.
bool HasTag(const c10::FunctionSchema& schema, at::Tag tag);

// Whether elements of its arguments decide the sizes of its results: whatever
// the arguments are, as nonzero's, or, as the tag says, for some, such as masks
// as indices. Not told: where with one argument. Thread-safe.
bool HasSizesOfData(const c10::FunctionSchema& schema);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_OPERATOR_TAGS_H_
