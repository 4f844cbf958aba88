#include "tests/operators/operator_table.h"

namespace aitune {

std::vector<OperatorCall> OperatorCalls() {
  std::vector<OperatorCall> calls = PointwiseCalls();
  for (const std::vector<OperatorCall>& more : {TensorCalls(), NetworkCalls()})
    calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}

}  // namespace aitune
