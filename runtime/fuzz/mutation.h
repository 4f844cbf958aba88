// Damage to the inputs of fuzz targets, for tests that run without libFuzzer.
#ifndef AITUNE_RUNTIME_FUZZ_MUTATION_H_
#define AITUNE_RUNTIME_FUZZ_MUTATION_H_

#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace aitune {

// `input` with one to four edits of bytes after its first, which says what the
// rest is.
std::string Mutated(std::string input, std::mt19937& random);

// The contents of the files in a folder, in the order of their names.
std::vector<std::string> ReadCorpus(const std::filesystem::path& folder);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_FUZZ_MUTATION_H_
