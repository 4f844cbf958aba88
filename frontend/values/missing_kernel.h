// What LibTorch says of an operator for which it has no code.
//
// LibTorch throws the same type for a program's own mistakes and for operators
// that it has not written for a dtype or a device; its text alone tells them
// apart.
#ifndef AITUNE_FRONTEND_VALUES_MISSING_KERNEL_H_
#define AITUNE_FRONTEND_VALUES_MISSING_KERNEL_H_

#include <c10/core/ScalarType.h>

#include <optional>

#include "absl/strings/string_view.h"

namespace aitune::frontend {

// Whether the error `message` says that LibTorch, or a library of operators
// written for it, has no code of an operator for a dtype or a device. It then
// says nothing about the values of the inputs.
bool IsMissingKernel(absl::string_view message);

// The dtype of which it says so, where it names one.
std::optional<c10::ScalarType> MissingDtype(absl::string_view message);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_MISSING_KERNEL_H_
