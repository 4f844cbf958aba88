// What the operators of a fallback region read that no call computes: constants
// and the arguments that a trace has as values. On a GPU each has one copy,
// made when it is first read, so that a region that never runs costs no memory
// there. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_REGION_CONSTANTS_H_
#define AITUNE_FRONTEND_TRACE_REGION_CONSTANTS_H_

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "frontend/trace/fallback.h"
#include "frontend/trace/region_steps.h"
#include "frontend/trace/shared_constants.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// `trace` and `steps` must outlive it. All functions may be called from any
// thread.
class RegionConstants {
 public:
  RegionConstants(const RecordedTrace& trace, const RegionSteps& steps,
                  Device device);

  // A tensor on the memory of the constant of `argument`, a kConstant; on a GPU
  // one on the copy's.
  at::Tensor Constant(const RegionArgument& argument) const;

  // The value of `argument`, a kFixed; on a GPU with copies of its tensors, of
  // those in its lists too.
  c10::IValue Fixed(const RegionArgument& argument) const;

  // An argument recorded on the CPU as one for the region's device: tensors of
  // one element may stay, LibTorch takes them as numbers.
  c10::IValue OnDevice(c10::IValue value) const;

  // The bytes of the GPU's copies, of copies that regions share a part.
  int64_t BytesOnDevice() const;

 private:
  at::Tensor NewConstant(int number) const;

  const RecordedTrace& trace_;
  const RegionSteps& steps_;
  const Device device_;
  mutable std::mutex mutex_;
  // By their numbers in the steps; on a GPU guarded by the mutex.
  mutable std::vector<at::Tensor> constants_;
  // What these are on a GPU; guarded by the mutex.
  mutable std::vector<std::shared_ptr<const SharedConstant>> copies_;
  // On a GPU, by where the steps have them; guarded by the mutex.
  mutable std::unordered_map<const RegionArgument*, c10::IValue> fixed_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_REGION_CONSTANTS_H_
