#include "compiler/candidates/CubinStore.h"

#include "gtest/gtest.h"

namespace aitune {
namespace {

TEST(CubinStore, EqualTextsButForTheirNameAreOne) {
  CubinStore store;
  const auto [first, isFirstNew] =
      store.find("void neg_0() { f(1); }", "neg_0");
  ASSERT_TRUE(isFirstNew);
  EXPECT_EQ(first->symbol, "neg_0");
  EXPECT_EQ(first->text, "void neg_0() { f(1); }");
  const auto [again, isAgainNew] =
      store.find("void neg_0_to_3() { f(1); }", "neg_0_to_3");
  EXPECT_FALSE(isAgainNew);
  EXPECT_EQ(again, first);
}

TEST(CubinStore, OtherTextsHaveOtherNames) {
  CubinStore store;
  store.find("void neg_0_pack() {} void neg_0() { f(1); }", "neg_0");
  const auto [other, isOtherNew] =
      store.find("void neg_0_pack() {} void neg_0() { f(2); }", "neg_0");
  ASSERT_TRUE(isOtherNew);
  EXPECT_EQ(other->symbol, "neg_0_2");
  EXPECT_EQ(other->text, "void neg_0_2_pack() {} void neg_0_2() { f(2); }");
  // A kernel that is called so from the start.
  const auto [third, isThirdNew] =
      store.find("void neg_0_2() { f(3); }", "neg_0_2");
  ASSERT_TRUE(isThirdNew);
  EXPECT_EQ(third->symbol, "neg_0_2_2");
  EXPECT_EQ(third->text, "void neg_0_2_2() { f(3); }");
}

TEST(CubinStore, RenamesWhatStartsWithTheName) {
  EXPECT_EQ(renameSymbol("neg_0", "neg_0", "neg_0_2"), "neg_0_2");
  EXPECT_EQ(renameSymbol("neg_0_pack", "neg_0", "neg_0_2"), "neg_0_2_pack");
  EXPECT_EQ(renameSymbol("other", "neg_0", "neg_0_2"), "other");
}

} // namespace
} // namespace aitune
