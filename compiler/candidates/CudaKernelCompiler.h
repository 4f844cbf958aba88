// Turns outlined kernels into machine code of a GPU: compiler/codegen/gpu
// writes CUDA text for every way that it knows to run a kernel, NVRTC compiles
// it.
//
// As on the CPU (KernelCompiler.h) a kernel is handed over as text and compiled
// in an MLIR context of its own.
#ifndef AITUNE_COMPILER_CANDIDATES_CUDAKERNELCOMPILER_H
#define AITUNE_COMPILER_CANDIDATES_CUDAKERNELCOMPILER_H

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CubinStore.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/plan/KernelImplementation.h"
#include "compiler/schedule/Schedule.h"

namespace aitune {

struct CudaCompilerOptions {
  /// Those of CompileOptions.
  bool emulateEagerCasts = false;
  bool tf32Matmul = false, tf32Convolution = true;
  std::string dumpDirectory;
  /// The limits that CompileOptions has. Only compileCudaKernels uses the
  /// worker.
  GenerationOptions generation = {};
  /// Threads that compile.
  int threads = 1;
  /// Loads libraries that candidates call, so that no kernel waits for it.
  /// Called once, on a thread beside those that compile; may be empty.
  std::function<void()> loadLibraries;
  /// Called with the name of the phase, the number of parts that are done and
  /// the number of all parts, from any thread but never from two at once; may
  /// be empty.
  std::function<void(const std::string &phase, int done, int total)> progress;
};

/// A way to run a kernel whose code is still text.
struct CudaText {
  /// Its one object is yet to be made.
  KernelImplementation implementation;
  std::string text;
};

/// The CUDA texts for the kernel of `text`, best guess first, in this process.
/// Thread-safe.
absl::StatusOr<std::vector<CudaText>>
generateCudaTexts(const std::string &text, GpuTarget target,
                  const CudaCompilerOptions &options);

/// Code for each of `texts`, in order: modules with one outlined kernel (its
/// kind in the attribute ait.kind). Best guess first, with the schedule of its
/// ait.config alone where it has one; errors say why one failed, or all. Never
/// empty. A text that `store` has is not compiled again, and what is compiled
/// is added to it. Code is made in processes of the worker of
/// options.generation where there are such, and one that dies is an error of
/// what it worked on.
std::vector<std::vector<absl::StatusOr<KernelImplementation>>>
compileCudaKernels(const std::vector<std::string> &texts,
                   const GpuTarget &target, const CudaCompilerOptions &options,
                   CubinStore &store);

/// The schedules that the kernel of `text` can be generated with, those of
/// plug-ins included; an error says why it has none. Thread-safe.
absl::StatusOr<KernelSpace>
listCudaKernelSchedules(const std::string &text, GpuTarget target,
                        const CudaCompilerOptions &options);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUDAKERNELCOMPILER_H
