// A target that runs models and does nothing else, for tests of what looks
// models through.
#ifndef AITUNE_COMPILER_DRIVER_TESTING_RUNNINGTARGET_H
#define AITUNE_COMPILER_DRIVER_TESTING_RUNNINGTARGET_H

#include <string>

#include "compiler/candidates/CompilationTarget.h"

namespace aitune {

/// Tests derive from it and say how a model runs. All else gives nothing, or
/// kUnimplemented.
class RunningTarget : public CompilationTarget {
public:
  std::string device() const override { return ""; }
  DeviceFacts facts() const override { return DeviceFacts::ofCpu(); }
  absl::Status open() override { return absl::OkStatus(); }
  TuningMachine tuningMachine() const override { return {}; }
  std::vector<const LibraryRules *>
  libraries(mlir::func::FuncOp) const override {
    return {};
  }
  std::vector<GeneratedCode>
  generate(llvm::ArrayRef<CodeJob>,
           llvm::ArrayRef<const LibraryRules *>) override {
    return {};
  }
  RaceRules raceRules() const override { return RaceRules(); }
  std::unique_ptr<CandidateRace>
  race(std::vector<RaceEntry>, const Kernel *,
       absl::Span<const ConstantTensor>) const override {
    return nullptr;
  }
  absl::StatusOr<std::vector<Measurement>>
  timeModels(std::vector<ModelToTime>, const ModelTiming &) const override {
    return nothing();
  }
  absl::StatusOr<Measurement> timePart(const LibTorchPart &,
                                       absl::Span<const ConstantTensor>,
                                       double) const override {
    return nothing();
  }
  bool hasThreads() const override { return false; }
  absl::StatusOr<KernelSpace>
  listSchedules(const std::string &) const override {
    return nothing();
  }
  absl::StatusOr<std::unique_ptr<ScheduleMeasurer>>
  measureSchedules(mlir::ModuleOp, absl::Span<const ConstantTensor>) override {
    return nothing();
  }

private:
  static absl::Status nothing() {
    return absl::UnimplementedError("this target only runs models");
  }
};

/// A candidate of one input and one result: one block of the CUDA kernel
/// `symbol`.
inline KernelImplementation cudaCandidate(const std::string &symbol,
                                          const std::string &description) {
  KernelImplementation candidate;
  candidate.name = "generated";
  candidate.description = description;
  ImplementationStep &step = candidate.steps.emplace_back();
  step.inputs = {0};
  step.outputs = {1};
  CudaKernelLaunch &launch = *step.call.mutable_cuda_kernel();
  launch.set_symbol(symbol);
  launch.mutable_grid_x()->set_value(1);
  launch.set_block_x(32);
  candidate.objects.push_back({symbol, "cubin"});
  return candidate;
}

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_TESTING_RUNNINGTARGET_H
