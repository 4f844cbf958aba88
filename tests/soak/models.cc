#include "tests/soak/models.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <utility>

#include "runtime/status/status_macros.h"

namespace aitune::soak {
namespace {

using frontend::Model;
using frontend::ValueList;
using Random = std::mt19937_64;

int64_t Between(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// Adds a weight with elements of such a size that results are about 1.
void AddWeight(torch::jit::Module& module, const std::string& name,
               at::IntArrayRef sizes) {
  const int64_t inputs = c10::multiply_integers(sizes.slice(1));
  module.register_parameter(name, at::randn(sizes) / std::sqrt(inputs), false);
}

torch::jit::Module Perceptron() {
  torch::jit::Module module("Perceptron");
  AddWeight(module, "first", {192, 64});
  AddWeight(module, "second", {192, 192});
  AddWeight(module, "third", {10, 192});
  module.define(R"(
def forward(self, x: Tensor):
    x = torch.relu(torch.linear(x, self.first))
    x = torch.gelu(torch.linear(x, self.second))
    return torch.softmax(torch.linear(x, self.third), -1)
)");
  return module;
}

torch::jit::Module ConvolutionNet() {
  torch::jit::Module module("ConvolutionNet");
  AddWeight(module, "first", {16, 3, 3, 3});
  AddWeight(module, "second", {32, 16, 3, 3});
  AddWeight(module, "head", {10, 32});
  module.define(R"(
def forward(self, x: Tensor):
    x = torch.conv2d(x, self.first, None, [1, 1], [1, 1])
    x = torch.max_pool2d(torch.relu(x), [2, 2])
    x = torch.conv2d(x, self.second, None, [2, 2], [1, 1])
    x = torch.relu(x)
    return torch.linear(x.mean([2, 3]), self.head), x
)");
  return module;
}

torch::jit::Module ControlFlow() {
  torch::jit::Module module("ControlFlow");
  AddWeight(module, "weight", {16, 16});
  module.define(R"(
def forward(self, x: Tensor):
    n = x.size(0)
    if n > 20:
        y = torch.linear(x[:20], self.weight)
    else:
        y = torch.cat([x, x.flip([0])])
    if n % 2 == 0:
        y = torch.tanh(y) + x.sum(0)
    total = torch.zeros_like(y)
    for i in range(min(n, 3)):
        total = total + y * x[i]
    return total, n * 2
)");
  return module;
}

}  // namespace

absl::StatusOr<std::vector<SoakModel>> SoakModels() {
  at::manual_seed(5);
  std::vector<SoakModel> models;
  const auto add = [&](std::string name, torch::jit::Module module,
                       std::string input, auto sizes) -> absl::Status {
    AITUNE_ASSIGN_OR_RETURN(Model model, Model::FromModule(std::move(module)));
    models.push_back({std::move(name),
                      std::make_shared<const Model>(std::move(model)),
                      {std::move(input)},
                      [sizes](Random& random) {
                        return ValueList({at::randn(sizes(random))});
                      }});
    return absl::OkStatus();
  };
  using Sizes = std::vector<int64_t>;
  AITUNE_RETURN_IF_ERROR(add(
      "perceptron", Perceptron(), "float32[1..64,64]",
      [](Random& random) -> Sizes { return {Between(random, 1, 64), 64}; }));
  AITUNE_RETURN_IF_ERROR(
      add("convolution net", ConvolutionNet(), "float32[1..4,3,8..40,8..40]",
          [](Random& random) -> Sizes {
            return {Between(random, 1, 4), 3, Between(random, 8, 40),
                    Between(random, 8, 40)};
          }));
  AITUNE_RETURN_IF_ERROR(add(
      "control flow", ControlFlow(), "float32[1..48,16]",
      [](Random& random) -> Sizes { return {Between(random, 1, 48), 16}; }));
  return models;
}

}  // namespace aitune::soak
