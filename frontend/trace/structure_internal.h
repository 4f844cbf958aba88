// How structures are made and walked, and the values and types of LibTorch that
// Structure::constant holds: trace.h has them as plain data, so that its other
// readers need no LibTorch. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_STRUCTURE_INTERNAL_H_
#define AITUNE_FRONTEND_TRACE_STRUCTURE_INTERNAL_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <vector>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// The contents of Structure::constant for a container.
struct ContainerInfo {
  c10::TypePtr type;              // null: a tuple without names
  std::vector<c10::IValue> keys;  // the keys of a dict
};

// A leaf of kind kConstant (or kNone) that holds `value`.
Structure ConstantStructure(const c10::IValue& value);
// A container of `kind` with these children.
Structure ContainerStructure(Structure::Kind kind,
                             std::vector<Structure> children,
                             ContainerInfo info);

// The contents of Structure::constant, for a constant leaf and for a container.
const c10::IValue& ConstantOf(const Structure& structure);
const ContainerInfo& InfoOf(const Structure& structure);

// Whether it is no tuple, list or dict.
bool IsLeaf(const Structure& structure);
// Calls `visit` with each leaf, in the order of a depth-first walk.
void ForEachLeaf(const Structure& structure,
                 const std::function<void(const Structure&)>& visit);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_STRUCTURE_INTERNAL_H_
