#include "tests/end_to_end/program_models.h"

#include <torch/script.h>

#include <fstream>
#include <utility>

#include "tests/end_to_end/program.h"

namespace aitune {

void SaveProgram(const std::string& file, const std::string& forward) {
  torch::jit::Module model("__torch__.Program");
  model.define(forward);
  model.save(Path(file));
}

void SaveSamples(const std::string& file, std::vector<c10::IValue> samples) {
  const std::vector<char> bytes =
      torch::jit::pickle_save(c10::ivalue::Tuple::create(std::move(samples)));
  std::ofstream(Path(file), std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void SaveTinyModel() {
  torch::jit::Module model("__torch__.Tiny");
  model.register_parameter("weight", torch::randn({16, 8}), false);
  model.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.relu(torch.linear(x, self.weight)), x.sum()\n");
  model.save(Path("tiny.pt"));
  SaveSamples("samples.pt", {torch::ones({3, 8})});
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
