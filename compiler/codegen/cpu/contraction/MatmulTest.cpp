// Generated matmuls of floats against a reference in double precision.
#include "compiler/codegen/cpu/contraction/Matmul.h"

#include <cmath>

#include "compiler/codegen/cpu/contraction/MatmulTesting.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace aitune;
using namespace aitune::testing;

namespace {

double getTolerance(const std::string &type, int64_t k) {
  // Inputs are exact in every dtype and products in f32.
  return type == "f32" ? 1e-6 * std::sqrt(double(k) + 1) : 2e-2;
}

class MatmulTest : public ::testing::TestWithParam<MatmulCase> {};

/// A constant right side, bias and relu; with an odd number of rows also tanh,
/// which is too long to be repeated for every register.
TEST_P(MatmulTest, MatchesReference) {
  const MatmulCase &c = GetParam();
  if (!canRun(c.target))
    GTEST_SKIP() << "this machine is no " << c.target;
  std::string sums = tensor({c.m, c.n}, "f32");
  bool isLong = c.m % 2 == 1;
  std::string last =
      llvm::formatv("%4 = ait.{0} %3 : {1}", isLong ? "tanh" : "relu", sums);
  std::string text =
      llvm::formatv(R"(
    func.func private @kernel(%a: {0}, %b: {1} {{ait.constant}, %bias: {2}) -> {3}
        attributes {{ait.kind = #ait.kind<matmul>, ait.config = {4}} {{
      %0 = ait.matmul %a, %b : ({0}, {1}) -> {3}
      %1 = ait.expand %bias : {2} -> {3}
      %2 = ait.add %0, %1 : {3}
      %3 = ait.relu %2 : {3}
      {5}
      return %4 : {3}
    })",
                    tensor({c.m, c.k}, c.type), tensor({c.k, c.n}, c.type),
                    tensor({c.n}, "f32"), sums, c.config, last);
  TestKernel kernel(text, lowerMatmul, c.target);
  ASSERT_EQ(kernel.error(), "");
  TestTensor a = makeRandom({c.m, c.k}, 1), b = makeRandom({c.k, c.n}, 2),
             bias = makeRandom({c.n}, 3);
  TestTensor expected = multiply(a, b, 1, c.m, c.n, c.k);
  expected.sizes = {c.m, c.n};
  for (int64_t i = 0; i < expected.count(); ++i)
    expected.values[i] =
        std::max(0.0f, expected.values[i] + bias.values[i % c.n]);
  if (isLong)
    for (float &value : expected.values)
      value = std::tanh(value);
  EXPECT_LE(getMaximalError(kernel.run({a, b, bias})[0], expected),
            getTolerance("f32", c.k));
}

std::vector<MatmulCase> getCases() {
  std::vector<MatmulCase> cases;
  for (int64_t m = 1; m <= 17; ++m)
    cases.push_back({m, 50, 33});
  for (int64_t n : {1, 7, 15, 16, 17, 31, 47, 48, 49, 64, 65, 100, 200})
    cases.push_back({9, n, 20});
  for (int64_t k : {1, 2, 3, 63, 65, 257})
    cases.push_back({10, 40, k});
  cases.push_back({300, 70, 30});
  cases.push_back({70, 70, 5000});
  for (const char *type : {"bf16", "f16"})
    for (int64_t m : {1, 5, 13})
      for (int64_t k : {1, 31, 32, 100})
        cases.push_back({m, 37, k, type});
  for (const char *target : {"avx2", "avx512", "avx512bf16"})
    for (const char *type : {"f32", "bf16", "f16"}) {
      cases.push_back({11, 45, 19, type, target});
      cases.push_back({1, 130, 64, type, target});
    }
  // Skipped where there is no AMX; steps that fill its tiles, rows that do not.
  for (int64_t m : {8, 16, 33, 100})
    for (int64_t k : {32, 96, 100})
      cases.push_back({m, 45, k, "bf16", "amx"});
  // Tiles that fill the registers, of this machine where it has 32.
  const char *wide = canRun("avx512") ? "host" : "avx512";
  for (auto [target, config] :
       std::vector<std::pair<const char *, const char *>>{
           {"host", "{kc = 16 : i64}"},
           {wide,
            "{mc = 16 : i64, mr = 4 : i64, nr = 32 : i64, panels = 3 : i64}"},
           {wide, "{kc = 10 : i64, mc = 8 : i64, mr = 8 : i64, nr = 16 : i64, "
                  "panels = 2 : i64, panels_outer = false}"},
           {wide, "{mc = 24 : i64, mr = 12 : i64, nr = 32 : i64, "
                  "panels_outer = false}"},
           {"avx2",
            "{mc = 16 : i64, mr = 4 : i64, nr = 16 : i64, panels = 3 : i64}"},
           {"avx2",
            "{kc = 10 : i64, mc = 8 : i64, mr = 4 : i64, nr = 16 : i64, "
            "panels = 2 : i64, panels_outer = false}"},
           {"avx2", "{mc = 24 : i64, mr = 6 : i64, nr = 16 : i64, "
                    "panels_outer = false}"}})
    for (const char *type : {"f32", "bf16", "f16"})
      cases.push_back({37, 75, 45, type, target, config});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatmulTest, ::testing::ValuesIn(getCases()));

/// Both sides are computed by the program, and the right one is copied: in bf16
/// in pairs of steps, where the CPU multiplies these.
TEST(MatmulKernelTest, CopiesAnyRightSideOfBf16) {
  for (const char *target : {"avx2", "avx512bf16", "amx"}) {
    if (!canRun(target))
      continue;
    for (bool transposed : {false, true})
      for (int64_t m : {2, 33, 48, 100})
        for (int64_t k : {1, 31, 32, 96, 700}) {
          const int64_t batch = 3, n = 45;
          std::string a = tensor({batch, m, k}, "bf16"),
                      b = transposed ? tensor({batch, n, k}, "bf16")
                                     : tensor({batch, k, n}, "bf16"),
                      r = tensor({batch, m, n}, "f32");
          TestKernel kernel(llvm::formatv(R"(
    func.func private @kernel(%a: {0}, %b: {1}) -> {2} attributes {{ait.kind = #ait.kind<matmul>} {{
      %0 = ait.matmul %a, %b {3} : ({0}, {1}) -> {2}
      return %0 : {2}
    })",
                                          a, b, r,
                                          transposed ? "{transpose_rhs}" : ""),
                            lowerMatmul, target);
          ASSERT_EQ(kernel.error(), "");
          TestTensor lhs = makeRandom({batch, m, k}, 1),
                     rhs = makeRandom(transposed
                                          ? std::vector<int64_t>{batch, n, k}
                                          : std::vector<int64_t>{batch, k, n},
                                      2);
          TestTensor expected =
              multiply(lhs, rhs, batch, m, n, k, false, transposed);
          expected.sizes = {batch, m, n};
          EXPECT_LE(getMaximalError(kernel.run({lhs, rhs})[0], expected),
                    getTolerance("f32", k))
              << target << " " << m << " " << k << " " << transposed;
        }
  }
}

struct LayoutCase {
  int64_t batch, m, n, k;
  bool transposeLhs, transposeRhs, constant;
  std::string type = "f32";
};

class MatmulLayoutTest : public ::testing::TestWithParam<LayoutCase> {};

/// Batched products and transposed operands, constant or not.
TEST_P(MatmulLayoutTest, MatchesReference) {
  const LayoutCase &c = GetParam();
  std::vector<int64_t> lhsSizes = {c.batch, c.transposeLhs ? c.k : c.m,
                                   c.transposeLhs ? c.m : c.k};
  std::vector<int64_t> rhsSizes = {c.batch, c.transposeRhs ? c.n : c.k,
                                   c.transposeRhs ? c.k : c.n};
  std::string flags;
  if (c.transposeLhs)
    flags += "transpose_lhs";
  if (c.transposeRhs)
    flags += flags.empty() ? "transpose_rhs" : ", transpose_rhs";
  std::string text = llvm::formatv(
      R"(
    func.func private @kernel(%a: {0}, %b: {1}{4}) -> {2} attributes {{ait.kind = #ait.kind<matmul>} {{
      %0 = ait.matmul %a, %b {{{3}} : ({0}, {1}) -> {2}
      return %0 : {2}
    })",
      tensor(lhsSizes, c.type), tensor(rhsSizes, c.type),
      tensor({c.batch, c.m, c.n}, c.type == "f64" ? "f64" : "f32"), flags,
      c.constant ? " {ait.constant}" : "");
  TestKernel kernel(text, lowerMatmul);
  ASSERT_EQ(kernel.error(), "");
  TestTensor a = makeRandom(lhsSizes, 1), b = makeRandom(rhsSizes, 2);
  TestTensor expected =
      multiply(a, b, c.batch, c.m, c.n, c.k, c.transposeLhs, c.transposeRhs);
  EXPECT_LE(getMaximalError(kernel.run({a, b})[0], expected),
            getTolerance("f32", c.k));
}

std::vector<LayoutCase> getLayoutCases() {
  std::vector<LayoutCase> cases;
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true})
      for (bool constant : {false, true})
        for (const char *type : {"f32", "bf16", "f64"}) {
          cases.push_back(
              {3, 10, 35, 21, transposeLhs, transposeRhs, constant, type});
          cases.push_back(
              {2, 50, 64, 700, transposeLhs, transposeRhs, constant, type});
          cases.push_back(
              {1, 1, 20, 9, transposeLhs, transposeRhs, constant, type});
        }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Layouts, MatmulLayoutTest,
                         ::testing::ValuesIn(getLayoutCases()));

TEST(MatmulKernelTest, CollapsesLeadingAxesAndWritesHeads) {
  // [B, T, K] x [K, H * D] + bias, scaled, as [B, H, T, D] in bf16.
  const char *text = R"(
    func.func private @kernel(%a: tensor<2x9x20xf32>, %b: tensor<96x20xf32> {ait.constant}, %bias: tensor<96xf32>)
        -> tensor<2x3x9x32xbf16> attributes {ait.kind = #ait.kind<matmul>} {
      %0 = ait.matmul %a, %b {transpose_rhs} : (tensor<2x9x20xf32>, tensor<96x20xf32>) -> tensor<2x9x96xf32>
      %1 = ait.expand %bias : tensor<96xf32> -> tensor<2x9x96xf32>
      %2 = ait.add %0, %1 : tensor<2x9x96xf32>
      %3 = ait.reshape %2 : tensor<2x9x96xf32> -> tensor<2x9x3x32xf32>
      %4 = ait.permute %3 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x9x3x32xf32> -> tensor<2x3x9x32xf32>
      %5 = ait.full 0.125 : f32 : tensor<2x3x9x32xf32>
      %6 = ait.mul %4, %5 : tensor<2x3x9x32xf32>
      %7 = ait.convert %6 : tensor<2x3x9x32xf32> -> tensor<2x3x9x32xbf16>
      return %7 : tensor<2x3x9x32xbf16>
    })";
  TestKernel kernel(text, lowerMatmul);
  ASSERT_EQ(kernel.error(), "");
  TestTensor a = makeRandom({2, 9, 20}, 1), b = makeRandom({96, 20}, 2),
             bias = makeRandom({96}, 3);
  TestTensor sums = multiply(a, b, 2, 9, 96, 20, false, true, true);
  TestTensor expected({2, 3, 9, 32});
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t h = 0; h < 3; ++h)
      for (int64_t t = 0; t < 9; ++t)
        for (int64_t d = 0; d < 32; ++d)
          expected.values[((i * 3 + h) * 9 + t) * 32 + d] =
              0.125f * (sums.values[(i * 9 + t) * 96 + h * 32 + d] +
                        bias.values[h * 32 + d]);
  EXPECT_LE(getMaximalError(kernel.run({a, b, bias})[0], expected), 5e-3);
}

TEST(MatmulKernelTest, EpilogueReadsEveryKindOfOperand) {
  // A full tile, one value a row, one value in all, heads of 5 columns (no
  // multiple of the lanes), and two results, one of them bool.
  const char *text = R"(
    func.func private @kernel(%a: tensor<7x8xf32>, %b: tensor<8x15xf32> {ait.constant}, %full: tensor<7x15xf32>,
                              %row: tensor<7x1xf32>, %one: tensor<1xf32>, %mask: tensor<7x15xi1>)
        -> (tensor<3x7x5xf32>, tensor<7x15xi1>) attributes {ait.kind = #ait.kind<matmul>} {
      %0 = ait.matmul %a, %b : (tensor<7x8xf32>, tensor<8x15xf32>) -> tensor<7x15xf32>
      %1 = ait.add %0, %full : tensor<7x15xf32>
      %2 = ait.expand %row : tensor<7x1xf32> -> tensor<7x15xf32>
      %3 = ait.mul %1, %2 : tensor<7x15xf32>
      %4 = ait.expand %one : tensor<1xf32> -> tensor<7x15xf32>
      %5 = ait.sub %3, %4 : tensor<7x15xf32>
      %6 = ait.where %mask, %5, %0 : tensor<7x15xi1>, tensor<7x15xf32>
      %7 = ait.gt %6, %0 : tensor<7x15xf32> -> tensor<7x15xi1>
      %8 = ait.reshape %6 : tensor<7x15xf32> -> tensor<7x3x5xf32>
      %9 = ait.permute %8 {permutation = array<i64: 1, 0, 2>} : tensor<7x3x5xf32> -> tensor<3x7x5xf32>
      return %9, %7 : tensor<3x7x5xf32>, tensor<7x15xi1>
    })";
  TestKernel kernel(text, lowerMatmul);
  ASSERT_EQ(kernel.error(), "");
  TestTensor a = makeRandom({7, 8}, 1), b = makeRandom({8, 15}, 2),
             full = makeRandom({7, 15}, 3), row = makeRandom({7, 1}, 4),
             one = makeRandom({1}, 5), mask({7, 15});
  for (int64_t i = 0; i < mask.count(); ++i)
    mask.values[i] = i % 3 != 0;
  TestTensor sums = multiply(a, b, 1, 7, 15, 8), heads({3, 7, 5}),
             greater({7, 15});
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < 15; ++j) {
      float sum = sums.values[i * 15 + j];
      float other =
          (sum + full.values[i * 15 + j]) * row.values[i] - one.values[0];
      float chosen = mask.values[i * 15 + j] != 0 ? other : sum;
      heads.values[(j / 5 * 7 + i) * 5 + j % 5] = chosen;
      greater.values[i * 15 + j] = chosen > sum;
    }
  std::vector<TestTensor> results = kernel.run({a, b, full, row, one, mask});
  EXPECT_LE(getMaximalError(results[0], heads), 1e-5);
  EXPECT_LE(getMaximalError(results[1], greater), 0);
}

TEST(MatmulKernelTest, SizesFromSymbols) {
  // One kernel for every number of rows, and for both sizes of a product.
  const char *text = R"(
    func.func private @kernel(%a: tensor<?x12xf32, affine_map<()[s0] -> (s0, 12)>>, %b: tensor<12x50xf32> {ait.constant})
        -> tensor<?x50xf32, affine_map<()[s0] -> (s0, 50)>> attributes {ait.kind = #ait.kind<matmul>} {
      %0 = ait.matmul %a, %b : (tensor<?x12xf32, affine_map<()[s0] -> (s0, 12)>>, tensor<12x50xf32>)
        -> tensor<?x50xf32, affine_map<()[s0] -> (s0, 50)>>
      return %0 : tensor<?x50xf32, affine_map<()[s0] -> (s0, 50)>>
    })";
  TestKernel kernel(text, lowerMatmul);
  ASSERT_EQ(kernel.error(), "");
  for (int64_t m : {1, 2, 3, 5, 7, 8, 9, 31, 129, 300}) {
    TestTensor a = makeRandom({m, 12}, 1), b = makeRandom({12, 50}, 2);
    TestTensor expected = multiply(a, b, 1, m, 50, 12);
    expected.sizes = {m, 50};
    EXPECT_LE(getMaximalError(kernel.run({a, b}, {m})[0], expected), 1e-5) << m;
  }

  const char *both = R"(
    func.func private @kernel(%a: tensor<4x?x8xf32, affine_map<()[s0] -> (4, s0, 8)>>,
                              %b: tensor<4x?x8xf32, affine_map<()[s0, s1] -> (4, s1, 8)>>)
        -> tensor<4x?x?xf32, affine_map<()[s0, s1] -> (4, s0, s1)>> attributes {ait.kind = #ait.kind<matmul>} {
      %0 = ait.matmul %a, %b {transpose_rhs} : (tensor<4x?x8xf32, affine_map<()[s0] -> (4, s0, 8)>>,
          tensor<4x?x8xf32, affine_map<()[s0, s1] -> (4, s1, 8)>>)
        -> tensor<4x?x?xf32, affine_map<()[s0, s1] -> (4, s0, s1)>>
      return %0 : tensor<4x?x?xf32, affine_map<()[s0, s1] -> (4, s0, s1)>>
    })";
  TestKernel product(both, lowerMatmul);
  ASSERT_EQ(product.error(), "");
  for (int64_t m : {1, 6, 20})
    for (int64_t n : {1, 16, 70}) {
      TestTensor a = makeRandom({4, m, 8}, 1), b = makeRandom({4, n, 8}, 2);
      TestTensor expected = multiply(a, b, 4, m, n, 8, false, true);
      EXPECT_LE(getMaximalError(product.run({a, b}, {m, n})[0], expected), 1e-5)
          << m << " " << n;
    }
}

TEST(MatmulKernelTest, EveryListedScheduleIsRight) {
  const char *text = R"(
    func.func private @kernel(%a: tensor<29x33xf32>, %b: tensor<33x70xf32> {ait.constant}) -> tensor<29x70xf32>
        attributes {ait.kind = #ait.kind<matmul>} {
      %0 = ait.matmul %a, %b : (tensor<29x33xf32>, tensor<33x70xf32>) -> tensor<29x70xf32>
      return %0 : tensor<29x70xf32>
    })";
  TestTensor a = makeRandom({29, 33}, 1), b = makeRandom({33, 70}, 2);
  TestTensor expected = multiply(a, b, 1, 29, 70, 33);
  expected.sizes = {29, 70};
  mlir::MLIRContext context;
  const mlir::Type f32 = mlir::Float32Type::get(&context);
  std::string reason;
  MatmulShape shape;
  shape.format = *getOperandFormat(f32, f32, f32, reason);
  shape.m = 29;
  shape.n = 70;
  shape.k = 33;
  std::vector<MatmulSchedule> schedules =
      listMatmulSchedules(shape, Target::host());
  EXPECT_GT(schedules.size(), 4u);
  for (const MatmulSchedule &schedule : schedules) {
    auto lower = [&](mlir::func::FuncOp function, const Target &target,
                     std::string &reason) -> mlir::LogicalResult {
      mlir::FailureOr<MatmulProblem> problem =
          analyzeMatmul(function, target, reason);
      if (mlir::failed(problem))
        return mlir::failure();
      return emitMatmul(function, *problem, schedule, target, reason);
    };
    TestKernel kernel(text, lower);
    ASSERT_EQ(kernel.error(), "") << schedule.toString();
    EXPECT_LE(getMaximalError(kernel.run({a, b})[0], expected), 1e-5)
        << schedule.toString();
  }
}

TEST(MatmulKernelTest, SaysWhyNot) {
  auto getError = [](const std::string &config, const std::string &after) {
    std::string text = llvm::formatv(R"(
      func.func private @kernel(%a: tensor<4x8xf32>, %b: tensor<8x16xf32> {{ait.constant}) -> tensor<4x16xf32>
          attributes {{ait.kind = #ait.kind<matmul>, ait.config = {0}} {{
        %0 = ait.matmul %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
        {1}
        return %1 : tensor<4x16xf32>
      })",
                                     config, after);
    return TestKernel(text, lowerMatmul, "avx512").error();
  };
  EXPECT_EQ(getError("{nr = 40 : i64}", "%1 = ait.relu %0 : tensor<4x16xf32>"),
            "nr must be a multiple of the 16 lanes of a vector, not 40");
  EXPECT_EQ(getError("{mr = 16 : i64, nr = 64 : i64, mc = 16 : i64}",
                     "%1 = ait.relu %0 : tensor<4x16xf32>"),
            "a tile of 16 x 64 needs more than 32 vector registers");
  EXPECT_EQ(getError("{}", "%1 = ait.flip %0 {dims = array<i64: 1>} : "
                           "tensor<4x16xf32> -> tensor<4x16xf32>"),
            "no code for ait.flip after a contraction");
}

} // namespace
