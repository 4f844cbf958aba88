// Ctrl-C as a wish to end a search early, not the program.
#ifndef AITUNE_FRONTEND_CLI_INTERRUPT_H_
#define AITUNE_FRONTEND_CLI_INTERRUPT_H_

#include <functional>

namespace aitune::cli {

// From here on the first Ctrl-C (SIGINT) only makes the result return true; the
// second ends the program, as before. The result may be called on any thread.
std::function<bool()> StopOnInterrupt();

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_INTERRUPT_H_
