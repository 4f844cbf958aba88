// Structures with LibTorch's types in them. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_STRUCTURE_INTERNAL_H_
#define AITUNE_FRONTEND_TRACE_STRUCTURE_INTERNAL_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <string>
#include <vector>

#include "frontend/trace/trace.h"

namespace aitune::frontend {

// Structure::constant of a container.
struct ContainerInfo {
  c10::TypePtr type;              // null: a tuple without names
  std::vector<c10::IValue> keys;  // of a dict
};

Structure ConstantStructure(const c10::IValue& value);
Structure ContainerStructure(Structure::Kind kind,
                             std::vector<Structure> children,
                             ContainerInfo info);

const c10::IValue& ConstantOf(const Structure& structure);
const ContainerInfo& InfoOf(const Structure& structure);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_STRUCTURE_INTERNAL_H_
