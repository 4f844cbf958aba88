// What the command line and programs give; tests/README.md says how to run it.
#include "frontend/compiled_model/compiled_model.pb.h"
#include "frontend/fuzz/input_target.h"
#include "runtime/fuzz/fuzzer.h"

// LibTorch's reader of archives leaks when it throws.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libtorch_cpu.so";
}
extern "C" const char* __lsan_default_options() {
  return "print_suppressions=0";
}

aitune::FuzzTarget aitune::MakeFuzzTarget() {
  FuzzTarget target;
  target.run = [](std::string_view input) { frontend::ReadInput(input); };
  target.seeds = frontend::SeedInputs();
  target.messages[static_cast<char>(frontend::FuzzedInput::kArtifact)] =
      std::make_unique<frontend::CompiledModelProto>();
  return target;
}
