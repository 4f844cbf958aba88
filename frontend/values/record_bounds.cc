#include "frontend/values/record_bounds.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

int ElementsPerByte(at::ScalarType type) {
  return type == at::kQUInt4x2 ? 2 : type == at::kQUInt2x4 ? 4 : 1;
}

// Whether all elements lie in the storage.
bool IsInStorage(const at::Tensor& tensor) {
  if (tensor.storage_offset() < 0 ||
      std::any_of(tensor.sizes().begin(), tensor.sizes().end(),
                  [](int64_t size) { return size < 0; }))
    return false;
  try {
    return at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(),
                                            tensor.dtype().itemsize(),
                                            tensor.storage_offset()) /
               ElementsPerByte(tensor.scalar_type()) <=
           tensor.storage().nbytes();
  } catch (const std::exception&) {  // more than an address can be
    return false;
  }
}

bool HasPlainStorage(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided &&
         tensor.has_storage() && !tensor.is_meta();
}

}  // namespace

at::DataPtr RecordBounds::Keep(at::DataPtr record, size_t bytes) {
  bytes_[record.get()] = bytes;
  return record;
}

absl::Status RecordBounds::Check(const c10::IValue& value) const {
  absl::Status status;
  std::unordered_set<const void*> seen;
  const auto check = [&](const at::Tensor& tensor) {
    if (!HasPlainStorage(tensor)) return absl::OkStatus();
    const c10::Storage& storage = tensor.storage();
    const auto record = bytes_.find(storage.data());
    const size_t bytes = record == bytes_.end() ? 0 : record->second;
    if (storage.nbytes() > bytes)
      return absl::InvalidArgumentError(
          absl::StrCat("a tensor of ", storage.nbytes(), " bytes has ", bytes,
                       " bytes in the file, which is truncated or damaged"));
    if (IsInStorage(tensor)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "a tensor has elements outside of its ", storage.nbytes(),
        " bytes of the file, which is damaged: ", Describe(tensor)));
  };
  value.visit([&](const c10::IValue& part) {
    if (!status.ok()) return true;
    if (part.isTensor()) status = check(part.toTensor());
    return part.isPtrType() && !seen.insert(part.internalToPointer()).second;
  });
  return status;
}

}  // namespace aitune::frontend
