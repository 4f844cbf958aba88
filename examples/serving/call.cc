// Tunes a model and calls it in C++ without LibTorch's headers, Abseil or
// protobuf: aitune.hpp alone.
//
//   call MODEL SIZE...
//
// MODEL ends in .pt, or in .aitune: a checkpoint, which compiles nothing. It
// takes one float32 tensor of these sizes. Prints how it runs, the sizes of its
// results and their largest elements.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "aitune.hpp"

namespace {

void Check(const ait::c::Error& error) {
  if (!error) return;
  std::fprintf(stderr, "call: %s\n", error.message().c_str());
  std::exit(1);
}

template <typename T>
T ValueOf(ait::c::Result<T> result) {
  if (!result.ok()) Check(result.error());
  return std::move(*result);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: call MODEL SIZE...\n");
    return 2;
  }
  const std::string model = argv[1];
  std::vector<int64_t> sizes;
  size_t elements = 1;
  for (int i = 2; i < argc; ++i) {
    sizes.push_back(std::max(std::atoll(argv[i]), 1ll));
    elements *= static_cast<size_t>(sizes.back());
  }
  const std::vector<float> data(elements, 0.5f);
  const auto input = ait::c::Value::Tensor(sizes, data.data());

  for (const auto& kind : ValueOf(ait::c::ListBackends()))
    std::printf("%s: %s\n", kind.name.c_str(), kind.usable_devices.c_str());
  const bool is_checkpoint =
      model.size() > 7 && model.compare(model.size() - 7, 7, ".aitune") == 0;
  ait::c::Module module =
      ValueOf(is_checkpoint ? ait::c::Module::LoadCheckpoint(model)
                            : ait::c::Module::Load(model, ait::c::Options()));
  if (!is_checkpoint) {
    ait::c::TuneOptions options;
    options.strategy = "OneBackend";
    options.backends = {"TorchInductorBackend(fullgraph=True)"};
    Check(module.Record({input}));
    Check(module.Tune(options));
  }
  // The first call below compiles nothing and allocates no memory of the model.
  Check(module.WarmUp({input}));
  const ait::c::Outputs outputs = ValueOf(module.Run({input}));
  std::printf("%s\n", ValueOf(module.Describe()).c_str());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ait::c::TensorView output = outputs.tensor(i);
    std::printf("output %zu:", i);
    for (const int64_t size : output.sizes())
      std::printf(" %lld", static_cast<long long>(size));
    if (const float* first = output.data<float>();
        first != nullptr && output.elements() > 0)
      std::printf(", largest %g",
                  *std::max_element(first, first + output.elements()));
    std::printf("\n");
  }
  return 0;
}
