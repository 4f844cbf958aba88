// Models that several tests of the program aitune name, and a sample of one.
#ifndef AITUNE_TESTS_END_TO_END_PROGRAM_MODELS_H_
#define AITUNE_TESTS_END_TO_END_PROGRAM_MODELS_H_

#include <torch/script.h>

#include <string>
#include <vector>

namespace aitune {

// Writes a model of this program to a file of the tests' folder.
void SaveProgram(const std::string& file, const std::string& forward);

// Writes samples to such a file, as torch.save does.
void SaveSamples(const std::string& file, std::vector<c10::IValue> samples);

// Writes tiny.pt to the tests' folder (Path of program.h), a linear layer of 8
// features with a relu and a sum, and samples.pt, ones of the sizes [3, 8] for
// it.
void SaveTinyModel();

// Writes whole.pt, which has a submodule `part`.
void SaveWholeModel();

}  // namespace aitune

#endif  // AITUNE_TESTS_END_TO_END_PROGRAM_MODELS_H_
