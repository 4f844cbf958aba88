// Lets Ctrl-C end a search early instead of the program.
#ifndef AITUNE_FRONTEND_CLI_INTERRUPT_H_
#define AITUNE_FRONTEND_CLI_INTERRUPT_H_

#include <functional>

namespace aitune::cli {

// After this call, the first Ctrl-C (SIGINT) only makes the returned function
// return true; the second ends the program. The function is thread-safe.
std::function<bool()> StopOnInterrupt();

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_INTERRUPT_H_
