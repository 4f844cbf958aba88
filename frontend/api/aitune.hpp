// AITune for programs in C++17 that have neither LibTorch, Abseil nor protobuf:
// a thin layer over the C API, in this header alone. It frees what the C API
// gives, and throws nothing of its own.
//
//   ait::c::Module module;
//   if (auto failed = ait::c::Module::Load("bert.pt", {}).To(module))
//     return Fail(failed.message());
//   ait::c::TuneOptions options;
//   options.backends = {"TorchInductorBackend(mode=max-autotune)"};
//   ait::c::Error error = module.Record({ids, mask});
//   if (!error) error = module.Tune(options);
//   auto result = module.Run({ids, ait::c::Value(mask).Named("mask")});
//   if (!result.ok()) return Fail(result.error().message());
//   const float* scores = result->tensor(0).data<float>();
//
// Errors, ownership, threads and processes are as aitune.h says; functions here
// that have no comment are documented there, under the name of the C function
// that they call. What is missing here is called with Module::c().
#ifndef AITUNE_FRONTEND_API_AITUNE_HPP_
#define AITUNE_FRONTEND_API_AITUNE_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aitune.h"

namespace ait {
namespace c {

// What went wrong, or nothing (AIT_OK).
class [[nodiscard]] Error {
 public:
  Error() = default;
  // Takes the C API's error, and frees it.
  explicit Error(ait_error* error) {
    if (error == nullptr) return;
    code_ = ait_error_code(error);
    message_ = ait_error_message(error);
    ait_error_free(error);
  }
  Error(ait_code code, std::string message)
      : code_(code), message_(std::move(message)) {}

  // Whether there is an error.
  explicit operator bool() const { return code_ != AIT_OK; }
  ait_code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  ait_code code_ = AIT_OK;
  std::string message_;
};

// A value, or the error for which there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  // `error` is one.
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  const Error& error() const { return error_; }
  // Only if ok().
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  // Moves the value to `out`; gives the error, and leaves `out`, without one.
  Error To(T& out) && {
    if (value_) out = std::move(*value_);
    return std::move(error_);
  }

 private:
  std::optional<T> value_;
  Error error_;
};

// The ait_dtype of a C++ type; 16-bit floats have none.
template <typename T>
constexpr ait_dtype DtypeOf() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>) return AIT_FLOAT32;
  if constexpr (std::is_same_v<U, double>) return AIT_FLOAT64;
  if constexpr (std::is_same_v<U, int64_t>) return AIT_INT64;
  if constexpr (std::is_same_v<U, int32_t>) return AIT_INT32;
  if constexpr (std::is_same_v<U, int16_t>) return AIT_INT16;
  if constexpr (std::is_same_v<U, int8_t>) return AIT_INT8;
  if constexpr (std::is_same_v<U, uint8_t>) return AIT_UINT8;
  if constexpr (std::is_same_v<U, bool>) return AIT_BOOL;
}

// An argument or an output: a tensor on memory of the caller's, a number, a
// text, None, or a list, tuple or dict of these.
class Value {
 public:
  // A dense row-major tensor; `data` must stay until the call has ended.
  Value(ait_dtype dtype, std::vector<int64_t> sizes, const void* data)
      : dtype_(dtype), sizes_(std::move(sizes)), data_(data) {}
  template <typename T>
  static Value Tensor(std::vector<int64_t> sizes, const T* data) {
    return Value(DtypeOf<T>(), std::move(sizes), data);
  }
  // Numbers, as Python's int, float and bool.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Value(T number) : kind_(AIT_NUMBER) {
    if constexpr (std::is_same_v<T, bool>) {
      dtype_ = AIT_BOOL;
      integer_ = 0;
      reinterpret_cast<uint8_t&>(integer_) = number ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) {
      dtype_ = AIT_INT64;
      integer_ = static_cast<int64_t>(number);
    } else {
      dtype_ = AIT_FLOAT64;
      number_ = static_cast<double>(number);
    }
  }
  Value(std::string text) : kind_(AIT_TEXT), text_(std::move(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  static Value None() { return Value(AIT_NONE, {}); }
  static Value List(std::vector<Value> elements) {
    return Value(AIT_LIST, std::move(elements));
  }
  static Value Tuple(std::vector<Value> elements) {
    return Value(AIT_TUPLE, std::move(elements));
  }
  // With the elements' names as keys.
  static Value Dict(std::vector<Value> elements) {
    return Value(AIT_DICT, std::move(elements));
  }

  // For the parameter `name`. Arguments with names come last.
  Value Named(std::string name) && {
    name_ = std::move(name);
    return std::move(*this);
  }
  Value Named(std::string name) const& {
    return Value(*this).Named(std::move(name));
  }
  // In memory of the GPU `index`; without it, of the CPU.
  Value OnGpu(int32_t index) && {
    gpu_ = index;
    return std::move(*this);
  }

  // For the C API; refers to this value, and is valid until that changes or
  // moves.
  ait_tensor c() const {
    ait_tensor made = {};
    made.struct_size = sizeof made;
    made.kind = kind_;
    made.dtype = dtype_;
    made.name = name_ ? name_->c_str() : nullptr;
    made.device_type = gpu_ < 0 ? AIT_CPU : AIT_CUDA;
    made.device_index = gpu_ < 0 ? 0 : gpu_;
    const void* data = data_;
    if (kind_ == AIT_TENSOR) {
      made.rank = static_cast<int32_t>(sizes_.size());
      made.sizes = sizes_.data();
    } else if (kind_ == AIT_NUMBER) {
      if (dtype_ == AIT_FLOAT64)
        data = &number_;
      else
        data = &integer_;
    } else if (kind_ == AIT_TEXT) {
      data = text_.c_str();
    } else if (kind_ >= AIT_LIST) {
      made.rank = 1;
      made.sizes = sizes_.data();
      given_.clear();
      for (const Value& element : elements_) given_.push_back(element.c());
      data = given_.data();
    }
    made.data = const_cast<void*>(data);
    return made;
  }

 private:
  Value(ait_kind kind, std::vector<Value> elements)
      : kind_(kind),
        sizes_{static_cast<int64_t>(elements.size())},
        elements_(std::move(elements)) {}

  int32_t kind_ = AIT_TENSOR;
  int32_t dtype_ = 0;
  std::vector<int64_t> sizes_;  // of axes; of a list its number of elements
  const void* data_ = nullptr;
  int64_t integer_ = 0;
  double number_ = 0;
  std::string text_;
  std::optional<std::string> name_;
  int32_t gpu_ = -1;  // number of the GPU; -1: the CPU
  std::vector<Value> elements_;
  mutable std::vector<ait_tensor> given_;  // `elements_` for the C API
};

// Arguments or outputs for the C API, which refer to `values`.
inline std::vector<ait_tensor> ToC(const std::vector<Value>& values) {
  std::vector<ait_tensor> made;
  for (const Value& value : values) made.push_back(value.c());
  return made;
}

// Frees a handle of the C API.
template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* handle) const {
    kFree(handle);
  }
};
template <typename T, auto kFree>
using Handle = std::unique_ptr<T, Free<kFree>>;

// A tensor, or a value of another kind, of a result, in the result's memory.
class TensorView {
 public:
  explicit TensorView(const ait_tensor& tensor) : tensor_(tensor) {}
  ait_kind kind() const { return static_cast<ait_kind>(tensor_.kind); }
  // Where in the result it is, if ait_result_value gave it.
  std::string name() const { return tensor_.name ? tensor_.name : ""; }
  // Of a text.
  const char* text() const { return static_cast<const char*>(tensor_.data); }
  ait_dtype dtype() const { return static_cast<ait_dtype>(tensor_.dtype); }
  int32_t rank() const { return tensor_.rank; }
  int64_t size(int32_t axis) const { return tensor_.sizes[axis]; }
  std::vector<int64_t> sizes() const {
    return {tensor_.sizes, tensor_.sizes + tensor_.rank};
  }
  int64_t elements() const {
    int64_t count = 1;
    for (int32_t axis = 0; axis < rank(); ++axis) count *= size(axis);
    return count;
  }
  // The elements, or the number; null if they are not of the type T. 16-bit
  // floats are had as data<void>.
  template <typename T>
  const T* data() const {
    if constexpr (!std::is_void_v<T>) {
      if (dtype() != DtypeOf<T>()) return nullptr;
    }
    return static_cast<const T*>(tensor_.data);
  }

 private:
  ait_tensor tensor_;
};

// The tensors of one call's result.
class Outputs {
 public:
  explicit Outputs(ait_result* result) : handle_(result) {}
  size_t size() const { return ait_result_count(handle_.get()); }
  // Valid as long as this; `index` is below size().
  TensorView tensor(size_t index) const {
    ait_tensor tensor = {};
    tensor.struct_size = sizeof tensor;
    ait_error_free(ait_result_tensor(handle_.get(), index, &tensor));
    return TensorView(tensor);
  }
  // The same for all values, also those that are no tensors.
  size_t values() const { return ait_result_values(handle_.get()); }
  TensorView value(size_t index) const {
    ait_tensor value = {};
    value.struct_size = sizeof value;
    ait_error_free(ait_result_value(handle_.get(), index, &value));
    return TensorView(value);
  }

 private:
  Handle<ait_result, ait_result_free> handle_;
};

// Options of loading and compiling, by the names of the command line.
class Options {
 public:
  Error Set(const std::string& name, const std::string& value) {
    if (handle_ == nullptr)
      return Error(AIT_RESOURCE_EXHAUSTED, "out of memory");
    return Error(ait_options_set(handle_.get(), name.c_str(), value.c_str()));
  }
  const ait_options* c() const { return handle_.get(); }

 private:
  Handle<ait_options, ait_options_free> handle_{ait_options_new()};
};

// ait_tune_options; what is not set is the default.
struct TuneOptions {
  std::string strategy = "MaxThroughput";
  double milliseconds = 0;
  std::vector<std::string> backends;
  std::vector<std::string> inputs;
  std::vector<int64_t> batches;
  std::optional<double> tolerance;
  double timing_milliseconds = 0;
  uint64_t seed = 0;
};

// A call with memory of the caller's, to be run many times.
class Binding {
 public:
  explicit Binding(ait_binding* binding) : handle_(binding) {}
  Error Run(void* stream = nullptr) {
    return Error(ait_binding_run(handle_.get(), stream));
  }
  bool copies_nothing() const {
    return ait_binding_copies_nothing(handle_.get()) != 0;
  }

 private:
  Handle<ait_binding, ait_binding_free> handle_;
};

class Module {
 public:
  // No module: its functions give AIT_INVALID_ARGUMENT.
  Module() = default;

  static Result<Module> Load(const std::string& path, const Options& options) {
    ait_module* module = nullptr;
    return Made(
        ait_module_load_with(options.c(), path.c_str(), nullptr, 0, &module),
        module);
  }
  static Result<Module> LoadBytes(const void* bytes, size_t size,
                                  const Options& options) {
    ait_module* module = nullptr;
    return Made(ait_module_load_bytes(options.c(), bytes, size, nullptr,
                                      nullptr, 0, &module),
                module);
  }
  // `device` is empty: that which the checkpoint was saved for; `digest` is not
  // set: it is not compared.
  static Result<Module> LoadCheckpoint(
      const std::string& path, const std::optional<std::string>& digest = {},
      const std::string& device = "") {
    ait_module* module = nullptr;
    return Made(ait_module_load_checkpoint_on(
                    device.empty() ? nullptr : device.c_str(), path.c_str(),
                    digest ? digest->c_str() : nullptr, &module),
                module);
  }

  Error Record(const std::vector<Value>& inputs, int64_t batch = 1) {
    const std::vector<ait_tensor> given = ToC(inputs);
    return Error(ait_module_record(c(), given.data(), given.size(), batch));
  }
  Error Tune(const TuneOptions& options = {}) {
    const std::vector<const char*> backends = Texts(options.backends),
                                   inputs = Texts(options.inputs);
    ait_tune_options with = {};
    with.struct_size = sizeof with;
    with.strategy = options.strategy.c_str();
    with.milliseconds = options.milliseconds;
    with.backends = backends.data();
    with.backend_count = backends.size();
    with.inputs = inputs.data();
    with.input_count = inputs.size();
    with.batches = options.batches.data();
    with.batch_count = options.batches.size();
    with.tolerance_is_set = options.tolerance.has_value() ? 1 : 0;
    with.tolerance = options.tolerance.value_or(0);
    with.timing_milliseconds = options.timing_milliseconds;
    with.seed = options.seed;
    return Error(ait_module_tune_with(c(), &with));
  }
  Error CancelTune() { return Error(ait_module_cancel_tune(c())); }

  // Without inputs: ait_module_warm_up of NULL.
  Error WarmUp() const { return Error(ait_module_warm_up(c(), nullptr, 0)); }
  Error WarmUp(const std::vector<Value>& inputs) const {
    const std::vector<ait_tensor> given = ToC(inputs);
    return Error(ait_module_warm_up(c(), given.data(), given.size()));
  }

  Result<Outputs> Run(const std::vector<Value>& inputs) const {
    const std::vector<ait_tensor> given = ToC(inputs);
    ait_result* result = nullptr;
    if (Error error{ait_module_run(c(), given.data(), given.size(), &result)})
      return error;
    return Outputs(result);
  }
  Error RunInto(const std::vector<Value>& inputs,
                const std::vector<Value>& outputs) const {
    const std::vector<ait_tensor> given = ToC(inputs), into = ToC(outputs);
    return Error(ait_module_run_into(c(), given.data(), given.size(),
                                     into.data(), into.size()));
  }
  Result<Binding> Bind(const std::vector<Value>& inputs,
                       const std::vector<Value>& outputs) const {
    const std::vector<ait_tensor> given = ToC(inputs), into = ToC(outputs);
    ait_binding* binding = nullptr;
    if (Error error{ait_module_bind(c(), given.data(), given.size(),
                                    into.data(), into.size(), &binding)})
      return error;
    return Binding(binding);
  }

  bool is_tuned() const { return ait_module_is_tuned(c()) != 0; }
  Result<std::string> Describe() const {
    char* text = nullptr;
    return Text(ait_module_describe(c(), &text), text);
  }
  // `format` is "json" or "html".
  Result<std::string> Report(const std::string& format) const {
    char* text = nullptr;
    return Text(ait_module_report(c(), format.c_str(), &text), text);
  }
  Result<ait_usage> Usage() const {
    ait_usage usage = {};
    usage.struct_size = sizeof usage;
    if (Error error{ait_module_usage(c(), &usage)}) return error;
    return usage;
  }
  // The digest of the checkpoint.
  Result<std::string> Save(const std::string& path) const {
    char digest[65] = {};
    if (Error error{ait_module_save(c(), path.c_str(), digest)}) return error;
    return std::string(digest);
  }

  // The handle, which stays this module's; null: none.
  ait_module* c() const { return handle_.get(); }

 private:
  static Result<Module> Made(ait_error* error, ait_module*& module) {
    if (Error failed{error}) return failed;
    Module made;
    made.handle_.reset(module);
    return made;
  }
  static Result<std::string> Text(ait_error* error, char*& text) {
    if (Error failed{error}) return failed;
    const Handle<char, ait_text_free> owned(text);
    return std::string(text);
  }
  static std::vector<const char*> Texts(const std::vector<std::string>& from) {
    std::vector<const char*> texts;
    for (const std::string& text : from) texts.push_back(text.c_str());
    return texts;
  }

  Handle<ait_module, ait_module_free> handle_;
};

// ait_list_backends without its settings: names, devices and reasons.
struct BackendKind {
  std::string name, help, devices, usable_devices, reason;
};
inline Result<std::vector<BackendKind>> ListBackends() {
  ait_backends* list = nullptr;
  if (Error error{ait_list_backends(&list)}) return error;
  const Handle<ait_backends, ait_backends_free> owned(list);
  std::vector<BackendKind> kinds;
  for (size_t i = 0; i < ait_backends_count(list); ++i) {
    ait_backend kind = {};
    kind.struct_size = sizeof kind;
    if (Error error{ait_backends_get(list, i, &kind)}) return error;
    kinds.push_back(
        {kind.name, kind.help, kind.devices, kind.usable_devices, kind.reason});
  }
  return kinds;
}

// A stance of the calling thread until the end of the scope, which is then the
// process's: scopes do not nest.
class ScopedStance {
 public:
  explicit ScopedStance(const std::string& name)
      : error_(ait_set_thread_stance(name.c_str())) {}
  ~ScopedStance() { ait_error_free(ait_set_thread_stance(nullptr)); }
  ScopedStance(const ScopedStance&) = delete;
  ScopedStance& operator=(const ScopedStance&) = delete;
  // Whether it was taken.
  const Error& error() const { return error_; }

 private:
  Error error_;
};

}  // namespace c
}  // namespace ait

#endif  // AITUNE_FRONTEND_API_AITUNE_HPP_
