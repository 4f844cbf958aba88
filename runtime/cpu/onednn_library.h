// Runs matmul and convolution steps with oneDNN.
//
// A step of a plan says what to compute (MatmulCall, ConvolutionCall); Prepare
// turns it, for one combination of sizes, into a oneDNN primitive with the
// post-ops fused. Constant weights are reordered once into the layout that the
// primitive prefers, and shared by all calls that prefer the same layout; all
// other tensors keep the plan's dense layouts (channels last for convolutions).
// A call for which oneDNN has no fast code on this machine is refused with the
// reason, so that the compiler can take another candidate.
//
// The header names no oneDNN type, so that its users do not include oneDNN.
#ifndef AITUNE_RUNTIME_CPU_ONEDNN_LIBRARY_H_
#define AITUNE_RUNTIME_CPU_ONEDNN_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

// An input of a library step. Prepare reads the data of constants only;
// Supports reads no data, so that it may be null.
struct LibraryOperand {
  TensorView view;
  // The number of the constant: equal numbers mean equal data. -1: the operand
  // is not a constant.
  int32_t constant = -1;
};

// Constants in the layouts that primitives prefer. Thread-safe. It may be
// destroyed before the calls that use it: each call keeps its own weights
// alive. Weights that no call uses any more are freed.
class WeightCache {
 public:
  WeightCache();
  ~WeightCache();
  WeightCache(const WeightCache&) = delete;
  WeightCache& operator=(const WeightCache&) = delete;

  // Bytes of the reordered constants now alive.
  int64_t MemoryInBytes() const;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A library step made ready for one combination of sizes and the number of
// threads at the time it was made. Immutable and thread-safe.
class LibraryCall {
 public:
  struct Impl;
  explicit LibraryCall(std::unique_ptr<Impl> impl);
  ~LibraryCall();

  // oneDNN's memory objects, whose addresses Run sets. Only one thread at a
  // time may use a binding.
  class Binding {
   public:
    struct Impl;
    explicit Binding(std::unique_ptr<Impl> impl);
    ~Binding();
    Impl& impl() { return *impl_; }

   private:
    std::unique_ptr<Impl> impl_;
  };
  std::unique_ptr<Binding> Bind() const;

  // Bytes of scratch memory that Run needs, aligned to 64.
  int64_t scratch_bytes() const;

  // oneDNN's name of the code it chose, such as "brg:avx512_core".
  const std::string& implementation() const;

  // Runs the call. buffers[i] is the data of the step's i-th input, then of its
  // output. Input `in_place` (see Prepare) and the output are the same memory.
  // `scratch` has scratch_bytes() bytes, aligned to 64. kInternal with oneDNN's
  // text when it fails.
  absl::Status Run(void* const* buffers, void* scratch, Binding& binding) const;

 private:
  std::unique_ptr<Impl> impl_;
};

// Makes a call ready. `inputs` are the step's inputs in order; of `output` only
// the dtype and the sizes are read. `in_place` is the index of the input that
// an ADD post-op reads and whose memory the output uses; -1 if there is none.
// kInvalidArgument when the shapes do not fit each other, kUnimplemented when
// oneDNN has no fast code for the call on this machine; the text says why.
// Thread-safe.
absl::StatusOr<std::unique_ptr<LibraryCall>> Prepare(
    const MatmulCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache& weights);
absl::StatusOr<std::unique_ptr<LibraryCall>> Prepare(
    const ConvolutionCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache& weights);

// The library's version, such as "3.2.0". Measurements depend on it, because it
// decides which code a primitive runs.
std::string OnednnVersion();

// OK if Prepare would succeed; otherwise its error. Reads no data, so that the
// compiler can ask it when choosing between candidates. Thread-safe.
absl::Status Supports(const MatmulCall& call,
                      absl::Span<const LibraryOperand> inputs,
                      const TensorView& output);
absl::Status Supports(const ConvolutionCall& call,
                      absl::Span<const LibraryOperand> inputs,
                      const TensorView& output);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_ONEDNN_LIBRARY_H_
