// One step of a way to run a kernel, as code generators and libraries give it.
#ifndef AITUNE_COMPILER_SUPPORT_IMPLEMENTATIONSTEP_H
#define AITUNE_COMPILER_SUPPORT_IMPLEMENTATIONSTEP_H

#include <vector>

#include "runtime/plan/plan.pb.h"

namespace aitune {

/// Operands are numbered: the kernel's inputs, then its results, then the
/// temporaries of the way to run it.
struct ImplementationStep {
  std::vector<int> inputs, outputs; ///< numbers of operands
  /// The call: a Step of the plan without inputs and outputs, with the checks
  /// that a kernel reports.
  Step call;
  /// For each input of a generated step, how it is packed at load (kind NONE:
  /// it is not); may be empty if none is. Only inputs with the attribute
  /// `ait.constant` are packed.
  std::vector<PackingProto> packings;
};

} // namespace aitune

#endif // AITUNE_COMPILER_SUPPORT_IMPLEMENTATIONSTEP_H
