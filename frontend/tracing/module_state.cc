#include "frontend/tracing/module_state.h"

#include <ATen/core/List.h>

#include <algorithm>
#include <cstring>

#include "frontend/trace/print_trace.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

bool SameValue(const c10::IValue& a, const c10::IValue& b) {
  if (a.isTensor() && b.isTensor())
    return SameContent(a.toTensor(), b.toTensor());
  if (a.isList() && b.isList()) {
    return std::equal(a.toListRef().begin(), a.toListRef().end(),
                      b.toListRef().begin(), b.toListRef().end(), SameValue);
  }
  return a.is(b) || (a.tagKind() == b.tagKind() && !a.isObject() && a == b);
}

}  // namespace

std::string ChangedAttribute(const ModuleState& before,
                             const ModuleState& after) {
  for (const auto& [key, value] : after) {
    const auto known = before.find(key);
    const auto& [object, name] = key;
    if (!SameValue(
            known != before.end() ? known->second : object->getAttr(name),
            value))
      return name;
  }
  return "";
}

bool ComputeTheSame(const Trace& a, const Trace& b) {
  return PrintTrace(a) == PrintTrace(b) &&
         std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(),
                    b.constants.end(),
                    [](const ConstantTensor& x, const ConstantTensor& y) {
                      return x.view.data == y.view.data ||
                             std::memcmp(x.view.data, y.view.data,
                                         ElementCount(x.view.sizes) *
                                             SizeInBytes(x.view.dtype)) == 0;
                    });
}

}  // namespace aitune::frontend
