// Random programs over all operators that the importer knows.
#ifndef AITUNE_TESTS_RANDOM_MODELS_GENERATOR_H_
#define AITUNE_TESTS_RANDOM_MODELS_GENERATOR_H_

#include <cstdint>

#include "tests/random_models/program.h"

namespace aitune::random_models {

// A program of 3 to 40 statements, the same for the same seed. Eager runs it at
// the smallest, the largest and another size of its dynamic axes; it may raise
// at others. Its values stay small, so that errors are errors; what jumps where
// an operand changes a little has operands that no rounding led to.
Program GenerateProgram(uint64_t seed);

}  // namespace aitune::random_models

#endif  // AITUNE_TESTS_RANDOM_MODELS_GENERATOR_H_
