// Searches from SeedInputs and the folders given on, and writes what it finds
// to the first.
//
//   mkdir found
//   ./bazelw run --config=fuzz //frontend/fuzz:input_fuzzer -- $PWD/found
//     $PWD/frontend/fuzz/corpus -max_total_time=600 -max_len=20000
//     -rss_limit_mb=8192 -timeout=25 --forms=mcdi
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
