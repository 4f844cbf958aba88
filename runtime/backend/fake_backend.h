// A backend and a model for tests: they do what the test tells them to, and
// count their calls.
#ifndef AITUNE_RUNTIME_BACKEND_FAKE_BACKEND_H_
#define AITUNE_RUNTIME_BACKEND_FAKE_BACKEND_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/backend_config.h"

namespace aitune {

// A float32 tensor that owns its memory.
OwnedValue MakeTensor(std::vector<int64_t> sizes, std::vector<float> values);

// The elements of a float32 tensor.
std::vector<float> Elements(const RegionValue& value);

// Doubles each tensor.
class FakeModel : public SourceModel {
 public:
  std::string name() const override { return "fake"; }
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) override;

  std::atomic<int> calls{0};
};

// What a fake backend counts and does. Shared with the test; the functions are
// set before the backend is used, and may be null.
struct FakeBehavior {
  std::function<absl::Status(BuildContext&)> build;
  std::function<absl::Status()> activate, deactivate, deploy, load;
  std::function<absl::StatusOr<std::vector<OwnedValue>>(
      absl::Span<const RegionValue>)>
      infer;
  std::function<absl::Status()> take_failed_check;
  std::function<void()> save;

  std::atomic<int> builds{0}, activations{0}, deactivations{0}, deployments{0},
      loads{0}, infers{0};
  // Compilations; what a test of "does not compile" looks at.
  std::atomic<int> compiles{0};
  // Whether memory of the device is held.
  std::atomic<bool> holds_memory{false};
  // Calls of Infer now, and calls that overlapped with a change of the state.
  std::atomic<int> infers_inside{0};
  std::atomic<int> overlaps{0};
};

class FakeBackendConfig : public BackendConfig {
 public:
  bool fullgraph = false;
  std::optional<std::string> mode;  // "max-autotune"

  ConfigDict ToDict() const override;
  ConfigDict DefaultDict() const override;
  // Errors: another mode.
  absl::Status Validate() const override;

  // The inverse of ToDict; fields may be missing. Errors as Validate, and a
  // field that there is not or of the wrong type.
  static absl::StatusOr<FakeBackendConfig> FromDict(const ConfigDict& dict);
};

// Doubles each tensor unless behavior->infer is set. Keeps "artifact" as what
// a checkpoint stores.
std::unique_ptr<BackendImplementation> MakeFakeImplementation(
    std::shared_ptr<FakeBehavior> behavior);

// A backend with the name of the compiling one, which the errors of the states
// are known by, for cpu and cuda.
std::unique_ptr<Backend> MakeFakeBackend(std::shared_ptr<FakeBehavior> behavior,
                                         FakeBackendConfig config = {});

// Likewise with another name, for any device.
std::unique_ptr<Backend> MakeFakeBackend(
    std::string name, std::shared_ptr<FakeBehavior> behavior);

// A request with the fake model and `samples` samples of one tensor [i + 1, 2].
BuildRequest MakeFakeRequest(int samples = 2);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_FAKE_BACKEND_H_
