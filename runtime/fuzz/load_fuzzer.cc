// Plans, bundles and object code; tests/README.md says how to run it.
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
