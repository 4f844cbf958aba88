// The base class of backends that run TorchScript models: it keeps the model
// and the nesting of its values, and applies autocast.
#ifndef AITUNE_FRONTEND_BACKENDS_TORCH_BACKEND_H_
#define AITUNE_FRONTEND_BACKENDS_TORCH_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/backends/autocast_dtypes.h"
#include "frontend/backends/torch_backend_state.pb.h"
#include "frontend/backends/torchscript_source.h"
#include "frontend/torchscript/model.h"
#include "runtime/backend/backend_implementation.h"
#include "runtime/device/device.h"
#include "runtime/executable/memory_use.h"

namespace aitune::frontend {

// Whether LibTorch can use `device`, "cpu" or "cuda", in this process:
// BackendFactory::check_device of backends that run TorchScript models.
absl::Status CheckTorchDevice(const Device& device);

// With autocast, the model's program contains the casts (autocast.h), and
// outputs are converted back to the dtypes that they have without autocast. On
// a GPU, inputs in other memory are copied there, and outputs stay there.
class TorchBackend : public BackendImplementation {
 public:
  absl::Status Build(BuildContext& context) final;
  absl::Status Activate(const Device& device) final;
  absl::Status Deactivate() final;
  absl::Status Deploy(const Device& device) final;
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) const final;
  absl::Status Save(BackendStateProto* state) const final;
  absl::Status SaveFor(const std::shared_ptr<SourceModel>& source,
                       BackendStateProto* state) const final;
  absl::Status Load(std::shared_ptr<SourceModel> source,
                    const BackendStateProto& state) final;
  std::optional<DataType> narrowed_to() const override;

  // The model's weights on the CPU and what is kept beside them, and those on
  // the GPU where LibTorch has them.
  MemoryUse Memory() const override;

 protected:
  // `dtype` is that of autocast. Not set: PyTorch's default, bfloat16 on a CPU
  // and float16 on a GPU.
  TorchBackend(bool autocast_enabled, std::optional<DataType> dtype);

  // Whether LibTorch runs model(), which must then be on the device.
  virtual bool runs_model() const { return true; }

  // The steps that differ between kinds of backends.
  //
  // Gets ready for Run: in a build with its `context`; when the backend is
  // activated or deployed (`context` is null) from the results of the build or
  // from LoadMore.
  virtual absl::Status Prepare(BuildContext* context) = 0;
  // Frees memory. Prepare is called before the next Run.
  virtual void Release() = 0;
  // Runs the model. The result is flattened as source()->FlattenResult does.
  // Called by many threads at once.
  virtual absl::StatusOr<std::vector<OwnedValue>> Run(
      absl::Span<const RegionValue> inputs) const = 0;
  // SaveMore adds the backend's own data to its saved state; LoadMore reads it.
  virtual absl::Status SaveMore(BackendStateProto* state,
                                TorchBackendStateProto* more) const;
  // As SaveMore, for a backend that runs `changed`: model() with other weights,
  // which `id` names as model_id() names model().
  virtual absl::Status SaveMoreFor(const Model& changed, const std::string& id,
                                   BackendStateProto* state,
                                   TorchBackendStateProto* more) const;
  virtual absl::Status LoadMore(const BackendStateProto& state,
                                const TorchBackendStateProto& more);

  const std::shared_ptr<TorchScriptSource>& source() const { return source_; }
  // The model to run, with autocast's casts. Not null between Prepare and
  // Release.
  const std::shared_ptr<const Model>& model() const { return model_; }
  // The same model on the device, also if runs_model() is false.
  absl::StatusOr<std::shared_ptr<const Model>> EagerModel() const;
  // The same for one use: on a GPU a copy that goes with the last who keeps it,
  // unless EagerModel has made one.
  absl::StatusOr<std::shared_ptr<const Model>> EagerModelForOnce() const;
  // The device that the backend runs on; a GPU has its number.
  const Device& device() const { return device_; }
  // The name of model() in caches and checkpoints; empty when the model has no
  // hash (ModelSha256).
  std::string model_id() const;

 private:
  absl::Status Ready(const Device& device, BuildContext* context);
  DataType autocast_dtype() const;
  absl::StatusOr<std::shared_ptr<const Model>> ModelOn(
      const TorchScriptSource& source, const Device& device) const;
  std::string ModelId(const TorchScriptSource& source) const;
  absl::StatusOr<std::vector<OwnedValue>> InferThere(
      absl::Span<const RegionValue> inputs) const;

  const bool autocast_enabled_;
  const std::optional<DataType> autocast_dtype_;
  std::shared_ptr<TorchScriptSource> source_;
  std::shared_ptr<const Model> model_;
  Device device_;
  mutable std::mutex eager_mutex_;
  mutable std::shared_ptr<const Model> eager_;  // made when it is first needed
  // Model::WeightBytes of the source's model; 0 until it is ready.
  std::atomic<int64_t> weight_bytes_ = 0;
  AutocastDtypes dtypes_;  // with autocast
};

// `model` as a TorchScriptSource; kInvalidArgument if it is another class.
absl::StatusOr<std::shared_ptr<TorchScriptSource>> AsTorchScript(
    const std::shared_ptr<SourceModel>& model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_TORCH_BACKEND_H_
