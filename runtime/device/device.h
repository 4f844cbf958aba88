// The device that a model runs on, named as PyTorch names it.
#ifndef AITUNE_RUNTIME_DEVICE_DEVICE_H_
#define AITUNE_RUNTIME_DEVICE_DEVICE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace aitune {

struct Device {
  std::string type = "cpu";  // lower-case letters, such as "cpu" or "cuda"
  int index = -1;  // number among the devices of this type; -1: the current one

  // "cpu", "cuda:0".
  std::string ToString() const;

  // The device that ToString prints as `text`. kInvalidArgument for a text that
  // is not of this form.
  static absl::StatusOr<Device> Parse(std::string_view text);
  // As Parse, but accepts only the devices that compiled models run on:
  // kInvalidArgument for any text but cpu, cuda and cuda:N.
  static absl::StatusOr<Device> ParseCpuOrGpu(std::string_view text);

  // Whether this is a GPU: "cuda" or "cuda:N".
  bool is_gpu() const { return type == "cuda"; }
  // The number of this GPU: N for "cuda:N", 0 for "cuda", -1 for other types.
  int gpu() const;
  // "cuda:N" for the number N of a GPU.
  static Device Gpu(int number) { return {"cuda", number}; }

  friend bool operator==(const Device& a, const Device& b) {
    return a.type == b.type && a.index == b.index;
  }
  friend bool operator!=(const Device& a, const Device& b) { return !(a == b); }
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_DEVICE_DEVICE_H_
