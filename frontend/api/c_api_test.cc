#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"
#include "runtime/bundle/bundle_signature.h"

namespace ait {
namespace {

// A build goes on without them, so that nothing else would say it.
TEST_F(CApi, RefusesADatabaseOrProgramThatCantBeUsed) {
  ait_options* options = ait_options_new();
  ASSERT_NE(options, nullptr);
  const auto code = [&](const char* name, const std::string& value,
                        const char* text) {
    ait_error* error = ait_options_set(options, name, value.c_str());
    const ait_code found = ait_error_code(error);
    EXPECT_THAT(
        ait_error_message(error),
        testing::AllOf(HasSubstr(name), HasSubstr(value), HasSubstr(text)));
    ait_error_free(error);
    return found;
  };
  std::ofstream(folder_ + "/text.db") << "no database, but a text of a length";
  EXPECT_EQ(code("tuning-database", folder_ + "/text.db",
                 "can't be a tuning database"),
            AIT_FAILED_PRECONDITION);
  EXPECT_EQ(code("tuning-database", folder_, "can't be a tuning database"),
            AIT_UNAVAILABLE);
  for (const char* name : {"worker", "tune-worker"}) {
    for (const std::string& program :
         {folder_ + "/no/aitune", folder_, folder_ + "/text.db",
          std::string("no-such-program-anywhere")})
      EXPECT_EQ(code(name, program, "a program that can be started"),
                AIT_INVALID_ARGUMENT);
    EXPECT_EQ(Take(ait_options_set(options, name, "/bin/true")), "");
    EXPECT_EQ(Take(ait_options_set(options, name, "true")), "");
  }
  EXPECT_EQ(Take(ait_options_set(options, "tuning-database",
                                 (folder_ + "/new.db").c_str())),
            "");
  ait_options_free(options);
}

TEST_F(CApi, TextsOfErrorsAreUtf8) {
  ait_module* module = nullptr;
  ait_error* error =
      ait_module_load("/none/\xe9t\xc3\xa9.pt", nullptr, &module);
  EXPECT_THAT(ait_error_message(error),
              HasSubstr("/none/\xef\xbf\xbdt\xc3\xa9.pt"));
  ait_error_free(error);
}

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
  EXPECT_THAT(set("threads", "1025"), HasSubstr("from 1 to 1024"));
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
  // The first of the default backends is the one.
  EXPECT_EQ(set("quantize", "int8wo,verdict=off"), "");
  module = nullptr;
  ASSERT_EQ(
      Take(ait_module_load_with(options, model_.c_str(), nullptr, 0, &module)),
      "");
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  char* chosen = nullptr;
  ASSERT_EQ(Take(ait_module_describe(module, &chosen)), "");
  EXPECT_THAT(chosen, HasSubstr("TorchAOBackend"));
  ait_text_free(chosen);
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
    return Tensor(rows, 1, x.data());
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
    const ait_tensor output = OfResult(result, 0);
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

  ExpectSignature(module);
  char digest[65];
  const std::string saved = folder_ + "/net.aitune";
  ASSERT_EQ(Take(ait_module_save(module, saved.c_str(), digest)), "");
  ait_module_free(module);
  ait_module* loaded = nullptr;
  ASSERT_EQ(Take(ait_module_load_checkpoint(saved.c_str(), digest, &loaded)),
            "");
  ExpectSignature(loaded);
  ExpectRuns(loaded, 2);
  ait_module_free(loaded);
}

TEST_F(CApi, LoadsWhatTheOwnerOfTheKeySigned) {
  // The keys of the first two tests of RFC 8032, section 7.1.
  const std::string secret = folder_ + "/key.pem";
  const std::string known = folder_ + "/public.pem";
  const std::string other = folder_ + "/other.pem";
  std::ofstream(secret)
      << "-----BEGIN PRIVATE KEY-----\n"
         "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
         "-----END PRIVATE KEY-----\n";
  std::ofstream(known)
      << "-----BEGIN PUBLIC KEY-----\n"
         "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
         "-----END PUBLIC KEY-----\n";
  std::ofstream(other)
      << "-----BEGIN PUBLIC KEY-----\n"
         "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
         "-----END PUBLIC KEY-----\n";
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  const std::string saved = folder_ + "/net.aitune";
  char digest[65];
  ASSERT_EQ(Take(ait_module_save(module, saved.c_str(), digest)), "");
  ait_module_free(module);
  const auto load = [&](const std::string& key, ait_code* code) {
    module = nullptr;
    return Take(ait_module_load_checkpoint_verified(nullptr, saved.c_str(),
                                                    key.c_str(), &module),
                code);
  };
  ait_code code = AIT_OK;
  EXPECT_THAT(load(known, &code), HasSubstr("net.aitune.sig"));
  EXPECT_EQ(code, AIT_NOT_FOUND);
  const absl::Status done = aitune::SignBundle(saved, digest, secret);
  ASSERT_TRUE(done.ok()) << done;
  EXPECT_THAT(load(other, &code), HasSubstr("was not signed by the owner"));
  EXPECT_EQ(code, AIT_PERMISSION_DENIED);
  ASSERT_EQ(load(known, &code), "");
  ExpectRuns(module, 2);
  ait_module_free(module);
  // A signature of something else.
  ASSERT_TRUE(aitune::SignBundle(saved, std::string(64, 'a'), secret).ok());
  EXPECT_THAT(load(known, &code), HasSubstr("digest"));
  EXPECT_EQ(code, AIT_DATA_LOSS);
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
  const ait_tensor input = Tensor(sizes, 1, x.data());
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
      value = static_cast<float*>(OfResult(result, 0).data)[1];
    ait_result_free(result);
    ait_module_free(module);
    return value;
  };
  // Wrong on purpose by less than tuning tolerates, so that it shows.
  const char* method =
      "def forward(self, x: Tensor):\n    return torch.tanh(x) + 0.00002\n";
  const float plain = second({});
  EXPECT_FLOAT_EQ(plain, 2 * std::tanh(1.f));
  EXPECT_NEAR(second({{sizeof(ait_submodule_change), "part", method}}) - plain,
              4e-5, 2e-6);
  EXPECT_FLOAT_EQ(second({{sizeof(ait_submodule_change), "part", nullptr}}),
                  plain);
  ASSERT_EQ(Take(ait_substitute_in_graph(
                "aten::tanh",
                "def f(x: Tensor):\n    return torch.sinh(x) / "
                "torch.cosh(x) - 0.00001\n")),
            "");
  EXPECT_NEAR(second({}) - plain, -2e-5, 2e-6);
  ASSERT_EQ(Take(ait_substitute_in_graph("aten::tanh", nullptr)), "");
  ait_module* module = nullptr;
  const ait_submodule_change unknown = {sizeof unknown, "nothing", nullptr};
  EXPECT_THAT(Take(ait_module_load_changed(path.c_str(), nullptr, &unknown, 1,
                                           &module)),
              HasSubstr("no submodule nothing; it has part"));
  EXPECT_EQ(module, nullptr);
}

// A handle that is NULL is an error of the call, not of the process.
TEST_F(CApi, NullIsAnErrorEverywhere) {
  char* text = nullptr;
  ait_result* result = nullptr;
  ait_module* module = nullptr;
  ait_options* options = ait_options_new();
  ait_tensor tensor = Tensor(nullptr, 0, nullptr);
  ait_signature* signature = nullptr;
  ait_binding* binding = nullptr;
  ait_usage usage = {sizeof usage, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const char* file = "/nowhere.aitune";
  int count = 0;
  for (ait_error* error :
       {ait_module_bind(nullptr, &tensor, 1, &tensor, 1, &binding),
        ait_module_bind(module, &tensor, 1, &tensor, 1, nullptr),
        ait_binding_run(nullptr, nullptr),
        ait_module_take_failed_check(nullptr),
        ait_module_usage(nullptr, &usage),
        ait_module_replace_weights(nullptr, nullptr, nullptr, 0),
        ait_module_tune_for(nullptr, "OneBackend", 0, -1, nullptr, 0),
        ait_options_set(nullptr, "target", "avx2"),
        ait_options_set(options, nullptr, "avx2"),
        ait_options_set(options, "target", nullptr),
        ait_module_load(nullptr, nullptr, &module),
        ait_module_load(file, nullptr, nullptr),
        ait_module_load_changed(file, nullptr, nullptr, 1, &module),
        ait_module_load_on("cpu", nullptr, nullptr, nullptr, 0, &module),
        ait_module_load_with(nullptr, file, nullptr, 0, &module),
        ait_module_load_with(options, nullptr, nullptr, 0, &module),
        ait_module_load_with(options, file, nullptr, 0, nullptr),
        ait_module_load_bytes(options, nullptr, 1, "x", nullptr, 0, &module),
        ait_module_load_bytes(nullptr, "x", 1, "x", nullptr, 0, &module),
        ait_module_load_bytes(options, "x", 1, "x", nullptr, 0, nullptr),
        ait_substitute_in_graph(nullptr, nullptr),
        ait_module_load_checkpoint(nullptr, nullptr, &module),
        ait_module_load_checkpoint(file, nullptr, nullptr),
        ait_module_load_checkpoint_on("cpu", nullptr, nullptr, &module),
        ait_module_load_checkpoint_verified("cpu", nullptr, file, &module),
        ait_module_load_checkpoint_verified("cpu", file, nullptr, &module),
        ait_module_load_checkpoint_bytes("cpu", nullptr, 1, nullptr, &module),
        ait_module_load_checkpoint_bytes("cpu", "x", 1, nullptr, nullptr),
        ait_module_record(nullptr, &tensor, 1, 1),
        ait_module_tune(nullptr, "OneBackend", 0),
        ait_module_tune_within(nullptr, "OneBackend", 0, -1),
        ait_module_run(nullptr, &tensor, 1, &result),
        ait_module_run_into(nullptr, &tensor, 1, &tensor, 1),
        ait_result_tensor(nullptr, 0, &tensor),
        ait_result_value(nullptr, 0, &tensor),
        ait_module_signature(nullptr, &signature),
        ait_signature_tensor(nullptr, 0, AIT_INPUT, 0, nullptr),
        ait_signature_parameter(nullptr, 0, nullptr),
        ait_module_warm_up(nullptr, nullptr, 0),
        ait_module_warm_up_for(nullptr, nullptr, 0),
        ait_module_tune_with(nullptr, nullptr),
        ait_module_set_disabled(nullptr, 1),
        ait_module_inspect(nullptr, 1),
        ait_module_spec(nullptr, &text),
        ait_sign_checkpoint(nullptr, nullptr, nullptr),
        ait_module_describe(nullptr, &text),
        ait_module_report(nullptr, "json", &text),
        ait_module_save(nullptr, file, nullptr),
        ait_set_stance(nullptr)}) {
    ait_code code = AIT_OK;
    EXPECT_THAT(Take(error, &code), HasSubstr(" is NULL")) << count;
    EXPECT_EQ(code, AIT_INVALID_ARGUMENT) << count;
    ++count;
  }
  EXPECT_EQ(ait_result_count(nullptr), 0u);
  ait_options_free(options);
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  // An empty text is none.
  EXPECT_THAT(Take(ait_module_load_checkpoint(model_.c_str(), "", &module)),
              HasSubstr("is no digest of a bundle"));
  EXPECT_THAT(Take(ait_substitute_in_graph("mylib::gate", "")),
              HasSubstr("source is empty"));
  const float number = 1;
  const ait_tensor one = Tensor(nullptr, 0, &number);
  EXPECT_THAT(Take(ait_module_record(module, &one, 1, 0)),
              HasSubstr("batch size is 0"));
  const int64_t huge[] = {0, int64_t{1} << 62, 64};
  const ait_tensor without_strides = Tensor(huge, 3, nullptr);
  EXPECT_THAT(Take(ait_module_run(module, &without_strides, 1, &result)),
              HasSubstr("strides are more than 2^63"));
  for (ait_error* error : {ait_module_record(module, nullptr, 1, 1),
                           ait_module_tune(module, nullptr, 0),
                           ait_module_run(module, nullptr, 2, &result),
                           ait_module_run(module, &tensor, 1, nullptr),
                           ait_module_signature(module, nullptr),
                           ait_module_describe(module, nullptr),
                           ait_module_report(module, nullptr, &text),
                           ait_module_report(module, "json", nullptr),
                           ait_module_save(module, nullptr, nullptr)})
    EXPECT_THAT(Take(error), HasSubstr(" is NULL"));
  ait_module_free(module);
}

// LibTorch may return an argument, or a view of one.
TEST_F(CApi, ModelsAndCheckpointsComeFromMemory) {
  const auto contents = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  ait_options* options = ait_options_new();
  std::string bytes = contents(model_);
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load_bytes(options, bytes.data(), bytes.size(),
                                       "in memory", nullptr, 0, &module)),
            "");
  bytes.assign(bytes.size(), '\0');  // no longer needed
  ExpectRuns(module, 2);
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  const std::string path = folder_ + "/memory.aitune";
  char digest[65];
  ASSERT_EQ(Take(ait_module_save(module, path.c_str(), digest)), "");
  ait_module_free(module);
  bytes = contents(path);
  ASSERT_EQ(Take(ait_module_load_checkpoint_bytes(
                nullptr, bytes.data(), bytes.size(), digest, &module)),
            "");
  ExpectRuns(module, 2);
  ait_module_free(module);
  module = nullptr;
  ait_code code = AIT_OK;
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_THAT(Take(ait_module_load_checkpoint_bytes(
                       nullptr, bytes.data(), bytes.size(), nullptr, &module),
                   &code),
              HasSubstr("the checkpoint in memory: damaged"));
  EXPECT_EQ(code, AIT_DATA_LOSS);
  EXPECT_NE(Take(ait_module_load_bytes(options, "not a model", 11, nullptr,
                                       nullptr, 0, &module)),
            "");
  EXPECT_EQ(module, nullptr);
  ait_options_free(options);
}

TEST_F(CApi, ErrorsAreObjects) {
  ait_module* module = nullptr;
  ait_code code = AIT_OK;
  EXPECT_THAT(Take(ait_module_load("/nowhere.pt", nullptr, &module), &code),
              HasSubstr("no such file"));
  EXPECT_EQ(code, AIT_NOT_FOUND);
  EXPECT_EQ(module, nullptr);
  EXPECT_EQ(Take(ait_module_load(nullptr, nullptr, &module)), "path is NULL");
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  EXPECT_THAT(Take(ait_module_tune(module, "Fastest", 0)),
              HasSubstr("there is no strategy 'Fastest'"));
  EXPECT_THAT(Take(ait_module_tune(module, "MinLatency", 0), &code),
              HasSubstr("can't be tuned without samples"));
  EXPECT_EQ(code, AIT_FAILED_PRECONDITION);
  ait_result* result = nullptr;
  EXPECT_THAT(Take(ait_module_run(module, nullptr, 1, &result)),
              HasSubstr("inputs is NULL"));
  const int64_t sizes[] = {2};
  ait_tensor bad = Tensor(sizes, 1, nullptr);
  bad.dtype = 99;
  EXPECT_THAT(Take(ait_module_run(module, &bad, 1, &result)),
              HasSubstr("dtype 99"));
  bad.dtype = AIT_FLOAT32;
  bad.rank = 1000000000;  // `sizes` has one
  EXPECT_THAT(Take(ait_module_run(module, &bad, 1, &result)),
              HasSubstr("the rank 1000000000"));
  bad.rank = 1;
  EXPECT_THAT(Take(ait_module_run(module, &bad, 1, &result)),
              HasSubstr("has no data"));
  float one[2] = {1, 1};
  bad.data = one;
  EXPECT_NE(Take(ait_module_run(module, &bad, 1, &result)), "");
  EXPECT_EQ(result, nullptr);
  bad.struct_size = offsetof(ait_tensor, device_type) - 1;
  EXPECT_THAT(Take(ait_module_run(module, &bad, 1, &result), &code),
              HasSubstr("input 0 has the struct_size 31; set it to sizeof"));
  EXPECT_EQ(code, AIT_INVALID_ARGUMENT);
  EXPECT_THAT(Take(ait_set_stance("lazy")), HasSubstr("there is no stance"));
  EXPECT_EQ(ait_error_code(nullptr), AIT_OK);
  EXPECT_STREQ(ait_error_message(nullptr), "");
  ait_module_free(module);
  ait_module_free(nullptr);
  ait_result_free(nullptr);
  ait_error_free(nullptr);
}

}  // namespace
}  // namespace ait
