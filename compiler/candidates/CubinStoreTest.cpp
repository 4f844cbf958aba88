#include "compiler/candidates/CubinStore.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::MatchesRegex;

TEST(CubinStore, EqualTextsButForTheirNameAreOne) {
  CubinStore store;
  const auto [first, isFirstNew] =
      store.find("void neg_0() { f(1); }", "neg_0");
  ASSERT_TRUE(isFirstNew);
  EXPECT_THAT(first->symbol, MatchesRegex("neg_0_[0-9a-f]+"));
  EXPECT_EQ(first->text, absl::StrCat("void ", first->symbol, "() { f(1); }"));
  const auto [again, isAgainNew] =
      store.find("void neg_0_to_3() { f(1); }", "neg_0_to_3");
  EXPECT_FALSE(isAgainNew);
  EXPECT_EQ(again, first);
}

TEST(CubinStore, OtherTextsHaveOtherNames) {
  CubinStore store;
  const auto [first, isFirstNew] =
      store.find("void neg_0_pack() {} void neg_0() { f(1); }", "neg_0");
  const auto [other, isOtherNew] =
      store.find("void neg_0_pack() {} void neg_0() { f(2); }", "neg_0");
  ASSERT_TRUE(isOtherNew);
  EXPECT_NE(other->symbol, first->symbol);
  EXPECT_EQ(other->text,
            absl::StrCat("void ", other->symbol, "_pack() {} void ",
                         other->symbol, "() { f(2); }"));
}

// Kernels of two compilations may be in one model: the second keeps what the
// first has chosen.
TEST(CubinStore, NamesOfSeveralStoresAreOfTheirTextsAlone) {
  CubinStore first, second;
  first.find("void neg_0() { f(1); }", "neg_0");
  const std::string name =
      first.find("void neg_0() { f(2); }", "neg_0").first->symbol;
  EXPECT_NE(second.find("void neg_0() { f(3); }", "neg_0").first->symbol, name);
  EXPECT_EQ(second.find("void neg_0() { f(2); }", "neg_0").first->symbol, name);
}

TEST(CubinStore, RenamesWhatStartsWithTheName) {
  EXPECT_EQ(renameSymbol("neg_0", "neg_0", "neg_0_2"), "neg_0_2");
  EXPECT_EQ(renameSymbol("neg_0_pack", "neg_0", "neg_0_2"), "neg_0_2_pack");
  EXPECT_EQ(renameSymbol("other", "neg_0", "neg_0_2"), "other");
}

} // namespace
} // namespace aitune
