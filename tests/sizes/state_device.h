// Where the tests of models with state run them: on the CPU or, by hand, with
// --test_env=AITUNE_STATE_DEVICE=cuda, compiled for a GPU.
#ifndef AITUNE_TESTS_SIZES_STATE_DEVICE_H_
#define AITUNE_TESTS_SIZES_STATE_DEVICE_H_

#include <ATen/core/ivalue.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <optional>

#include "absl/status/statusor.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "frontend/values/value_list.h"
#include "runtime/device/device.h"

namespace aitune::sizes {

// Loads LibTorch's part for GPUs if it is one.
inline const Device& StateDevice() {
  static const Device* const device = [] {
    const char* const asked = std::getenv("AITUNE_STATE_DEVICE");
    auto parsed = Device::ParseCpuOrGpu(asked == nullptr ? "cpu" : asked);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    if (parsed.ok() && parsed->is_gpu()) {
      const absl::Status started = frontend::StartLibTorchCuda(*parsed);
      EXPECT_TRUE(started.ok()) << started;
    }
    return new Device(parsed.value_or(Device()));
  }();
  return *device;
}

// Makes a stream of its own current on a GPU for every second of these that is
// made: what the call before has left must be seen on the other stream as well.
class ScopedOtherStream {
 public:
  ScopedOtherStream() {
    static std::atomic<int> made = 0;
    if (++made % 2 != 0 || !StateDevice().is_gpu()) return;
    const c10::impl::VirtualGuardImpl gpu(c10::DeviceType::CUDA);
    const c10::Device device = frontend::DeviceOf(StateDevice());
    stream_.emplace(StateDevice(),
                    gpu.getStreamFromGlobalPool(device, false).native_handle());
  }

 private:
  std::optional<frontend::ScopedStream> stream_;
};

// The result of `model` for arguments that are on the CPU, on the CPU, where
// the call's writes to these are seen too.
template <typename Compiled>
absl::StatusOr<c10::IValue> RunThere(const Compiled& model,
                                     const frontend::ValueList& arguments) {
  if (!StateDevice().is_gpu()) return model.Run(arguments);
  const ScopedOtherStream stream;
  const frontend::ValueList there =
      frontend::ToDevice(arguments, StateDevice());
  const absl::StatusOr<c10::IValue> result = model.Run(there);
  frontend::CopyChangesBack(there, arguments);
  if (!result.ok()) return result;
  return frontend::ToCpu(*result);
}

}  // namespace aitune::sizes

#endif  // AITUNE_TESTS_SIZES_STATE_DEVICE_H_
