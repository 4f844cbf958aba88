#include "compiler/candidates/CudaLibraryRules.h"

#include "absl/strings/str_cat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "runtime/cuda/library_call.h"

using namespace mlir;

namespace aitune {
namespace {

/// The number of cuDNN's algorithms that are candidates for a convolution with
/// post-operations. On an H200 the convolutions of six networks took 0.1 % longer
/// without the fourth, and 0.5 % without the third.
constexpr int kConvolutionAlgorithms = 3;
/// The same for a convolution without post-operations. In measurements on an
/// H200 only the first algorithm was ever the fastest.
constexpr int kBareConvolutionAlgorithms = 1;
/// The microseconds of the fastest convolution of cuDNN seen on an H200. Where
/// another candidate is faster, cuDNN's are not loaded, since preparing one
/// takes a third of a second.
constexpr double kLeastConvolution = 2.2;

absl::Status toStatus(const std::string &reason) {
  return reason.empty() ? absl::OkStatus() : absl::UnimplementedError(reason);
}

/// A candidate for each of `count` algorithms, which `set` sets in the call.
/// The library's list, which starts with the best, may be shorter.
std::vector<KernelImplementation>
listAlgorithms(const KernelImplementation &implementation, int count,
               int postOps, llvm::function_ref<void(Step &, int)> set) {
  std::vector<KernelImplementation> candidates;
  for (int algorithm = 0; algorithm < count; ++algorithm) {
    KernelImplementation &candidate = candidates.emplace_back(implementation);
    set(candidate.steps.front().call, algorithm);
    candidate.description =
        absl::StrCat("algorithm ", algorithm, ", ", postOps, " fused");
    candidate.mayNotExist = algorithm > 0;
  }
  return candidates;
}

} // namespace

absl::Status CublasLtRules::acceptElementTypes(Type lhs, Type rhs) const {
  if (isa<Float8E4M3FNType>(lhs) && isa<Float8E4M3FNType>(rhs))
    return absl::OkStatus();
  return acceptFloatingPoint(lhs, rhs, "cuBLASLt");
}

absl::Status
CublasLtRules::acceptPostOps(absl::Span<const PostOp *const> postOps) const {
  return toStatus(cuda::RejectMatmulPostOps(postOps));
}

absl::Status CublasLtRules::acceptCall(const LibraryMatch &match,
                                       func::FuncOp) const {
  return match.call.has_matmul()
             ? absl::OkStatus()
             : absl::UnimplementedError("cuBLASLt: a convolution");
}

std::vector<KernelImplementation>
CublasLtRules::listCandidates(const KernelImplementation &implementation,
                              const LibraryMatch &match, func::FuncOp) const {
  KernelImplementation candidate = implementation;
  candidate.name = name();
  candidate.steps.front().call.mutable_matmul()->set_allow_tf32(allowTf32);
  return listAlgorithms(candidate, cuda::kMostAlgorithms,
                        match.call.matmul().post_ops_size(),
                        [](Step &call, int algorithm) {
                          call.mutable_matmul()->set_algorithm(algorithm);
                        });
}

void CublasLtRules::load() const {
  if (device)
    cuda::LoadMatmulLibrary(*device);
}

absl::Status CudnnRules::acceptElementTypes(Type lhs, Type rhs) const {
  return acceptFloatingPoint(lhs, rhs, "cuDNN");
}

absl::Status
CudnnRules::acceptPostOps(absl::Span<const PostOp *const> postOps) const {
  return fuses ? toStatus(cuda::RejectConvolutionPostOps(postOps))
               : absl::UnimplementedError("cuDNN: the bare convolution");
}

absl::Status CudnnRules::acceptCall(const LibraryMatch &match,
                                    func::FuncOp kernel) const {
  if (!match.call.has_convolution())
    return absl::UnimplementedError("cuDNN: a matmul");
  // [O, I, spatial...] in memory is channels-last only where I or the window
  // is 1; constants are packed so.
  const unsigned filter = match.arguments[1];
  ArrayRef<int64_t> sizes =
      cast<RankedTensorType>(kernel.getArgumentTypes()[filter]).getShape();
  const bool isWindow =
      llvm::any_of(sizes.drop_front(2), [](int64_t size) { return size != 1; });
  if (isWindow && sizes[1] != 1 &&
      ait::getKnownAt(kernel, filter) != ait::KnownAt::Load)
    return absl::UnimplementedError(
        "cuDNN: the filter is no constant, so that it is not channels-last");
  if (fuses && match.call.convolution().post_ops().empty())
    return absl::UnimplementedError(
        "cuDNN: nothing that follows the convolution can be fused with it");
  return absl::OkStatus();
}

std::vector<KernelImplementation>
CudnnRules::listCandidates(const KernelImplementation &implementation,
                           const LibraryMatch &match,
                           func::FuncOp kernel) const {
  KernelImplementation candidate = implementation;
  candidate.name = name();
  candidate.leastMicroseconds = kLeastConvolution;
  ImplementationStep &call = candidate.steps.front();
  call.call.mutable_convolution()->set_allow_tf32(allowTf32);
  if (ait::getKnownAt(kernel, match.arguments[1]) == ait::KnownAt::Load) {
    // Panels of one output channel: the order of a channels-last filter.
    call.packings.resize(2);
    call.packings[1].set_kind(PackingProto::CONVOLUTION_PANELS);
    call.packings[1].set_block_n(1);
  }
  // cuDNN compiles some of its algorithms.
  return listAlgorithms(
      candidate, fuses ? kConvolutionAlgorithms : kBareConvolutionAlgorithms,
      match.call.convolution().post_ops_size(), [](Step &step, int algorithm) {
        step.mutable_convolution()->set_algorithm(algorithm);
      });
}

void CudnnRules::load() const {
  if (planner)
    planner->open();
}

} // namespace aitune
