// For tests of generated code: compiles the text of a kernel function and calls
// it on arrays. Does not use LibTorch; tests compute references in plain C++.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_TESTING_RUNKERNEL_H
#define AITUNE_COMPILER_CODEGEN_CPU_TESTING_RUNKERNEL_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cpu/kernel_library.h"

namespace aitune {
namespace testing {

class RunnableKernel {
public:
  /// Takes a module of `ait` kernel functions of the kind loop as text,
  /// lowers it for `target` (Target::named) and links it into memory. When
  /// something fails `error()` says what, with the diagnostics.
  static RunnableKernel compile(const std::string &text,
                                const std::string &target = "host");

  const std::string &error() const { return errorText; }
  /// The number of work units for these symbols.
  int64_t units(const std::string &name,
                const std::vector<int64_t> &symbols = {}) const;
  /// Calls kernel `name` on `buffers` (inputs, then outputs), with the units
  /// cut into `pieces` ranges, one call each, last range first. False if there
  /// is no such kernel.
  bool run(const std::string &name, const std::vector<void *> &buffers,
           const std::vector<int64_t> &symbols = {}, int pieces = 1) const;

private:
  struct State;
  std::shared_ptr<State> state;
  std::string errorText;
};

} // namespace testing
} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_TESTING_RUNKERNEL_H
