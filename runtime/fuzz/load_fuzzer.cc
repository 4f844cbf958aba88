// Searches from SeedInputs and the folders given on, and writes what it finds
// to the first.
//
//   mkdir found
//   ./bazelw run --config=fuzz //runtime/fuzz:load_fuzzer -- $PWD/found
//     $PWD/runtime/fuzz/corpus -max_total_time=600 -max_len=20000
//     -rss_limit_mb=4096 -timeout=25
#include "runtime/bundle/bundle.pb.h"
#include "runtime/fuzz/fuzzer.h"
#include "runtime/fuzz/load_target.h"
#include "runtime/plan/plan.pb.h"

aitune::FuzzTarget aitune::MakeFuzzTarget() {
  FuzzTarget target;
  target.run = [](std::string_view input) { LoadAndRunBytes(input); };
  target.seeds = SeedInputs();
  target.messages[static_cast<char>(FuzzedForm::kPlan)] =
      std::make_unique<ExecutablePlan>();
  target.messages[static_cast<char>(FuzzedForm::kBundleIndex)] =
      std::make_unique<BundleIndexProto>();
  return target;
}
