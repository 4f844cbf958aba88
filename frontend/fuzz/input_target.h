// What the fuzzer and its test call: reads what the command line and programs
// give AITune as each of its forms, from which the process must come back
// whatever the bytes are. Models and code are loaded and never run, but for the
// model that artifacts are of.
#ifndef AITUNE_FRONTEND_FUZZ_INPUT_TARGET_H_
#define AITUNE_FRONTEND_FUZZ_INPUT_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

namespace aitune::frontend {

// The first byte of an input says what the rest is.
enum class FuzzedInput : char {
  kModel = 'm',     // a .pt file, as every command loads it
  kCode = 'c',      // the program in a .pt file that is else in order
  kPickle = 'd',    // the attributes in a .pt file that is else in order
  kSpec = 's',      // a text of --input
  kSamples = 'i',   // a file of --inputs
  kArtifact = 'a',  // CompiledModelProto, of this machine and its model,
                    // which is then called
};

// Whether the bytes were accepted. Errors are part of the outcome; anything
// else that goes wrong is seen by the sanitizers, or is a failed check, which
// ends the process. Inputs of an unknown form do nothing.
bool ReadInput(std::string_view input);

// Inputs that are accepted, one or more of each form.
std::vector<std::string> SeedInputs();

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_FUZZ_INPUT_TARGET_H_
