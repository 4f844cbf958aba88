// Turns one outlined kernel into machine code of a CPU.
//
// A kernel is handed over as text and compiled in an MLIR context of its own.
// So the kernels of a model compile independently on all threads, and a failure
// of one can be reproduced with aitune-opt from the file that --dump wrote.
#ifndef AITUNE_COMPILER_CANDIDATES_KERNELCOMPILER_H
#define AITUNE_COMPILER_CANDIDATES_KERNELCOMPILER_H

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/Compiler.h"
#include "compiler/plan/KernelImplementation.h"
#include "compiler/schedule/Schedule.h"

namespace aitune {

struct KernelCompilerOptions {
  /// Those of CompileOptions.
  bool emulateEagerCasts = false;
  std::string target;
  std::string dumpDirectory;
  /// The limits that CompileOptions has. Only compileKernels uses the worker.
  GenerationOptions generation = {};
};

/// The CPU with this name (CompileOptions::target); if it is empty, that of
/// this machine. kInvalidArgument lists the names. Thread-safe.
absl::StatusOr<Target> findTarget(const std::string &name);

/// Compiles `text`, a module with one outlined kernel function (its kind in
/// the attribute ait.kind, its schedule in ait.config): one launch, named
/// "generated". In this process. The error's message is what the passes said;
/// kResourceExhausted when a phase ended after the seconds of
/// options.generation. Thread-safe.
absl::StatusOr<KernelImplementation>
compileKernel(const std::string &text, const KernelCompilerOptions &options);

/// The IR of the kernel of `text` after `phase`, which is Linalg or LLVM.
/// Errors as compileKernel. Thread-safe.
absl::StatusOr<std::string> printKernel(const std::string &text,
                                        const KernelCompilerOptions &options,
                                        CompilePhase phase);

/// The schedules with which the kernel of `text` can be generated, those of
/// plug-ins included; an error says why it has none. Thread-safe.
absl::StatusOr<KernelSpace>
listKernelSchedules(const std::string &text,
                    const KernelCompilerOptions &options);

/// Compiles all of `texts`, as many at once as `threads` says, in processes of
/// the worker of options.generation where there are such; results in order. A
/// process that dies is its kernel's error. `progress`, if set, is called after
/// each with the number done, from any thread but never from two at once.
std::vector<absl::StatusOr<KernelImplementation>>
compileKernels(const std::vector<std::string> &texts,
               const KernelCompilerOptions &options, int threads,
               const std::function<void(int)> &progress);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_KERNELCOMPILER_H
