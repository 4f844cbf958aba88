// The importer's registry for code that includes LibTorch's headers: with
// MLIR's in one file it would take 20 s to compile.
#ifndef AITUNE_TESTS_OPERATORS_SUPPORTED_OPERATORS_H_
#define AITUNE_TESTS_OPERATORS_SUPPORTED_OPERATORS_H_

#include <string>
#include <vector>

namespace aitune {

// frontend::SupportedOperators().
std::vector<std::string> SupportedOperatorNames();

}  // namespace aitune

#endif  // AITUNE_TESTS_OPERATORS_SUPPORTED_OPERATORS_H_
