#include "frontend/compiled_model/dropped_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::IsEmpty;

QuantizedLayer Layer(const char* name, double sqnr, const char* refusal = "") {
  QuantizedLayer layer;
  layer.layer = name;
  layer.scheme = "int8dq";
  layer.sqnr = sqnr;
  layer.refusal = refusal;
  return layer;
}

auto Dropped(const char* name) { return FieldsAre(name, "int8dq"); }

TEST(LayersToDropTest, NoneWhereTheNoiseIsAllowed) {
  EXPECT_THAT(LayersToDrop({Layer("a", 20)}, 0.5), IsEmpty());
  EXPECT_THAT(LayersToDrop({}, 500), IsEmpty());
  EXPECT_THAT(LayersToDrop({Layer("a", 20, "slower: ...")}, 500), IsEmpty());
}

TEST(LayersToDropTest, TheWorstUntilTheErrorOfTheRestIsSmallEnough) {
  // "b" has nine tenths of all errors, "c" and "d" about a twentieth each.
  const std::vector<QuantizedLayer> layers = {Layer("a", 50), Layer("b", 27.4),
                                              Layer("c", 40), Layer("d", 40)};
  EXPECT_THAT(LayersToDrop(layers, 3), ElementsAre(Dropped("b")));
  EXPECT_THAT(LayersToDrop(layers, 10),
              ElementsAre(Dropped("b"), Dropped("d")));
  // However far from the bound the outputs are.
  EXPECT_THAT(
      LayersToDrop(layers, 1000),
      ElementsAre(Dropped("a"), Dropped("b"), Dropped("c"), Dropped("d")));
  EXPECT_THAT(LayersToDrop(layers, 1.01), ElementsAre(Dropped("b")));
}

TEST(LayersToDropTest, UnknownErrorsAreThoseOfTheWeight) {
  std::vector<QuantizedLayer> layers = {Layer("a", NAN), Layer("b", 40)};
  layers[0].weightSqnr = 30;
  EXPECT_THAT(LayersToDrop(layers, 2), ElementsAre(Dropped("a")));
}

}  // namespace
}  // namespace aitune::frontend
