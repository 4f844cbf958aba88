// The tensors that the calls of the sweep read.
#ifndef AITUNE_TESTS_OPERATORS_VALUES_H_
#define AITUNE_TESTS_OPERATORS_VALUES_H_

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "tests/operators/sweep.h"

namespace aitune {

// The names of the sets of values that a dtype has, "plain" first.
std::vector<std::string> SetsOf(at::ScalarType dtype);

// x, y, z, m, s, v, c and i of operator_table.h, always the same.
//
//   plain     small numbers and zeros; divisors (y, z) are not 0
//   nan       plain with NaN among them
//   infinite  plain with infinities of both signs
//   extreme   the largest and smallest numbers, denormal ones, -0; of integers
//             the most negative one
std::vector<c10::IValue> MakeValues(const Combination& combination,
                                    const std::string& set);

}  // namespace aitune

#endif  // AITUNE_TESTS_OPERATORS_VALUES_H_
