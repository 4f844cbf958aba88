// The C API: memory of results, and calls that are bound to memory.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"

namespace ait {
namespace {

TEST_F(CApi, ResultsOutliveTheInputs) {
  torch::jit::Module views("Views");
  views.define("def forward(self, x: Tensor):\n    return x, x[1:], x.t()\n");
  views.save(model_);
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  const int64_t sizes[] = {2, 2};
  std::vector<float> x = {1, 2, 3, 4};
  const ait_tensor input = Tensor(sizes, 2, x.data());
  ait_result* result = nullptr;
  ASSERT_EQ(Take(ait_module_run(module, &input, 1, &result)), "");
  x = {-1, -1, -1, -1};
  const float expected[][4] = {{1, 2, 3, 4}, {3, 4}, {1, 3, 2, 4}};
  for (size_t i = 0; i < 3; ++i) {
    const ait_tensor output = OfResult(result, i);
    for (int64_t j = 0; j < output.sizes[0] * output.sizes[1]; ++j)
      EXPECT_EQ(static_cast<float*>(output.data)[j], expected[i][j]) << i;
  }
  ait_result_free(result);
  ait_module_free(module);
}

TEST_F(CApi, WhatAModelKeepsIsItsOwn) {
  torch::jit::Module keeps("Keeps");
  keeps.register_attribute("last", c10::TensorType::get(), at::zeros({2}),
                           /*is_param=*/false, /*is_buffer=*/true);
  keeps.define(R"(
def forward(self, x: Tensor):
    before = self.last
    self.last = x
    return before * 1
)");
  keeps.save(model_);
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  const int64_t sizes[] = {2};
  std::vector<float> x(2);
  std::vector<float> y(2);
  const ait_tensor lent = Tensor(sizes, 1, x.data()),
                   output = Tensor(sizes, 1, y.data());
  ait_binding* binding = nullptr;
  ASSERT_EQ(Take(ait_module_bind(module, &lent, 1, &output, 1, &binding)), "");
  EXPECT_EQ(ait_binding_copies_nothing(binding), 0);
  for (const float call : {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}) {
    x = {call, call};
    if (call > 4) {
      ASSERT_EQ(Take(ait_binding_run(binding, nullptr)), "");
      x = {-1, -1};
      EXPECT_EQ(y[1], call - 1);
      continue;
    }
    const ait_tensor input = Tensor(sizes, 1, x.data());
    ait_result* result = nullptr;
    if (call < 3) {
      ASSERT_EQ(Take(ait_module_run(module, &input, 1, &result)), "");
    } else {
      ait_call* running = nullptr;
      ASSERT_EQ(Take(ait_module_run_async(module, &input, 1, nullptr, 0, -1,
                                          nullptr, nullptr, &running)),
                "");
      ASSERT_EQ(Take(ait_call_wait(running, &result)), "");
      ait_call_free(running);
    }
    x = {-1, -1};
    EXPECT_EQ(static_cast<float*>(OfResult(result, 0).data)[1], call - 1);
    ait_result_free(result);
  }
  ait_binding_free(binding);
  ait_module_free(module);
}

TEST_F(CApi, ResultsGoWhereTheCallerWants) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  const int64_t sizes[] = {2, 3}, others[] = {3, 2};
  const std::vector<float> x = {-1, 0, 1, 2, 3, 4}, y(6, 0.5f);
  const ait_tensor inputs[] = {Tensor(sizes, 2, x.data()),
                               Tensor(sizes, 2, y.data())};
  // Before and after it is compiled.
  for (const char* strategy : {"", "OneBackend"}) {
    if (*strategy != '\0') {
      ASSERT_EQ(Record(module, 2), "");
      ASSERT_EQ(Take(ait_module_tune(module, strategy, 0)), "");
    }
    std::vector<float> sum(6, -9.f), twice(6, -9.f);
    ait_tensor outputs[] = {Tensor(sizes, 2, sum.data()),
                            Tensor(others, 2, twice.data())};
    EXPECT_THAT(Take(ait_module_run_into(module, inputs, 2, outputs, 1)),
                HasSubstr("gives 2 tensors, but 1 outputs"));
    EXPECT_THAT(Take(ait_module_run_into(module, inputs, 2, outputs, 2)),
                testing::AllOf(HasSubstr("output 1 is float32[2,3]"),
                               HasSubstr("float32[3,2]")));
    EXPECT_EQ(sum, std::vector<float>(6, -9.f));
    outputs[1].sizes = sizes;
    ASSERT_EQ(Take(ait_module_run_into(module, inputs, 2, outputs, 2)), "");
    EXPECT_THAT(sum, testing::ElementsAre(0.5f, 0.5f, 1.5f, 2.5f, 3.5f, 4.5f));
    EXPECT_THAT(twice, testing::ElementsAre(-2, 0, 2, 4, 6, 8));
  }
  ait_module_free(module);
}

// Each call gives the state as it left it, whatever others do meanwhile.
TEST_F(CApi, ResultsThatAreTheStateAreCopiedBeforeOthersChangeIt) {
  constexpr int kThreads = 2, kCalls = 2000;
  torch::jit::Module counter("Counter");
  counter.register_buffer("count", at::zeros({1}));
  counter.define(R"(
def forward(self, x: Tensor):
    self.count.add_(x)
    return self.count
)");
  counter.save(model_);
  const int64_t sizes[] = {1};
  const std::vector<float> one = {1};
  const ait_tensor input = Tensor(sizes, 1, one.data());
  const auto run_into = [&](const ait_module* module) {
    float count = 0;
    const ait_tensor output = Tensor(sizes, 1, &count);
    EXPECT_EQ(Take(ait_module_run_into(module, &input, 1, &output, 1)), "");
    return count;
  };
  const auto run = [&](const ait_module* module) {
    ait_result* result = nullptr;
    EXPECT_EQ(Take(ait_module_run(module, &input, 1, &result)), "");
    const float count = *static_cast<float*>(OfResult(result, 0).data);
    ait_result_free(result);
    return count;
  };
  const auto run_bound = [&](const ait_module* module) {
    float count = 0;
    const ait_tensor output = Tensor(sizes, 1, &count);
    ait_binding* binding = nullptr;
    EXPECT_EQ(Take(ait_module_bind(module, &input, 1, &output, 1, &binding)),
              "");
    EXPECT_EQ(Take(ait_binding_run(binding, nullptr)), "");
    ait_binding_free(binding);
    return count;
  };
  const std::function<float(const ait_module*)> calls[] = {run_into, run,
                                                           run_bound};
  for (const char* strategy : {"", "OneBackend"}) {
    ait_module* module = nullptr;
    ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
    if (*strategy != '\0') {
      ASSERT_EQ(Take(ait_module_record(module, &input, 1, 1)), "");
      ASSERT_EQ(Take(ait_module_tune(module, strategy, 0)), "");
    }
    float before = 0;
    for (const auto& call : calls) {
      std::vector<float> seen[kThreads];
      std::vector<std::thread> threads;
      for (std::vector<float>& mine : seen)
        threads.emplace_back([&] {
          for (int i = 0; i < kCalls; ++i) mine.push_back(call(module));
        });
      for (std::thread& thread : threads) thread.join();
      std::set<float> counts;
      for (const std::vector<float>& mine : seen)
        counts.insert(mine.begin(), mine.end());
      EXPECT_EQ(counts.size(), size_t{kThreads} * kCalls) << strategy;
      EXPECT_EQ(*counts.begin(), before + 1) << strategy;
      EXPECT_EQ(*counts.rbegin(), before + kThreads * kCalls) << strategy;
      before += kThreads * kCalls;
    }
    ait_module_free(module);
  }
}

TEST_F(CApi, CallsAreBoundToTheCallersMemory) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  const char* ranges[] = {"float32[1..8,3]", "float32[1..8,3]"};
  ASSERT_EQ(Take(ait_module_tune_for(module, "OneBackend", 0, -1, ranges, 2)),
            "");
  const int64_t sizes[] = {2, 3};
  alignas(64) float x[] = {-1, 0, 1, 2, 3, 4}, y[] = {1, 1, 1, 1, 1, 1};
  alignas(64) float sum[6], twice[6];
  const ait_tensor inputs[] = {Tensor(sizes, 2, x), Tensor(sizes, 2, y)};
  const ait_tensor outputs[] = {Tensor(sizes, 2, sum), Tensor(sizes, 2, twice)};
  ait_binding* binding = nullptr;
  ASSERT_EQ(Take(ait_module_bind(module, inputs, 2, outputs, 2, &binding)), "");
  EXPECT_EQ(ait_binding_copies_nothing(binding), 1);
  for (const float first : {-1.f, 5.f}) {
    x[0] = first;
    ASSERT_EQ(Take(ait_binding_run(binding, nullptr)), "");
    EXPECT_THAT(sum,
                testing::ElementsAre(std::max(first, 0.f) + 1, 1, 2, 3, 4, 5));
    EXPECT_THAT(twice, testing::ElementsAre(2 * first, 0, 2, 4, 6, 8));
  }
  EXPECT_EQ(Take(ait_module_take_failed_check(module)), "");
  ait_usage usage = {sizeof usage, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(Take(ait_module_usage(module, &usage)), "");
  EXPECT_EQ(usage.calls, 2);
  EXPECT_EQ(usage.versions, 1);
  EXPECT_EQ(usage.eager_calls, 0);
  EXPECT_EQ(usage.background_builds, 0);
  // A program from before background builds were counted.
  usage.struct_size = offsetof(ait_usage, background_builds);
  usage.calls = usage.background_builds = usage.background_pending = -1;
  ASSERT_EQ(Take(ait_module_usage(module, &usage)), "");
  EXPECT_EQ(usage.calls, 2);
  EXPECT_EQ(usage.background_builds, -1);
  EXPECT_EQ(usage.background_pending, -1);
  usage.struct_size = offsetof(ait_usage, memory_bytes);
  EXPECT_THAT(Take(ait_module_usage(module, &usage)),
              HasSubstr("usage has the struct_size"));
  ait_binding_free(binding);
  const char* unfit[] = {"float32[1..8,3]"};
  ait_code code = AIT_OK;
  EXPECT_NE(
      Take(ait_module_tune_for(module, "OneBackend", 0, -1, unfit, 1), &code),
      "");
  EXPECT_EQ(code, AIT_INVALID_ARGUMENT);
  ait_module_free(module);
}

TEST_F(CApi, WeightsAreReplaced) {
  torch::jit::Module net("Scale");
  const float ones[] = {1, 1, 1};
  net.register_parameter(
      "scale", at::from_blob(const_cast<float*>(ones), {3}).clone(), false);
  net.define("def forward(self, x: Tensor):\n    return x * self.scale\n");
  net.save(folder_ + "/scale.pt");
  ait_module* module = nullptr;
  ASSERT_EQ(
      Take(ait_module_load((folder_ + "/scale.pt").c_str(), nullptr, &module)),
      "");
  const char* ranges[] = {"float32[1..8,3]"};
  ASSERT_EQ(Take(ait_module_tune_for(module, "OneBackend", 0, -1, ranges, 1)),
            "");
  const int64_t sizes[] = {1, 3};
  const float x[] = {1, 2, 3}, scale[] = {5, 6, 7};
  const ait_tensor input = Tensor(sizes, 2, x);
  const ait_tensor weights[] = {Tensor(sizes + 1, 1, scale),
                                Tensor(sizes + 1, 1, scale)};
  const char* names[] = {"scale", "scale"};
  EXPECT_EQ(Take(ait_module_replace_weights(module, names, weights, 2)),
            "the weight 'scale' was given twice");
  ASSERT_EQ(Take(ait_module_replace_weights(module, names, weights, 1)), "");
  ait_result* result = nullptr;
  ASSERT_EQ(Take(ait_module_run(module, &input, 1, &result)), "");
  const auto* y = static_cast<const float*>(OfResult(result, 0).data);
  EXPECT_THAT(std::vector<float>(y, y + 3), testing::ElementsAre(5, 12, 21));
  ait_result_free(result);
  names[0] = "other";
  ait_code code = AIT_OK;
  EXPECT_THAT(
      Take(ait_module_replace_weights(module, names, weights, 1), &code),
      HasSubstr("no weight 'other'"));
  EXPECT_EQ(code, AIT_NOT_FOUND);
  ait_module_free(module);
}

TEST_F(CApi, TensorsSayWhereTheyAre) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  const int64_t sizes[] = {2, 3};
  const float x[6] = {1, 1, 1, 1, 1, 1};
  ait_tensor inputs[] = {Tensor(sizes, 2, x), Tensor(sizes, 2, x)};
  ait_result* result = nullptr;
  inputs[1].device_type = AIT_CUDA;
  EXPECT_THAT(Take(ait_module_run(module, inputs, 2, &result)),
              HasSubstr("input 1 is on cuda:0, but the module is on cpu"));
  inputs[1].device_type = 7;
  EXPECT_THAT(Take(ait_module_run(module, inputs, 2, &result)),
              HasSubstr("input 1 has the device_type 7"));
  // A program from before tensors had devices.
  struct Old {
    size_t struct_size;
    int32_t dtype, rank;
    const int64_t* sizes;
    void* data;
  };
  const Old old[] = {{sizeof(Old), AIT_FLOAT32, 2, sizes, inputs[0].data},
                     {sizeof(Old), AIT_FLOAT32, 2, sizes, inputs[0].data}};
  ASSERT_EQ(Take(ait_module_run(
                module, reinterpret_cast<const ait_tensor*>(old), 2, &result)),
            "");
  Old given = {sizeof given, 0, 0, nullptr, nullptr};
  ASSERT_EQ(
      Take(ait_result_tensor(result, 1, reinterpret_cast<ait_tensor*>(&given))),
      "");
  EXPECT_EQ(static_cast<float*>(given.data)[0], 2);
  ait_result_free(result);
  ait_module_free(module);
}

}  // namespace
}  // namespace ait
