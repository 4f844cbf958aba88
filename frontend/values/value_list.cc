#include "frontend/values/value_list.h"

#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/storage_context.h>
#include <torch/csrc/jit/serialization/unpickler.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/values/pickle_integers.h"
#include "frontend/values/pytree.h"
#include "frontend/values/record_bounds.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/regular_file.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Walks lists, tuples and dicts. One that holds itself has no end, and ones
// that share parts have more places than fit into memory.
class Nesting {
 public:
  // Whether it is at most this deep, and of at most this many parts.
  static constexpr int kDeepest = 100;
  static constexpr int kMostParts = 10'000'000;

  bool IsBounded(const c10::IValue& value, int depth = 0) {
    if (depth > kDeepest || ++parts_ > kMostParts) return false;
    const auto is_bounded = [&](const c10::IValue& part) {
      return IsBounded(part, depth + 1);
    };
    if (value.isTuple()) {
      const auto& elements = value.toTupleRef().elements();
      return std::all_of(elements.begin(), elements.end(), is_bounded);
    }
    if (value.isList()) {
      const auto elements = value.toListRef();
      return std::all_of(elements.begin(), elements.end(), is_bounded);
    }
    if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict())
        if (!is_bounded(entry.value())) return false;
    }
    return true;
  }

 private:
  int parts_ = 0;
};

// A list, tuple or dict of arguments as the arguments.
std::vector<c10::IValue> Arguments(const c10::IValue& value) {
  if (value.isTuple()) return value.toTupleRef().elements();
  if (value.isList()) return value.toListRef().vec();
  if (value.isGenericDict()) {
    std::vector<c10::IValue> values;
    for (const auto& entry : value.toGenericDict())
      values.push_back(entry.value());
    return values;
  }
  return {value};
}

// The keys of a dict if all of them are strings.
std::vector<std::string> KeysOf(const c10::IValue& value) {
  std::vector<std::string> keys;
  if (!value.isGenericDict()) return keys;
  for (const auto& entry : value.toGenericDict()) {
    if (!entry.key().isString()) return {};
    keys.push_back(entry.key().toStringRef());
  }
  return keys;
}

// The bytes of a file.
class Bytes : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Bytes(const std::vector<char>& bytes) : bytes_(bytes) {}

  size_t size() const override { return bytes_.size(); }
  size_t read(uint64_t position, void* buffer, size_t count,
              const char* /*what*/) const override {
    if (position >= bytes_.size()) return 0;
    const size_t available =
        std::min(count, bytes_.size() - static_cast<size_t>(position));
    std::memcpy(buffer, bytes_.data() + position, available);
    return available;
  }

 private:
  const std::vector<char>& bytes_;
};

// What torch::jit::pickle_load does, for integers of any length.
absl::StatusOr<c10::IValue> Unpickle(const std::vector<char>& bytes,
                                     RecordBounds& bounds) {
  caffe2::serialize::PyTorchStreamReader file(std::make_shared<Bytes>(bytes));
  const auto [data, size] = file.getRecord("data.pkl");
  AITUNE_ASSIGN_OR_RETURN(const std::string pickle,
                          WithWideIntegers(std::string_view(
                              static_cast<const char*>(data.get()), size)));
  size_t position = 0;
  const auto read = [&](char* buffer, size_t count) {
    const size_t available = std::min(count, pickle.size() - position);
    std::memcpy(buffer, pickle.data() + position, available);
    position += available;
    return available;
  };
  // Tensors that share memory in the file share it here.
  torch::jit::Unpickler unpickler(
      read, /*type_resolver=*/nullptr, /*obj_loader=*/nullptr,
      [&](const std::string& name) {
        auto [record, size] = file.getRecord("data/" + name);
        return bounds.Keep(std::move(record), size);
      },
      // Moving one to where it was would read it before it is checked.
      /*device=*/at::kCPU, /*use_storage_device=*/false,
      torch::jit::Unpickler::defaultTypeParser,
      std::make_shared<torch::jit::DeserializationStorageContext>());
  unpickler.set_version(file.version());
  return unpickler.parse_ivalue();
}

}  // namespace

ValueList::ValueList() : ValueList(std::vector<c10::IValue>()) {}

ValueList::ValueList(std::vector<c10::IValue> values)
    : values_(
          std::make_shared<const std::vector<c10::IValue>>(std::move(values))) {
}

int ValueList::size() const { return static_cast<int>(values_->size()); }

std::string ValueList::Describe() const {
  return absl::StrJoin(*values_, ", ",
                       [](std::string* out, const c10::IValue& value) {
                         absl::StrAppend(out, frontend::Describe(value));
                       });
}

ValueList ValueList::MapTensors(
    const std::function<at::Tensor(const at::Tensor&)>& map) const {
  std::vector<c10::IValue> mapped;
  for (const c10::IValue& value : *values_) {
    mapped.push_back(frontend::MapTensors(
        value, [&](const at::Tensor& tensor, int) { return map(tensor); }));
  }
  return ValueList(std::move(mapped));
}

ValueList ValueList::Clone() const {
  return MapTensors([](const at::Tensor& tensor) {
    if (tensor.layout() != at::kStrided || tensor.numel() == 0 ||
        tensor.is_non_overlapping_and_dense())
      return tensor.clone();
    int64_t reach = 1;  // elements from the first to the last, with gaps
    for (int64_t axis = 0; axis < tensor.dim(); ++axis)
      reach += (tensor.size(axis) - 1) * tensor.stride(axis);
    return tensor.as_strided({reach}, {1}, tensor.storage_offset())
        .clone()
        .as_strided(tensor.sizes(), tensor.strides(), 0);
  });
}

absl::StatusOr<ValueList> LoadSamples(const std::string& path,
                                      std::vector<std::string>* names) {
  AITUNE_RETURN_IF_ERROR(CheckRegularFile(path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  ValueList samples;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInvalidArgument,
      absl::StrCat(path, ": not a list of tensors written by torch.save"), [&] {
        RecordBounds bounds;
        const absl::StatusOr<c10::IValue> read = Unpickle(bytes, bounds);
        if (!read.ok())
          return absl::InvalidArgumentError(
              absl::StrCat(path, ": ", read.status().message()));
        const c10::IValue& value = *read;
        if (!Nesting().IsBounded(value)) {
          return absl::InvalidArgumentError(
              absl::StrCat(path, ": lists and dicts are nested more than ",
                           Nesting::kDeepest, " deep, have more than ",
                           Nesting::kMostParts, " parts, or hold themselves"));
        }
        if (const absl::Status status = bounds.Check(value); !status.ok())
          return absl::Status(status.code(),
                              absl::StrCat(path, ": ", status.message()));
        // As tensors that a program has made, other than those of a file.
        for (const at::Tensor& tensor : TensorLeaves(value)) LetResize(tensor);
        if (names != nullptr) *names = KeysOf(value);
        samples = ValueList(Arguments(value));
        return absl::OkStatus();
      });
  if (absl::StrContains(status.message(), "__builtin__.complex"))
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": it has a Python complex number, which LibTorch does not read; save "
        "a tensor, such as torch.tensor(1+2j), and have forward take that"));
  if (absl::StrContains(status.message(), "'torch.Size'"))
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": it has a torch.Size, which LibTorch does not read; save a list of "
        "its numbers, such as list(x.shape)"));
  // Such as that it expected a dict where a class of Python's is one.
  if (absl::StrContains(status.message(), "INTERNAL ASSERT"))
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": it has objects of Python's, as a state_dict or a module has; save "
        "a tensor, or a list, a tuple or a dict of inputs"));
  if (!status.ok()) return status;
  return samples;
}

}  // namespace aitune::frontend
