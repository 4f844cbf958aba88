#include "compiler/codegen/gpu/target/GpuTarget.h"

#include "absl/status/status.h"

namespace aitune {
namespace {

constexpr int kKibi = 1024;

// Figures of the largest common chip of each kind.
constexpr GpuTarget kKnown[] = {
    {8, 0, 108, 163 * kKibi, false},  {8, 6, 84, 99 * kKibi, false},
    {8, 9, 142, 99 * kKibi, false},   {9, 0, 132, 227 * kKibi, false},
    {10, 0, 148, 227 * kKibi, false}, {12, 0, 170, 99 * kKibi, false},
};

} // namespace

std::string GpuTarget::architecture() const {
  std::string name = "sm_" + std::to_string(major * 10 + minor);
  return major >= 9 ? name + "a" : name;
}

absl::StatusOr<GpuTarget> GpuTarget::named(std::string_view name) {
  std::string known;
  for (const GpuTarget &target : kKnown) {
    std::string plain =
        "sm_" + std::to_string(target.major * 10 + target.minor);
    if (name == plain || name == plain + "a")
      return target;
    known += (known.empty() ? "" : ", ") + plain;
  }
  return absl::InvalidArgumentError("unknown GPU '" + std::string(name) +
                                    "'; known: " + known);
}

} // namespace aitune
