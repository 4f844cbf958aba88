#include "frontend/api/layer_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ait {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<aitune::QuantizedLayer> Layers() {
  aitune::QuantizedLayer taken, refused;
  taken.layer = "encoder.<0>";
  taken.k = 768;
  taken.n = 3072;
  taken.scheme = "int8dq";
  taken.weightSqnr = 42;
  taken.sqnr = 38.7;
  taken.lowSqnr = 30;
  taken.microseconds = 16;
  taken.quantizedMicroseconds = 10;
  refused.layer = "head";
  refused.scheme = "int8dq";
  refused.refusal = "inaccurate: <why>";
  return {taken, refused};
}

nlohmann::json Json(const std::vector<aitune::QuantizedLayer>& layers) {
  aitune::frontend::JsonWriter json;
  WriteLayers(layers, json);
  return nlohmann::json::parse(json.Take());
}

TEST(LayerReportTest, AModelThatIsNotQuantizedHasNoTable) {
  EXPECT_EQ(LayerTableHtml({}), "");
  EXPECT_TRUE(Json({}).empty());
}

TEST(LayerReportTest, BarsShowSpeedAndDecibels) {
  const std::string html = LayerTableHtml(Layers());
  EXPECT_THAT(html, HasSubstr("<td>encoder.&lt;0&gt;</td>"
                              "<td class='n'>768&times;3072</td>"
                              "<td>int8dq</td><td class='n'>1.60</td>"));
  // 1.6 of 3, and 38.7 of 60, of 120 pixels.
  EXPECT_THAT(html, HasSubstr("<rect width='64.0' height='12'"));
  EXPECT_THAT(html, HasSubstr("<rect width='77.4' height='12'"));
  EXPECT_THAT(html, HasSubstr("<td>&ndash;</td><td></td><td></td><td></td>"
                              "<td></td><td class='reason'>inaccurate: "
                              "&lt;why&gt;</td>"));
}

TEST(LayerReportTest, JsonLeavesOutWhatWasNotMeasured) {
  const nlohmann::json layers = Json(Layers());
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0]["sqnr_db"], 38.7);
  EXPECT_EQ(layers[0]["quantized_microseconds"], 10);
  EXPECT_EQ(layers[0]["scheme"], "int8dq");
  EXPECT_EQ(layers[1]["refusal"], "inaccurate: <why>");
  EXPECT_THAT(layers[1].dump(), Not(HasSubstr("microseconds")));
  EXPECT_THAT(layers[1].dump(), Not(HasSubstr("sqnr")));
}

}  // namespace
}  // namespace ait
