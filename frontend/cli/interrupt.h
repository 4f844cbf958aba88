// Lets Ctrl-C, or who stops the process, end a search early instead of the
// program.
#ifndef AITUNE_FRONTEND_CLI_INTERRUPT_H_
#define AITUNE_FRONTEND_CLI_INTERRUPT_H_

#include <functional>
#include <initializer_list>

namespace aitune::cli {

// After this call, the first of each of `signals` (SIGINT is Ctrl-C) only makes
// the returned function return true; another one of the kind ends the program.
// The function is thread-safe.
std::function<bool()> StopOn(std::initializer_list<int> signals);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_INTERRUPT_H_
