// Texts of numbers, slices and conditions that are made of sizes. The values
// whose sizes they take are added to `measures`.
#ifndef AITUNE_TESTS_RANDOM_MODELS_SIZE_TEXT_H_
#define AITUNE_TESTS_RANDOM_MODELS_SIZE_TEXT_H_

#include <string>
#include <vector>

#include "tests/random_models/pool.h"

namespace aitune::random_models {

bool HasAxes(const LiveValue& value);

// The size of an axis, mostly of a dynamic one, or a number made of it; "4"
// where there is no axis.
std::string Size(Pool& pool, std::vector<int>& measures);

// "[:, 2:v3.size(0)]": a slice of axis `axis`.
std::string Slice(Pool& pool, int axis, std::vector<int>& measures);

// "v3.size(0) > 4".
std::string Condition(Pool& pool, std::vector<int>& measures);

}  // namespace aitune::random_models

#endif  // AITUNE_TESTS_RANDOM_MODELS_SIZE_TEXT_H_
