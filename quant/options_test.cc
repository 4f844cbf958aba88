#include "quant/options.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::quant {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ParseError(std::string_view text) {
  const absl::StatusOr<QuantizationOptions> options =
      ParseQuantizationOptions(text);
  if (options.ok()) return "parsed";
  EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(options.status().message());
}

TEST(QuantizationOptionsTest, ANameAloneHasTheDefaults) {
  for (const char* name : {"int8wo", "int8dq", "fp8wo", "fp8dq", "auto"}) {
    const auto options = ParseQuantizationOptions(name);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(options->scheme, ParseScheme(name));
    EXPECT_EQ(ToString(*options), name);
    EXPECT_EQ(options->arithmetic, Arithmetic::kFused);
    EXPECT_TRUE(options->fast_accumulation);
    EXPECT_EQ(options->verdict, Verdict::kOn);
    EXPECT_FALSE(options->extended_layers);
    EXPECT_TRUE(options->skip_modules.empty());
    EXPECT_TRUE(options->bound == AccuracyBound());
  }
}

TEST(QuantizationOptionsTest, EveryOptionIsReadAndPrinted) {
  const std::string text =
      "fp8dq,granularity=row,arithmetic=eager,fast_accumulation=off,"
      "verdict=off,extended_layers=on,skip=*.head,skip=encoder.[01].*,"
      "min_cosine=0.1,min_sqnr_db=12.5,min_equal_integers=1";
  const auto options = ParseQuantizationOptions(text);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->scheme, Scheme::kFloat8Dynamic);
  EXPECT_EQ(options->granularity, Granularity::kPerRow);
  EXPECT_EQ(options->arithmetic, Arithmetic::kEager);
  EXPECT_FALSE(options->fast_accumulation);
  EXPECT_EQ(options->verdict, Verdict::kOff);
  EXPECT_TRUE(options->extended_layers);
  EXPECT_THAT(options->skip_modules, ElementsAre("*.head", "encoder.[01].*"));
  EXPECT_EQ(options->bound.min_cosine, 0.1);
  EXPECT_EQ(options->bound.min_sqnr_db, 12.5);
  EXPECT_EQ(options->bound.min_equal_integers, 1);
  EXPECT_EQ(ToString(*options), text);
}

TEST(QuantizationOptionsTest, RefusesOtherNamesAndValues) {
  for (const char* name : {"", "int4wo", "INT8WO", " int8wo"})
    EXPECT_EQ(ParseError(name),
              std::string("Invalid quantization: ") + name +
                  ". Must be one of: ['int8wo', 'int8dq', 'fp8wo', 'fp8dq'] or "
                  "'auto'");
  EXPECT_EQ(ParseError("int8wo,granularity=group"),
            "the quantisation option granularity can't be 'group': give row or "
            "tensor");
  EXPECT_EQ(ParseError("int8wo,verdict"),
            "the quantisation option verdict can't be '': give on or off");
  EXPECT_EQ(ParseError("int8wo,min_cosine=high"),
            "the quantisation option min_cosine can't be 'high': give a "
            "number");
  EXPECT_THAT(ParseError("int8wo,speed=2"),
              HasSubstr("there is no quantisation option 'speed'"));
  EXPECT_THAT(ParseError("int8wo,"),
              HasSubstr("there is no quantisation option ''"));
  EXPECT_EQ(ParseError("int8wo,verdict=on,verdict=off"),
            "the quantisation option verdict is given twice: give it once");
  EXPECT_EQ(ParseError("auto,min_cosine=1.5"),
            "min_cosine can't be 1.5: give a number of at least 0 and at most "
            "1");
  EXPECT_THAT(ParseError("auto,min_cosine=nan"), HasSubstr("can't be nan"));
  EXPECT_EQ(ParseError("auto,min_sqnr_db=inf"),
            "min_sqnr_db can't be inf: give a number of at least 0");
  EXPECT_THAT(ParseError("auto,min_equal_integers=-1"),
              HasSubstr("can't be -1"));
  EXPECT_THAT(ParseError("auto,skip="), HasSubstr("is of no module"));
}

TEST(QuantizationOptionsTest, ValidateRefusesAPatternThatHasNoText) {
  QuantizationOptions options;
  options.skip_modules = {"head,tail"};
  EXPECT_EQ(Validate(options).message(),
            "the pattern 'head,tail' of modules to skip is of no module: give "
            "one that is not empty and has no comma");
}

TEST(QuantizationOptionsTest, GranularityIsTorchaosUnlessGiven) {
  QuantizationOptions options;
  EXPECT_EQ(GranularityOf(options, Scheme::kInt8Dynamic), Granularity::kPerRow);
  EXPECT_EQ(GranularityOf(options, Scheme::kFloat8WeightOnly),
            Granularity::kPerRow);
  EXPECT_EQ(GranularityOf(options, Scheme::kFloat8Dynamic),
            Granularity::kPerTensor);
  options.granularity = Granularity::kPerRow;
  EXPECT_EQ(GranularityOf(options, Scheme::kFloat8Dynamic),
            Granularity::kPerRow);
}

TEST(RefuseModuleTest, TakesTorchsLinearOnly) {
  const QuantizationOptions options;
  const auto text = [&](const char* class_name) -> std::string {
    const auto refusal = RefuseModule(options, "layer", class_name);
    if (!refusal.has_value()) return "";
    EXPECT_EQ(refusal->reason, RefusalReason::kFiltered);
    return refusal->text;
  };
  EXPECT_EQ(text("__torch__.torch.nn.modules.linear.Linear"), "");
  EXPECT_EQ(text("__torch__.torch.nn.modules.linear.___torch_mangle_7.Linear"),
            "");
  EXPECT_EQ(text(""), "");
  EXPECT_EQ(text("__torch__.torch.nn.modules.linear.___torch_mangle_1."
                 "NonDynamicallyQuantizableLinear"),
            "its module is of __torch__.torch.nn.modules.linear."
            "NonDynamicallyQuantizableLinear, not of torch.nn.Linear");
  EXPECT_NE(text("__torch__.torch.nn.modules.linear.Bilinear"), "");
  EXPECT_NE(text("__torch__.torch.nn.modules.activation.MultiheadAttention"),
            "");
}

TEST(RefuseModuleTest, ExtendedLayersAreOfAnyClass) {
  QuantizationOptions options;
  options.extended_layers = true;
  EXPECT_FALSE(
      RefuseModule(options, "h.0.attn", "__torch__.transformers.Conv1D"));
}

TEST(RefuseModuleTest, SkipsByThePathOfTheModule) {
  QuantizationOptions options;
  options.skip_modules = {"*.dense", "layer.?.query", "lm_head"};
  const auto skipped = [&](const char* path) {
    return RefuseModule(options, path, "").has_value();
  };
  EXPECT_TRUE(skipped("encoder.layer.9.output.dense"));
  EXPECT_TRUE(skipped("layer.3.query"));
  EXPECT_FALSE(skipped("layer.13.query"));
  EXPECT_TRUE(skipped("lm_head"));
  EXPECT_FALSE(skipped("model.lm_head"));
  EXPECT_FALSE(skipped(""));
  EXPECT_EQ(RefuseModule(options, "lm_head", "")->text,
            "its path is one of 'lm_head'");
}

TEST(CheckDeviceTest, DynamicFloat8NeedsTensorCoresForIt) {
  constexpr char kText[] =
      "Float8 dynamic quantization requires CUDA compute capability ≥8.9 or "
      "MI300+ or XPU.";
  QuantizationOptions options;
  options.scheme = Scheme::kFloat8Dynamic;
  const absl::Status on_cpu = CheckDevice(options, std::nullopt);
  EXPECT_EQ(on_cpu.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(on_cpu.message(), kText);
  EXPECT_EQ(CheckDevice(options, ComputeCapability{8, 6}).message(), kText);
  EXPECT_TRUE(CheckDevice(options, ComputeCapability{8, 9}).ok());
  EXPECT_TRUE(CheckDevice(options, ComputeCapability{9, 0}).ok());
  options.scheme = Scheme::kFloat8WeightOnly;
  EXPECT_TRUE(CheckDevice(options, std::nullopt).ok());
  options.scheme.reset();
  EXPECT_TRUE(CheckDevice(options, std::nullopt).ok());
}

}  // namespace
}  // namespace aitune::quant
