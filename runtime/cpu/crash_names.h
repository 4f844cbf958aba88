// With AITUNE_NAME_CRASHES=1 in the environment, a process that crashes in a
// generated kernel first says which one on stderr:
//
//   aitune: kernel matmul_gelu_3 of BertModel crashed (SIGSEGV at
//   0x7f0012345678)
//
// and then does what it would have done: the handler that was there before
// runs, or the process dies by the signal. That is a handler of SIGSEGV,
// SIGBUS, SIGFPE and SIGILL for the process, hence the variable. absl's
// FailureSignalHandler is not used: it takes SIGTERM and SIGABRT too, prints
// every crash of the process, and knows no code without a file. Internal to
// this folder.
#ifndef AITUNE_RUNTIME_CPU_CRASH_NAMES_H_
#define AITUNE_RUNTIME_CPU_CRASH_NAMES_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace aitune {

// The kernels of a model, named in crashes until they are destroyed. Creating
// and destroying are thread-safe.
class CrashNames {
 public:
  struct Kernel {
    uint64_t begin = 0, end = 0;  // addresses of its code
    std::string name;
  };

  // Whether AITUNE_NAME_CRASHES asks for it.
  static bool AreWanted();

  // `model` is the model's name; empty: it is not known. The first one sets the
  // handlers.
  CrashNames(std::string model, std::vector<Kernel> kernels);
  ~CrashNames();
  CrashNames(const CrashNames&) = delete;
  CrashNames& operator=(const CrashNames&) = delete;

  // Says which kernel has the code at `code`, if it is of one: "crashed (SIGNAL
  // at ADDRESS)". Async-signal-safe.
  static void Tell(uint64_t code, int signal, uint64_t address);

 private:
  const std::string model_;
  const std::vector<Kernel> kernels_;
  std::atomic<const CrashNames*> next_{nullptr};
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_CRASH_NAMES_H_
