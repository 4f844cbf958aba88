// How long a phase of a compilation takes, as its result tells.
#ifndef AITUNE_COMPILER_DRIVER_PHASETIMER_H
#define AITUNE_COMPILER_DRIVER_PHASETIMER_H

#include <chrono>

#include "compiler/Compiler.h"

namespace aitune {

/// Adds the seconds from its making to its end to a result's phases.
class PhaseTimer {
public:
  PhaseTimer(CompileResult &result, const char *phase)
      : result(result), phase(phase), start(std::chrono::steady_clock::now()) {}
  PhaseTimer(const PhaseTimer &) = delete;
  PhaseTimer &operator=(const PhaseTimer &) = delete;
  ~PhaseTimer() { result.phaseSeconds.emplace_back(phase, seconds()); }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }

private:
  CompileResult &result;
  const char *const phase;
  const std::chrono::steady_clock::time_point start;
};

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_PHASETIMER_H
