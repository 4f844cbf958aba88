// One way to run an outlined kernel: the steps of the plan that a launch of it
// becomes.
//
// A kernel has several implementations: code generated with one of several
// schedules, or a library primitive followed by code for the operations that
// the library does not support. All have this one form, so that the tuner
// measures and the plan builder emits any of them without knowing which it is,
// or for which device. It refers to no MLIR context, because code is generated
// in contexts of its own, on any thread.
#ifndef AITUNE_COMPILER_PLAN_KERNELIMPLEMENTATION_H
#define AITUNE_COMPILER_PLAN_KERNELIMPLEMENTATION_H

#include <string>
#include <vector>

#include "compiler/Compiler.h"
#include "compiler/support/ImplementationStep.h"
#include "runtime/plan/plan.pb.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

struct KernelImplementation {
  /// "generated", "cut before OPERATION", or the library's name.
  std::string name;
  /// Distinguishes it from others of the same name, such as its schedule.
  std::string description;
  std::vector<ImplementationStep> steps;
  /// Types of the tensors that one step writes and another reads.
  std::vector<TensorTypeProto> temporaries;
  /// Whether a search found it; a build without a search would not have it.
  bool isSearched = false;
  /// The operation before which the kernel was cut in two, as in
  /// Kernel::cuts; 0: it was not cut.
  int cut = 0;
  /// Whether it may ask for an algorithm beyond the end of a library's list,
  /// whose length only the library knows. The error kNotFound then means
  /// nothing for other candidates.
  bool mayNotExist = false;
  /// A number of microseconds that no measured call of its library was faster
  /// than. If another candidate is faster, this one is not loaded. 0: it is
  /// always loaded.
  double leastMicroseconds = 0;
  /// The machine code of its generated steps.
  std::vector<KernelObject> objects;
};

/// The objects of `implementations`, in their order, each once: kernels of one
/// text share theirs. Thread-safe.
std::vector<KernelObject>
objectsOf(llvm::ArrayRef<const KernelImplementation *> implementations);

} // namespace aitune

#endif // AITUNE_COMPILER_PLAN_KERNELIMPLEMENTATION_H
