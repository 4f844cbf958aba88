// A program compiled and compared with eager.
#ifndef AITUNE_TESTS_RANDOM_MODELS_CHECK_PROGRAM_H_
#define AITUNE_TESTS_RANDOM_MODELS_CHECK_PROGRAM_H_

#include <string>

#include "tests/random_models/program.h"

namespace aitune::random_models {

enum class Outcome {
  kAgrees,
  kEagerRaises,  // at all sizes: there is nothing to compare with
  kDiffers,      // at some size; or one of both raises, or ours does at the
                 // second call
  kRefused,      // the compiler gives an error, eager does not
  kDies,         // a signal, or too long: found by who runs it
};

// "differs", for reports.
const char* OutcomeName(Outcome outcome);

struct ProgramResult {
  Outcome outcome = Outcome::kAgrees;
  std::string detail;  // what differs and at which sizes; one line
  int sizes = 0;       // combinations of sizes that were compared
  int versions = 0;    // of the compiled model
};

struct CheckConfig {
  // "cpu" or "cuda": then LibTorch's CUDA library was started.
  std::string device = "cpu";
  // Whether kernels are chosen by measuring, on a GPU for several sizes of a
  // range. Which one is faster varies from run to run, so tests choose by rule.
  bool measures = false;
};

// Compiles for all sizes of the inputs' ranges, and compares at the largest,
// the smallest and several others, each twice, as `aitune tune` does
// (frontend/check/check.h).
ProgramResult CheckProgram(const Program& program, const CheckConfig& config);

}  // namespace aitune::random_models

#endif  // AITUNE_TESTS_RANDOM_MODELS_CHECK_PROGRAM_H_
