// Calls executables of hand-built plans in tests.
#ifndef AITUNE_RUNTIME_EXECUTABLE_RUN_TEST_MODEL_H_
#define AITUNE_RUNTIME_EXECUTABLE_RUN_TEST_MODEL_H_

#include <vector>

#include "gtest/gtest.h"
#include "runtime/executable/executable.h"
#include "runtime/executable/test_plan.h"

namespace aitune {

// Runs with fresh memory for every output, all float32 tensors.
inline std::vector<std::vector<float>> RunModel(
    const Executable& executable, const std::vector<TensorView>& inputs) {
  const auto sizes = executable.OutputSizes(inputs);
  EXPECT_TRUE(sizes.ok()) << sizes.status();
  std::vector<std::vector<float>> memory;
  for (const auto& output : *sizes) {
    memory.emplace_back(ElementCount(output), -99.f);
  }
  std::vector<RegionValue> outputs;
  for (size_t i = 0; i < memory.size(); ++i) {
    outputs.emplace_back(View(memory[i], (*sizes)[i]));
  }
  EXPECT_EQ(executable.Run(inputs, absl::MakeSpan(outputs)), absl::OkStatus());
  return memory;
}

}  // namespace aitune

#endif  // AITUNE_RUNTIME_EXECUTABLE_RUN_TEST_MODEL_H_
