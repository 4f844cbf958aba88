// What the parts of the C API share: the objects behind its handles, and how
// errors leave it. Internal to this folder: includes LibTorch.
#ifndef AITUNE_FRONTEND_API_C_HANDLES_H_
#define AITUNE_FRONTEND_API_C_HANDLES_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "frontend/api/aitune.h"
#include "frontend/api/module.h"
#include "frontend/values/borrowed_memory.h"
#include "frontend/values/value_list.h"

struct ait_module {
  std::unique_ptr<ait::Module> module;
};

struct ait_options {
  ait::ModuleOptions options;
};

struct ait_result {
  // A value of any kind.
  struct Value {
    std::string path;  // as Python would index the result
    ait_kind kind = AIT_NONE;
    size_t tensor = 0;            // index in `tensors`, of a tensor
    ait_dtype dtype = AIT_INT64;  // of a number, which is one of these
    int64_t integer = 0;
    double number = 0;
    uint8_t truth = 0;
    std::string text;
  };
  std::vector<at::Tensor> tensors;
  std::vector<std::vector<int64_t>> sizes;  // of each tensor, in elements
  std::vector<Value> values;                // also the tensors
};

struct ait_error {
  ait_code code;
  std::string message;
};

namespace ait {

// Element `index` of an array whose elements are as large as the first one
// says.
template <typename T>
const T& Element(const T* array, size_t index) {
  return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(array) +
                                     index * array->struct_size);
}

// The tensors of an array that is called `what`, "input" say, each on the
// caller's memory, for a call of `module`. kInvalidArgument for a structure
// that describes no tensor, or one on another device than the CPU and the
// module's.
absl::StatusOr<std::vector<at::Tensor>> TensorsOf(const ait_module& module,
                                                  const ait_tensor* array,
                                                  size_t count,
                                                  const std::string& what);
absl::StatusOr<aitune::frontend::ValueList> ValuesOf(const ait_module& module,
                                                     const ait_tensor* array,
                                                     size_t count,
                                                     const std::string& what);

// The arguments of a call, of all kinds and with names, as TensorsOf; numbers
// and texts are copied. Errors also those of Module::Arguments.
absl::StatusOr<aitune::frontend::ValueList> ArgumentsOf(
    const ait_module& module, const ait_tensor* array, size_t count);

// Adds the tensors on the CPU among `arguments`.
void AddTo(aitune::frontend::BorrowedMemory& borrowed,
           const aitune::frontend::ValueList& arguments);

// Calls `run` with `arguments` in the caller's memory, to which nothing that
// the model keeps of them refers afterwards.
template <typename Run>
auto OnBorrowed(aitune::frontend::ValueList arguments, const Run& run) {
  aitune::frontend::BorrowedMemory borrowed;
  AddTo(borrowed, arguments);
  auto result = run(arguments);
  arguments = aitune::frontend::ValueList();
  borrowed.Release();
  return result;
}

// The values in `value` on the CPU, which share no memory with `arguments`.
// kUnimplemented for tensors that an ait_tensor can't describe. May throw
// LibTorch's exceptions.
absl::StatusOr<std::unique_ptr<ait_result>> ResultOf(
    const c10::IValue& value, const aitune::frontend::ValueList& arguments);

// Describes tensor `index` of a result, as ait_result_tensor says.
absl::Status GiveTensor(const ait_result& result, size_t index,
                        ait_tensor* tensor);

// Describes value `index` of a result, as ait_result_value says.
absl::Status GiveValue(const ait_result& result, size_t index,
                       ait_tensor* value);

// Runs `body`, and gives its error to C. Nothing that is thrown leaves the
// library, and lack of memory is an error too.
ait_error* Guarded(absl::FunctionRef<absl::Status()> body) noexcept;

// kInvalidArgument if an argument of the caller's, called `what`, is null.
absl::Status Need(const void* pointer, const char* what);

// Whether a structure of the caller's is of a program that has the field.
template <typename T, typename Field>
bool HasField(const T& value, Field T::* field) {
  const char* end = reinterpret_cast<const char*>(&(value.*field) + 1);
  return end - reinterpret_cast<const char*>(&value) <=
         static_cast<ptrdiff_t>(value.struct_size);
}

// kInvalidArgument if a structure of the caller's, called `what`, ends before
// `last`, the last field that the first programs with it have.
template <typename T, typename Field>
absl::Status CheckFields(const T& value, Field T::* last,
                         const std::string& what) {
  if (HasField(value, last)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has the struct_size ", value.struct_size,
                   "; set it to sizeof, which is ", sizeof(T)));
}

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
