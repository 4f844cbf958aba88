#include "compiler/candidates/ImplementationProto.h"

namespace aitune {

WorkerImplementation toProto(const KernelImplementation &implementation) {
  WorkerImplementation message;
  message.set_name(implementation.name);
  message.set_description(implementation.description);
  for (const ImplementationStep &step : implementation.steps) {
    WorkerStep &result = *message.add_steps();
    result.mutable_inputs()->Add(step.inputs.begin(), step.inputs.end());
    result.mutable_outputs()->Add(step.outputs.begin(), step.outputs.end());
    *result.mutable_call() = step.call;
    result.mutable_packings()->Add(step.packings.begin(), step.packings.end());
  }
  message.mutable_temporaries()->Add(implementation.temporaries.begin(),
                                     implementation.temporaries.end());
  for (const KernelObject &object : implementation.objects) {
    WorkerObject &result = *message.add_objects();
    result.set_symbol(object.symbol);
    result.set_object(object.object);
  }
  return message;
}

KernelImplementation fromProto(const WorkerImplementation &message) {
  KernelImplementation implementation;
  implementation.name = message.name();
  implementation.description = message.description();
  for (const WorkerStep &step : message.steps())
    implementation.steps.push_back(
        {{step.inputs().begin(), step.inputs().end()},
         {step.outputs().begin(), step.outputs().end()},
         step.call(),
         {step.packings().begin(), step.packings().end()}});
  implementation.temporaries.assign(message.temporaries().begin(),
                                    message.temporaries().end());
  for (const WorkerObject &object : message.objects())
    implementation.objects.push_back({object.symbol(), object.object()});
  return implementation;
}

WorkerGpu toProto(const GpuTarget &target) {
  WorkerGpu message;
  message.set_major(target.major);
  message.set_minor(target.minor);
  message.set_multiprocessors(target.multiprocessors);
  message.set_shared_memory_per_block(target.sharedMemoryPerBlock);
  return message;
}

GpuTarget fromProto(const WorkerGpu &message) {
  GpuTarget target;
  target.major = message.major();
  target.minor = message.minor();
  target.multiprocessors = message.multiprocessors();
  target.sharedMemoryPerBlock = message.shared_memory_per_block();
  return target;
}

} // namespace aitune
