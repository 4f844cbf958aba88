// Numbers that a long run of a test is given by the environment.
#ifndef AITUNE_FRONTEND_TESTING_ENVIRONMENT_H_
#define AITUNE_FRONTEND_TESTING_ENVIRONMENT_H_

#include <cstdlib>

#include "absl/strings/numbers.h"

namespace aitune {

// The integer in the environment variable `name`; `otherwise` where there is no
// such variable, or no integer in it.
inline int FromEnvironment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  int number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number
                                                            : otherwise;
}

}  // namespace aitune

#endif  // AITUNE_FRONTEND_TESTING_ENVIRONMENT_H_
