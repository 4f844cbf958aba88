// The kernels that NVIDIA's libraries can run on a GPU: cuBLASLt those of
// matmuls, cuDNN those of convolutions. Each of the first algorithms that a
// library proposes is a candidate.
#ifndef AITUNE_COMPILER_CANDIDATES_CUDALIBRARYRULES_H
#define AITUNE_COMPILER_CANDIDATES_CUDALIBRARYRULES_H

#include "compiler/candidates/ConvolutionPlanner.h"
#include "compiler/candidates/LibraryCalls.h"
#include "runtime/cuda/device.h"

namespace aitune {

class CublasLtRules : public LibraryRules {
public:
  /// `device` is the GPU for which load() loads the library; if it is null,
  /// load() does nothing. `allowTf32` is CompileOptions::tf32Matmul.
  CublasLtRules(const cuda::Device *device, bool allowTf32)
      : device(device), allowTf32(allowTf32) {}

  std::string name() const override { return "cublaslt"; }
  absl::Status acceptElementTypes(mlir::Type lhs,
                                  mlir::Type rhs) const override;
  absl::Status
  acceptPostOps(absl::Span<const PostOp *const> postOps) const override;
  absl::Status acceptCall(const LibraryMatch &match,
                          mlir::func::FuncOp kernel) const override;
  std::vector<KernelImplementation>
  listCandidates(const KernelImplementation &implementation,
                 const LibraryMatch &match,
                 mlir::func::FuncOp kernel) const override;
  void load() const override;

private:
  const cuda::Device *device;
  bool allowTf32;
};

/// A target lists two of these for a kernel: one with and one without
/// post-operations in the call, as cuDNN has faster algorithms for a
/// convolution without them.
class CudnnRules : public LibraryRules {
public:
  /// With `fuses` the call has as many post-operations as cuDNN can apply, and
  /// at least one; otherwise none. `allowTf32` is
  /// CompileOptions::tf32Convolution, `emulateEagerCasts` the option of that
  /// name. load() opens `planner`, which must outlive this; null: it does
  /// nothing.
  CudnnRules(bool fuses, bool allowTf32, bool emulateEagerCasts,
             ConvolutionPlanner *planner)
      : fuses(fuses), allowTf32(allowTf32),
        emulateEagerCasts(emulateEagerCasts), planner(planner) {}

  std::string name() const override { return "cudnn"; }
  std::string restSuffix() const override {
    return fuses ? "_rest" : "_epilogue";
  }
  absl::Status acceptElementTypes(mlir::Type lhs,
                                  mlir::Type rhs) const override;
  absl::Status
  acceptPostOps(absl::Span<const PostOp *const> postOps) const override;
  absl::Status acceptCall(const LibraryMatch &match,
                          mlir::func::FuncOp kernel) const override;
  bool widensPostOps() const override { return fuses && !emulateEagerCasts; }
  bool clampsKeepNan() const override { return true; }
  std::vector<KernelImplementation>
  listCandidates(const KernelImplementation &implementation,
                 const LibraryMatch &match,
                 mlir::func::FuncOp kernel) const override;
  void load() const override;

private:
  bool fuses, allowTf32, emulateEagerCasts;
  ConvolutionPlanner *planner;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUDALIBRARYRULES_H
