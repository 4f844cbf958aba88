// The state that a call of a model leaves for the next call: buffers that
// forward writes (counters, caches of keys and values), attributes that it
// sets, lists and dicts that it changes. Code that compares or times calls
// saves the state before them and restores it, so that each run starts from the
// same one.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODEL_STATE_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODEL_STATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/torchscript/model.h"
#include "runtime/device/device.h"

namespace c10::ivalue {
struct Object;
}  // namespace c10::ivalue

namespace aitune::frontend {

class LiveState;

// How often the state of `module`, of any model, was restored or given to it. A
// copy of the module, such as one on a GPU, has a state of its own: whoever
// keeps one gives it the module's when this has changed. Thread-safe.
int64_t CountRestores(const c10::ivalue::Object& module);
// Counts one that ModelState did not make. Thread-safe.
void AddRestore(const c10::ivalue::Object& module);

// The state of one model. The program shows what it may write: the attributes
// that it sets, and the tensors that its writing operators reach through a
// chain of views; if such a chain can't be followed, all tensors. Most programs
// write nothing; these have no state, and saving it costs nothing. Models
// compiled from this one, and LibTorch's optimised program of it, share its
// state.
//
// Not thread-safe, and nobody else may call the model between Save and Restore.
class ModelState {
 public:
  // `model` must outlive this. Walks its program once.
  explicit ModelState(const Model& model);
  ~ModelState();
  ModelState(const ModelState&) = delete;
  ModelState& operator=(const ModelState&) = delete;

  // Whether a call may change anything.
  bool exists() const;
  // What compiled code shares with the model, on a GPU by GpuState, if that is
  // all of its state; otherwise null, and the reason, such as "it sets the
  // attribute n"; empty for a model without state.
  const LiveState* live() const;
  std::string WhyNotLive() const;

  // Copies the state, such as the bytes of the tensors that may be written. May
  // throw LibTorch's exceptions.
  void Save();

  // Whether the state differs from the one that was saved last. May throw
  // LibTorch's exceptions.
  bool HasChanged() const;

  // Restores the state that was saved last. May be called any number of times.
  // May throw LibTorch's exceptions.
  void Restore() const;

  // Gives `copy` the state that the model has now: another program on the same
  // modules, which shares tensors, lists and dicts with them from then on, or
  // the same model on another device: `device`. May throw LibTorch's
  // exceptions.
  void CopyTo(const Model& copy, const std::optional<Device>& device) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Saves the states of models, which must outlive the result: that restores
// them, any number of times, with LibTorch's errors as kInternal. Null if none
// of the models has a state. kInternal with LibTorch's text.
absl::StatusOr<std::function<absl::Status()>> SaveStates(
    absl::Span<const Model* const> models);

// Saves on construction and restores on destruction.
class ScopedModelState {
 public:
  explicit ScopedModelState(ModelState& state) : state_(state) {
    state_.Save();
  }
  ~ScopedModelState() { state_.Restore(); }
  ScopedModelState(const ScopedModelState&) = delete;
  ScopedModelState& operator=(const ScopedModelState&) = delete;

 private:
  ModelState& state_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_MODEL_STATE_H_
