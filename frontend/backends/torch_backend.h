// What the backends that run TorchScript models have in common: the model, the
// nesting of its values, and autocast.
#ifndef AITUNE_FRONTEND_BACKENDS_TORCH_BACKEND_H_
#define AITUNE_FRONTEND_BACKENDS_TORCH_BACKEND_H_

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/backends/torch_backend_state.pb.h"
#include "frontend/backends/torchscript_source.h"
#include "frontend/torchscript/model.h"
#include "runtime/backend/backend_implementation.h"

namespace aitune::frontend {

// With autocast the model is run with its casts written in (autocast.h), and
// outputs are given back in the dtypes that they have without it. On a GPU,
// inputs that are not there are copied, and outputs stay there.
class TorchBackend : public BackendImplementation {
 public:
  absl::Status Build(BuildContext& context) final;
  absl::Status Activate(const Device& device) final;
  absl::Status Deactivate() final;
  absl::Status Deploy(const Device& device) final;
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) const final;
  absl::Status Save(BackendStateProto* state) const final;
  absl::Status Load(std::shared_ptr<SourceModel> source,
                    const BackendStateProto& state) final;
  std::optional<DataType> narrowed_to() const override;

 protected:
  // `dtype` of autocast; nothing: PyTorch's choice, bfloat16 on a CPU and
  // float16 on a GPU.
  TorchBackend(bool autocast_enabled, std::optional<DataType> dtype);

  // Whether model() is to be on the device, to be run by LibTorch.
  virtual bool runs_model() const { return true; }

  // The steps of a kind of backend. Prepare gets ready to run: after a build
  // with its context, later (null) from what is kept. Release gives memory
  // back; Prepare comes next. Run gives the leaves of a result of
  // source()->FlattenResult, and is called by many threads at once.
  virtual absl::Status Prepare(BuildContext* context) = 0;
  virtual void Release() = 0;
  virtual absl::StatusOr<std::vector<OwnedValue>> Run(
      absl::Span<const RegionValue> inputs) const = 0;
  // Adds to what is saved, and takes it.
  virtual absl::Status SaveMore(BackendStateProto* state,
                                TorchBackendStateProto* more) const;
  virtual absl::Status LoadMore(const BackendStateProto& state,
                                const TorchBackendStateProto& more);

  const std::shared_ptr<TorchScriptSource>& source() const { return source_; }
  // The model to be run, with autocast's casts. Not null between Prepare and
  // Release.
  const std::shared_ptr<const Model>& model() const { return model_; }
  // The same on the device, whatever runs_model() says.
  absl::StatusOr<std::shared_ptr<const Model>> EagerModel() const;
  // The GPU that it runs on; -1: the CPU.
  int gpu() const { return gpu_; }
  // What names model() in caches and checkpoints; empty when nothing does.
  std::string model_id() const;

 private:
  absl::Status Ready(const Device& device, BuildContext* context);
  DataType autocast_dtype() const;
  absl::StatusOr<std::shared_ptr<const Model>> ModelOn(int gpu) const;
  absl::StatusOr<std::vector<OwnedValue>> InferThere(
      absl::Span<const RegionValue> inputs) const;
  absl::StatusOr<std::vector<OwnedValue>> RestoreDtypes(
      std::vector<OwnedValue> outputs) const;

  const bool autocast_enabled_;
  const std::optional<DataType> autocast_dtype_;
  std::shared_ptr<TorchScriptSource> source_;
  std::shared_ptr<const Model> model_;
  int gpu_ = -1;
  mutable std::mutex eager_mutex_;
  mutable std::shared_ptr<const Model> eager_;  // made when it is first run
  std::vector<int32_t> output_dtypes_;
};

// The source as a TorchScript model. kInvalidArgument for another kind.
absl::StatusOr<std::shared_ptr<TorchScriptSource>> AsTorchScript(
    const std::shared_ptr<SourceModel>& model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_TORCH_BACKEND_H_
