// Runs a model with LibTorch's own optimiser, which is what a service has
// without this library: compiled models are timed against it.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_OPTIMIZED_PROGRAM_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_OPTIMIZED_PROGRAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

struct OptimizedProgramOptions {
  bool freeze = true;                  // torch.jit.freeze
  bool optimize_for_inference = true;  // torch.jit.optimize_for_inference
};

// Thread-safe.
class OptimizedProgram {
 public:
  // Optimises the model. If a step fails on this model it is left out, with a
  // warning: freeze's folding of numbers into weights, optimize_for_inference,
  // or both. kInternal with LibTorch's text when the model can't be frozen at
  // all.
  static absl::StatusOr<std::unique_ptr<OptimizedProgram>> Make(
      const Model& model, const OptimizedProgramOptions& options);
  ~OptimizedProgram();

  // As Model::RunEager. The first calls are slow, because LibTorch profiles and
  // compiles in them.
  absl::StatusOr<c10::IValue> Run(const ValueList& inputs) const;

 private:
  struct Impl;
  explicit OptimizedProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_OPTIMIZED_PROGRAM_H_
