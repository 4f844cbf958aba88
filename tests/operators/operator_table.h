// What the sweep of operators runs: for each operator that the importer has a
// builder for, calls of it in TorchScript.
//
// Calls read these tensors, of the dtype D and the size n of the sweep:
//
//   x, y, z  D[n]          m  D[3,n]       s  D[n,n]      v  D[1,4,n,n]
//   c        bool[n]       i  int64[n], indices from 0 to n - 1
//
// "$n" and "$d" in a call are n and D's number in c10::ScalarType.
#ifndef AITUNE_TESTS_OPERATORS_OPERATOR_TABLE_H_
#define AITUNE_TESTS_OPERATORS_OPERATOR_TABLE_H_

#include <vector>

namespace aitune {

struct OperatorCall {
  // How results are compared with eager's.
  enum class Kind {
    // Each element by itself.
    kElement,
    // Relative to the largest finite element: sums of many, in an order that is
    // not eager's.
    kSum,
  };
  const char* op;    // the schema's name; without a namespace it is of "aten"
  const char* call;  // an expression
  Kind kind = Kind::kElement;
};

// One file each; in no order that matters.
std::vector<OperatorCall> PointwiseCalls();
std::vector<OperatorCall> TensorCalls();
std::vector<OperatorCall> NetworkCalls();

// All of them.
std::vector<OperatorCall> OperatorCalls();

}  // namespace aitune

#endif  // AITUNE_TESTS_OPERATORS_OPERATOR_TABLE_H_
