// What C programs set for the whole process, and the progress of a tuning.
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"
#include "runtime/control/control.h"

namespace ait {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

using Records = std::vector<std::pair<std::string, std::string>>;

void Keep(void* records, const char* channel, const char* text) {
  static_cast<Records*>(records)->emplace_back(channel, text);
}

struct Told {
  ait_module* module = nullptr;
  bool cancel = false;
  std::vector<std::string> phases;
  bool is_sane = true;
};

void Tell(void* user, const char* phase, int done, int total) {
  Told& told = *static_cast<Told*>(user);
  told.phases.push_back(phase);
  told.is_sane &= done >= 0 && done <= total;
  if (told.cancel)
    told.is_sane &= ait_module_cancel_tune(told.module) == nullptr;
}

TEST_F(CApi, TellsOfTheProgressOfATuning) {
  Told told;
  ait_options* options = ait_options_new();
  ASSERT_EQ(Take(ait_options_set_progress(options, Tell, &told)), "");
  ASSERT_EQ(Take(ait_module_load_with(options, model_.c_str(), nullptr, 0,
                                      &told.module)),
            "");
  ASSERT_EQ(Record(told.module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(told.module, "OneBackend", 0)), "");
  EXPECT_THAT(told.phases, Contains("check against eager"));
  EXPECT_TRUE(told.is_sane);
  // It may end what it is told of.
  told.cancel = true;
  ait_code code = AIT_OK;
  EXPECT_NE(Take(ait_module_tune(told.module, "MaxThroughput", 0), &code), "");
  EXPECT_EQ(code, AIT_CANCELLED);
  EXPECT_TRUE(told.is_sane);
  ExpectRuns(told.module, 2);
  ait_module_free(told.module);

  told = {};
  ASSERT_EQ(Take(ait_options_set_progress(options, nullptr, nullptr)), "");
  ASSERT_EQ(Take(ait_module_load_with(options, model_.c_str(), nullptr, 0,
                                      &told.module)),
            "");
  ASSERT_EQ(Record(told.module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(told.module, "OneBackend", 0)), "");
  EXPECT_THAT(told.phases, IsEmpty());
  ait_module_free(told.module);
  ait_options_free(options);
}

TEST_F(CApi, ResetForgetsVersions) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  ExpectRuns(module, 2);
  ait_usage usage = {};
  usage.struct_size = sizeof usage;
  ASSERT_EQ(Take(ait_module_usage(module, &usage)), "");
  EXPECT_GT(usage.versions, 0);
  ASSERT_EQ(Take(ait_set_stance("force_eager")), "");
  ASSERT_EQ(Take(ait_reset()), "");
  EXPECT_EQ(aitune::CurrentStance(), aitune::Stance::kDefault);
  ASSERT_EQ(Take(ait_module_usage(module, &usage)), "");
  EXPECT_EQ(usage.versions, 0);
  ExpectRuns(module, 2);
  ait_module_free(module);
}

TEST_F(CApi, OperatorsAreAllowedByName) {
  ASSERT_EQ(Take(ait_allow_in_graph("c_control::op")), "");
  EXPECT_TRUE(aitune::IsAllowedInGraph("c_control::op"));
  ASSERT_EQ(Take(ait_disallow_in_graph("c_control::op")), "");
  EXPECT_FALSE(aitune::IsAllowedInGraph("c_control::op"));
}

TEST_F(CApi, RecordsGoToTheSink) {
  Records records;
  ASSERT_EQ(Take(ait_set_log_sink(Keep, &records)), "");
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  // A tuning that fails is a warning.
  EXPECT_NE(Take(ait_module_tune(module, "OneBackend", 0)), "");
  EXPECT_THAT(records, Contains(Pair("warning", HasSubstr("is not tuned"))));
  records.clear();
  ASSERT_EQ(Record(module, 2), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  EXPECT_THAT(records, Not(Contains(Pair("output_code", testing::_))));
  ASSERT_EQ(Take(ait_set_log_channels("dynamic, output_code")), "");
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  EXPECT_THAT(records, Contains(Pair("output_code", testing::_)));
  ait_code code = AIT_OK;
  EXPECT_THAT(Take(ait_set_log_channels("dynamic,all"), &code),
              HasSubstr("no log channel 'all'; there are dynamic, perf_hints"));
  EXPECT_EQ(code, AIT_INVALID_ARGUMENT);
  ASSERT_EQ(Take(ait_set_log_channels("")), "");
  records.clear();
  ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
  EXPECT_THAT(records, Not(Contains(Pair("output_code", testing::_))));
  ASSERT_EQ(Take(ait_set_log_sink(nullptr, nullptr)), "");
  ait_module_free(module);
}

TEST_F(CApi, NullIsAnErrorOfThese) {
  EXPECT_EQ(Take(ait_options_set_progress(nullptr, Tell, nullptr)),
            "options is NULL");
  EXPECT_EQ(Take(ait_allow_in_graph(nullptr)), "op is NULL");
  EXPECT_EQ(Take(ait_disallow_in_graph(nullptr)), "op is NULL");
  EXPECT_EQ(Take(ait_set_log_channels(nullptr)), "names is NULL");
}

}  // namespace
}  // namespace ait
