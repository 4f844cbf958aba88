// oneDNN as a library of matmul and convolution steps.
//
// A step of a plan says what to compute (MatmulCall, ConvolutionCall); this
// turns it, for one combination of sizes, into a oneDNN primitive with the
// post-ops fused. Weights that are constants are reordered once into the layout
// the primitive likes best and shared by all calls that like the same; all
// other tensors keep the plan's dense layouts (channels last for
// convolutions). What oneDNN has no fast code for on this machine is refused
// with the reason, so that the compiler can take another candidate.
//
// The header names no oneDNN type: another library is another file like this.
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

// An input of a library step. The data is read while the call is prepared, for
// constants only; it may be null where only support is asked for.
struct LibraryOperand {
  TensorView view;
  // Names the constant: equal numbers mean equal data. -1: not a constant.
  int32_t constant = -1;
};

// Constants in the layouts that primitives asked for. Thread-safe; must outlive
// no one: calls keep what they use alive, and what none uses is freed.
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

  // The memory objects of one execution context: one thread at a time.
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

  // Computes. buffers[i]: the data of the step's i-th input, then of its
  // output. Input `in_place` (see Prepare) and the output are the same memory.
  // kInternal with oneDNN's text when it fails.
  absl::Status Run(void* const* buffers, void* scratch, Binding& binding) const;

 private:
  std::unique_ptr<Impl> impl_;
};

// Makes a call ready. `inputs` are as in the step, `output` gives the dtype and
// the sizes. `in_place` is the input that an ADD post-op reads and whose memory
// the output takes over, -1 for none. kInvalidArgument when the shapes do not
// fit each other, kUnimplemented when oneDNN cannot run it fast here; the text
// says why.
absl::StatusOr<std::unique_ptr<LibraryCall>> Prepare(
    const MatmulCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache& weights);
absl::StatusOr<std::unique_ptr<LibraryCall>> Prepare(
    const ConvolutionCall& call, absl::Span<const LibraryOperand> inputs,
    const TensorView& output, int in_place, WeightCache& weights);

// The library's version, such as "3.2.0": which code a primitive runs, and so
// what was measured, depends on it.
std::string OnednnVersion();

// Whether Prepare would succeed, without touching any data: for the compiler's
// choice. Errors as Prepare.
absl::Status Supports(const MatmulCall& call,
                      absl::Span<const LibraryOperand> inputs,
                      const TensorView& output);
absl::Status Supports(const ConvolutionCall& call,
                      absl::Span<const LibraryOperand> inputs,
                      const TensorView& output);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_ONEDNN_LIBRARY_H_
