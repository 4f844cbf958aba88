#include "frontend/tracing/shared_memory.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <unordered_set>

#include "frontend/values/tensor_memory.h"

namespace aitune::frontend {
namespace {

using Identities = std::unordered_set<const void*>;

// Of the memory of tensors, and of lists and dicts.
void Collect(const c10::IValue& value, Identities& found) {
  if (value.isTensor()) {
    for (const at::Tensor& part : DenseParts(value.toTensor()))
      found.insert(part.storage().unsafeGetStorageImpl());
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements())
      Collect(element, found);
  } else if (value.isList()) {
    found.insert(value.internalToPointer());
    for (const c10::IValue& element : value.toListRef())
      Collect(element, found);
  } else if (value.isGenericDict()) {
    found.insert(value.internalToPointer());
    for (const auto& entry : value.toGenericDict())
      Collect(entry.value(), found);
  }
}

}  // namespace

bool ShareMemory(const c10::IValue& a, const c10::IValue& b) {
  Identities of_a, of_b;
  Collect(a, of_a);
  if (of_a.empty()) return false;
  Collect(b, of_b);
  return std::any_of(of_b.begin(), of_b.end(), [&](const void* identity) {
    return of_a.count(identity) > 0;
  });
}

bool ShareMemory(const ProbedValue& a, const ProbedValue& b) {
  for (size_t probe = 0; probe < a.probes.size() && probe < b.probes.size();
       ++probe) {
    if (ShareMemory(a.probes[probe], b.probes[probe])) return true;
  }
  return false;
}

at::Storage CopyOfStorage(const at::Tensor& tensor) {
  const at::Storage& memory = tensor.storage();
  return at::empty({0}, tensor.options().dtype(at::kByte))
      .set_(memory, 0, {static_cast<int64_t>(memory.nbytes())}, {1})
      .clone()
      .storage();
}

at::Tensor OnStorage(const at::Tensor& tensor, const at::Storage& storage) {
  return at::empty({0}, tensor.options())
      .set_(storage, tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

void NoteSharing(ProbedValue& a, ProbedValue& b) {
  for (ProbedValue* value : {&a, &b}) {
    if (value->IsTensor()) {
      value->storage->unknown_views = true;
      continue;
    }
    value->may_share_memory = true;
    for (const ProbedRef& element : value->elements)
      NoteSharing(*element, *element);
  }
}

void InheritSharing(ProbedValue& argument, ProbedValue& result) {
  if (&argument != &result && argument.may_share_memory &&
      ShareMemory(argument, result))
    NoteSharing(argument, result);
}

}  // namespace aitune::frontend
