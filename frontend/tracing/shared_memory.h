// Values of which one may have another's memory, or be the very list or dict
// that another is, for data that the trace did not see. What is written to the
// one would then be in the other too, so neither may be written. Internal:
// includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_SHARED_MEMORY_H_
#define AITUNE_FRONTEND_TRACING_SHARED_MEMORY_H_

#include <ATen/core/ivalue.h>

#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {

// Whether a tensor, list or dict that `a` is or holds has the memory of one of
// `b`. Thread-safe.
bool ShareMemory(const c10::IValue& a, const c10::IValue& b);

// The same for the contents in some probe.
bool ShareMemory(const ProbedValue& a, const ProbedValue& b);

// A copy of all of a tensor's memory, on its device. May throw LibTorch's
// exceptions.
at::Storage CopyOfStorage(const at::Tensor& tensor);

// A tensor of the same geometry on another storage. May throw LibTorch's
// exceptions.
at::Tensor OnStorage(const at::Tensor& tensor, const at::Storage& storage);

// Notes that `a` and `b`, or what they hold, may share memory: writing to any
// of them is then kUnimplemented.
void NoteSharing(ProbedValue& a, ProbedValue& b);

// Notes that `result`, of a call with `argument`, may share memory with what
// `argument` may share memory with.
void InheritSharing(ProbedValue& argument, ProbedValue& result);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_SHARED_MEMORY_H_
