// Calls of operators, compiled and compared with eager in processes of their
// own: one that a signal ends hides no other.
#ifndef AITUNE_TESTS_OPERATORS_SWEEP_H_
#define AITUNE_TESTS_OPERATORS_SWEEP_H_

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/operators/operator_table.h"

namespace aitune {

// What the tensors of a run are made of.
struct Combination {
  at::ScalarType dtype;
  int64_t size;  // elements of x
};

enum class Outcome {
  kAgrees,       // with eager
  kMoreExact,    // differs from eager, but agrees with eager in float64
  kEagerRaises,  // there is nothing to compare with
  kEagerDies,    // eager itself ends by a signal
  kDiffers,
  kRefused,  // compiling or running gives an error
  kDies,     // compiling or running ends by a signal, or takes too long
};

// "differs", for reports.
const char* Name(Outcome outcome);

struct CallResult {
  int call = 0;     // its position in the calls of the sweep
  std::string set;  // of values: "plain", "nan", "infinite" or "extreme"
  Outcome outcome = Outcome::kAgrees;
  std::string detail;  // what differs, or the message; one line
};

// Builds the calls at these positions, several as the outputs of one model, for
// "cpu" or "cuda", and runs them on each set of values that the dtype has. One
// result for each call and set; fewer sets where the call fails altogether. On
// a GPU eager runs only what it runs on the CPU: an index out of range ends all
// work there. Call it before the process has threads: it forks. `calls`
// outlives the call.
std::vector<CallResult> Sweep(const Combination& combination,
                              const std::vector<OperatorCall>& calls,
                              const std::vector<int>& positions,
                              const std::string& device = "cpu");

}  // namespace aitune

#endif  // AITUNE_TESTS_OPERATORS_SWEEP_H_
