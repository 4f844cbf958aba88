#include "runtime/cuda/profiler_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace aitune::cuda {
namespace {

using ::testing::ElementsAre;

std::vector<std::string>& Events() {
  static std::vector<std::string> events;
  return events;
}

int Push(const char* name) {
  Events().push_back(name);
  return 0;
}

int Pop() {
  Events().push_back("pop");
  return 0;
}

TEST(ProfilerRangeTest, RangesNest) {
  const ProfilerFunctions functions =
      FindProfilerFunctions([](const char* name) -> void* {
        const std::string function(name);
        if (function == "nvtxRangePushA") return reinterpret_cast<void*>(&Push);
        if (function == "nvtxRangePop") return reinterpret_cast<void*>(&Pop);
        return nullptr;
      });
  Events().clear();
  {
    const ProfilerRange call("call", functions);
    const ProfilerRange step("step", functions);
  }
  EXPECT_THAT(Events(), ElementsAre("call", "step", "pop", "pop"));
}

TEST(ProfilerRangeTest, WithoutAProfilerThereAreNone) {
  const ProfilerFunctions functions =
      FindProfilerFunctions([](const char* name) -> void* {
        return std::string(name) == "nvtxRangePushA"
                   ? reinterpret_cast<void*>(&Push)
                   : nullptr;
      });
  EXPECT_EQ(functions.push, nullptr);
  Events().clear();
  {
    const ProfilerRange call("call", functions);
  }
  {
    const ProfilerRange call("call");
  }
  EXPECT_THAT(Events(), ElementsAre());
}

}  // namespace
}  // namespace aitune::cuda
