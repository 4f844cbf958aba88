// Every schedule of a loop kernel computes the same.
#include "compiler/codegen/cpu/loops/LoopSpace.h"

#include <set>

#include "compiler/codegen/cpu/loops/LoopKernelTesting.h"
#include "compiler/codegen/cpu/target/Grain.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

namespace aitune {
namespace testing {
namespace {

/// A row's statistics and what is divided by them, sums down the columns, and
/// a pointwise kernel of more units than one.
constexpr const char *kKernels = R"(
func.func private @row(%x: tensor<5x77xf32>) -> tensor<5x77xf32> attributes {ait.kind = #ait.kind<loop>, ait.config = CONFIG} {
  %e = ait.exp %x : tensor<5x77xf32>
  %t = ait.sum %e {dims = array<i64: 1>} : tensor<5x77xf32> -> tensor<5x1xf32>
  %te = ait.expand %t : tensor<5x1xf32> -> tensor<5x77xf32>
  %r = ait.div %e, %te : tensor<5x77xf32>
  return %r : tensor<5x77xf32>
}
func.func private @column(%x: tensor<33x45xf32>) -> tensor<1x45xf32> attributes {ait.kind = #ait.kind<loop>, ait.config = CONFIG} {
  %t = ait.sum %x {dims = array<i64: 0>} : tensor<33x45xf32> -> tensor<1x45xf32>
  return %t : tensor<1x45xf32>
}
func.func private @point(%x: tensor<9x4001xf32>, %y: tensor<4001xf32>) -> tensor<9x4001xf32> attributes {ait.kind = #ait.kind<loop>, ait.config = CONFIG} {
  %e = ait.expand %y : tensor<4001xf32> -> tensor<9x4001xf32>
  %s = ait.add %x, %e : tensor<9x4001xf32>
  %r = ait.relu %s : tensor<9x4001xf32>
  return %r : tensor<9x4001xf32>
})";

void checkAll(const RunnableKernel &kernel, const std::string &config) {
  Floats x = random(5 * 77, -1, 1), result(x.size());
  ASSERT_TRUE(kernel.run("row", {data(x), data(result)}, {}, 2));
  Floats expected(x.size());
  for (int row = 0; row < 5; ++row) {
    double sum = 0;
    for (int i = 0; i < 77; ++i)
      sum += std::exp(double(x[row * 77 + i]));
    for (int i = 0; i < 77; ++i)
      expected[row * 77 + i] =
          static_cast<float>(std::exp(double(x[row * 77 + i])) / sum);
  }
  expectNear(result, expected, 1e-6f, "row " + config);

  x = random(33 * 45);
  result.assign(45, 7);
  ASSERT_TRUE(kernel.run("column", {data(x), data(result)}));
  expected.assign(45, 0);
  for (int i = 0; i < 33 * 45; ++i)
    expected[i % 45] += x[i];
  expectNear(result, expected, 1e-5f, "column " + config);

  x = random(9 * 4001);
  Floats y = random(4001, -3, 3, 2);
  result.assign(x.size(), 7);
  ASSERT_TRUE(kernel.run("point", {data(x), data(y), data(result)}, {}, 3));
  expected.resize(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    expected[i] = std::max(0.0f, x[i] + y[i % 4001]);
  expectNear(result, expected, 0, "point " + config);
}

TEST(LoopSpaceTest, EverySchedulesCodeIsRight) {
  std::set<int64_t> units;
  for (int lanes : {1, 4, 8, 16, 32, 64})
    for (int unitWork : {1024, 16384, 262144}) {
      std::string config = llvm::formatv(
          "{{lanes = {0} : i64, unit_work = {1} : i64}", lanes, unitWork);
      RunnableKernel kernel = RunnableKernel::compile(
          replaceAll(kKernels, "CONFIG", config), "avx512");
      ASSERT_EQ(kernel.error(), "");
      if (__builtin_cpu_supports("avx512f"))
        checkAll(kernel, config);
      units.insert(kernel.units("point"));
    }
  EXPECT_GT(units.size(), 2u) << "the work of a unit makes no difference";
}

TEST(LoopSpaceTest, RefusesWhatIsNotLegal) {
  auto error = [](const std::string &config) {
    return RunnableKernel::compile(replaceAll(kKernels, "CONFIG", config),
                                   "avx512")
        .error();
  };
  EXPECT_NE(error("{lanes = 12 : i64}")
                .find("lanes must be a power of two in [1, 64], not 12"),
            std::string::npos);
  EXPECT_NE(error("{lanes = 128 : i64}").find("in [1, 64], not 128"),
            std::string::npos);
  EXPECT_NE(
      error("{unit_work = 0 : i64}").find("unit_work must be positive, not 0"),
      std::string::npos);
  EXPECT_NE(error("{grain = -1 : i64}").find("must not be negative"),
            std::string::npos);
}

TEST(LoopSpaceTest, ListsTheDefaultFirstAndOneThreadForSmallKernels) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry);
  auto list = [&](const std::string &type) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func private @k(%x: " + type + ") -> " + type +
            " { return %x : " + type + " }",
        &context);
    return listLoopSchedules(*module->getOps<mlir::func::FuncOp>().begin(),
                             *Target::named("avx512"));
  };
  auto isSerial = [](const LoopKernelSchedule &schedule) {
    return schedule.grain == kSerialGrain;
  };
  std::vector<LoopKernelSchedule> small = list("tensor<8x100xf32>");
  EXPECT_EQ(small.front().toString(), "lanes16 work16384");
  EXPECT_TRUE(std::any_of(small.begin(), small.end(), isSerial));
  std::vector<LoopKernelSchedule> large = list("tensor<1024x1024xbf16>");
  EXPECT_EQ(large.front().toString(), "lanes32 work16384");
  EXPECT_TRUE(std::none_of(large.begin(), large.end(), isSerial));
  EXPECT_GT(large.size(), 6u);
}

} // namespace
} // namespace testing
} // namespace aitune
