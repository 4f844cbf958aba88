// How an outlined kernel will run: the steps that a launch of it becomes.
//
// A kernel has several implementations (generated with some schedule, a library
// primitive followed by what the library could not take). All of them have this
// one form, so that the tuner measures and the plan builder emits any of them
// without knowing which it is, nor for which device. It holds nothing of an
// MLIR context: code is generated in contexts of its own, on any thread.
#ifndef AITUNE_COMPILER_PLAN_KERNELIMPLEMENTATION_H
#define AITUNE_COMPILER_PLAN_KERNELIMPLEMENTATION_H

#include <string>
#include <vector>

#include "compiler/Compiler.h"
#include "runtime/plan/plan.pb.h"

namespace aitune {

/// One step. Operands are numbered: the kernel's inputs, then its results, then
/// the implementation's temporaries.
struct ImplementationStep {
  std::vector<int> inputs, outputs;
  /// The call: exactly one of the plan's step kinds, its operands unset.
  Step call;
  /// For a generated step: how each input is packed (kind NONE: as it is).
  std::vector<PackingProto> packings;
};

struct KernelImplementation {
  /// "generated", "cut before OPERATION", or the library's name.
  std::string name;
  /// What tells it from others of the same name, such as its schedule.
  std::string description;
  std::vector<ImplementationStep> steps;
  /// Types of the tensors that go from one step to another.
  std::vector<TensorTypeProto> temporaries;
  /// Found by a search: a build without one would not have it.
  bool isSearched = false;
  /// Where the kernel was cut in two; 0: it was not.
  int cut = 0;
  /// It may be one behind the end of a library's list of algorithms, which only
  /// the library knows: kNotFound then says nothing of the others.
  bool mayNotExist = false;
  /// Microseconds that no run of its library was seen to stay below. Where
  /// another candidate does, this one is not even loaded. 0: it always is.
  double leastMicroseconds = 0;
  /// The objects that its generated steps need.
  std::vector<KernelObject> objects;
};

} // namespace aitune

#endif // AITUNE_COMPILER_PLAN_KERNELIMPLEMENTATION_H
