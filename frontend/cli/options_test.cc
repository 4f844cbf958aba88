#include "frontend/cli/options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::optional<int> Parse(std::vector<const char*> arguments, Options& options) {
  arguments.insert(arguments.begin(), "aitune");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data(),
                          options);
}

TEST(ParseCommandLine, Tune) {
  Options options;
  EXPECT_EQ(Parse({"tune", "m.pt", "--input", "float32[1]", "--input",
                   "int64[2]", "--threads", "3", "--explain", "--tolerance",
                   "0.5", "--no-measure"},
                  options),
            std::nullopt);
  EXPECT_EQ(options.command, Command::kTune);
  EXPECT_EQ(options.model, "m.pt");
  EXPECT_THAT(options.inputs, ElementsAre("float32[1]", "int64[2]"));
  EXPECT_EQ(options.compile.threads, 3);
  EXPECT_TRUE(options.explain);
  EXPECT_EQ(options.tolerance, 0.5);
  EXPECT_FALSE(options.compile.measureCandidates);
  Options ir;
  EXPECT_EQ(Parse({"tune", "m.pt", "--compile-to=fused"}, ir), std::nullopt);
  EXPECT_EQ(ir.compile.compileTo, CompilePhase::Fused);
}

TEST(ParseCommandLine, Device) {
  Options options;
  EXPECT_EQ(Parse({"deploy", "m.pt"}, options), std::nullopt);
  EXPECT_EQ(options.compile.device, "cpu");
  EXPECT_EQ(options.given.count("--device"), 0u);
  EXPECT_TRUE(options.compile.tf32Convolution);
  for (const char* command : {"deploy", "run", "tune"}) {
    Options chosen;
    EXPECT_EQ(Parse({command, "m.pt", "--device", "cuda:1"}, chosen),
              std::nullopt);
    EXPECT_EQ(chosen.compile.device, "cuda:1");
    EXPECT_EQ(chosen.given.count("--device"), 1u);
    EXPECT_EQ(Parse({command, "m.pt", "--device", "cuda:x"}, chosen), kUsage);
  }
  EXPECT_EQ(Parse({"tune", "m.pt", "--tf32", "all"}, options), std::nullopt);
  EXPECT_TRUE(options.compile.tf32Matmul);
  EXPECT_EQ(Parse({"tune", "m.pt", "--tf32=none"}, options), std::nullopt);
  EXPECT_FALSE(options.compile.tf32Matmul || options.compile.tf32Convolution);
}

TEST(ParseCommandLine, SubmodulesAndSubstitutes) {
  Options options;
  EXPECT_EQ(Parse({"tune", "--disable", "a.0", "--disable", "a.1",
                   "--substitute", "aten::relu=f.py", "m.pt"},
                  options),
            std::nullopt);
  EXPECT_EQ(options.model, "m.pt");
  EXPECT_THAT(options.disabled, ElementsAre("a.0", "a.1"));
  EXPECT_THAT(options.substitutes, ElementsAre("aten::relu=f.py"));
  Options wrong;
  EXPECT_EQ(Parse({"tune", "m.pt", "--substitute", "aten::relu"}, wrong),
            kUsage);
}

TEST(ParseCommandLine, Defaults) {
  Options options;
  EXPECT_EQ(Parse({"bench", "m.pt"}, options), std::nullopt);
  EXPECT_EQ(options.command, Command::kBench);
  EXPECT_THAT(options.against, ElementsAre("eager", "torchscript"));
  EXPECT_TRUE(options.compile.measureCandidates);
  EXPECT_EQ(options.compile.compileTo, CompilePhase::Executable);
}

TEST(ParseCommandLine, QuantizationIsOneText) {
  for (const char* command : {"tune", "bench", "inspect", "deploy"}) {
    Options options;
    EXPECT_EQ(Parse({command, "m.pt", "--skip-modules", "a.*", "--quantize",
                     "int8wo", "--min-cosine", "0.99", "--skip-modules", "b"},
                    options),
              std::nullopt);
    EXPECT_EQ(options.compile.quantization,
              "int8wo,skip=a.*,skip=b,min_cosine=0.99");
    EXPECT_EQ(options.accuracy_bound->min_cosine, 0.99);
  }
  Options options;
  EXPECT_EQ(Parse({"tune", "m.pt", "--quantize", "int8dq"}, options),
            std::nullopt);
  EXPECT_EQ(options.compile.quantization, "int8dq");
  EXPECT_EQ(options.accuracy_bound, AccuracyBound());
}

TEST(ParseCommandLine, ModelMayFollowOptions) {
  Options options;
  EXPECT_EQ(Parse({"run", "--input", "float32[1]", "m.pt"}, options),
            std::nullopt);
  EXPECT_EQ(options.model, "m.pt");
  EXPECT_THAT(options.inputs, ElementsAre("float32[1]"));
}

TEST(ParseCommandLine, ErrorsAreOneLine) {
  struct Case {
    std::vector<const char*> arguments;
    const char* text;
  };
  for (const Case& c : std::vector<Case>{
           {{},
            "no command given; there are tune, run, bench, "
            "inspect, deploy, reduce, backends, cache and tuning"},
           {{"tune"}, "MODEL is required"},
           {{"tune", "m.pt", "--thread"}, "--thread"},
           {{"tune", "m.pt", "--threads", "0"}, "--threads"},
           {{"tune", "m.pt", "--compile-to=asm"}, "--compile-to"},
           {{"bench", "m.pt", "--against", "onnx"}, "--against"},
           {{"tune", "m.pt", "--tolerance", "-1"}, "--tolerance"},
           {{"tune", "m.pt", "--quantize", "int9"},
            "Invalid quantization: int9. Must be one of: "},
           {{"tune", "m.pt", "--quantize", "int8wo", "--min-cosine", "2"},
            "min_cosine can't be 2"},
           {{"tune", "m.pt", "--skip-modules", "a"}, "--quantize"},
           {{"run", "m.ait", "--verify", ""}, "--verify: its value is empty"},
           {{"run", "m.ait", "--digest", ""}, "--digest: its value is empty"},
           {{"deploy", "m.pt", "--save", ""}, "--save: its value is empty"},
           {{"deploy", "m.pt", "--sign", "key.pem"}, "--sign requires --save"},
           {{"tune", "m.pt", "--cache", ""}, "--cache: its value is empty"},
           {{"tune", "m.pt", "--threads", "1025"}, "from 1 to 1024"},
           {{"tune", "m.pt", "--kernel-memory", "-1"}, "a size such as"},
           {{"tune", "m.pt", "--kernel-memory", "1KB"}, "from 1MB"},
           {{"cache", "prune", "--max-bytes", "-1"}, "a size such as"},
           {{"reduce", "m.pt", "--factor", "0"}, "a factor from 1"},
           {{"make", "m.pt"}, "\"make\" is not a command"}}) {
    Options options;
    testing::internal::CaptureStderr();
    EXPECT_EQ(Parse(c.arguments, options), kUsage);
    const std::string error = testing::internal::GetCapturedStderr();
    EXPECT_THAT(error, testing::StartsWith("aitune: "));
    EXPECT_THAT(error, HasSubstr(c.text));
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
  }
}

TEST(ParseCommandLine, HelpHasExamplesAndExitCodes) {
  Options options;
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"--help"}, options), kSuccess);
  const std::string help = testing::internal::GetCapturedStdout();
  for (const char* text :
       {"tune", "run", "bench", "inspect", "Examples", "Exit codes",
        "aitune tune resnet50.pt", "float32[1,3,224,224]",
        "are programs: they run\nwith your rights", "SECURITY.md"}) {
    EXPECT_THAT(help, HasSubstr(text));
  }
}

TEST(ParseCommandLine, HelpOfACommandListsItsOptions) {
  Options options;
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"tune", "--help"}, options), kSuccess);
  const std::string help = testing::internal::GetCapturedStdout();
  for (const char* text : {"--input", "--explain", "--compile-to", "--dump",
                           "--tolerance", "--json"}) {
    EXPECT_THAT(help, HasSubstr(text));
  }
}

TEST(ParseCommandLine, DeployCompilesByTheOptionsOfTune) {
  const std::vector<const char*> compiling = {"--tf32",
                                              "all",
                                              "--emulate-eager-casts",
                                              "--target",
                                              "avx2",
                                              "--unchecked-indices",
                                              "--no-measure",
                                              "--dump",
                                              "folder",
                                              "--plugin",
                                              "p.so",
                                              "--tuning-database",
                                              "d.db",
                                              "--dtype",
                                              "bf16",
                                              "--tune-budget",
                                              "2m",
                                              "--tune-strategy",
                                              "random",
                                              "--threads",
                                              "2",
                                              "--explain",
                                              "--transfer",
                                              "--kernel-seconds",
                                              "2.5",
                                              "--kernel-memory",
                                              "2GB"};
  for (const char* command : {"tune", "deploy"}) {
    Options options;
    std::vector<const char*> arguments = {command, "m.pt"};
    arguments.insert(arguments.end(), compiling.begin(), compiling.end());
    ASSERT_EQ(Parse(arguments, options), std::nullopt) << command;
    EXPECT_TRUE(options.compile.tf32Matmul);
    EXPECT_TRUE(options.compile.emulateEagerCasts);
    EXPECT_TRUE(options.compile.uncheckedIndices);
    EXPECT_FALSE(options.compile.measureCandidates);
    EXPECT_EQ(options.compile.target, "avx2");
    EXPECT_EQ(options.compile.generation.kernelSeconds, 2.5);
    EXPECT_EQ(options.compile.generation.kernelBytes, int64_t{2} << 30);
    EXPECT_EQ(options.compile.dumpDirectory, "folder");
    EXPECT_EQ(options.compile.threads, 2);
    EXPECT_EQ(options.compile.tuning.database, "d.db");
    EXPECT_EQ(options.compile.tuning.budgetSeconds, 120);
    EXPECT_EQ(options.compile.tuning.strategy, "random");
    EXPECT_TRUE(options.compile.tuning.transfer);
    EXPECT_EQ(options.given.count("--target"), 1u);
    EXPECT_EQ(options.given.count("--device"), 0u);
  }
}

TEST(ParseCommandLine, OptionsWithoutEffectAreRefused) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{
           {"tune", "m.pt", "--transfer"},
           {"tune", "m.pt", "--cost-model", "roofline"},
           {"deploy", "m.pt", "--tune-strategy", "random"},
           {"tune", "m.pt", "--cache", "c", "--no-cache"},
           {"tune", "m.pt", "--compile-to=fused", "--explain"},
           {"tune", "m.pt", "--compile-to=fused", "--json", "-"},
           {"bench", "m.pt", "--paced", "--seconds", "3"}}) {
    Options options;
    testing::internal::CaptureStderr();
    EXPECT_EQ(Parse(arguments, options), kUsage) << arguments[2];
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--"));
  }
}

TEST(RefuseOptions, NamesTheFirstThatWasGiven) {
  Options options;
  ASSERT_EQ(Parse({"run", "m.aitune", "--target", "avx2"}, options),
            std::nullopt);
  EXPECT_TRUE(RefuseOptions(options, {"--dtype"}, "it").ok());
  EXPECT_EQ(
      RefuseOptions(options, kCompilerOptions, "m was compiled before")
          .message(),
      "m was compiled before: --target has no effect on it; leave it out");
}

TEST(ParseCommandLine, DeployTakesAToleranceToo) {
  Options options;
  EXPECT_EQ(Parse({"deploy", "m.pt", "--tolerance", "0.25"}, options),
            std::nullopt);
  EXPECT_EQ(options.tolerance, 0.25);
}

}  // namespace
}  // namespace aitune::cli
