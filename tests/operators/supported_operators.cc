#include "tests/operators/supported_operators.h"

#include "frontend/importer/importer.h"

namespace aitune {

std::vector<std::string> SupportedOperatorNames() {
  return frontend::SupportedOperators();
}

}  // namespace aitune
