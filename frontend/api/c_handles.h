// What the parts of the C API share: the objects behind its handles, and how
// errors leave it. Internal to this folder: includes LibTorch.
#ifndef AITUNE_FRONTEND_API_C_HANDLES_H_
#define AITUNE_FRONTEND_API_C_HANDLES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "frontend/api/aitune.h"
#include "frontend/api/module.h"

struct ait_module {
  std::unique_ptr<ait::Module> module;
};

struct ait_options {
  ait::ModuleOptions options;
};

struct ait_result {
  std::vector<at::Tensor> tensors;
  std::vector<std::vector<int64_t>> sizes;  // of each tensor, in elements
};

struct ait_error {
  ait_code code;
  std::string message;
};

namespace ait {

// Runs `body`, and gives its error to C. Nothing that is thrown leaves the
// library, and lack of memory is an error too.
ait_error* Guarded(absl::FunctionRef<absl::Status()> body) noexcept;

// kInvalidArgument if an argument of the caller's, called `what`, is null.
absl::Status Need(const void* pointer, const char* what);

// kInvalidArgument if a structure of the caller's, called `what`, has fewer
// fields than this version reads.
template <typename T>
absl::Status CheckStruct(const T& value, const std::string& what) {
  if (value.struct_size >= sizeof(T)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has the struct_size ", value.struct_size,
                   "; set it to sizeof, which is ", sizeof(T)));
}

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_C_HANDLES_H_
