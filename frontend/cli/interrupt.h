// Lets Ctrl-C, or who stops the process, end a search early instead of the
// program.
#ifndef AITUNE_FRONTEND_CLI_INTERRUPT_H_
#define AITUNE_FRONTEND_CLI_INTERRUPT_H_

#include <functional>

namespace aitune::cli {

// After this call, the first SIGINT (Ctrl-C) or SIGTERM only makes the returned
// function return true; another one of the kind ends the program. The function
// is thread-safe.
std::function<bool()> StopOnInterrupt();

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_INTERRUPT_H_
