// The time that each step of a model takes.
#ifndef AITUNE_RUNTIME_BACKEND_STEP_TIME_H_
#define AITUNE_RUNTIME_BACKEND_STEP_TIME_H_

#include <string>

namespace aitune {

// Whose code a step runs.
enum class StepRunner {
  kKernel,    // a kernel that was generated for the model
  kLibrary,   // a library's, such as oneDNN's or cuBLASLt's
  kLibTorch,  // LibTorch's operators
};

struct StepTime {
  std::string name;            // unique and readable, such as "matmul_gelu_3"
  std::string kind;            // "matmul", "loop", "fallback"
  std::string implementation;  // "generated", the library's name or "LibTorch"
  std::string location;        // place in the source of the model; may be empty
  std::string scope;           // submodule that it is for; empty: the model
  double microseconds = 0;     // the median of its runs
  double flops = 0;  // floating-point operations of a run; 0: not known
  StepRunner runner = StepRunner::kKernel;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_STEP_TIME_H_
