#include "tests/end_to_end/program_models.h"

#include <torch/script.h>

#include <fstream>
#include <vector>

#include "tests/end_to_end/program.h"

namespace aitune {

void SaveTinyModel() {
  torch::jit::Module model("__torch__.Tiny");
  model.register_parameter("weight", torch::randn({16, 8}), false);
  model.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.relu(torch.linear(x, self.weight)), x.sum()\n");
  model.save(Path("tiny.pt"));
  const std::vector<char> samples = torch::jit::pickle_save(
      c10::ivalue::Tuple::create({torch::ones({3, 8})}));
  std::ofstream(Path("samples.pt"), std::ios::binary)
      .write(samples.data(), samples.size());
}

void SaveWholeModel() {
  torch::jit::Module part("__torch__.Part");
  part.define("def forward(self, x: Tensor):\n    return torch.tanh(x)\n");
  torch::jit::Module whole("__torch__.Whole");
  whole.register_module("part", part);
  whole.define(
      "def forward(self, x: Tensor):\n"
      "    return self.part.forward(x) * 2.\n");
  whole.save(Path("whole.pt"));
}

}  // namespace aitune
