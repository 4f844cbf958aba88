// Damaged plans: whatever the bytes, loading gives a status. The kernels do
// nothing, so that a plan that still passes can be loaded and run.
#include <cstring>
#include <random>

#include "gtest/gtest.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/test_plan.h"
#include "runtime/fuzz/fuzzed_plans.h"
#include "runtime/fuzz/message_mutation.h"
#include "runtime/plan/plan.h"

namespace aitune {
namespace {

class NoRegion : public FallbackRegion {
 public:
  absl::Status Run(absl::Span<const RegionValue>, absl::Span<const int64_t>,
                   absl::Span<RegionValue>) const override {
    return absl::OkStatus();
  }
};

// Loads and, where that works, runs with the sizes that the plan asks for.
// Returns whether it ran.
bool LoadAndRun(const ExecutablePlan& plan) {
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<NoRegion>());
  auto kernels =
      std::make_shared<FakeKernels>(std::map<std::string, KernelFunction>{
          {"kernel", [](void* const*, const int64_t*, int64_t, int64_t) {}}});
  auto executable =
      CpuExecutable::Load(plan, kernels, SeedConstants(), std::move(regions));
  if (!executable.ok()) {
    EXPECT_FALSE(executable.status().message().empty());
    return false;
  }
  std::vector<float> data(4 * 8 * 8 * 32);
  const std::vector<TensorView> inputs = {View(data, {2, 8, 8, 16})};
  const auto sizes = (*executable)->OutputSizes(inputs);
  if (!sizes.ok()) return false;
  std::vector<RegionValue> outputs;
  std::vector<std::vector<float>> memory;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const TensorTypeProto& type = plan.outputs(static_cast<int>(i));
    if (type.dtype() == 0) {
      outputs.emplace_back(OpaqueValue());
      continue;
    }
    const auto bytes =
        TensorBytes(static_cast<DataType>(type.dtype()), (*sizes)[i]);
    if (!bytes.ok() || *bytes > (1 << 22)) return false;
    memory.emplace_back(*bytes / sizeof(float) + 1);
    outputs.emplace_back(TensorView{memory.back().data(),
                                    static_cast<DataType>(type.dtype()),
                                    (*sizes)[i]});
  }
  return (*executable)->Run(inputs, absl::MakeSpan(outputs)).ok();
}

TEST(PlanFuzzTest, TheSanePlanRuns) {
  EXPECT_TRUE(LoadAndRun(ConvolutionPlan()));
}

TEST(PlanFuzzTest, DamagedBytesNeverCrash) {
  const std::string sane = ConvolutionPlan().SerializeAsString();
  const google::protobuf::LogSilencer silence_parse_errors;
  std::mt19937 random(1);
  auto below = [&](size_t n) { return random() % n; };
  int parsed = 0, ran = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = sane;
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      const size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] ^= static_cast<char>(1 << below(8));
          break;
        case 2:
          bytes.erase(at, 1 + below(8));
          break;
        default:
          bytes.insert(at, 1 + below(8), static_cast<char>(random()));
          break;
      }
      if (bytes.empty()) break;
    }
    ExecutablePlan plan;
    if (!plan.ParseFromString(bytes)) continue;
    ++parsed;
    ran += LoadAndRun(plan);
  }
  // Else the test would look at nothing.
  EXPECT_GT(parsed, 100);
  EXPECT_GT(ran, 1);
}

TEST(PlanFuzzTest, ChangedNumbersNeverCrash) {
  const ExecutablePlan sane = ConvolutionPlan();
  std::mt19937 random(2);
  int ran = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    ExecutablePlan plan = sane;
    for (size_t edits = 1 + random() % 3; edits > 0; --edits) {
      ChangeANumber(plan, random);
    }
    (LoadAndRun(plan) ? ran : refused) += 1;
  }
  EXPECT_GT(ran, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace aitune
