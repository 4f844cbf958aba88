// Generated attention against a reference in double precision.
#include "compiler/codegen/cpu/contraction/Attention.h"

#include <cfenv>
#include <cmath>
#include <limits>

#include "compiler/codegen/cpu/contraction/MicrokernelTesting.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace aitune;
using namespace aitune::testing;

namespace {

struct Case {
  int64_t heads, queries, keys, depth, valueDepth;
  bool causal = false;
  /// "", "f32" or "i1".
  std::string mask = "";
  std::string type = "f32";
  std::string target = "host";
  std::string config = "{}";
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.heads << " heads " << c.queries << "x" << c.keys
                << " depths " << c.depth << "," << c.valueDepth
                << (c.causal ? " causal " : " ") << c.mask << " " << c.type
                << " " << c.target << " " << c.config;
}

constexpr double kScale = 0.3;

/// The mask is [queries, keys]: added, or whether a key takes part.
TestTensor attend(const Case &c, const TestTensor &query, const TestTensor &key,
                  const TestTensor &value, const TestTensor &mask) {
  TestTensor result({c.heads, c.queries, c.valueDepth});
  std::vector<double> weights(c.keys);
  for (int64_t h = 0; h < c.heads; ++h)
    for (int64_t t = 0; t < c.queries; ++t) {
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t s = 0; s < c.keys; ++s) {
        double score = 0;
        for (int64_t d = 0; d < c.depth; ++d)
          score += double(query.values[(h * c.queries + t) * c.depth + d]) *
                   key.values[(h * c.keys + s) * c.depth + d];
        score *= kScale;
        if (c.mask == "f32")
          score += mask.values[t * c.keys + s];
        if ((c.causal && s > t) ||
            (c.mask == "i1" && mask.values[t * c.keys + s] == 0))
          score = -std::numeric_limits<double>::infinity();
        weights[s] = score;
        largest = std::max(largest, score);
      }
      if (std::isinf(largest))
        continue;
      for (double &weight : weights)
        sum += weight = std::exp(weight - largest);
      for (int64_t e = 0; e < c.valueDepth; ++e) {
        double output = 0;
        for (int64_t s = 0; s < c.keys; ++s)
          output += weights[s] / sum *
                    value.values[(h * c.keys + s) * c.valueDepth + e];
        result.values[(h * c.queries + t) * c.valueDepth + e] =
            static_cast<float>(output);
      }
    }
  return result;
}

TestTensor makeMask(const Case &c) {
  TestTensor mask = makeRandom({c.queries, c.keys}, 4);
  if (c.mask == "i1")
    for (int64_t i = 0; i < mask.count(); ++i)
      // Some rows have no key at all.
      mask.values[i] = mask.values[i] > -0.3f && i / c.keys % 5 != 3;
  else
    // As networks leave keys out: e^-100 is no normal number.
    for (int64_t i = 2; i < mask.count(); i += 7)
      mask.values[i] = -100;
  return mask;
}

class AttentionTest : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionTest, MatchesReference) {
  const Case &c = GetParam();
  if (!canRun(c.target))
    GTEST_SKIP() << "this machine is no " << c.target;
  std::string q = llvm::formatv("tensor<{0}x{1}x{2}x{3}>", c.heads, c.queries,
                                c.depth, c.type);
  std::string k = llvm::formatv("tensor<{0}x{1}x{2}x{3}>", c.heads, c.keys,
                                c.depth, c.type);
  std::string v = llvm::formatv("tensor<{0}x{1}x{2}x{3}>", c.heads, c.keys,
                                c.valueDepth, c.type);
  std::string o = llvm::formatv("tensor<{0}x{1}x{2}xf32>", c.heads, c.queries,
                                c.valueDepth);
  std::string m = c.mask.empty() ? ""
                                 : llvm::formatv("tensor<{0}x{1}x{2}>",
                                                 c.queries, c.keys, c.mask)
                                       .str();
  std::string text = llvm::formatv(
      R"(
    func.func private @kernel(%q: {0}, %k: {1}, %v: {2}{3}) -> {5} attributes {{ait.kind = #ait.kind<attention>, ait.config = {8}} {{
      %0 = ait.attention %q, %k, %v{4} {{scale = {9} : f64{6}} : ({0}, {1}, {2}{7}) -> {5}
      return %0 : {5}
    })",
      q, k, v, m.empty() ? "" : ", %m: " + m, m.empty() ? "" : ", %m", o,
      c.causal ? ", is_causal" : "", m.empty() ? "" : ", " + m, c.config,
      kScale);
  TestKernel kernel(text, lowerAttention, c.target);
  ASSERT_EQ(kernel.error(), "");
  std::vector<TestTensor> inputs = {
      makeRandom({c.heads, c.queries, c.depth}, 1),
      makeRandom({c.heads, c.keys, c.depth}, 2),
      makeRandom({c.heads, c.keys, c.valueDepth}, 3)};
  TestTensor mask = makeMask(c);
  if (!c.mask.empty())
    inputs.push_back(mask);
  std::feclearexcept(FE_ALL_EXCEPT);
  const TestTensor result = kernel.run(inputs)[0];
  // A CPU takes some hundred cycles for each weight that is too small for a
  // normal number, and masked keys would get such ones.
  EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW));
  // Weights are rounded to bf16, 8 bits of which are exact.
  EXPECT_LE(
      getMaximalError(result, attend(c, inputs[0], inputs[1], inputs[2], mask)),
      c.type == "bf16" ? 4e-3 : 2e-5);
}

std::vector<Case> getCases() {
  std::vector<Case> cases;
  for (int64_t queries : {1, 2, 7, 8, 9, 30})
    cases.push_back({2, queries, 21, 16, 16});
  for (int64_t keys : {1, 15, 16, 17, 47, 48, 49, 200, 700})
    cases.push_back({2, 11, keys, 20, 24});
  for (int64_t depth : {1, 3, 32, 64, 80, 128})
    cases.push_back({1, 10, 40, depth, depth});
  for (bool causal : {false, true})
    for (const char *mask : {"", "f32", "i1"})
      for (const char *type : {"f32", "bf16", "f16"})
        cases.push_back({3, 19, 37, 24, 40, causal, mask, type});
  cases.push_back({2, 300, 300, 16, 16, true});
  cases.push_back({1, 600, 600, 16, 16, true});
  cases.push_back({1, 40, 1500, 64, 64, false, "i1"});
  for (const char *target : {"avx2", "avx512", "avx512bf16"})
    for (const char *type : {"f32", "bf16"})
      cases.push_back({2, 20, 50, 24, 20, true, "f32", type, target});
  for (const char *target : {"avx512bf16", "amx"}) {
    for (int64_t queries : {1, 4, 15, 16, 17, 32, 33, 100})
      cases.push_back({2, queries, 70, 64, 64, false, "", "bf16", target});
    for (int64_t keys : {1, 2, 15, 31, 33, 64, 197, 300, 700})
      cases.push_back({2, 40, keys, 32, 48, false, "", "bf16", target});
    for (int64_t depth : {1, 7, 24, 40, 80, 128})
      cases.push_back({1, 36, 50, depth, depth, false, "i1", "bf16", target});
    for (int64_t tokens : {33, 300, 600})
      cases.push_back({1, tokens, tokens, 64, 64, true, "f32", "bf16", target});
  }
  cases.push_back({2, 50, 100, 24, 20, true, "", "bf16", "amx",
                   "{key_block = 32 : i64, mr = 16 : i64, nr = 16 : i64, "
                   "query_block = 16 : i64}"});
  cases.push_back({2, 50, 100, 24, 20, false, "i1", "f32", "host",
                   "{key_block = 32 : i64, mr = 4 : i64, nr = 16 : i64, "
                   "query_block = 12 : i64}"});
  // A tile that fits 32 registers.
  if (canRun("avx512"))
    cases.push_back({2, 50, 100, 24, 20, true, "", "f32", "host",
                     "{key_block = 64 : i64, mr = 6 : i64, nr = 64 : i64, "
                     "query_block = 18 : i64}"});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest,
                         ::testing::ValuesIn(getCases()));

TEST(AttentionKernelTest, GivesNanForRowsThatAreMaskedWhereASoftmaxDoes) {
  for (int64_t keys : {5, 70}) {
    std::string text = llvm::formatv(
        R"(
    func.func private @kernel(%q: tensor<1x3x8xf32>, %k: tensor<1x{0}x8xf32>, %v: tensor<1x{0}x8xf32>, %m: tensor<3x{0}xf32>) -> tensor<1x3x8xf32> attributes {{ait.kind = #ait.kind<attention>} {{
      %0 = ait.attention %q, %k, %v, %m {{masked_rows_are_nan, scale = 1.0 : f64} : (tensor<1x3x8xf32>, tensor<1x{0}x8xf32>, tensor<1x{0}x8xf32>, tensor<3x{0}xf32>) -> tensor<1x3x8xf32>
      return %0 : tensor<1x3x8xf32>
    })",
        keys);
    TestKernel kernel(text, lowerAttention);
    ASSERT_EQ(kernel.error(), "");
    TestTensor mask({3, keys});
    for (int64_t s = 0; s < keys; ++s)
      mask.values[keys + s] = -std::numeric_limits<float>::infinity();
    const TestTensor result =
        kernel.run({makeRandom({1, 3, 8}, 1), makeRandom({1, keys, 8}, 2),
                    makeRandom({1, keys, 8}, 3), mask})[0];
    for (int64_t i = 0; i < result.count(); ++i)
      EXPECT_EQ(std::isnan(result.values[i]), i / 8 == 1) << keys << " " << i;
  }
}

/// Expects what three queries of 20 keys give of which the second sees none,
/// and has the mean of the values, and the others all but one, whose key is NaN
/// and whose weight is that of the score -1. The mask, of `type`, has `seen`
/// where a key is seen.
void expectMaskedScores(const std::string &type, double seen, double unseen) {
  const std::string text = llvm::formatv(R"(
    func.func private @kernel(%q: tensor<1x3x8xf32>, %k: tensor<1x20x8xf32>, %v: tensor<1x20x8xf32>, %m: tensor<3x20x{0}>) -> tensor<1x3x8xf32> attributes {{ait.kind = #ait.kind<attention>} {{
      %0 = ait.attention %q, %k, %v, %m {{masked_rows_are_nan, masked_score = -1.0 : f64, scale = 0.0 : f64} : (tensor<1x3x8xf32>, tensor<1x20x8xf32>, tensor<1x20x8xf32>, tensor<3x20x{0}>) -> tensor<1x3x8xf32>
      return %0 : tensor<1x3x8xf32>
    })",
                                         type);
  TestKernel kernel(text, lowerAttention);
  ASSERT_EQ(kernel.error(), "");
  TestTensor mask({3, 20}), value = makeRandom({1, 20, 8}, 3);
  for (int64_t i = 0; i < mask.count(); ++i)
    mask.values[i] = i / 20 != 1 && i % 20 != 0 ? seen : unseen;
  TestTensor key = makeRandom({1, 20, 8}, 2);
  key.values[0] = std::numeric_limits<float>::quiet_NaN();
  const TestTensor result =
      kernel.run({makeRandom({1, 3, 8}, 1), key, value, mask})[0];
  for (int64_t e = 0; e < 8; ++e) {
    double all = 0, most = 0;
    for (int64_t s = 0; s < 20; ++s) {
      all += value.values[s * 8 + e];
      most += (s == 0 ? std::exp(-1.0) : 1.0) * value.values[s * 8 + e];
    }
    const double total = 19 + std::exp(-1.0);
    EXPECT_NEAR(result.values[8 + e], all / 20, 1e-5);
    EXPECT_NEAR(result.values[e], most / total, 1e-5);
    EXPECT_NEAR(result.values[16 + e], most / total, 1e-5);
  }
}

TEST(AttentionKernelTest, GivesWhatAMaskLeavesOutAScore) {
  expectMaskedScores("i1", 1, 0);
}

TEST(AttentionKernelTest, GivesWhatAFloatingMaskLeavesOutAScore) {
  expectMaskedScores("f32", 0, mlir::ait::kMaskedPair);
}

TEST(AttentionKernelTest, ReadsFusedProjectionAndWritesRows) {
  // Queries, keys and values are thirds of one [B, T, 3 * H * D] tensor; the
  // result is [B, T, H * D] in bf16, scaled.
  const char *text = R"(
    func.func private @kernel(%x: tensor<2x13x144xf32>) -> tensor<2x13x48xbf16> attributes {ait.kind = #ait.kind<attention>} {
      %0 = ait.reshape %x : tensor<2x13x144xf32> -> tensor<2x13x3x3x16xf32>
      %1 = ait.permute %0 {permutation = array<i64: 2, 0, 3, 1, 4>} : tensor<2x13x3x3x16xf32> -> tensor<3x2x3x13x16xf32>
      %2 = ait.slice %1 {starts = array<i64: 0, 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1, 1>}
        : tensor<3x2x3x13x16xf32> -> tensor<1x2x3x13x16xf32>
      %3 = ait.slice %1 {starts = array<i64: 1, 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1, 1>}
        : tensor<3x2x3x13x16xf32> -> tensor<1x2x3x13x16xf32>
      %4 = ait.slice %1 {starts = array<i64: 2, 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1, 1>}
        : tensor<3x2x3x13x16xf32> -> tensor<1x2x3x13x16xf32>
      %q = ait.reshape %2 : tensor<1x2x3x13x16xf32> -> tensor<2x3x13x16xf32>
      %k = ait.reshape %3 : tensor<1x2x3x13x16xf32> -> tensor<2x3x13x16xf32>
      %v = ait.reshape %4 : tensor<1x2x3x13x16xf32> -> tensor<2x3x13x16xf32>
      %5 = ait.attention %q, %k, %v {scale = 0.3 : f64}
        : (tensor<2x3x13x16xf32>, tensor<2x3x13x16xf32>, tensor<2x3x13x16xf32>) -> tensor<2x3x13x16xf32>
      %6 = ait.permute %5 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x13x16xf32> -> tensor<2x13x3x16xf32>
      %7 = ait.reshape %6 : tensor<2x13x3x16xf32> -> tensor<2x13x48xf32>
      %8 = ait.full 2.0 : f32 : tensor<2x13x48xf32>
      %9 = ait.mul %7, %8 : tensor<2x13x48xf32>
      %10 = ait.convert %9 : tensor<2x13x48xf32> -> tensor<2x13x48xbf16>
      return %10 : tensor<2x13x48xbf16>
    })";
  TestKernel kernel(text, lowerAttention);
  ASSERT_EQ(kernel.error(), "");
  TestTensor x = makeRandom({2, 13, 144}, 1);
  TestTensor parts[3];
  for (int part = 0; part < 3; ++part) {
    parts[part] = TestTensor({6, 13, 16});
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t t = 0; t < 13; ++t)
          for (int64_t d = 0; d < 16; ++d)
            parts[part].values[((b * 3 + h) * 13 + t) * 16 + d] =
                x.values[(b * 13 + t) * 144 + part * 48 + h * 16 + d];
  }
  TestTensor heads =
                 attend({6, 13, 13, 16, 16}, parts[0], parts[1], parts[2], {}),
             expected({2, 13, 48});
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 3; ++h)
      for (int64_t t = 0; t < 13; ++t)
        for (int64_t d = 0; d < 16; ++d)
          expected.values[(b * 13 + t) * 48 + h * 16 + d] =
              2 * heads.values[((b * 3 + h) * 13 + t) * 16 + d];
  EXPECT_LE(getMaximalError(kernel.run({x})[0], expected), 5e-3);
}

TEST(AttentionKernelTest, KeepsTheLeastWeightsOfNormalNumbers) {
  for (auto [type, target] :
       {std::pair("f32", "host"), std::pair("bf16", "avx512bf16"),
        std::pair("bf16", "amx")}) {
    if (!canRun(target))
      continue;
    const std::string text = llvm::formatv(
        R"(
    func.func private @kernel(%q: tensor<1x16x8x{0}>, %k: tensor<1x3x8x{0}>, %m: tensor<1x3xf32>) -> tensor<1x16x8xf32> attributes {{ait.kind = #ait.kind<attention>} {{
      %0 = ait.attention %q, %k, %k, %m {{scale = 1.0 : f64} : (tensor<1x16x8x{0}>, tensor<1x3x8x{0}>, tensor<1x3x8x{0}>, tensor<1x3xf32>) -> tensor<1x16x8xf32>
      return %0 : tensor<1x16x8xf32>
    })",
        type);
    TestKernel kernel(text, lowerAttention, target);
    ASSERT_EQ(kernel.error(), "");
    // The queries are 0, so that the mask is the scores.
    TestTensor keys({1, 3, 8}), mask({1, 3});
    mask.values[1] = -87.3f;
    mask.values[2] = -87.4f;
    for (int64_t e = 0; e < 8; ++e)
      keys.values[8 + e] = keys.values[16 + e] = 0x1p100f;
    const TestTensor result =
        kernel.run({TestTensor({1, 16, 8}), keys, mask})[0];
    // Of e^-87.4, less than the least normal number, nothing is left.
    const double expected = 0x1p100 * std::exp(-87.3);
    for (float number : result.values)
      EXPECT_NEAR(number, expected, 4e-3 * expected) << type << " " << target;
  }
}

TEST(AttentionKernelTest, SharedKeysTransposedOperandsAndBroadcastMask) {
  // Two query heads a key head; keys stored [D, S], values stored [E, S]; a
  // mask for each batch.
  const char *text = R"(
    func.func private @kernel(%q: tensor<2x4x9x8xf32>, %k: tensor<2x2x8x20xf32>, %v: tensor<2x2x24x20xf32>,
                              %m: tensor<2x1x1x20xi1>) -> tensor<2x4x9x24xf32> attributes {ait.kind = #ait.kind<attention>} {
      %0 = ait.permute %k {permutation = array<i64: 0, 1, 3, 2>} : tensor<2x2x8x20xf32> -> tensor<2x2x20x8xf32>
      %1 = ait.reshape %0 : tensor<2x2x20x8xf32> -> tensor<2x2x1x20x8xf32>
      %2 = ait.expand %1 : tensor<2x2x1x20x8xf32> -> tensor<2x2x2x20x8xf32>
      %3 = ait.reshape %2 : tensor<2x2x2x20x8xf32> -> tensor<2x4x20x8xf32>
      %4 = ait.permute %v {permutation = array<i64: 0, 1, 3, 2>} : tensor<2x2x24x20xf32> -> tensor<2x2x20x24xf32>
      %5 = ait.reshape %4 : tensor<2x2x20x24xf32> -> tensor<2x2x1x20x24xf32>
      %6 = ait.expand %5 : tensor<2x2x1x20x24xf32> -> tensor<2x2x2x20x24xf32>
      %7 = ait.reshape %6 : tensor<2x2x2x20x24xf32> -> tensor<2x4x20x24xf32>
      %8 = ait.attention %q, %3, %7, %m {scale = 0.3 : f64}
        : (tensor<2x4x9x8xf32>, tensor<2x4x20x8xf32>, tensor<2x4x20x24xf32>, tensor<2x1x1x20xi1>)
        -> tensor<2x4x9x24xf32>
      return %8 : tensor<2x4x9x24xf32>
    })";
  TestKernel kernel(text, lowerAttention);
  ASSERT_EQ(kernel.error(), "");
  TestTensor q = makeRandom({2, 4, 9, 8}, 1), k = makeRandom({2, 2, 8, 20}, 2),
             v = makeRandom({2, 2, 24, 20}, 3), m({2, 1, 1, 20});
  for (int64_t i = 0; i < m.count(); ++i)
    m.values[i] = i < 20 || i % 3 == 0;
  TestTensor result = kernel.run({q, k, v, m})[0];
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 4; ++h) {
      Case c{1, 9, 20, 8, 24, false, "i1"};
      TestTensor query({1, 9, 8}), key({1, 20, 8}), value({1, 20, 24}),
          mask({9, 20}), actual({1, 9, 24});
      int64_t head = b * 4 + h, shared = b * 2 + h / 2;
      for (int64_t i = 0; i < query.count(); ++i)
        query.values[i] = q.values[head * 72 + i];
      for (int64_t s = 0; s < 20; ++s) {
        for (int64_t d = 0; d < 8; ++d)
          key.values[s * 8 + d] = k.values[shared * 160 + d * 20 + s];
        for (int64_t e = 0; e < 24; ++e)
          value.values[s * 24 + e] = v.values[shared * 480 + e * 20 + s];
        for (int64_t t = 0; t < 9; ++t)
          mask.values[t * 20 + s] = m.values[b * 20 + s];
      }
      for (int64_t i = 0; i < actual.count(); ++i)
        actual.values[i] = result.values[head * 216 + i];
      EXPECT_LE(getMaximalError(actual, attend(c, query, key, value, mask)),
                1e-5)
          << b << " " << h;
    }
}

// Keys stored [D, S], values stored [E, S], and queries that are every second
// element: what is not read along its rows is copied.
TEST(AttentionKernelTest, CopiesBf16OfAnyLayout) {
  const char *text = R"(
    func.func private @kernel(%q: tensor<2x18x16xbf16>, %k: tensor<2x8x21xbf16>, %v: tensor<2x24x21xbf16>)
        -> tensor<2x18x24xf32> attributes {ait.kind = #ait.kind<attention>} {
      %0 = ait.slice %q {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 2>}
        : tensor<2x18x16xbf16> -> tensor<2x18x8xbf16>
      %1 = ait.permute %k {permutation = array<i64: 0, 2, 1>} : tensor<2x8x21xbf16> -> tensor<2x21x8xbf16>
      %2 = ait.permute %v {permutation = array<i64: 0, 2, 1>} : tensor<2x24x21xbf16> -> tensor<2x21x24xbf16>
      %3 = ait.attention %0, %1, %2 {scale = 0.3 : f64}
        : (tensor<2x18x8xbf16>, tensor<2x21x8xbf16>, tensor<2x21x24xbf16>) -> tensor<2x18x24xf32>
      return %3 : tensor<2x18x24xf32>
    })";
  for (const char *target : {"avx512bf16", "amx"}) {
    if (!canRun(target))
      continue;
    TestKernel kernel(text, lowerAttention, target);
    ASSERT_EQ(kernel.error(), "");
    TestTensor q = makeRandom({2, 18, 16}, 1), k = makeRandom({2, 8, 21}, 2),
               v = makeRandom({2, 24, 21}, 3);
    TestTensor query({2, 18, 8}), key({2, 21, 8}), value({2, 21, 24});
    for (int64_t i = 0; i < query.count(); ++i)
      query.values[i] = q.values[2 * i];
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t s = 0; s < 21; ++s) {
        for (int64_t d = 0; d < 8; ++d)
          key.values[(b * 21 + s) * 8 + d] = k.values[(b * 8 + d) * 21 + s];
        for (int64_t e = 0; e < 24; ++e)
          value.values[(b * 21 + s) * 24 + e] = v.values[(b * 24 + e) * 21 + s];
      }
    Case c{2, 18, 21, 8, 24};
    EXPECT_LE(getMaximalError(kernel.run({q, k, v})[0],
                              attend(c, query, key, value, {})),
              4e-3)
        << target;
  }
}

TEST(AttentionKernelTest, SizesFromSymbols) {
  for (const char *type : {"f32", "bf16"})
    for (bool causal : {false, true}) {
      std::string text = llvm::formatv(
          R"(
      #q = affine_map<()[s0] -> (3, s0, 16)>
      #k = affine_map<()[s0, s1] -> (3, s1, 16)>
      func.func private @kernel(%q: tensor<3x?x16x{2}, #q>, %k: tensor<3x?x16x{2}, #k>, %v: tensor<3x?x16x{2}, #k>)
          -> tensor<3x?x16xf32, #q> attributes {{ait.kind = #ait.kind<attention>} {{
        %0 = ait.attention %q, %k, %v {{scale = {0} : f64{1}}
          : (tensor<3x?x16x{2}, #q>, tensor<3x?x16x{2}, #k>, tensor<3x?x16x{2}, #k>) -> tensor<3x?x16xf32, #q>
        return %0 : tensor<3x?x16xf32, #q>
      })",
          kScale, causal ? ", is_causal" : "", type);
      TestKernel kernel(text, lowerAttention);
      ASSERT_EQ(kernel.error(), "");
      for (auto [queries, keys] : {std::pair(1, 1), std::pair(5, 40),
                                   std::pair(17, 17), std::pair(300, 700)}) {
        Case c{3, queries, keys, 16, 16, causal};
        TestTensor q = makeRandom({3, queries, 16}, 1),
                   k = makeRandom({3, keys, 16}, 2),
                   v = makeRandom({3, keys, 16}, 3);
        EXPECT_LE(getMaximalError(kernel.run({q, k, v}, {queries, keys})[0],
                                  attend(c, q, k, v, {})),
                  llvm::StringRef(type) == "bf16" ? 4e-3 : 2e-5)
            << c << " " << type;
      }
    }
}

TEST(AttentionKernelTest, SaysWhyNot) {
  const char *text = R"(
    func.func private @kernel(%q: tensor<1x4x8xf32>, %k: tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
        attributes {ait.kind = #ait.kind<attention>, ait.config = {nr = 24 : i64}} {
      %0 = ait.attention %q, %k, %k {scale = 1.0 : f64}
        : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
      return %0 : tensor<1x4x8xf32>
    })";
  EXPECT_EQ(TestKernel(text, lowerAttention, "avx512").error(),
            "nr must be a multiple of the 16 lanes of a vector, not 24");
}

} // namespace
