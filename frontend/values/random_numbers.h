// LibTorch's random numbers, for runs that are to draw the same ones, or to
// leave no trace in them.
#ifndef AITUNE_FRONTEND_VALUES_RANDOM_NUMBERS_H_
#define AITUNE_FRONTEND_VALUES_RANDOM_NUMBERS_H_

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/device/device.h"

namespace aitune::frontend {

// Saves the states of LibTorch's default generators, of the CPU and of a GPU,
// and puts them back when it goes. What other threads draw meanwhile is drawn
// again then. May throw LibTorch's exceptions.
class ScopedRandomNumbers {
 public:
  // Of the CPU and, if `device` is a GPU, of that.
  explicit ScopedRandomNumbers(const Device& device);
  ~ScopedRandomNumbers();
  ScopedRandomNumbers(const ScopedRandomNumbers&) = delete;
  ScopedRandomNumbers& operator=(const ScopedRandomNumbers&) = delete;

  // As torch.manual_seed, for these generators.
  void Seed(uint64_t seed);

 private:
  std::vector<std::pair<at::Generator, at::Tensor>> saved_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_RANDOM_NUMBERS_H_
