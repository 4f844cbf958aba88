// Generated matmuls with codes of 8 bits against a reference in double
// precision.
#include "compiler/codegen/cpu/contraction/Matmul.h"

#include <cmath>

#include "compiler/codegen/cpu/contraction/MatmulTesting.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace aitune;
using namespace aitune::testing;

namespace {

/// Codes of a constant weight on the right: with floats, and with codes.
class CodesTest : public ::testing::TestWithParam<MatmulCase> {};

/// Numbers of the type f8E4M3FN, of every exponent that it has.
TestTensor makeFloat8(std::vector<int64_t> sizes, int seed) {
  TestTensor numbers = makeRandom(std::move(sizes), seed);
  const auto &semantics = llvm::APFloat::Float8E4M3FN();
  int64_t next = seed;
  for (float &value : numbers.values) {
    // Codes 0x7f and 0xff are NaN.
    next = (next * 37 + 11) % 254;
    const uint64_t code = next + (next >= 127);
    llvm::APFloat number(semantics, llvm::APInt(8, code));
    bool inexact;
    number.convert(llvm::APFloat::IEEEsingle(),
                   llvm::APFloat::rmNearestTiesToEven, &inexact);
    value = number.convertToFloat();
  }
  return numbers;
}

TestTensor makeCodes(std::vector<int64_t> sizes, int seed, float offset) {
  TestTensor codes = makeRandom(std::move(sizes), seed);
  for (float &value : codes.values)
    value = std::round(value * 127) + offset;
  return codes;
}

/// A product with codes, of a constant or not, against the reference.
void expectProductWithCodes(const MatmulCase &c, bool isConstant) {
  const bool multipliesCodes = c.type == "ui8";
  std::string sums = tensor({c.m, c.n}, multipliesCodes ? "i32" : "f32");
  std::string result = tensor({c.m, c.n}, "f32");
  std::string text = llvm::formatv(
      R"(
    func.func private @kernel(%a: {0}, %b: {1} {7}, %scale: {2}) -> {4}
        attributes {{ait.kind = #ait.kind<matmul>, ait.config = {5}} {{
      %0 = ait.matmul %a, %b {{transpose_rhs} : ({0}, {1}) -> {3}
      {6}
      %2 = ait.expand %scale : {2} -> {4}
      %3 = ait.mul %1, %2 : {4}
      return %3 : {4}
    })",
      tensor({c.m, c.k}, c.type), tensor({c.n, c.k}, c.codes),
      tensor({c.n}, "f32"), sums, result, c.config,
      multipliesCodes ? "%1 = ait.convert %0 : " + sums + " -> " + result
                      : "%1 = ait.relu %0 : " + result,
      isConstant ? "{ait.constant}" : "");
  TestKernel kernel(text, lowerMatmul, c.target);
  ASSERT_EQ(kernel.error(), "");
  TestTensor a = multipliesCodes ? makeCodes({c.m, c.k}, 1, 128)
                                 : makeRandom({c.m, c.k}, 1),
             b = c.codes == "i8" ? makeCodes({c.n, c.k}, 2, 0)
                                 : makeFloat8({c.n, c.k}, 2),
             scale = makeRandom({c.n}, 3);
  TestTensor expected = multiply(a, b, 1, c.m, c.n, c.k, false, true);
  expected.sizes = {c.m, c.n};
  for (int64_t i = 0; i < expected.count(); ++i)
    expected.values[i] =
        (multipliesCodes ? expected.values[i]
                         : std::max(0.0f, expected.values[i])) *
        scale.values[i % c.n];
  // Sums of codes are exact; they are rounded once, when they become floats.
  EXPECT_LE(getMaximalError(kernel.run({a, b, scale})[0], expected),
            multipliesCodes ? 3e-7 : 1e-4 * std::sqrt(double(c.k) + 1));
}

TEST_P(CodesTest, MatchesReference) {
  if (!canRun(GetParam().target))
    GTEST_SKIP() << "this machine is no " << GetParam().target;
  expectProductWithCodes(GetParam(), /*isConstant=*/true);
}

TEST(CodesNotPackedTest, MatchReference) {
  for (const char *codes : {"i8", "f8E4M3FN"})
    for (int64_t m : {1, 7, 40})
      for (const char *type : {"f32", "bf16"})
        expectProductWithCodes({m, 50, 33, type, "host", "{}", codes},
                               /*isConstant=*/false);
}

std::vector<MatmulCase> getCodesCases() {
  std::vector<MatmulCase> cases;
  for (const char *target : {"host", "avx2", "avx512", "avx512bf16", "amx"})
    for (const char *type : {"f32", "bf16", "f16", "ui8"}) {
      for (int64_t k : {1, 2, 3, 5, 64, 257})
        cases.push_back({9, 50, k, type, target});
      for (int64_t m : {1, 2, 4, 5, 16, 17, 33})
        cases.push_back({m, 64, 100, type, target});
      cases.push_back({5, 40, 1500, type, target});
      cases.push_back({33, 75, 2049, type, target});
      if (std::string(type) == "ui8")
        continue;
      for (int64_t m : {1, 3, 16, 33})
        for (int64_t k : {1, 32, 63})
          cases.push_back({m, 50, k, type, target, "{}", "f8E4M3FN"});
    }
  // Steps that fill the tiles of AMX, rows and columns that do not, and blocks
  // of steps whose sums are added up.
  for (int64_t m : {8, 16, 17, 32, 33, 100})
    for (int64_t k : {64, 192, 320})
      cases.push_back({m, 75, k, "ui8", "amx"});
  cases.push_back({40, 75, 256, "ui8", "amx",
                   "{kc = 128 : i64, mc = 32 : i64, mr = 16 : i64, "
                   "nr = 16 : i64, panels = 3 : i64}"});
  cases.push_back({40, 33, 8192, "ui8", "amx"});
  // Every code of float8, alone.
  cases.push_back({1, 508, 1, "f32", "host", "{}", "f8E4M3FN"});
  // Sums of codes beyond the 24 bits that a float holds.
  cases.push_back({3, 20, 4096, "ui8"});
  for (const char *type : {"f32", "bf16", "ui8"})
    for (auto [target, nr] : std::vector<std::pair<const char *, int>>{
             {canRun("avx512") ? "host" : "avx512", 32}, {"avx2", 16}})
      cases.push_back({37, 75, 45, type, target,
                       llvm::formatv("{{kc = 16 : i64, mc = 16 : i64, mr = 4 : "
                                     "i64, nr = {0} : i64, panels = 3 : i64}",
                                     nr)
                           .str()});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Codes, CodesTest,
                         ::testing::ValuesIn(getCodesCases()));

/// Products of codes alone, whose sums are numbers that a float holds exactly:
/// [batch, m, k] x [batch, k, n], where m is `s0` or a number.
struct ByteProduct {
  int64_t batch, n, k;
  std::string m = "s0";
  bool transposeLhs = false, transposeRhs = false, constant = true;
};

/// The sizes, the type and the map of a tensor of a product.
std::string typeOf(const ByteProduct &p, llvm::StringRef rows,
                   llvm::StringRef columns, llvm::StringRef elementType) {
  std::string text = "tensor<", map = "affine_map<()[s0] -> (";
  auto add = [&](llvm::StringRef size) {
    text += (size == "s0" ? "?" : size.str()) + "x";
    map += size.str() + ", ";
  };
  if (p.batch > 0)
    add(std::to_string(p.batch));
  add(rows);
  add(columns);
  text += elementType;
  if (rows != "s0" && columns != "s0")
    return text + ">";
  map.resize(map.size() - 2);
  return text + ", " + map + ")>>";
}

std::string textOf(const ByteProduct &p) {
  const std::string k = std::to_string(p.k), n = std::to_string(p.n);
  std::string flags = p.transposeLhs ? "transpose_lhs" : "";
  if (p.transposeRhs)
    flags += flags.empty() ? "transpose_rhs" : ", transpose_rhs";
  return llvm::formatv(
      R"(
    func.func private @kernel(%a: {0}, %b: {1}{5}) -> {3}
        attributes {{ait.kind = #ait.kind<matmul>} {{
      %0 = ait.matmul %a, %b {{{4}} : ({0}, {1}) -> {2}
      %1 = ait.convert %0 : {2} -> {3}
      return %1 : {3}
    })",
      p.transposeLhs ? typeOf(p, k, p.m, "ui8") : typeOf(p, p.m, k, "ui8"),
      p.transposeRhs ? typeOf(p, n, k, "i8") : typeOf(p, k, n, "i8"),
      typeOf(p, p.m, n, "i32"), typeOf(p, p.m, n, "f32"), flags,
      p.constant ? " {ait.constant}" : "");
}

std::vector<int64_t> sizesOf(const ByteProduct &p, int64_t rows,
                             int64_t columns, bool transposed) {
  std::vector<int64_t> sizes = {transposed ? columns : rows,
                                transposed ? rows : columns};
  if (p.batch > 0)
    sizes.insert(sizes.begin(), p.batch);
  return sizes;
}

void expectExact(const ByteProduct &p, TestKernel &kernel, int64_t m) {
  const int64_t batch = std::max<int64_t>(p.batch, 1);
  TestTensor a = makeCodes(sizesOf(p, m, p.k, p.transposeLhs), 1, 128),
             b = makeCodes(sizesOf(p, p.k, p.n, p.transposeRhs), 2, 0);
  TestTensor expected =
      multiply(a, b, batch, m, p.n, p.k, p.transposeLhs, p.transposeRhs);
  expected.sizes = sizesOf(p, m, p.n, false);
  const std::vector<int64_t> symbols =
      p.m == "s0" ? std::vector<int64_t>{m} : std::vector<int64_t>{};
  EXPECT_EQ(getMaximalError(kernel.run({a, b}, symbols)[0], expected), 0)
      << p.batch << " x " << m << " x " << p.n << " x " << p.k
      << (p.transposeLhs ? ", left transposed" : "")
      << (p.transposeRhs ? ", right transposed" : "")
      << (p.constant ? "" : ", not constant") << ", rows " << p.m;
}

/// Full tiles and steps, and what is left of both.
constexpr int64_t kSteps[] = {1, 3, 4, 63, 64, 65, 66, 67, 128, 191, 192, 320};
constexpr const char *kTargets[] = {"amx", "avx512"};

TEST(ByteProductTest, HasEveryNumberOfRowsOfARange) {
  for (const char *target : kTargets) {
    if (!canRun(target))
      continue;
    for (int64_t k : kSteps)
      for (int64_t batch : {0, 3}) {
        const ByteProduct product = {batch, 37, k};
        TestKernel kernel(textOf(product), lowerMatmul, target);
        ASSERT_EQ(kernel.error(), "") << target << " " << k << " " << batch;
        // Tiles take 64 steps at once.
        EXPECT_EQ(kernel.ir().find("x86.tdpbusd") != std::string::npos,
                  std::string(target) == "amx" && k % 64 == 0)
            << target << " " << k << " " << batch;
        for (int64_t m = 1; m <= 70; ++m)
          expectExact(product, kernel, m);
      }
  }
}

TEST(ByteProductTest, HasBatchesAndTransposedSidesConstantOrNot) {
  for (const char *target : kTargets) {
    if (!canRun(target))
      continue;
    for (int64_t m : {1, 16, 33})
      for (int64_t k : {63, 64, 192})
        for (int sides = 0; sides < 8; ++sides) {
          const ByteProduct product = {3,
                                       50,
                                       k,
                                       std::to_string(m),
                                       (sides & 1) != 0,
                                       (sides & 2) != 0,
                                       (sides & 4) != 0};
          TestKernel kernel(textOf(product), lowerMatmul, target);
          ASSERT_EQ(kernel.error(), "") << target << textOf(product);
          expectExact(product, kernel, m);
        }
  }
}

} // namespace
