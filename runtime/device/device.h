// Where a model runs, by PyTorch's names.
#ifndef AITUNE_RUNTIME_DEVICE_DEVICE_H_
#define AITUNE_RUNTIME_DEVICE_DEVICE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace aitune {

struct Device {
  std::string type = "cpu";  // lower-case letters, such as "cpu" or "cuda"
  int index = -1;            // of several of a type; -1: the current one

  // "cpu", "cuda:0".
  std::string ToString() const;

  // The inverse of ToString. kInvalidArgument for another form.
  static absl::StatusOr<Device> Parse(std::string_view text);
  // Likewise, of what compiled models run on: kInvalidArgument for others than
  // cpu, cuda and cuda:N.
  static absl::StatusOr<Device> ParseCpuOrGpu(std::string_view text);

  // The number of the GPU that this is: N for "cuda:N", 0 for "cuda", -1 for
  // other types. Gpu is the inverse; -1 gives the CPU.
  int gpu() const;
  static Device Gpu(int number);

  friend bool operator==(const Device& a, const Device& b) {
    return a.type == b.type && a.index == b.index;
  }
  friend bool operator!=(const Device& a, const Device& b) { return !(a == b); }
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_DEVICE_DEVICE_H_
