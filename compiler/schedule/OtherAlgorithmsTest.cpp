#include "compiler/schedule/OtherAlgorithms.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/dialect/Ait.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace aitune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Convolution {
  std::string batch = "1";
  int64_t channels = 128, outputs = 128, size = 28, filter = 3, stride = 1,
          groups = 1;
  std::string type = "f32";
  std::string layout = "channels_last, ";
};

std::vector<std::string> listNames(const Convolution &of,
                                   llvm::StringRef target = "avx512") {
  MLIRContext context;
  context.loadDialect<ait::AitDialect, func::FuncDialect>();
  const int64_t results = (of.size - 1) / of.stride + 1;
  const std::string filter =
      absl::StrCat("tensor<", of.outputs, "x", of.channels / of.groups, "x",
                   of.filter, "x", of.filter, "x", of.type, ">");
  auto tensor = [&](int64_t size, int64_t channels) {
    const std::vector<int64_t> sizes =
        of.layout.empty() ? std::vector<int64_t>{channels, size, size}
                          : std::vector<int64_t>{size, size, channels};
    const std::string encoding =
        of.batch == "?" ? absl::StrCat(", affine_map<()[s0] -> (s0, ",
                                       absl::StrJoin(sizes, ", "), ")>")
                        : "";
    return absl::StrCat("tensor<", of.batch, "x", absl::StrJoin(sizes, "x"),
                        "x", of.type, encoding, ">");
  };
  const std::string input = tensor(of.size, of.channels),
                    result = tensor(results, of.outputs);
  const std::string text = absl::StrCat(
      "func.func @kernel(%input: ", input, ", %filter: ", filter, ") -> ",
      result, " attributes {ait.kind = #ait.kind<convolution>} {\n",
      "  %0 = ait.convolution %input, %filter {", of.layout,
      "dilation = array<i64: 1, 1>, groups = ", of.groups,
      " : i64, padding = array<i64: ", of.filter / 2, ", ", of.filter / 2,
      ">, stride = array<i64: ", of.stride, ", ", of.stride, ">} : (", input,
      ", ", filter, ") -> ", result, "\n  return %0 : ", result, "\n}");
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  std::vector<std::string> names;
  if (!module)
    return names;
  for (const OtherAlgorithm &other : listOtherAlgorithms(
           *module->getOps<func::FuncOp>().begin(), *Target::named(target))) {
    EXPECT_EQ(other.config.getAs<StringAttr>("algorithm").getValue(),
              other.name);
    names.push_back(other.name);
  }
  return names;
}

TEST(OtherAlgorithms, AreWinogradsForFiltersOfSomeMegabytes) {
  EXPECT_THAT(listNames({}), ElementsAre("winograd_4x4", "winograd_2x2"));
  EXPECT_THAT(listNames({.channels = 256, .outputs = 256, .size = 14}),
              ElementsAre("winograd_4x4", "winograd_2x2"));
}

TEST(OtherAlgorithms, ABatchOfAnySizeHasThoseOfOneImage) {
  EXPECT_THAT(listNames({.batch = "?"}),
              ElementsAre("winograd_4x4", "winograd_2x2"));
}

TEST(OtherAlgorithms, AreNoneWhereTheDefaultIsWinograds) {
  EXPECT_THAT(listNames({.channels = 64, .outputs = 64}), IsEmpty());
}

TEST(OtherAlgorithms, AreNoneWhereFiltersWouldTakeTooMuchMemory) {
  EXPECT_THAT(listNames({.channels = 1024, .outputs = 512}), IsEmpty());
}

TEST(OtherAlgorithms, AreNoneWhereThereAreFewTiles) {
  EXPECT_THAT(listNames({.size = 7}), ElementsAre("winograd_2x2"));
  EXPECT_THAT(listNames({.size = 4}), IsEmpty());
}

TEST(OtherAlgorithms, HaveHalfVectorsForGroupsThatTheyFit) {
  const Convolution of24{.channels = 192, .outputs = 192, .groups = 8};
  EXPECT_THAT(listNames(of24), ElementsAre("direct_half_vectors"));
  EXPECT_THAT(listNames(of24, "avx2"), IsEmpty()) << "8 channels a vector";
  EXPECT_THAT(listNames({.channels = 160, .outputs = 160, .groups = 8}, "avx2"),
              ElementsAre("direct_half_vectors"));
  EXPECT_THAT(listNames({.channels = 256, .outputs = 256, .groups = 8}),
              IsEmpty());
  EXPECT_THAT(listNames({.channels = 64, .outputs = 64, .groups = 8}),
              IsEmpty());
  EXPECT_THAT(listNames({.channels = 120, .outputs = 120, .groups = 8}),
              IsEmpty());
}

TEST(OtherAlgorithms, AreNoneOfOtherConvolutions) {
  EXPECT_THAT(listNames({.filter = 5}), IsEmpty());
  EXPECT_THAT(listNames({.stride = 2}), IsEmpty());
  EXPECT_THAT(listNames({.type = "bf16"}), IsEmpty());
  EXPECT_THAT(listNames({.layout = ""}), IsEmpty());
  EXPECT_THAT(listNames({.channels = 16}), IsEmpty());
}

} // namespace
} // namespace aitune
