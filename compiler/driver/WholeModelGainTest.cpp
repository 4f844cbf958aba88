// Which layers are left alone where a model is no faster with them.
#include "compiler/driver/WholeModelGain.h"

#include "compiler/pipelines/Pipelines.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::ElementsAre;
using testing::Pair;

namespace aitune {
namespace {

QuantizedLayer layer(const std::string &name, double microseconds,
                     double quantized, const std::string &refusal = "") {
  QuantizedLayer layer;
  layer.layer = name;
  layer.scheme = "int8dq";
  layer.refusal = refusal;
  layer.microseconds = microseconds;
  layer.quantizedMicroseconds = quantized;
  return layer;
}

TEST(WholeModelGainTest, LayersThatSaveLittleAreDoubtful) {
  EXPECT_TRUE(isGainDoubtful({layer("a", 10, 5), layer("b", 10, 9)}));
  EXPECT_FALSE(isGainDoubtful({layer("a", 10, 5), layer("b", 10, 7)}));
  // What is left alone, or was not timed.
  EXPECT_FALSE(
      isGainDoubtful({layer("a", 10, 9, "slower: so"), layer("b", -1, -1)}));
}

TEST(WholeModelGainTest, NamesThemWithTheTimesOfTheModel) {
  const WholeModelTimes times = {588, 566.1};
  EXPECT_FALSE(times.isFaster());
  EXPECT_THAT(
      findSlow({layer("a", 10, 5), layer("b", 10, 9), layer("c", 10, 12, "so")},
               times),
      ElementsAre(Pair(
          Pair("b", "int8dq"),
          "the whole model takes 588 us with it, 566.1 us without quantised "
          "layers")));
}

TEST(WholeModelGainTest, TimesWhatWasMeasuredAndIsCompiledWhole) {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry);
  const auto parse = [&](const std::string &body) {
    return parseSourceString<ModuleOp>(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n" + body +
            "\n}",
        &context);
  };
  OwningOpRef<ModuleOp> whole = parse("return %x : tensor<2xf32>");
  CompileOptions options;
  EXPECT_FALSE(canTimeWhole(*whole, options));
  options.quantization = "int8dq";
  EXPECT_TRUE(canTimeWhole(*whole, options));
  options.quantization = "int8dq,verdict=off";
  EXPECT_FALSE(canTimeWhole(*whole, options));
  options.quantization = "int8dq";
  options.measureCandidates = false;
  EXPECT_FALSE(canTimeWhole(*whole, options));
}

} // namespace
} // namespace aitune
