// The memory of what C programs get: it is theirs, whatever the model returns.
#include <ATen/ATen.h>

#include "frontend/api/c_api_fixture.h"

namespace ait {
namespace {

// Adds its argument to a buffer, and returns the buffer.
class CResults : public CApi {
 protected:
  void SetUp() override {
    CApi::SetUp();
    torch::jit::Module counter("Counter");
    counter.register_buffer("n", at::zeros({3}));
    counter.define(
        "def forward(self, x: Tensor):\n    self.n.add_(x)\n    return "
        "self.n\n");
    counter.save(model_);
    ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module_)), "");
  }
  void TearDown() override { ait_module_free(module_); }

  ait_result* Run() {
    ait_result* result = nullptr;
    EXPECT_EQ(Take(ait_module_run(module_, &ones_, 1, &result)), "");
    return result;
  }
  static float* DataOf(const ait_result* result) {
    return static_cast<float*>(OfResult(result, 0).data);
  }

  ait_module* module_ = nullptr;
  const int64_t sizes_[1] = {3};
  const float data_[3] = {1, 1, 1};
  const ait_tensor ones_ = Tensor(sizes_, 1, data_);
};

TEST_F(CResults, OfStateAreCopies) {
  ait_result* const first = Run();
  ait_result* const second = Run();
  EXPECT_EQ(DataOf(first)[0], 1);
  EXPECT_EQ(DataOf(second)[0], 2);
  DataOf(second)[0] = 77;
  ait_result* const third = Run();
  EXPECT_EQ(DataOf(third)[0], 3);
  for (ait_result* result : {first, second, third}) ait_result_free(result);
}

TEST_F(CResults, OfAsynchronousCallsAreThoseOfTheirTime) {
  ait_call* calls[3] = {};
  for (ait_call*& call : calls)
    ASSERT_EQ(Take(ait_module_run_async(module_, &ones_, 1, nullptr, 0, -1,
                                        nullptr, nullptr, &call)),
              "");
  for (int i = 2; i >= 0; --i) {
    ait_result *result = nullptr, *again = nullptr;
    ASSERT_EQ(Take(ait_call_wait(calls[i], &result)), "");
    EXPECT_EQ(DataOf(result)[0], i + 1);
    ASSERT_EQ(Take(ait_call_wait(calls[i], &again)), "");
    DataOf(again)[0] = 77;
    EXPECT_EQ(DataOf(result)[0], i + 1);
    ait_result_free(result);
    ait_result_free(again);
    ait_call_free(calls[i]);
  }
}

// As in Python: by LibTorch, while it is tuned, and by the compiled model.
TEST_F(CResults, AnUndefinedTensorIsNone) {
  torch::jit::Module module("Gradient");
  module.define("def forward(self, x: Tensor):\n    return x.grad, x + 1\n");
  module.save(model_);
  ait_module* loaded = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &loaded)), "");
  ASSERT_EQ(Take(ait_module_record(loaded, &ones_, 1, 3)), "");
  const auto expect_none_first = [&] {
    ait_result* result = nullptr;
    ASSERT_EQ(Take(ait_module_run(loaded, &ones_, 1, &result)), "");
    ASSERT_EQ(ait_result_values(result), 2u);
    ait_tensor value = {};
    value.struct_size = sizeof value;
    ASSERT_EQ(Take(ait_result_value(result, 0, &value)), "");
    EXPECT_EQ(value.kind, AIT_NONE);
    ASSERT_EQ(ait_result_count(result), 1u);
    EXPECT_EQ(DataOf(result)[0], 2);
    ait_result_free(result);
  };
  expect_none_first();
  EXPECT_EQ(Take(ait_module_tune(loaded, "OneBackend", 0)), "");
  expect_none_first();
  ait_module_free(loaded);
}

}  // namespace
}  // namespace ait
