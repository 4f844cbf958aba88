// Deploys a checkpoint and calls it once, as a service without the compiler
// does. Prints the result's elements, and the libraries of LLVM that are in the
// process; there should be none.
//
//   deploy CHECKPOINT ROWS COLUMNS [DEVICE]
//
// calls with a matrix of ones; DEVICE is "cpu" or "cuda:N", and where it was
// saved if it is left out.
#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>
#include <link.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "frontend/checkpoint/checkpoint.h"
#include "frontend/compiled_model/compile_trace.h"
#include "runtime/control/control.h"

namespace aitune::frontend {
namespace {

int CompilerLibraries() {
  int count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        const std::string name = info->dlpi_name;
        if (name.find("libLLVM") != std::string::npos ||
            name.find("libMLIR") != std::string::npos) {
          std::cout << "library " << name << "\n";
          ++*static_cast<int*>(data);
        }
        return 0;
      },
      &count);
  return count;
}

int Fail(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return 1;
}

int Main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  std::optional<Device> device;
  if (argc == 5) {
    auto parsed = Device::Parse(argv[4]);
    if (!parsed.ok()) return Fail(parsed.status());
    device = *std::move(parsed);
  }
  auto loaded = LoadCheckpoint(argv[1]);
  if (!loaded.ok()) return Fail(loaded.status());
  if (absl::Status status = loaded->backend->Deploy(device); !status.ok())
    return Fail(status);
  // Without a compiler, what was loaded is not forgotten.
  if (absl::Status status = Reset(); !status.ok()) return Fail(status);
  auto inputs = loaded->source->Flatten(
      ValueList({at::ones({std::atol(argv[2]), std::atol(argv[3])})}));
  if (!inputs.ok()) return Fail(inputs.status());
  auto outputs = loaded->backend->Infer(Values(*inputs));
  if (!outputs.ok()) return Fail(outputs.status());
  auto result = loaded->source->UnflattenResult(*outputs);
  if (!result.ok()) return Fail(result.status());
  const at::Tensor flat = result->toTensor().cpu().flatten();
  for (int64_t i = 0; i < flat.numel(); ++i)
    std::cout << flat[i].item<float>() << "\n";
  std::cout << "compiler " << (HasTraceCompiler() ? "yes" : "no") << "\n";
  return CompilerLibraries() == 0 ? 0 : 3;
}

}  // namespace
}  // namespace aitune::frontend

int main(int argc, char** argv) { return aitune::frontend::Main(argc, argv); }
