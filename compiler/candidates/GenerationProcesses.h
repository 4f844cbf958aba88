// Processes that generate the code of kernels.
//
// Generating code is a function from text to bytes. Done in a process of its
// own, a kernel that crashes the code generator, that never ends or that uses
// up all memory costs that kernel, and not the program that asked for it.
//
// One program is started (GenerationWorker.h says which); it has a process for
// each socket that it was given, forked before any thread is there.
#ifndef AITUNE_COMPILER_CANDIDATES_GENERATIONPROCESSES_H
#define AITUNE_COMPILER_CANDIDATES_GENERATIONPROCESSES_H

#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/Compiler.h"
#include "compiler/measure/worker.pb.h"

namespace aitune {

/// Increase it when a message of the two sides means something else.
constexpr int kGenerationVersion = 5;
/// The exit code of a process that took more memory than it may.
constexpr int kOutOfMemory = 57;
/// A request may take so many times its limit of processors' time before it
/// counts as one that hangs: others may have the processors.
constexpr int kWaitFactor = 4;
/// A model has few kernels for each of so many.
constexpr int kMostProcesses = 32;

/// Thread-safe.
class GenerationProcesses {
public:
  /// What processes are for. Those of one purpose have no other work, as each
  /// keeps what its work needs: a context of a GPU is half a gigabyte of its
  /// memory.
  enum class Purpose { Code, ConvolutionPlans };

  /// `count` processes, or kMostProcesses if that is less, of `worker`
  /// (GenerationOptions::worker). Those
  /// of an earlier call for `purpose` are used again: they wait, with little
  /// memory, until this process ends. Null if `worker` is empty. Returns at
  /// once: that a program cannot be started, or is of another build, shows at
  /// `check` or the first `call`.
  static std::shared_ptr<GenerationProcesses>
  get(const std::vector<std::string> &worker, int count,
      Purpose purpose = Purpose::Code);

  /// Closes the sockets, at which the processes end.
  ~GenerationProcesses();

  /// Waits until the program has answered. kUnavailable: there is none to
  /// generate code, and the caller may do it itself. kFailedPrecondition: it is
  /// of another build.
  absl::Status check();

  /// Lets a process that is free, or the first that will be, work on `request`
  /// with the limits of `options`, which replace those in it.
  ///
  /// kAborted when the process crashed on it, kResourceExhausted when it took
  /// more than it may; the texts say so of "the code generator". kUnavailable:
  /// there is no process, and the caller may do the work itself. The error of
  /// `check`, or that in the reply, otherwise.
  absl::StatusOr<WorkerReply> call(WorkerRequest request,
                                   const GenerationOptions &options);

private:
  GenerationProcesses() = default;
  void start(const std::vector<std::string> &worker, int count);
  absl::Status greet();
  int take();
  void giveBack(int socket, bool works);

  std::vector<std::string> command;
  size_t count = 0; ///< the number of sockets that were asked for
  pid_t owner = 0;  ///< the process that started them; a fork must not use them
  pid_t pid = 0;    ///< 0: none was started
  absl::Status started;
  std::once_flag greeted;
  absl::Status greeting; ///< the result of the first call, for all
  std::mutex mutex;
  std::condition_variable returned;
  std::vector<int> free; ///< sockets without a call
  size_t working = 0;    ///< sockets that have not failed
};

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_GENERATIONPROCESSES_H
