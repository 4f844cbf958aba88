// Tunes a model through the C++ API: loads it, records a sample, prints the
// time of its submodules, tunes it, compares its results with those before, and
// saves it.
//
//   tune MODEL.pt SAMPLES.pt CHECKPOINT
#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "frontend/api/module.h"
#include "runtime/control/control.h"

namespace {

template <typename T>
T Value(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "tune: %s\n", value.status().ToString().c_str());
  std::exit(1);
}

void Check(const absl::Status& status) {
  if (!status.ok()) Value<int>(status);
}

// The tensors of a result, which may be nested lists, tuples and dicts.
void AddTensors(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor()) tensors.push_back(value.toTensor());
  if (value.isTuple())
    for (const c10::IValue& part : value.toTupleRef().elements())
      AddTensors(part, tensors);
  if (value.isList())
    for (const c10::IValue& part : value.toListRef()) AddTensors(part, tensors);
  if (value.isGenericDict())
    for (const auto& entry : value.toGenericDict())
      AddTensors(entry.value(), tensors);
}

std::vector<at::Tensor> Run(const ait::Module& module,
                            const aitune::frontend::ValueList& arguments) {
  std::vector<at::Tensor> tensors;
  AddTensors(Value(module.Run(arguments)), tensors);
  return tensors;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: tune MODEL.pt SAMPLES.pt CHECKPOINT\n");
    return 2;
  }
  const std::unique_ptr<ait::Module> module =
      Value(ait::Module::Load(argv[1], {}));
  const auto arguments = Value(aitune::frontend::LoadSamples(argv[2]));
  Check(module->Record(arguments));
  for (const auto& part : Value(module->Inspect(/*repeats=*/3)))
    std::printf("%5.1f %% %s\n", 100 * part.share, part.path.c_str());
  const std::vector<at::Tensor> eager = Run(*module, arguments);
  ait::TuneOptions options;
  options.backends = {{"TorchInductorBackend", {{"mode", "max-autotune"}}}};
  Check(module->Tune(*aitune::OneBackend(), options));
  // From here on a call that needs a new compilation is an error.
  Check(aitune::SetStance(aitune::Stance::kFailOnRecompile));
  const std::vector<at::Tensor> tuned = Run(*module, arguments);
  double difference = 0;
  for (size_t i = 0; i < eager.size(); ++i)
    difference = std::max(difference,
                          (tuned.at(i) - eager[i]).abs().max().item<double>());
  std::printf("%s, largest difference from eager %.2g\n",
              module->Describe().c_str(), difference);
  const std::string digest =
      Value(module->Save(argv[3], aitune::BundleFormat::kFile));
  std::printf("saved %s: %s\n", argv[3], digest.c_str());
  return 0;
}
