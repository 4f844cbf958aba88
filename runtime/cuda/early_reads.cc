#include "runtime/cuda/early_reads.h"

namespace aitune::cuda {

bool ReadsWrittenOperand(const ExecutablePlan& plan, const Step& step) {
  for (int i = 2; i < step.inputs_size(); ++i) {
    const ValueProto* value = &plan.values(step.inputs(i));
    while (value->storage() == ValueProto::ALIAS)
      value = &plan.values(value->index());
    if (value->storage() != ValueProto::CONSTANT && !value->persistent())
      return true;
  }
  return false;
}

}  // namespace aitune::cuda
