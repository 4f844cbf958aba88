// For tests of the C API: a model in a file, tensors, and the texts of errors.
#ifndef AITUNE_FRONTEND_API_C_API_FIXTURE_H_
#define AITUNE_FRONTEND_API_C_API_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "frontend/api/aitune.h"

namespace ait {

using ::testing::HasSubstr;

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/c_api_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    model_ = folder_ + "/net.pt";
    torch::jit::Module module("Net");
    module.define(R"(
def forward(self, x: Tensor, y: Tensor):
    return torch.relu(x) + y, x * 2
)");
    module.save(model_);
  }

  // The error's text; empty for success.
  static std::string Take(ait_error* error, ait_code* code = nullptr) {
    if (error == nullptr) return "";
    if (code != nullptr) *code = ait_error_code(error);
    std::string text = ait_error_message(error);
    ait_error_free(error);
    return text;
  }

  static ait_tensor Tensor(const int64_t* sizes, int rank, const float* data) {
    return {sizeof(ait_tensor),
            AIT_FLOAT32,
            rank,
            sizes,
            const_cast<float*>(data),
            AIT_CPU,
            0,
            nullptr,
            AIT_TENSOR};
  }

  static ait_tensor OfResult(const ait_result* result, size_t index) {
    ait_tensor tensor = {};
    tensor.struct_size = sizeof tensor;
    EXPECT_EQ(Take(ait_result_tensor(result, index, &tensor)), "");
    return tensor;
  }

  static void ExpectRuns(const ait_module* module, int64_t rows) {
    const int64_t sizes[] = {rows, 3};
    std::vector<float> x(rows * 3), y(rows * 3, 0.5f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 2;
    const ait_tensor inputs[] = {Tensor(sizes, 2, x.data()),
                                 Tensor(sizes, 2, y.data())};
    ait_result* result = nullptr;
    ASSERT_EQ(Take(ait_module_run(module, inputs, 2, &result)), "");
    ASSERT_EQ(ait_result_count(result), 2u);
    const ait_tensor sum = OfResult(result, 0), twice = OfResult(result, 1);
    EXPECT_EQ(sum.dtype, AIT_FLOAT32);
    ASSERT_EQ(sum.rank, 2);
    EXPECT_EQ(sum.sizes[0], rows);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_FLOAT_EQ(static_cast<float*>(sum.data)[i],
                      std::max(x[i], 0.f) + 0.5f);
      EXPECT_FLOAT_EQ(static_cast<float*>(twice.data)[i], 2 * x[i]);
    }
    ait_tensor none = {};
    none.struct_size = sizeof none;
    ait_code code = AIT_OK;
    EXPECT_EQ(Take(ait_result_tensor(result, 2, &none), &code),
              "there is no tensor 2 in a result of 2");
    EXPECT_EQ(code, AIT_OUT_OF_RANGE);
    ait_result_free(result);
  }

  // Of the model of SetUp, compiled for a range of rows.
  static void ExpectSignature(const ait_module* module) {
    ait_signature* signature = nullptr;
    ASSERT_EQ(Take(ait_module_signature(module, &signature)), "");
    ASSERT_GE(ait_signature_versions(signature), 1u);
    ait_tensor_signature tensor = {sizeof tensor, nullptr, 0, 0,
                                   nullptr,       nullptr};
    int64_t most_rows = 0;
    for (const auto& [direction, index, name] :
         {std::tuple(AIT_INPUT, 0, "x"), std::tuple(AIT_INPUT, 1, "y"),
          std::tuple(AIT_OUTPUT, 0, "output[0]"),
          std::tuple(AIT_OUTPUT, 1, "output[1]")}) {
      ASSERT_EQ(
          Take(ait_signature_tensor(signature, 0, direction, index, &tensor)),
          "");
      EXPECT_STREQ(tensor.name, name);
      EXPECT_EQ(tensor.dtype, AIT_FLOAT32);
      ASSERT_EQ(tensor.rank, 2);
      EXPECT_EQ(tensor.min_sizes[1], 3);
      EXPECT_EQ(tensor.max_sizes[1], 3);
      EXPECT_LE(tensor.min_sizes[0], 2);
      most_rows = std::max(most_rows, tensor.max_sizes[0]);
    }
    EXPECT_GE(most_rows, 2);
    ait_code code = AIT_OK;
    EXPECT_THAT(
        Take(ait_signature_tensor(signature, 0, AIT_INPUT, 2, &tensor), &code),
        HasSubstr("no input 2; version 0 has 2"));
    EXPECT_EQ(code, AIT_OUT_OF_RANGE);
    EXPECT_THAT(
        Take(ait_signature_tensor(signature, 99, AIT_INPUT, 0, &tensor)),
        HasSubstr("no version 99"));
    ait_signature_free(signature);
  }

  static std::string Record(ait_module* module, int64_t rows) {
    const int64_t sizes[] = {rows, 3};
    std::vector<float> x(rows * 3, 1.f);
    const ait_tensor inputs[] = {Tensor(sizes, 2, x.data()),
                                 Tensor(sizes, 2, x.data())};
    return Take(ait_module_record(module, inputs, 2, rows));
  }

  std::string folder_, model_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_C_API_FIXTURE_H_
