// Measures which submodules of a model take how much of its time in eager, to
// decide what to tune.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_TIMES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_TIMES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

struct SubmoduleTime {
  std::string path;  // "encoder.layer.3.attention"; empty: the model itself
  std::string type;  // its class, such as "BertAttention"; may be empty
  // Time spent in it and its own submodules during one call of the model.
  double milliseconds = 0;
  double share = 0;  // the same divided by the model's time
  // Time of the compiled steps for it and its own submodules; a step counts for
  // the submodule of its main operator. Not set unless the model is compiled.
  std::optional<double> compiled_milliseconds;
};

// Runs `model` in eager `repeats` times, after one call that is not measured.
// Returns the time of each submodule in which operators ran: the model first,
// the others by descending share, equal ones by their paths. The clock is read
// where the program changes from one submodule to another, and the cost of
// reading it (a few tenths of a microsecond) is not counted. The runs work on
// copies of the arguments, each on new ones where the program writes to them,
// and the model has the state afterwards that it had before (ModelState).
// Errors as Model::RunEager. Thread-safe, unless the model has state: nobody
// else may call it meanwhile.
absl::StatusOr<std::vector<SubmoduleTime>> TimeSubmodules(
    const Model& model, const ValueList& arguments, int repeats);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SUBMODULE_TIMES_H_
