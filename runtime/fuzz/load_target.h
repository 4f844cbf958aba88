// What the fuzzer and its test call: reads, loads and runs bytes as each of the
// forms that files have, from which the process must come back whatever they
// are. Code is loaded and never run.
#ifndef AITUNE_RUNTIME_FUZZ_LOAD_TARGET_H_
#define AITUNE_RUNTIME_FUZZ_LOAD_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

namespace aitune {

// The first byte of an input says what the rest is.
enum class FuzzedForm : char {
  kBundle = 'b',       // a bundle
  kBundleIndex = 'i',  // the index of a bundle, whose checksum is then right
  kObject = 'o',       // object code
  kPlan = 'p',         // an ExecutablePlan, which is then called
};

// How far an input came.
struct FuzzOutcome {
  bool read = false;  // its form was accepted
  bool ran = false;   // a call of the plan succeeded
};

// Errors are part of the outcome; anything else that goes wrong is seen by the
// sanitizers. Inputs of an unknown form do nothing.
FuzzOutcome LoadAndRunBytes(std::string_view input);

// Inputs that are accepted, one or more of each form except kObject.
std::vector<std::string> SeedInputs();

// An input of the form.
std::string FuzzInput(FuzzedForm form, std::string_view bytes);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_FUZZ_LOAD_TARGET_H_
