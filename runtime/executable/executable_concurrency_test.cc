// Many callers on one executable. Run it with --config=tsan too.
#include <ATen/Parallel.h>

#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/test_plan.h"

namespace aitune {
namespace {

void Square(void* const* b, const int64_t*, int64_t begin, int64_t end) {
  const float* x = static_cast<const float*>(b[0]);
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(b[1])[i] = x[i] * x[i] + 0.5f;
  }
}

// Makes an opaque value of a tensor and a tensor of an opaque value.
class Region : public FallbackRegion {
 public:
  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t> symbols,
                   absl::Span<RegionValue> outputs) const override {
    if (auto* tensor = std::get_if<TensorView>(&inputs[0])) {
      const float* data = static_cast<const float*>(tensor->data);
      outputs[0] = OpaqueValue(std::make_shared<std::vector<float>>(
          data, data + ElementCount(tensor->sizes)));
    } else {
      const auto& data = *static_cast<const std::vector<float>*>(
          std::get<OpaqueValue>(inputs[0]).get());
      std::copy(data.begin(), data.end(),
                static_cast<float*>(std::get<TensorView>(outputs[0]).data));
    }
    return absl::OkStatus();
  }
};

TestPlan MakePlan() {
  TestPlan t;
  const SizeExpression s0 = t.Symbol(1, 1000, 0, 0);
  int at = t.Input({s0, 16});
  auto square = [&](int from, int to) {
    t.Kernel("square", {from}, {to}, s0 * 16);
    return to;
  };
  for (int i = 0; i < 4; ++i) at = square(at, t.Arena({s0, 16}));
  const int opaque = t.Opaque(), back = t.Arena({s0, 16});
  t.Fallback(0, {at}, {opaque});
  t.Fallback(0, {opaque}, {back});
  // A product with a constant, on the library.
  const int w = t.Constant(0, {16, 16}), product = t.Arena({s0, 16});
  t.AddStep({back, w}, {product})->mutable_matmul();
  square(product, t.Output({s0, 16}));
  return t;
}

TEST(ExecutableConcurrencyTest, CallersGetTheResultsOfOneCaller) {
  std::vector<float> weights(16 * 16);
  for (int i = 0; i < 256; ++i) weights[i] = static_cast<float>(i % 5) / 16;
  std::vector<std::unique_ptr<FallbackRegion>> regions;
  regions.push_back(std::make_unique<Region>());
  auto executable = *CpuExecutable::Load(
      MakePlan().plan,
      std::make_shared<FakeKernels>(
          std::map<std::string, KernelFunction>{{"square", Square}}),
      {FloatConstant(weights, {16, 16}, "w")}, std::move(regions));

  auto run = [&](int64_t rows, float seed) {
    std::vector<float> data(rows * 16), out(rows * 16, -1);
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] = seed + static_cast<float>(i % 11) / 32;
    }
    std::vector<RegionValue> outputs = {View(out, {rows, 16})};
    const absl::Status status =
        executable->Run({View(data, {rows, 16})}, absl::MakeSpan(outputs));
    EXPECT_EQ(status, absl::OkStatus());
    return out;
  };
  constexpr int kCallers = 4;
  constexpr int kSizes = 6;
  auto rows_of = [](int i) { return int64_t{1} + 37 * i; };
  // Half the sizes are new to the executable when the callers come.
  std::vector<std::vector<float>> expected(kCallers * kSizes);
  auto seed_of = [](int caller) { return 0.1f * static_cast<float>(caller); };
  std::vector<std::vector<float>> results[kCallers];
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 20; ++round) {
        results[caller].clear();
        for (int i = 0; i < kSizes; ++i) {
          results[caller].push_back(run(rows_of(i), seed_of(caller)));
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int caller = 0; caller < kCallers; ++caller) {
    for (int i = 0; i < kSizes; ++i) {
      EXPECT_EQ(results[caller][i], run(rows_of(i), seed_of(caller)))
          << "caller " << caller << ", " << rows_of(i) << " rows";
    }
  }
}

TEST(ExecutableConcurrencyTest, ResultsDoNotDependOnTheNumberOfThreads) {
  TestPlan t;
  const int x = t.Input({10007}), y = t.Output({10007});
  t.Kernel("square", {x}, {y}, 10007, 100);
  auto executable = *CpuExecutable::Load(
      t.plan,
      std::make_shared<FakeKernels>(
          std::map<std::string, KernelFunction>{{"square", Square}}),
      {}, {});
  std::vector<float> data(10007);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i) / 7;
  const int before = at::get_num_threads();
  std::vector<float> first;
  for (int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    std::vector<float> out(10007);
    std::vector<RegionValue> outputs = {View(out, {10007})};
    ASSERT_TRUE(
        executable->Run({View(data, {10007})}, absl::MakeSpan(outputs)).ok());
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << threads;
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace aitune
