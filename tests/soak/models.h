// The models that the soak calls, each with dynamic sizes.
#ifndef AITUNE_TESTS_SOAK_MODELS_H_
#define AITUNE_TESTS_SOAK_MODELS_H_

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::soak {

struct SoakModel {
  std::string name;
  std::shared_ptr<const frontend::Model> model;
  std::vector<std::string> inputs;  // of forward, for frontend::ParseInputSpec
  // Arguments of random sizes within `inputs` and random elements.
  std::function<frontend::ValueList(std::mt19937_64& random)> arguments;
};

// A perceptron with a dynamic batch, a convolution net with a dynamic batch,
// height and width, and a program with branches and a loop over a size, whose
// result is a tuple. Errors: those of Model::FromModule.
absl::StatusOr<std::vector<SoakModel>> SoakModels();

}  // namespace aitune::soak

#endif  // AITUNE_TESTS_SOAK_MODELS_H_
