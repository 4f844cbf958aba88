#include "compiler/driver/CompileCounters.h"

#include "compiler/Compiler.h"

namespace aitune {

CompileCounters &compileCounters() {
  static CompileCounters counters;
  return counters;
}

CompileCounts compileCounts() {
  const CompileCounters &counters = compileCounters();
  return {counters.graphs, counters.kernels, counters.measurements};
}

} // namespace aitune
