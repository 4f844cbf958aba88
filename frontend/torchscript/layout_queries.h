// Finds programs that ask for the memory layout of their inputs. Compiled code
// gets contiguous copies of its inputs, for which the answers would differ.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_LAYOUT_QUERIES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_LAYOUT_QUERIES_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

// The first call in the program that asks for the offset in the memory, or views
// memory by strides, or else the first that asks for strides or contiguity:
// "aten::stride at model.py:12". Empty if there is none.
std::string FindLayoutQuery(const Model& model);

// kInvalidArgument names the first tensor among `arguments` that is not
// contiguous, when `query`, of FindLayoutQuery, is not empty; or one that is a
// part of a larger tensor, when `query` asks for offsets.
absl::Status CheckContiguous(const std::string& query,
                             const ValueList& arguments);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_LAYOUT_QUERIES_H_
