// A model as LibTorch's own optimiser runs it: the peer that services have
// without this library.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_OPTIMIZED_PROGRAM_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_OPTIMIZED_PROGRAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

struct OptimizedProgramOptions {
  bool freeze = true;                  // torch.jit.freeze
  bool optimize_for_inference = true;  // on top of it
};

// Thread-safe.
class OptimizedProgram {
 public:
  // What fails on this model is left out, with a warning: freeze's folding of
  // numbers into weights, optimize_for_inference, or both. kInternal with
  // LibTorch's text when the model can't be frozen at all.
  static absl::StatusOr<std::unique_ptr<OptimizedProgram>> Make(
      const Model& model, const OptimizedProgramOptions& options);
  ~OptimizedProgram();

  // As Model::RunEager. The first calls profile and compile: warm up.
  absl::StatusOr<c10::IValue> Run(const ValueList& inputs) const;

 private:
  struct Impl;
  explicit OptimizedProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_OPTIMIZED_PROGRAM_H_
