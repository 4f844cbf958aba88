// One example model of a kind: its trace computes what the model does, free of
// size arithmetic, and LibTorch runs none of the convolutional or transformer
// ones. (Those left out take long to trace; tests/end_to_end compiles all.)
#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

std::string ModelFile(const std::string& name) {
  const char* folder = std::getenv("AITUNE_MODELS");
  return absl::StrCat(folder == nullptr ? ".models" : folder, "/", name);
}

class ExampleModels : public ::testing::TestWithParam<const char*> {};

TEST_P(ExampleModels, TraceAgreesWithEager) {
  const std::string name = GetParam();
  const auto model = Model::Load(ModelFile(name + ".pt"));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto samples = LoadSamples(ModelFile(name + ".inputs.pt"));
  ASSERT_TRUE(samples.ok()) << samples.status();
  const auto trace = BuildTrace(*model, *samples, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->notes, ::testing::IsEmpty());
  const bool has_control_flow = absl::StartsWith(name, "control_flow");
  EXPECT_EQ(FallbackCount(*trace), has_control_flow ? 4 : 0)
      << PrintTrace(*trace);
  for (const std::string& op : OpNames(*trace)) {
    EXPECT_TRUE(absl::StartsWith(op, "aten::") || has_control_flow) << op;
    EXPECT_FALSE(absl::StartsWith(op, "aten::size") ||
                 absl::StartsWith(op, "aten::Int"))
        << op;
  }
  const auto actual = RunTrace(*trace, *samples);
  ASSERT_TRUE(actual.ok()) << actual.status();
  const auto expected = model->RunEager(*samples);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(Difference(*actual, *expected), "");
}

INSTANTIATE_TEST_SUITE_P(Float32, ExampleModels,
                         ::testing::Values("mobilenet_v3_large", "minilm",
                                           "llama_block", "mlp", "lstm",
                                           "control_flow"));
INSTANTIATE_TEST_SUITE_P(BFloat16, ExampleModels,
                         ::testing::Values("mlp_bf16", "lstm_bf16"));

TEST(ExampleModelsRecorded, TracedFilesHaveTheirInputs) {
  const auto traced = Model::Load(ModelFile("minilm.pt"));
  ASSERT_TRUE(traced.ok()) << traced.status();
  const auto inputs = traced->RecordedInputs();
  ASSERT_TRUE(inputs.has_value());
  EXPECT_EQ(inputs->Describe(), "int64[1,128], int64[1,128]");
  EXPECT_TRUE(traced->RunEager(*inputs).ok());
  const auto scripted = Model::Load(ModelFile("control_flow.pt"));
  ASSERT_TRUE(scripted.ok()) << scripted.status();
  EXPECT_FALSE(scripted->RecordedInputs().has_value());
}

// Batch and image size at once.
TEST(ExampleModelsDynamic, MobileNet) {
  const auto model = Model::Load(ModelFile("mobilenet_v3_large.pt"));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trace = BuildTrace(
      *model, {*ParseInputSpec("float32[1..8,3,64..96,64..96]")}, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->symbols.size(), 3u);
  EXPECT_THAT(trace->notes, ::testing::IsEmpty());
  for (const std::vector<int64_t>& size :
       {std::vector<int64_t>{1, 3, 64, 96}, {3, 3, 71, 66}}) {
    const ValueList inputs({at::randn(size)});
    const auto actual = RunTrace(*trace, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(Difference(*actual, *model->RunEager(inputs)), "");
  }
}

}  // namespace
}  // namespace aitune::frontend
