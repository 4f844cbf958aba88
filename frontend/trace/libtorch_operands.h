// Operators whose results LibTorch makes as fast for an operator that it runs
// as it reads them from memory, or faster: rows that are the same row, which
// its scatter reads as such, and tensors of one number, which it may write to.
#ifndef AITUNE_FRONTEND_TRACE_LIBTORCH_OPERANDS_H_
#define AITUNE_FRONTEND_TRACE_LIBTORCH_OPERANDS_H_

#include "absl/strings/string_view.h"

namespace aitune::frontend {

// By the name of the schema, such as "aten::expand". All are thread-safe.

// Whether its result has elements of its first argument at several places.
bool RepeatsElements(absl::string_view op);

// Whether it makes a tensor whose elements are all one number.
bool FillsTensor(absl::string_view op);

// Whether its result is its first argument with other elements at some places,
// and LibTorch has it also as an operator that writes these in place, which is
// named as this one with an underscore behind it.
bool WritesSomeElements(absl::string_view op);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_LIBTORCH_OPERANDS_H_
