// How results of the sweep are compared with eager's.
#ifndef AITUNE_TESTS_OPERATORS_COMPARE_H_
#define AITUNE_TESTS_OPERATORS_COMPARE_H_

#include <ATen/core/ivalue.h>

#include <string>

#include "tests/operators/operator_table.h"

namespace aitune {

// Compares results of any nesting. Empty when they agree; otherwise the first
// difference.
//
// Integers and bools must be equal, NaN and infinities at the same places, and
// other floats within a bound, relative to the element or, of sums, to the
// largest finite element of the output:
//
//   dtype      element    sum
//   float64    1e-12      1e-9
//   float32    2e-6       1e-4
//   float16    2^-9       2^-6
//   bfloat16   2^-6       2^-4
//
// Signs of zeros are not looked at. `reference`, if not null, is eager's result
// in float64: an element that agrees with it, rounded to the dtype, need not
// agree with eager's.
std::string FindDifference(const c10::IValue& ours, const c10::IValue& eager,
                           const c10::IValue* reference,
                           OperatorCall::Kind kind);

}  // namespace aitune

#endif  // AITUNE_TESTS_OPERATORS_COMPARE_H_
