#include "runtime/device/device.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/status/status_macros.h"

namespace aitune {

std::string Device::ToString() const {
  return index < 0 ? type : absl::StrCat(type, ":", index);
}

absl::StatusOr<Device> Device::Parse(std::string_view text) {
  const size_t colon = text.find(':');
  Device device;
  device.type = std::string(text.substr(0, colon));
  const bool letters = !device.type.empty() &&
                       std::all_of(device.type.begin(), device.type.end(),
                                   [](char c) { return c >= 'a' && c <= 'z'; });
  bool number = true;
  if (colon != std::string_view::npos) {
    const std::string digits(text.substr(colon + 1));
    number = absl::SimpleAtoi(digits, &device.index) && device.index >= 0 &&
             absl::StrCat(device.index) == digits;
  }
  if (letters && number) return device;
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid device: '", std::string(text),
                   "'. Write a type and maybe a number, as in cpu or cuda:0."));
}

absl::StatusOr<Device> Device::ParseCpuOrGpu(std::string_view text) {
  AITUNE_ASSIGN_OR_RETURN(Device device, Parse(text));
  if (device == Device() || device.type == "cuda") return device;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown device '", std::string(text),
                   "'; there are cpu, cuda and cuda:N for the GPU number N"));
}

int Device::gpu() const { return is_gpu() ? std::max(index, 0) : -1; }

}  // namespace aitune
