// What a call of a model leaves behind for the next one: buffers that forward
// writes (counters, caches of keys and values), attributes that it sets, lists
// and dicts that it changes. Who compares or times calls saves the state before
// them and puts it back, so that each run starts from the same one.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODEL_STATE_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODEL_STATE_H_

#include <memory>

#include "frontend/torchscript/model.h"

namespace aitune::frontend {

// The state of one model. What its program may write is read off the program:
// the attributes that are set, and the tensors that a chain of views leads to
// from an operator that writes; all tensors where that can't be followed. A
// program that writes nothing (most do) has no state, and saving it costs
// nothing. What is compiled from the model, and LibTorch's optimised program of
// it, work on the same state.
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

  // Copies the state: the bytes of the tensors that may be written.
  void Save();

  // Puts back what was saved last; any number of times. May throw LibTorch's
  // exceptions.
  void Restore() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

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
