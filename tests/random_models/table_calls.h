// Calls of the operators' table (tests/operators) on values of a program.
#ifndef AITUNE_TESTS_RANDOM_MODELS_TABLE_CALLS_H_
#define AITUNE_TESTS_RANDOM_MODELS_TABLE_CALLS_H_

#include <optional>

#include "tests/random_models/pool.h"

namespace aitune::random_models {

// A random call whose tensors are values of the pool in place of the sweep's.
// Nothing where it has none that could fit; eager may refuse those that do.
std::optional<Expression> TableCall(Pool& pool);

}  // namespace aitune::random_models

#endif  // AITUNE_TESTS_RANDOM_MODELS_TABLE_CALLS_H_
