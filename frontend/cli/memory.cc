#include "frontend/cli/memory.h"

#include <fstream>
#include <string>

namespace aitune::cli {
namespace {

// The value of a line such as "VmHWM:   123456 kB", in bytes.
int64_t StatusField(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kilobytes = 0;
  while (status >> word) {
    if (word == name && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

int64_t ResidentBytes() { return StatusField("VmRSS:"); }

int64_t PeakBytes() { return StatusField("VmHWM:"); }

void ResetPeakBytes() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace aitune::cli
