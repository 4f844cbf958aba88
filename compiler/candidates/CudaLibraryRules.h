// What NVIDIA's libraries run of a kernel on a GPU: cuBLASLt matmuls, cuDNN
// convolutions. Each of a library's algorithms is a candidate.
#ifndef AITUNE_COMPILER_CANDIDATES_CUDALIBRARYRULES_H
#define AITUNE_COMPILER_CANDIDATES_CUDALIBRARYRULES_H

#include "compiler/candidates/LibraryCalls.h"
#include "runtime/cuda/device.h"

namespace aitune {

class CublasLtRules : public LibraryRules {
public:
  /// `device` is what load() loads for; null: it loads nothing. `allowTf32` as
  /// CompileOptions::tf32Matmul.
  CublasLtRules(const cuda::Device *device, bool allowTf32)
      : device(device), allowTf32(allowTf32) {}

  std::string name() const override { return "cublaslt"; }
  absl::Status acceptElementType(mlir::Type type) const override;
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

/// Asked twice for a kernel: cuDNN has its fastest algorithms for the bare
/// convolution, and applies post-operations in the same call with others.
class CudnnRules : public LibraryRules {
public:
  /// `fuses`: the call takes as many post-operations as cuDNN applies, and at
  /// least one; else it takes none. `allowTf32`, `emulateEagerCasts` as
  /// CompileOptions' tf32Convolution and emulateEagerCasts.
  CudnnRules(bool fuses, bool allowTf32, bool emulateEagerCasts)
      : fuses(fuses), allowTf32(allowTf32),
        emulateEagerCasts(emulateEagerCasts) {}

  std::string name() const override { return "cudnn"; }
  std::string restSuffix() const override {
    return fuses ? "_rest" : "_epilogue";
  }
  absl::Status acceptElementType(mlir::Type type) const override;
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

private:
  bool fuses, allowTf32, emulateEagerCasts;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUDALIBRARYRULES_H
