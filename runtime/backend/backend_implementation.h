// The interface between Backend, which decides when a call is allowed, and one
// kind of backend, which does the work.
//
// The states, their texts, locking and the exception boundary are in Backend
// and the same for all. A new kind of backend implements this interface in one
// file and registers itself (registry.h).
#ifndef AITUNE_RUNTIME_BACKEND_BACKEND_IMPLEMENTATION_H_
#define AITUNE_RUNTIME_BACKEND_BACKEND_IMPLEMENTATION_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/accuracy_bound.h"
#include "runtime/backend/backend_state.pb.h"
#include "runtime/backend/bound_call.h"
#include "runtime/backend/graph_spec.h"
#include "runtime/backend/signature.h"
#include "runtime/backend/source_model.h"
#include "runtime/backend/step_time.h"
#include "runtime/backend/usage.h"
#include "runtime/control/host_allocator.h"
#include "runtime/device/device.h"
#include "runtime/executable/memory_use.h"
#include "runtime/tensor/data_type.h"

namespace aitune {

struct BuildRequest {
  std::shared_ptr<SourceModel> model;
  GraphSpec graph_spec;         // what is known of the model's inputs
  std::vector<Sample> samples;  // example inputs, each of one call
  Device device;                // the device to run on
  // The backend's own folder, for results that later builds can use. It may be
  // empty or not exist yet. An empty path: the backend has no folder.
  std::filesystem::path cache_dir;
};

// A request that is being built. A model may have state (a cache of keys and
// values, say), so a build may call it at most once with each sample: calls go
// through CallSample, which counts them.
class BuildContext {
 public:
  // Keeps a reference to `request`.
  explicit BuildContext(const BuildRequest& request)
      : request_(request), called_(request.samples.size()) {}

  const std::shared_ptr<SourceModel>& model() const { return request_.model; }
  const GraphSpec& graph_spec() const { return request_.graph_spec; }
  const std::vector<Sample>& samples() const { return request_.samples; }
  const Device& device() const { return request_.device; }
  const std::filesystem::path& cache_dir() const { return request_.cache_dir; }

  // The model's outputs for samples()[index], in eager. Its state and the
  // sample stay as they are.
  // kFailedPrecondition the second time for an index, kOutOfRange without such
  // a sample; else the model's error. Not thread-safe.
  absl::StatusOr<std::vector<OwnedValue>> CallSample(int index);

 private:
  const BuildRequest& request_;
  std::vector<bool> called_;
};

// Backend calls Infer on many threads at once; while it calls any other
// function that is not marked thread-safe, it calls nothing else. A call that
// returns an error leaves everything as it was before, so that it can be tried
// again. Any of them may throw LibTorch's exceptions, which Backend turns into
// errors.
class BackendImplementation {
 public:
  virtual ~BackendImplementation() = default;

  // Makes the artifact and gets ready for Infer. The model stays unchanged. A
  // second build of the same request from a cache gives the same artifact.
  virtual absl::Status Build(BuildContext& context) = 0;

  // Gets ready for Infer again, after Deactivate or Load, on `device`. Uses the
  // artifacts of Build or Load and does not compile them again.
  virtual absl::Status Activate(const Device& device) = 0;

  // Frees the device's memory and everything else that only Infer needs.
  virtual absl::Status Deactivate() = 0;

  // As Activate, after Load; Deactivate and Save will not follow, so anything
  // that only they need may be freed.
  virtual absl::Status Deploy(const Device& device) = 0;

  // One call of the model. `inputs` are flattened and read in place.
  virtual absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) const = 0;

  // See Backend::Bind. Called by many threads at once.
  virtual absl::StatusOr<std::unique_ptr<BoundCall>> Bind(
      absl::Span<const RegionValue> /*inputs*/,
      absl::Span<const RegionValue> /*outputs*/) const {
    return absl::UnimplementedError("this kind of backend binds no memory");
  }

  // See Backend::Usage. Thread-safe.
  virtual BackendUsage Usage() const { return {}; }

  // See Backend::Profile. Called by many threads at once.
  virtual absl::StatusOr<std::vector<StepTime>> Profile(
      absl::Span<const RegionValue> /*inputs*/, int /*repeats*/) const {
    return absl::UnimplementedError("this kind of backend has no steps");
  }

  // See Backend::Memory, FreeKeptMemory, SetMemoryLimit and SetAllocator.
  // Thread-safe.
  virtual MemoryUse Memory() const { return {}; }
  virtual void FreeKeptMemory() const {}
  virtual void SetMemoryLimit(int64_t /*bytes*/) {}
  virtual void SetAllocator(
      std::shared_ptr<const HostAllocator> /*allocator*/) {}

  // See Backend::Repair.
  virtual absl::StatusOr<bool> Repair(
      absl::Span<const RegionValue> /*inputs*/) {
    return false;
  }

  // See Backend::TakeFailedCheck. Called by many threads at once.
  virtual absl::Status TakeFailedCheck() const { return absl::OkStatus(); }

  // Lines for a report on the built model, such as which operators LibTorch
  // runs and why. Thread-safe.
  virtual std::vector<std::string> Notes() const { return {}; }

  // See Backend::Signatures. Thread-safe.
  virtual std::vector<Signature> Signatures() const { return {}; }

  // See Backend::narrowed_to. Thread-safe.
  virtual std::optional<DataType> narrowed_to() const { return std::nullopt; }

  // See Backend::accuracy_bound. Thread-safe.
  virtual std::optional<AccuracyBound> accuracy_bound() const {
    return std::nullopt;
  }

  // Adds artifacts and `implementation` to `state`; the rest is set already.
  // Called in any state but INIT.
  virtual absl::Status Save(BackendStateProto* state) const = 0;

  // As Save, for `model`, which is the model of this backend with other
  // weights: what Load and Activate make of it runs that model and compiles
  // nothing. See Backend::ToDictFor.
  virtual absl::Status SaveFor(const std::shared_ptr<SourceModel>& /*model*/,
                               BackendStateProto* /*state*/) const {
    return absl::UnimplementedError(
        "this kind of backend can't take other weights; build it again");
  }

  // Reads what Save wrote. `model` may be null if the traits say that none is
  // needed. Uses no device yet; Activate or Deploy follow.
  virtual absl::Status Load(std::shared_ptr<SourceModel> model,
                            const BackendStateProto& state) = 0;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_BACKEND_IMPLEMENTATION_H_
