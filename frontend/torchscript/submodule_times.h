// Where a model spends its time in eager, by submodule: what to look at before
// deciding what to tune.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_TIMES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_TIMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

struct SubmoduleTime {
  std::string path;  // "encoder.layer.3.attention"; empty: the model itself
  std::string type;  // its class, "BertAttention"; may be empty
  double milliseconds = 0;  // of one call of the model, submodules included
  double share = 0;         // of the model's time
};

// Runs `model` in eager `repeats` times (after one call that does not count)
// and gives the time of each submodule that operators ran in: the model first,
// the others by their share, equal ones by their paths. The times are those of
// the operators that follow each other in one submodule, so that what marking
// them costs (a few tenths of a microsecond each) is in none. Errors as
// Model::RunEager. Thread-safe.
absl::StatusOr<std::vector<SubmoduleTime>> TimeSubmodules(
    const Model& model, const ValueList& arguments, int repeats);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_TIMES_H_
