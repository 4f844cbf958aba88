#include "frontend/cli/interrupt.h"

#include <signal.h>

namespace aitune::cli {
namespace {

volatile sig_atomic_t interrupted = 0;

void Remember(int) { interrupted = 1; }

}  // namespace

std::function<bool()> StopOn(std::initializer_list<int> signals) {
  struct sigaction action = {};
  action.sa_handler = Remember;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (const int signal : signals) sigaction(signal, &action, nullptr);
  return [] { return interrupted != 0; };
}

}  // namespace aitune::cli
