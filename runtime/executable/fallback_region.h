// A part of the model that the compiler does not support and LibTorch runs.
//
// The frontend makes the regions (it knows LibTorch's operators); the plan
// numbers them; the executable calls them through this interface, so neither
// the compiler nor the executable includes LibTorch's headers.
#ifndef AITUNE_RUNTIME_EXECUTABLE_FALLBACK_REGION_H_
#define AITUNE_RUNTIME_EXECUTABLE_FALLBACK_REGION_H_

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

// A value that only LibTorch can read, held as an IValue: a list, a number that
// depends on data, or a tensor whose shape depends on data. Opaque to the plan,
// shared by copies.
using OpaqueValue = std::shared_ptr<void>;

// A tensor in the plan's buffers, or an opaque value.
using RegionValue = std::variant<TensorView, OpaqueValue>;

class FallbackRegion {
 public:
  virtual ~FallbackRegion() = default;

  // An error that names the region unless it takes so many inputs and gives so
  // many outputs, as a step of a plan says. Those of the other functions are
  // below these. Thread-safe.
  virtual absl::Status CheckCounts(size_t /*inputs*/,
                                   size_t /*outputs*/) const {
    return absl::OkStatus();
  }

  // Runs the region. `inputs` hold a TensorView for each tensor of the plan
  // and an OpaqueValue for each other value. symbols[i] is the value of the
  // plan's symbol s`i` (operators may take sizes as numbers). On entry
  // outputs[i] holds a TensorView (sizes and dtype set, memory of the plan to
  // be written) where the plan expects a tensor, and an empty OpaqueValue where
  // it expects an opaque value. An error names the operator and carries
  // LibTorch's text; a tensor of another shape or dtype than the plan expects
  // is an error too. Thread-safe.
  virtual absl::Status Run(absl::Span<const RegionValue> inputs,
                           absl::Span<const int64_t> symbols,
                           absl::Span<RegionValue> outputs) const = 0;

  // Whether the region computes this output, a tensor, in memory of its own,
  // from which Run copies it to the plan's. Run then also takes an empty
  // OpaqueValue for it, and gives the tensor itself: contiguous, and in memory
  // that neither the plan nor another value refers to. Thread-safe.
  virtual bool OwnsOutput(int /*output*/) const { return false; }

  // Whether this output, a tensor, lies in memory that outlives the region and
  // that nobody writes before the plan's last step. Run then also takes a
  // TensorView without memory for it, and sets its `data`; nobody may write
  // there. Thread-safe.
  virtual bool LendsOutput(int /*output*/) const { return false; }

  // Whether this region or a later one, which gets its memory from this one,
  // writes to this input, an input of the plan: Run then gets the caller's own
  // memory, or what the plan copies back there. Thread-safe.
  virtual bool WritesInput(int /*input*/) const { return false; }

  // Bytes of the constants that the region has copied to a GPU; of a copy that
  // several regions share, its part. Thread-safe.
  virtual int64_t BytesOnDevice() const { return 0; }
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_FALLBACK_REGION_H_
