// What code generators make, as messages of compiler/measure/worker.proto.
#ifndef AITUNE_COMPILER_CANDIDATES_IMPLEMENTATIONPROTO_H
#define AITUNE_COMPILER_CANDIDATES_IMPLEMENTATIONPROTO_H

#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/measure/worker.pb.h"
#include "compiler/plan/KernelImplementation.h"

namespace aitune {

/// The message has what a code generator sets, not what candidates are searched
/// by.
WorkerImplementation toProto(const KernelImplementation &implementation);
KernelImplementation fromProto(const WorkerImplementation &message);

/// The message has all but whether tf32 is allowed, which depends on the
/// kernel.
WorkerGpu toProto(const GpuTarget &target);
GpuTarget fromProto(const WorkerGpu &message);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_IMPLEMENTATIONPROTO_H
