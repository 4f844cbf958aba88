// What LibTorch's threads do after a call, to what is timed next.
#ifndef AITUNE_FRONTEND_VALUES_SPINNING_THREADS_H_
#define AITUNE_FRONTEND_VALUES_SPINNING_THREADS_H_

#include <ATen/Parallel.h>

#include "runtime/device/device.h"
#include "runtime/strategy/interleaved_timing.h"

namespace aitune::frontend {

// TimingOptions::settle_milliseconds for contestants of which LibTorch is one,
// on this thread: none on a GPU and with one thread, where none spins.
inline double SettleMilliseconds(const Device& device) {
  return device.is_gpu() || at::get_num_threads() == 1 ? 0 : kSpinMilliseconds;
}

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_SPINNING_THREADS_H_
