#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "frontend/api/aitune.h"

namespace {

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
  static std::string Take(ait_error* error, int* code = nullptr) {
    if (error == nullptr) return "";
    if (code != nullptr) *code = ait_error_code(error);
    std::string text = ait_error_message(error);
    ait_error_free(error);
    return text;
  }

  static void ExpectRuns(const ait_module* module, int64_t rows) {
    const int64_t sizes[] = {rows, 3};
    std::vector<float> x(rows * 3), y(rows * 3, 0.5f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 2;
    const ait_tensor inputs[] = {{AIT_FLOAT32, 2, sizes, x.data()},
                                 {AIT_FLOAT32, 2, sizes, y.data()}};
    ait_result* result = nullptr;
    ASSERT_EQ(Take(ait_module_run(module, inputs, 2, &result)), "");
    ASSERT_EQ(ait_result_count(result), 2u);
    const ait_tensor sum = ait_result_tensor(result, 0);
    const ait_tensor twice = ait_result_tensor(result, 1);
    EXPECT_EQ(sum.dtype, AIT_FLOAT32);
    ASSERT_EQ(sum.rank, 2);
    EXPECT_EQ(sum.sizes[0], rows);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_FLOAT_EQ(static_cast<float*>(sum.data)[i],
                      std::max(x[i], 0.f) + 0.5f);
      EXPECT_FLOAT_EQ(static_cast<float*>(twice.data)[i], 2 * x[i]);
    }
    EXPECT_EQ(ait_result_tensor(result, 2).rank, -1);
    ait_result_free(result);
  }

  static std::string Record(ait_module* module, int64_t rows) {
    const int64_t sizes[] = {rows, 3};
    std::vector<float> x(rows * 3, 1.f);
    const ait_tensor inputs[] = {{AIT_FLOAT32, 2, sizes, x.data()},
                                 {AIT_FLOAT32, 2, sizes, x.data()}};
    return Take(ait_module_record(module, inputs, 2, rows));
  }

  std::string folder_, model_;
};

TEST_F(CApi, TakesTheOptionsOfTheCommandLine) {
  ait_options* options = ait_options_new();
  ASSERT_NE(options, nullptr);
  const auto set = [&](const char* name, const char* value) {
    return Take(ait_options_set(options, name, value));
  };
  EXPECT_THAT(set("speed", "most"),
              testing::AllOf(HasSubstr("there is no option 'speed'"),
                             HasSubstr("emulate-eager-casts"),
                             HasSubstr("tuning-database")));
  EXPECT_EQ(set("target", "sse"),
            "the option target: 'sse' is not one of avx2, avx512, amx");
  EXPECT_THAT(set("threads", "0"), HasSubstr("is not a number of threads"));
  EXPECT_THAT(set("tune-budget", "soon"), HasSubstr("a number of seconds"));
  EXPECT_THAT(set("dtype", "int8"), HasSubstr("a floating-point dtype"));
  EXPECT_THAT(set("no-measure", "yes"), HasSubstr("is not true or false"));
  EXPECT_THAT(set("quantize", "int9"),
              HasSubstr("a quantisation: Invalid quantization: int9"));
  const std::string cache = folder_ + "/cache";
  for (const auto& [name, value] : {std::pair("cache", cache.c_str()),
                                    {"target", "avx2"},
                                    {"no-measure", "true"},
                                    {"threads", "1"},
                                    {"dtype", "fp32"}})
    EXPECT_EQ(set(name, value), "");
  ait_module* module = nullptr;
  ASSERT_EQ(
      Take(ait_module_load_with(options, model_.c_str(), nullptr, 0, &module)),
      "");
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  ExpectRuns(module, 2);
  ait_module_free(module);
  EXPECT_EQ(set("tf32", "all"), "");
  module = nullptr;
  EXPECT_THAT(
      Take(ait_module_load_with(options, model_.c_str(), nullptr, 0, &module)),
      HasSubstr("tf32 has no effect on cpu"));
  EXPECT_EQ(module, nullptr);
  ait_options_free(options);
}

TEST_F(CApi, AModelThatDecidesBySizesIsRightAtEachOfThem) {
  torch::jit::Module branching("Branching");
  branching.define(R"(
def forward(self, x: Tensor):
    if x.size(0) > 20:
        return x[:64] * 2
    return x + 1
)");
  const std::string file = folder_ + "/branching.pt";
  branching.save(file);
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(file.c_str(), nullptr, &module)), "");
  std::vector<float> x(130, 3.f);
  const auto tensor = [&](const int64_t* rows) {
    return ait_tensor{AIT_FLOAT32, 1, rows, x.data()};
  };
  for (const int64_t rows : {5, 9}) {
    const ait_tensor sample = tensor(&rows);
    ASSERT_EQ(Take(ait_module_record(module, &sample, 1, rows)), "");
  }
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  for (const int64_t rows : {1, 19, 20, 21, 22, 63, 64, 65, 130, 20, 130}) {
    const ait_tensor input = tensor(&rows);
    ait_result* result = nullptr;
    ASSERT_EQ(Take(ait_module_run(module, &input, 1, &result)), "") << rows;
    const ait_tensor output = ait_result_tensor(result, 0);
    ASSERT_EQ(output.rank, 1);
    EXPECT_EQ(output.sizes[0], rows > 64 ? 64 : rows);
    for (int64_t i = 0; i < output.sizes[0]; ++i)
      ASSERT_EQ(static_cast<float*>(output.data)[i], rows > 20 ? 6.f : 4.f)
          << rows;
    ait_result_free(result);
  }
  ait_module_free(module);
}

TEST_F(CApi, LoadsTunesSavesAndServes) {
  ASSERT_EQ(ait_api_version(), AIT_API_VERSION);
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), (folder_ + "/cache").c_str(),
                                 &module)),
            "");
  ExpectRuns(module, 2);
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Record(module, 4), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  char* text = nullptr;
  ASSERT_EQ(Take(ait_module_describe(module, &text)), "");
  EXPECT_STREQ(text, "TorchInductorBackend(mode=max-autotune)");
  ait_text_free(text);
  ASSERT_EQ(Take(ait_module_report(module, "json", &text)), "");
  EXPECT_THAT(text, HasSubstr("\"strategy\": \"OneBackend\""));
  ait_text_free(text);

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      ait_set_threads(1);
      for (int i = 0; i < 20; ++i) ExpectRuns(module, 2 + i % 3);
    });
  }
  for (std::thread& thread : threads) thread.join();

  char digest[65];
  const std::string saved = folder_ + "/net.aitune";
  ASSERT_EQ(Take(ait_module_save(module, saved.c_str(), digest)), "");
  ait_module_free(module);
  ait_module* loaded = nullptr;
  ASSERT_EQ(Take(ait_module_load_checkpoint(saved.c_str(), digest, &loaded)),
            "");
  ExpectRuns(loaded, 2);
  ait_module_free(loaded);
}

TEST_F(CApi, CallersMayGiveTheBoundOfErrors) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  ASSERT_EQ(Record(module, 2), "");
  EXPECT_THAT(Take(ait_module_tune_within(module, "OneBackend", 0, NAN)),
              HasSubstr("the tolerance is nan"));
  EXPECT_EQ(Take(ait_module_tune_within(module, "OneBackend", 0, 0.5)), "");
  EXPECT_EQ(Take(ait_module_tune_within(module, "OneBackend", 0, -1)), "");
  ait_module_free(module);
}

TEST_F(CApi, ChangesSubmodulesAndOperators) {
  torch::jit::Module part("Part");
  part.define("def forward(self, x: Tensor):\n    return torch.tanh(x)\n");
  torch::jit::Module whole("Whole");
  whole.register_module("part", part);
  whole.define(
      "def forward(self, x: Tensor):\n    return self.part.forward(x) * 2.\n");
  const std::string path = folder_ + "/whole.pt";
  whole.save(path);
  const std::vector<float> x = {0, 1, 2};
  const int64_t sizes[] = {3};
  const ait_tensor input = {AIT_FLOAT32, 1, sizes,
                            const_cast<float*>(x.data())};
  // The second element of the result once it is compiled.
  const auto second = [&](const std::vector<ait_submodule_change>& changes) {
    ait_module* module = nullptr;
    float value = -1;
    EXPECT_EQ(
        Take(ait_module_load_changed(path.c_str(), nullptr, changes.data(),
                                     changes.size(), &module)),
        "");
    EXPECT_EQ(Take(ait_module_record(module, &input, 1, 1)), "");
    EXPECT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
    ait_result* result = nullptr;
    EXPECT_EQ(Take(ait_module_run(module, &input, 1, &result)), "");
    if (result != nullptr)
      value = static_cast<float*>(ait_result_tensor(result, 0).data)[1];
    ait_result_free(result);
    ait_module_free(module);
    return value;
  };
  // Wrong on purpose by less than tuning tolerates, so that it shows.
  const char* method =
      "def forward(self, x: Tensor):\n    return torch.tanh(x) + 0.00002\n";
  const float plain = second({});
  EXPECT_FLOAT_EQ(plain, 2 * std::tanh(1.f));
  EXPECT_NEAR(second({{"part", method}}) - plain, 4e-5, 2e-6);
  EXPECT_FLOAT_EQ(second({{"part", nullptr}}), plain);
  ASSERT_EQ(Take(ait_substitute_in_graph(
                "aten::tanh",
                "def f(x: Tensor):\n    return torch.sinh(x) / "
                "torch.cosh(x) - 0.00001\n")),
            "");
  EXPECT_NEAR(second({}) - plain, -2e-5, 2e-6);
  ASSERT_EQ(Take(ait_substitute_in_graph("aten::tanh", nullptr)), "");
  ait_module* module = nullptr;
  const ait_submodule_change unknown = {"nothing", nullptr};
  EXPECT_THAT(Take(ait_module_load_changed(path.c_str(), nullptr, &unknown, 1,
                                           &module)),
              HasSubstr("no submodule nothing; it has part"));
  EXPECT_EQ(module, nullptr);
}

TEST_F(CApi, ErrorsAreObjects) {
  ait_module* module = nullptr;
  int code = 0;
  EXPECT_THAT(Take(ait_module_load("/nowhere.pt", nullptr, &module), &code),
              HasSubstr("no such file"));
  EXPECT_EQ(code, 5);
  EXPECT_EQ(module, nullptr);
  EXPECT_EQ(Take(ait_module_load(nullptr, nullptr, &module)), "path is NULL");
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  EXPECT_THAT(Take(ait_module_tune(module, "Fastest", 0)),
              HasSubstr("there is no strategy 'Fastest'"));
  EXPECT_THAT(Take(ait_module_tune(module, "MinLatency", 0), &code),
              HasSubstr("can't be tuned without samples"));
  EXPECT_EQ(code, 9);
  ait_result* result = nullptr;
  EXPECT_THAT(Take(ait_module_run(module, nullptr, 1, &result)),
              HasSubstr("inputs is NULL"));
  const int64_t sizes[] = {2};
  ait_tensor bad = {99, 1, sizes, nullptr};
  EXPECT_THAT(Take(ait_module_run(module, &bad, 1, &result)),
              HasSubstr("dtype 99"));
  bad.dtype = AIT_FLOAT32;
  EXPECT_THAT(Take(ait_module_run(module, &bad, 1, &result)),
              HasSubstr("has no data"));
  float one[2] = {1, 1};
  bad.data = one;
  EXPECT_NE(Take(ait_module_run(module, &bad, 1, &result)), "");
  EXPECT_EQ(result, nullptr);
  EXPECT_THAT(Take(ait_set_stance("lazy")), HasSubstr("there is no stance"));
  ait_module_free(module);
  ait_module_free(nullptr);
  ait_result_free(nullptr);
  ait_error_free(nullptr);
}

}  // namespace
