// What C programs choose a tuning by: backends, their configurations, batches;
// and what they can ask and change of a module beside calling it.
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"

namespace ait {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Key;
using ::testing::StartsWith;

class CTuning : public CApi {
 protected:
  void SetUp() override {
    CApi::SetUp();
    ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module_)), "");
    ASSERT_EQ(Record(module_, 2), "");
  }
  void TearDown() override { ait_module_free(module_); }

  static std::string Text(ait_error* error, char* text) {
    EXPECT_EQ(Take(error), "");
    const std::string taken = text == nullptr ? "" : text;
    ait_text_free(text);
    return taken;
  }
  std::string Description() const {
    char* text = nullptr;
    ait_error* const error = ait_module_describe(module_, &text);
    return Text(error, text);
  }
  nlohmann::json Report() const {
    char* text = nullptr;
    ait_error* const error = ait_module_report(module_, "json", &text);
    return nlohmann::json::parse(Text(error, text));
  }
  int64_t EagerCalls() const {
    ait_usage usage = {};
    usage.struct_size = sizeof usage;
    EXPECT_EQ(Take(ait_module_usage(module_, &usage)), "");
    return usage.eager_calls;
  }

  ait_module* module_ = nullptr;
};

TEST_F(CTuning, ChoosesABackendWithItsConfiguration) {
  const char* const backends[] = {
      "TorchInductorBackend(dynamic=False, fullgraph=True, "
      "options.max_autotune=False)"};
  ait_tune_options options = {};
  options.struct_size = sizeof options;
  options.strategy = "OneBackend";
  options.backends = backends;
  options.backend_count = 1;
  ASSERT_EQ(Take(ait_module_tune_with(module_, &options)), "");
  EXPECT_THAT(Description(),
              AllOf(StartsWith("TorchInductorBackend("),
                    HasSubstr("dynamic=False"), HasSubstr("fullgraph=True")));
  ExpectRuns(module_, 2);
  // What describes a module chooses its backend again.
  const std::string description = Description();
  const char* const again = description.c_str();
  options.backends = &again;
  ASSERT_EQ(Take(ait_module_tune_with(module_, &options)), "");
  EXPECT_EQ(Description(), description);
}

TEST_F(CTuning, TimesSeveralBackendsAtTheGivenBatches) {
  ASSERT_EQ(Record(module_, 4), "");
  const char* const backends[] = {"TorchScriptBackend",
                                  "TorchInductorBackend(mode=default)"};
  const int64_t batches[] = {3};
  ait_tune_options options = {};
  options.struct_size = sizeof options;
  options.backends = backends;
  options.backend_count = 2;
  options.batches = batches;
  options.batch_count = 1;
  options.timing_milliseconds = 5;
  options.tolerance_is_set = 1;
  options.tolerance = 0.5;
  ASSERT_EQ(Take(ait_module_tune_with(module_, &options)), "");
  const nlohmann::json report = Report();
  EXPECT_EQ(report["strategy"], "MaxThroughput");
  ASSERT_EQ(report["backends"].size(), 3u) << report;
  EXPECT_EQ(report["backends"][1]["description"], "TorchScriptBackend()");
  for (const nlohmann::json& backend : report["backends"]) {
    ASSERT_EQ(backend["timings"].size(), 1u) << backend;
    EXPECT_EQ(backend["timings"][0]["batch"], 3);
  }
}

TEST_F(CTuning, SaysWhatIsWrongWithOptions) {
  ait_tune_options options = {};
  ait_code code = AIT_OK;
  EXPECT_THAT(Take(ait_module_tune_with(module_, &options)),
              HasSubstr("options has the struct_size 0"));
  options.struct_size = sizeof options;
  const char* backend = "TorchInductorBackend(mode=max-autotune";
  options.backends = &backend;
  options.backend_count = 1;
  EXPECT_THAT(Take(ait_module_tune_with(module_, &options), &code),
              AllOf(HasSubstr("the backend \"TorchInductorBackend(mode"),
                    HasSubstr("the last ) is missing")));
  EXPECT_EQ(code, AIT_INVALID_ARGUMENT);
  backend = "TensorRTBackend";
  EXPECT_THAT(Take(ait_module_tune_with(module_, &options), &code),
              HasSubstr("there is no backend 'TensorRTBackend'"));
  EXPECT_EQ(code, AIT_NOT_FOUND);
  backend = "TorchInductorBackend(mode=fastest)";
  EXPECT_THAT(Take(ait_module_tune_with(module_, &options), &code),
              HasSubstr("fastest"));
  EXPECT_EQ(code, AIT_INVALID_ARGUMENT);
  backend = nullptr;
  EXPECT_EQ(Take(ait_module_tune_with(module_, &options)),
            "backends[0] is NULL");
  options.backends = nullptr;
  EXPECT_THAT(Take(ait_module_tune_with(module_, &options)),
              HasSubstr("backends is NULL"));
  options.backend_count = 0;
  options.timing_milliseconds = -1;
  EXPECT_THAT(Take(ait_module_tune_with(module_, &options)),
              HasSubstr("timing_milliseconds is -1"));
  EXPECT_THAT(Take(ait_module_tune_with(module_, nullptr)),
              HasSubstr("options is NULL"));
  EXPECT_EQ(ait_module_is_tuned(module_), 0);
}

// Whatever the strategy, those that choose eager without running it too.
TEST_F(CTuning, RefusesInputsThatTheModelDoes) {
  const char* const backends[] = {"TorchScriptBackend"};
  using Inputs = std::vector<const char*>;
  for (const Inputs& inputs : {Inputs{"float32[2,3]", "float32[2,5]"},
                               Inputs{"float32[1..4,3]", "float32[1..4,5]"}}) {
    ait_tune_options options = {};
    options.struct_size = sizeof options;
    options.strategy = "FirstWins";
    options.backends = backends;
    options.backend_count = 1;
    options.inputs = inputs.data();
    options.input_count = inputs.size();
    ait_code code = AIT_OK;
    EXPECT_THAT(Take(ait_module_tune_with(module_, &options), &code),
                HasSubstr("size"));
    EXPECT_EQ(code, AIT_INVALID_ARGUMENT) << inputs[1];
  }
}

TEST_F(CTuning, ListsTheBackends) {
  ait_backends* backends = nullptr;
  ASSERT_EQ(Take(ait_list_backends(&backends)), "");
  std::map<std::string, std::string> usable;
  for (size_t i = 0; i < ait_backends_count(backends); ++i) {
    ait_backend backend = {};
    backend.struct_size = sizeof backend;
    ASSERT_EQ(Take(ait_backends_get(backends, i, &backend)), "");
    EXPECT_NE(backend.help[0], '\0') << backend.name;
    EXPECT_STREQ(backend.devices, "cpu,cuda") << backend.name;
    // What can't be used has a reason.
    const bool has_gpu = std::string(backend.usable_devices) == "cpu,cuda";
    EXPECT_EQ(backend.reason[0] == '\0', has_gpu) << backend.reason;
    if (!has_gpu) {
      EXPECT_STREQ(backend.usable_devices, "cpu");
      EXPECT_THAT(backend.reason, StartsWith("cuda: "));
    }
    usable[backend.name] = backend.usable_devices;
  }
  for (const char* name :
       {"TorchAOBackend", "TorchCudaGraphsBackend", "TorchEagerBackend",
        "TorchInductorBackend", "TorchScriptBackend"})
    EXPECT_THAT(usable, Contains(Key(name)));
  std::map<std::string, int32_t> settings;
  for (size_t i = 0; i < ait_backends_settings(backends); ++i) {
    ait_setting setting = {};
    setting.struct_size = sizeof setting;
    ASSERT_EQ(Take(ait_backends_setting(backends, i, &setting)), "");
    EXPECT_NE(setting.help[0], '\0') << setting.name;
    EXPECT_NE(setting.value, nullptr);
    settings[setting.name] = setting.kind;
  }
  EXPECT_EQ(settings["reduce-overhead"], AIT_SETTING_MODE);
  ASSERT_THAT(settings, Contains(Key("triton.cudagraphs")));
  EXPECT_EQ(settings["triton.cudagraphs"], AIT_SETTING_OPTION);
  ait_backend backend = {};
  backend.struct_size = sizeof backend;
  ait_code code = AIT_OK;
  EXPECT_THAT(Take(ait_backends_get(backends, 99, &backend), &code),
              HasSubstr("there is no backend 99"));
  EXPECT_EQ(code, AIT_OUT_OF_RANGE);
  EXPECT_THAT(Take(ait_backends_get(nullptr, 0, &backend)),
              HasSubstr("backends is NULL"));
  EXPECT_THAT(Take(ait_list_backends(nullptr)), HasSubstr("is NULL"));
  ait_backends_free(backends);
  EXPECT_EQ(ait_backends_count(nullptr) + ait_backends_settings(nullptr), 0u);
}

TEST_F(CTuning, AskAndChangeAModule) {
  ASSERT_EQ(Record(module_, 4), "");
  char* text = nullptr;
  ait_error* const error = ait_module_spec(module_, &text);
  EXPECT_THAT(Text(error, text), HasSubstr("float32[batch0, 3]"));
  ASSERT_EQ(Take(ait_module_inspect(module_, 2)), "");
  EXPECT_FALSE(Report()["submodules"].empty());
  EXPECT_EQ(ait_module_is_tuned(module_), 0);
  ASSERT_EQ(Take(ait_module_tune(module_, "OneBackend", 0)), "");
  EXPECT_EQ(ait_module_is_tuned(module_), 1);
  EXPECT_EQ(ait_module_is_tuned(nullptr), 0);
  ASSERT_EQ(Take(ait_module_set_disabled(module_, 1)), "");
  EXPECT_EQ(Description(), "eager");
  ExpectRuns(module_, 2);
  ASSERT_EQ(Take(ait_module_set_disabled(module_, 0)), "");
  EXPECT_THAT(Description(), StartsWith("TorchInductorBackend"));
  // Also to a folder.
  const std::string folder = folder_ + "/saved/";
  char digest[65];
  ASSERT_EQ(Take(ait_module_save(module_, folder.c_str(), digest)), "");
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  ait_module* loaded = nullptr;
  ASSERT_EQ(Take(ait_module_load_checkpoint(folder.c_str(), digest, &loaded)),
            "");
  ExpectRuns(loaded, 2);
  ait_module_free(loaded);
  EXPECT_THAT(Take(ait_sign_checkpoint(folder.c_str(), digest, "/none.pem")),
              HasSubstr("/none.pem"));
}

TEST_F(CTuning, AStanceMayBeOfAThread) {
  ASSERT_EQ(Take(ait_module_tune(module_, "OneBackend", 0)), "");
  ExpectRuns(module_, 2);
  EXPECT_EQ(EagerCalls(), 0);
  ASSERT_EQ(Take(ait_set_thread_stance("force_eager")), "");
  ExpectRuns(module_, 2);
  EXPECT_EQ(EagerCalls(), 1);
  std::thread([&] { ExpectRuns(module_, 2); }).join();
  EXPECT_EQ(EagerCalls(), 1);
  ASSERT_EQ(Take(ait_set_thread_stance(nullptr)), "");
  ExpectRuns(module_, 2);
  EXPECT_EQ(EagerCalls(), 1);
  EXPECT_THAT(Take(ait_set_thread_stance("sometimes")), HasSubstr("sometimes"));
}

}  // namespace
}  // namespace ait
