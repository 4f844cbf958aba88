#include "frontend/values/random_numbers.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <exception>
#include <mutex>

namespace aitune::frontend {

ScopedRandomNumbers::ScopedRandomNumbers(const Device& device) {
  std::vector<at::Generator> generators = {
      at::detail::getDefaultCPUGenerator()};
  if (device.is_gpu())
    generators.push_back(at::globalContext().defaultGenerator(
        at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device.gpu()))));
  for (at::Generator& generator : generators) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    saved_.emplace_back(generator, generator.get_state());
  }
}

ScopedRandomNumbers::~ScopedRandomNumbers() {
  for (auto& [generator, state] : saved_) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    try {
      generator.set_state(state);
    } catch (const std::exception&) {
      // A GPU that an assertion of a kernel has stopped has none any more.
    }
  }
}

void ScopedRandomNumbers::Seed(uint64_t seed) {
  for (auto& [generator, state] : saved_) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_current_seed(seed);
  }
}

}  // namespace aitune::frontend
