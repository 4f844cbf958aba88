// Access to the values and types of LibTorch that Structure::constant holds.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_STRUCTURE_INTERNAL_H_
#define AITUNE_FRONTEND_TRACE_STRUCTURE_INTERNAL_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <string>
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

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_STRUCTURE_INTERNAL_H_
