// The model that a backend is built from, and its input and output values.
//
// LibTorch stays behind this interface: the frontend implements it with a
// TorchScript module, tests with a few lines.
#ifndef AITUNE_RUNTIME_BACKEND_SOURCE_MODEL_H_
#define AITUNE_RUNTIME_BACKEND_SOURCE_MODEL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executable/fallback_region.h"

namespace aitune {

// A tensor or an opaque value.
struct OwnedValue {
  RegionValue value;
  // Keeps a tensor's memory alive; null when the caller does so.
  std::shared_ptr<const void> owner;
};

// The inputs of one call, flattened.
using Sample = std::vector<OwnedValue>;

// The values of a sample, to be passed on. They refer to the sample's memory.
std::vector<RegionValue> Values(const Sample& sample);

class SourceModel {
 public:
  virtual ~SourceModel() = default;

  virtual std::string name() const = 0;

  // Runs the model as LibTorch does, operator by operator. `inputs` are the
  // flattened inputs, read in place. Errors carry LibTorch's text. A model may
  // keep state between calls. Thread-safe where the model is.
  virtual absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) = 0;

  // Saves what calls with `inputs`, flattened, of the model and of backends
  // made from it may change: the model's state, and the elements of inputs that
  // it writes to. Each call of the result restores these, in the memory of
  // `inputs`, which must still be there; nobody may call the model meanwhile.
  // No inputs: the state alone. Null when there is nothing to restore. Not
  // thread-safe.
  virtual absl::StatusOr<std::function<absl::Status()>> SaveState(
      absl::Span<const RegionValue> inputs) {
    return std::function<absl::Status()>();
  }
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_SOURCE_MODEL_H_
