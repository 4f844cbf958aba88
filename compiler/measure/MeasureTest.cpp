// What is run, and how often, of candidates whose kernels are C++ functions.
#include "compiler/measure/Measure.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/executable/test_plan.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

std::atomic<int> runs{0};

void shortKernel(void *const *, const int64_t *, int64_t, int64_t) { ++runs; }
void longKernel(void *const *, const int64_t *, int64_t, int64_t) {
  ++runs;
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
}
/// Fast from the fifth run on, as what compiles itself in its first runs.
void warmingKernel(void *const *, const int64_t *, int64_t, int64_t) {
  std::this_thread::sleep_for(
      std::chrono::milliseconds(runs < 4 ? 60 - 10 * runs.load() : 0));
  ++runs;
}

/// Slow in its first two runs, as LibTorch's executor, which profiles in one
/// and compiles in the other.
void profiledKernel(void *const *, const int64_t *, int64_t, int64_t) {
  if (++runs <= 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

std::unique_ptr<CpuExecutable> load(const std::string &kernel) {
  TestPlan t;
  const int x = t.Input({4});
  const int y = t.Output({4});
  t.Kernel(kernel, {x}, {y}, 1);
  auto loaded = CpuExecutable::Load(
      t.plan,
      std::make_shared<FakeKernels>(
          std::map<std::string, KernelFunction>{{"short", shortKernel},
                                                {"long", longKernel},
                                                {"profiled", profiledKernel},
                                                {"warming", warmingKernel}}),
      {}, {});
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *std::move(loaded) : nullptr;
}

MeasureOptions inSeconds(double seconds) {
  MeasureOptions options;
  options.seconds = seconds;
  return options;
}

/// Of a page: whether it was read or written since it was mapped.
bool isResident(const void *page, int64_t bytes) {
  unsigned char resident = 0;
  EXPECT_EQ(mincore(const_cast<void *>(page), bytes, &resident), 0);
  return resident & 1;
}

TEST(Measure, WeightsOfTheModelAreReadBetweenRuns) {
  const int64_t page = getpagesize(), pages = 64;
  char *memory = static_cast<char *>(mmap(nullptr, pages * page, PROT_READ,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  std::vector<ConstantTensor> weights;
  for (int64_t half : {0, 1})
    weights.push_back({{memory + half * pages / 2 * page,
                        DataType::kUInt8,
                        {pages / 2 * page}},
                       nullptr,
                       ""});
  weights.push_back({{nullptr, DataType::kUInt8, {page}}, nullptr, ""});
  auto loaded = load("short");
  for (bool isRead : {false, true}) {
    MeasureOptions options = inSeconds(0.001);
    if (isRead)
      options.evicting = weights;
    EXPECT_EQ(measureCandidates({loaded.get()}, options).front().note, "");
    for (int64_t i = 0; i < pages; ++i)
      EXPECT_EQ(isResident(memory + i * page, page), isRead) << i;
  }
  munmap(memory, pages * page);
}

TEST(Measure, WhatIsNoGeneratedKernelEndsTheirRegion) {
  TestPlan t;
  EXPECT_FALSE(findLibraryEnds(t.plan).begin);
  EXPECT_FALSE(findLibraryEnds(t.plan).end);
  const int x = t.Input({4});
  const int y = t.Output({4});
  t.Fallback(0, {x}, {y});
  EXPECT_TRUE(findLibraryEnds(t.plan).begin);
  EXPECT_TRUE(findLibraryEnds(t.plan).end);
  t.Kernel("short", {y}, {y}, 1);
  EXPECT_TRUE(findLibraryEnds(t.plan).begin);
  EXPECT_FALSE(findLibraryEnds(t.plan).end);
  t.AddStep({y}, {y})->mutable_matmul();
  EXPECT_TRUE(findLibraryEnds(t.plan).end);
}

TEST(Measure, KernelsAloneShareARegionWithThoseBesideThem) {
  const std::unique_ptr<CpuExecutable> executable = load("short");
  EXPECT_FALSE(findLibraryEnds(executable->plan()).begin);
  EXPECT_FALSE(findLibraryEnds(executable->plan()).end);
}

TEST(Measure, OneLongRunIsEnough) {
  const std::unique_ptr<CpuExecutable> executable = load("long");
  const CpuExecutable *const candidates[] = {executable.get()};
  runs = 0;
  const Measurement measured =
      measureCandidates(candidates, inSeconds(0.02)).front();
  EXPECT_EQ(runs, 1);
  EXPECT_GE(measured.microseconds, 6e5);
  EXPECT_EQ(measured.low, measured.high);
  runs = 0;
  measureCandidates(candidates, inSeconds(1.9));
  EXPECT_GT(runs, 1) << "as many as there is time for";
}

TEST(Measure, ShortRunsAreRepeatedAfterThreeThatDoNotCount) {
  const std::unique_ptr<CpuExecutable> executable = load("short");
  const CpuExecutable *const candidates[] = {executable.get()};
  runs = 0;
  EXPECT_GE(measureCandidates(candidates, inSeconds(1e-9)).front().microseconds,
            0);
  EXPECT_EQ(runs, 3 + 3);
}

TEST(Measure, RunsAreTimedOnceTheyAreNoLongerFasterEachTime) {
  const std::unique_ptr<CpuExecutable> executable = load("warming");
  const CpuExecutable *const candidates[] = {executable.get()};
  runs = 0;
  EXPECT_LT(measureCandidates(candidates, inSeconds(0.3)).front().microseconds,
            5000);
}

TEST(Measure, AFirstRunThatTakesLongerThanTheMeasurementDoesNotEndWarmingUp) {
  const std::unique_ptr<CpuExecutable> executable = load("profiled");
  const CpuExecutable *const candidates[] = {executable.get()};
  runs = 0;
  measureCandidates(candidates, inSeconds(0.02));
  EXPECT_GT(runs, 3 + 3) << "as many as there is time for";
}

/// Gives nothing, as a list that LibTorch makes.
class GivesNothing : public FallbackRegion {
public:
  absl::Status Run(absl::Span<const RegionValue>, absl::Span<const int64_t>,
                   absl::Span<RegionValue> outputs) const override {
    ++runs;
    outputs[0] = OpaqueValue(std::make_shared<int>(1));
    return absl::OkStatus();
  }
};

TEST(Measure, ResultsWhoseTypeOnlyLibTorchKnowsNeedNoMemory) {
  TestPlan t;
  const int x = t.Input({4});
  const int list = t.Opaque(), y = t.Output({4});
  t.Fallback(0, {x}, {list});
  t.Kernel("short", {x}, {y}, 1);
  // The list first: its number is not that of the tensor's memory.
  t.plan.mutable_values(y)->set_index(1);
  t.plan.mutable_outputs()->Add()->Swap(t.plan.mutable_outputs(0));
  t.plan.add_output_values(list);
  t.plan.add_output_values(y);
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<GivesNothing>());
  auto loaded = CpuExecutable::Load(
      t.plan,
      std::make_shared<FakeKernels>(
          std::map<std::string, KernelFunction>{{"short", shortKernel}}),
      {}, std::move(regions));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const CpuExecutable *const candidates[] = {loaded->get(), loaded->get()};
  for (bool compares : {false, true}) {
    MeasureOptions options = inSeconds(1e-9);
    options.comparesResults = compares;
    runs = 0;
    for (const Measurement &measured : measureCandidates(candidates, options)) {
      EXPECT_EQ(measured.note, "");
      EXPECT_GE(measured.microseconds, 0);
    }
    EXPECT_GT(runs, 0);
  }
}

TEST(Measure, SeveralAreComparedInTwoRunsBeforeTheyAreTimed) {
  const std::unique_ptr<CpuExecutable> one = load("short"), two = load("short");
  const CpuExecutable *const candidates[] = {one.get(), two.get()};
  runs = 0;
  measureCandidates(candidates, inSeconds(0));
  EXPECT_EQ(runs, 4);
}

} // namespace
} // namespace aitune
