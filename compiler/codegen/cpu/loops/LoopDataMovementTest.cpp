// Generated kernels that move data (views, gathers) against plain C++.
#include "compiler/codegen/cpu/loops/LoopKernelTesting.h"
#include "runtime/cpu/kernel_abi.h"

#include <sys/mman.h>
#include <unistd.h>

namespace aitune {
namespace testing {
namespace {

class LoopDataMovementTest : public LoopKernelTest {};

TEST_P(LoopDataMovementTest, BroadcastsAndPermutes) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%a: tensor<3x5x17xf32>, %b: tensor<5x1xf32>, %c: tensor<17x3x5xf32>) -> tensor<3x5x17xf32>
    attributes {ait.kind = #ait.kind<loop>} {
  %be = ait.expand %b : tensor<5x1xf32> -> tensor<3x5x17xf32>
  %cp = ait.permute %c {permutation = array<i64: 1, 2, 0>} : tensor<17x3x5xf32> -> tensor<3x5x17xf32>
  %s = ait.add %a, %be : tensor<3x5x17xf32>
  %r = ait.sub %s, %cp : tensor<3x5x17xf32>
  return %r : tensor<3x5x17xf32>
})");
  Floats a = random(255, -3, 3, 1), b = random(5, -3, 3, 2),
         c = random(255, -3, 3, 3), result(255), expected(255);
  ASSERT_TRUE(
      kernel.run("f", {data(a), data(b), data(c), data(result)}, {}, 2));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 17; ++k)
        expected[(i * 5 + j) * 17 + k] =
            a[(i * 5 + j) * 17 + k] + b[j] - c[(k * 3 + i) * 5 + j];
  expectNear(result, expected, 0, "broadcast");
}

/// Memory between two pages that can't be read.
class GuardedMemory {
public:
  GuardedMemory() {
    base = static_cast<char *>(
        mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + page, page, PROT_READ | PROT_WRITE);
  }
  ~GuardedMemory() { munmap(base, 3 * page); }
  char *begin() { return base + page; }
  char *end() { return begin() + page; }

private:
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char *base;
};

// What is one number for a row is not read for the rows of the padding.
TEST_P(LoopDataMovementTest, PaddingOfRowsReadsNothingOutside) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%a: tensor<4x1xi8>, %b: tensor<1x33xi8>) -> tensor<6x37xi8>
    attributes {ait.kind = #ait.kind<loop>} {
  %ae = ait.expand %a : tensor<4x1xi8> -> tensor<4x33xi8>
  %be = ait.expand %b : tensor<1x33xi8> -> tensor<4x33xi8>
  %m = ait.mul %ae, %be : tensor<4x33xi8>
  %p = ait.pad %m {low = array<i64: 1, 2>, high = array<i64: 1, 2>, value = 9.0} : tensor<4x33xi8> -> tensor<6x37xi8>
  return %p : tensor<6x37xi8>
})");
  GuardedMemory memory;
  std::vector<int8_t> b(33), result(6 * 37);
  for (int j = 0; j < 33; ++j)
    b[j] = static_cast<int8_t>(j);
  for (char *a : {memory.begin(), memory.end() - 4}) {
    for (int i = 0; i < 4; ++i)
      a[i] = static_cast<char>(i + 1);
    ASSERT_TRUE(kernel.run("f", {a, b.data(), result.data()}));
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 37; ++j) {
        const bool isInside = i >= 1 && i < 5 && j >= 2 && j < 35;
        ASSERT_EQ(result[i * 37 + j],
                  isInside ? static_cast<int8_t>(i * (j - 2)) : 9);
      }
  }
}

// Of each element type, every `step`th element to the last of a row, forwards
// and backwards. Nothing is read behind the operand, which ends there.
TEST_P(LoopDataMovementTest, Strides) {
  auto check = [&](auto type, const std::string &name, int step, int count) {
    using T = decltype(type);
    const int row = (count - 1) * step + 1;
    const std::string from = std::to_string(row) + "x" + name,
                      to = std::to_string(count) + "x" + name;
    RunnableKernel kernel = compile(
        "func.func private @f(%a: tensor<3x" + from + ">) -> tensor<3x" + to +
        "> attributes {ait.kind = #ait.kind<loop>} {\n"
        "  %s = ait.slice %a {starts = array<i64: 0, 0>, steps = array<i64: "
        "1, " +
        std::to_string(step) + ">} : tensor<3x" + from + "> -> tensor<3x" + to +
        ">\n  %f = ait.flip %s {dims = array<i64: 1>} : tensor<3x" + to +
        "> -> tensor<3x" + to + ">\n  %r = ait.sub %f, %s : tensor<3x" + to +
        ">\n  return %r : tensor<3x" + to + ">\n}");
    std::vector<T> a(3 * row), result(3 * count);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<T>(i * i % 101);
    ASSERT_TRUE(kernel.run("f", {a.data(), result.data()}));
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < count; ++j)
        ASSERT_EQ(result[i * count + j],
                  static_cast<T>(a[i * row + (count - 1 - j) * step] -
                                 a[i * row + j * step]))
            << name << " step " << step << " of " << count << " at " << j;
  };
  for (int step : {1, 2, 3, 8, 9})
    for (int count : {5, 64, 77}) {
      check(float(), "f32", step, count);
      check(int8_t(), "i8", step, count);
    }
}

TEST_P(LoopDataMovementTest, Transposes) {
  for (auto [rows, columns] : std::vector<std::pair<int, int>>{{1, 9},
                                                               {16, 16},
                                                               {33, 50},
                                                               {64, 100},
                                                               {150, 100},
                                                               {3, 224},
                                                               {224, 3}}) {
    std::string text = replaceAll(R"(
func.func private @f(%a: tensor<2xRxCxf32>) -> tensor<2xCxRxf32> attributes {ait.kind = #ait.kind<loop>} {
  %p = ait.permute %a {permutation = array<i64: 0, 2, 1>} : tensor<2xRxCxf32> -> tensor<2xCxRxf32>
  %r = ait.add %p, %p : tensor<2xCxRxf32>
  return %r : tensor<2xCxRxf32>
})",
                                  "R", std::to_string(rows));
    RunnableKernel kernel =
        compile(replaceAll(text, "C", std::to_string(columns)));
    Floats a = random(2 * rows * columns), result(a.size()), expected(a.size());
    ASSERT_TRUE(kernel.run("f", {data(a), data(result)}, {}, 2));
    for (int n = 0; n < 2; ++n)
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
          expected[(n * columns + j) * rows + i] =
              2 * a[(n * rows + i) * columns + j];
    expectNear(result, expected, 0,
               "transpose of " + std::to_string(rows) + "x" +
                   std::to_string(columns));
  }
}

TEST_P(LoopDataMovementTest, TransposesNarrowElements) {
  auto check = [&](auto type, const std::string &name, int rows, int columns) {
    using T = decltype(type);
    std::string text =
        replaceAll(R"(
func.func private @f(%a: tensor<RxCxT>) -> tensor<CxRxT> attributes {ait.kind = #ait.kind<loop>} {
  %p = ait.permute %a {permutation = array<i64: 1, 0>} : tensor<RxCxT> -> tensor<CxRxT>
  return %p : tensor<CxRxT>
})",
                   "RxC", std::to_string(rows) + "x" + std::to_string(columns));
    text = replaceAll(text, "CxR",
                      std::to_string(columns) + "x" + std::to_string(rows));
    RunnableKernel kernel = compile(replaceAll(text, "xT>", "x" + name + ">"));
    std::vector<T> a(rows * columns), result(a.size());
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<T>(i * 7);
    ASSERT_TRUE(kernel.run("f", {a.data(), result.data()}));
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        ASSERT_EQ(result[j * rows + i], a[i * columns + j])
            << name << " " << rows << "x" << columns << " at " << i << ", "
            << j;
  };
  for (auto [rows, columns] :
       std::vector<std::pair<int, int>>{{16, 16}, {33, 50}, {70, 200}}) {
    check(int8_t(), "i8", rows, columns);
    check(int16_t(), "i16", rows, columns);
  }
}

TEST_P(LoopDataMovementTest, ChangesToChannelsLast) {
  // Two axes are one loop, of 42; two lanes of the last vector are not active.
  RunnableKernel kernel = compile(R"(
func.func private @f(%a: tensor<2x30x6x7xf32>, %b: tensor<2x6x7x30xf32>) -> tensor<2x6x7x30xf32> attributes {ait.kind = #ait.kind<loop>} {
  %p = ait.permute %a {permutation = array<i64: 0, 2, 3, 1>} : tensor<2x30x6x7xf32> -> tensor<2x6x7x30xf32>
  %r = ait.sub %p, %b : tensor<2x6x7x30xf32>
  return %r : tensor<2x6x7x30xf32>
})");
  Floats a = random(2520, -3, 3, 1), b = random(2520, -3, 3, 2), result(2520),
         expected(2520);
  ASSERT_TRUE(kernel.run("f", {data(a), data(b), data(result)}, {}, 2));
  for (int n = 0; n < 2; ++n)
    for (int c = 0; c < 30; ++c)
      for (int pixel = 0; pixel < 42; ++pixel) {
        const int at = (n * 42 + pixel) * 30 + c;
        expected[at] = a[(n * 30 + c) * 42 + pixel] - b[at];
      }
  expectNear(result, expected, 0, "channels last");
}

TEST_P(LoopDataMovementTest, ConcatPadSliceFlip) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%a: tensor<3x20xf32>, %b: tensor<3x13xf32>) -> tensor<3x37xf32> attributes {ait.kind = #ait.kind<loop>} {
  %n = ait.neg %b : tensor<3x13xf32>
  %c = ait.concat %a, %n {dim = 1} : (tensor<3x20xf32>, tensor<3x13xf32>) -> tensor<3x33xf32>
  %p = ait.pad %c {low = array<i64: 0, 3>, high = array<i64: 0, 1>, value = 9.0} : tensor<3x33xf32> -> tensor<3x37xf32>
  return %p : tensor<3x37xf32>
}
func.func private @g(%a: tensor<6x40xf32>) -> (tensor<3x13xf32>, tensor<6x40xf32>) attributes {ait.kind = #ait.kind<loop>} {
  %s = ait.slice %a {starts = array<i64: 1, 2>, steps = array<i64: 2, 3>} : tensor<6x40xf32> -> tensor<3x13xf32>
  %f = ait.flip %a {dims = array<i64: 0, 1>} : tensor<6x40xf32> -> tensor<6x40xf32>
  return %s, %f : tensor<3x13xf32>, tensor<6x40xf32>
})");
  Floats a = random(60, -3, 3, 1), b = random(39, -3, 3, 2), result(111),
         expected;
  ASSERT_TRUE(kernel.run("f", {data(a), data(b), data(result)}, {}, 2));
  for (int i = 0; i < 3; ++i) {
    expected.insert(expected.end(), 3, 9.0f);
    expected.insert(expected.end(), a.begin() + i * 20,
                    a.begin() + (i + 1) * 20);
    for (int j = 0; j < 13; ++j)
      expected.push_back(-b[i * 13 + j]);
    expected.push_back(9);
  }
  expectNear(result, expected, 0, "concat and pad");

  Floats c = random(240), slice(39), flip(240), expectedSlice,
         expectedFlip(c.rbegin(), c.rend());
  ASSERT_TRUE(kernel.run("g", {data(c), data(slice), data(flip)}, {}, 3));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 13; ++j)
      expectedSlice.push_back(c[(1 + 2 * i) * 40 + 2 + 3 * j]);
  expectNear(slice, expectedSlice, 0, "slice");
  expectNear(flip, expectedFlip, 0, "flip");
}

TEST_P(LoopDataMovementTest, GathersByData) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%w: tensor<10x19xf32>, %i: tensor<2x3xi64>, %p: tensor<3x19xf32>) -> tensor<2x3x19xf32>
    attributes {ait.kind = #ait.kind<loop>} {
  %e = ait.embedding %w, %i : (tensor<10x19xf32>, tensor<2x3xi64>) -> tensor<2x3x19xf32>
  %pe = ait.expand %p : tensor<3x19xf32> -> tensor<2x3x19xf32>
  %r = ait.add %e, %pe : tensor<2x3x19xf32>
  return %r : tensor<2x3x19xf32>
}
func.func private @g(%x: tensor<4x19xf32>, %i: tensor<21xi64>, %j: tensor<4x5xi64>) -> (tensor<4x21xf32>, tensor<4x5xf32>)
    attributes {ait.kind = #ait.kind<loop>} {
  %s = ait.index_select %x, %i {dim = 1} : (tensor<4x19xf32>, tensor<21xi64>) -> tensor<4x21xf32>
  %g = ait.gather %x, %j {dim = 1} : (tensor<4x19xf32>, tensor<4x5xi64>) -> tensor<4x5xf32>
  return %s, %g : tensor<4x21xf32>, tensor<4x5xf32>
})");
  Floats w = random(190), p = random(57, -3, 3, 2), result(114), expected;
  std::vector<int64_t> i = {0, 9, 3, 3, 7, 1};
  ASSERT_TRUE(
      kernel.run("f", {data(w), data(i), data(p), data(result)}, {}, 2));
  for (int n = 0; n < 6; ++n)
    for (int c = 0; c < 19; ++c)
      expected.push_back(w[i[n] * 19 + c] + p[n % 3 * 19 + c]);
  expectNear(result, expected, 0, "embedding");

  // Indices out of range must not read outside; what they give is not defined.
  std::vector<int64_t> wild = {-5, 1000000000000, 3, 3, 7, 1};
  ASSERT_TRUE(kernel.run("f", {data(w), data(wild), data(p), data(result)}));

  Floats x = random(76), selected(84), gathered(20), expectedSelected,
         expectedGathered;
  std::vector<int64_t> columns, j;
  for (int n = 0; n < 21; ++n)
    columns.push_back(n % 2 ? n % 19 : -1 - n % 19);
  for (int n = 0; n < 20; ++n)
    j.push_back(n * 7 % 19);
  ASSERT_TRUE(kernel.run(
      "g", {data(x), data(columns), data(j), data(selected), data(gathered)},
      {}, 2));
  for (int n = 0; n < 4; ++n) {
    for (int64_t column : columns)
      expectedSelected.push_back(
          x[n * 19 + (column < 0 ? column + 19 : column)]);
    for (int c = 0; c < 5; ++c)
      expectedGathered.push_back(x[n * 19 + j[n * 5 + c]]);
  }
  expectNear(selected, expectedSelected, 0, "index_select");
  expectNear(gathered, expectedGathered, 0, "gather");
}

TEST_P(LoopDataMovementTest, ReportsIndicesOutOfRange) {
  RunnableKernel kernel = compile(R"(
func.func private @rows(%w: tensor<10x19xf32>, %i: tensor<6xi64>) -> tensor<6x19xf32> attributes {ait.kind = #ait.kind<loop>} {
  %c = ait.check %i {size = affine_map<()[] -> (10)>, operator_name = "op"} : tensor<6xi64>
  %e = ait.embedding %w, %c : (tensor<10x19xf32>, tensor<6xi64>) -> tensor<6x19xf32>
  return %e : tensor<6x19xf32>
}
func.func private @elements(%x: tensor<4x19xf32>, %i: tensor<4x37xi32>) -> tensor<4x40xf32> attributes {ait.kind = #ait.kind<loop>} {
  %c = ait.check %i {size = affine_map<()[] -> (19)>, from_end, operator_name = "op"} : tensor<4x37xi32>
  %g = ait.gather %x, %c {dim = 1} : (tensor<4x19xf32>, tensor<4x37xi32>) -> tensor<4x37xf32>
  %p = ait.pad %g {low = array<i64: 0, 1>, high = array<i64: 0, 2>, value = 9.0} : tensor<4x37xf32> -> tensor<4x40xf32>
  return %p : tensor<4x40xf32>
})");
  KernelCheck check;
  Floats w = random(190), rows(114), x = random(76), elements(160);
  for (int64_t bad : {int64_t(-1), int64_t(10), int64_t(1) << 40,
                      std::numeric_limits<int64_t>::min()})
    for (int place = 0; place < 6; ++place) {
      std::vector<int64_t> i = {0, 9, 3, 3, 7, 1};
      ASSERT_TRUE(
          kernel.run("rows", {data(w), data(i), data(rows), &check}, {}, 2));
      EXPECT_EQ(check.failed, 0);
      i[place] = bad;
      ASSERT_TRUE(
          kernel.run("rows", {data(w), data(i), data(rows), &check}, {}, 2));
      EXPECT_EQ(check.failed, 1);
      EXPECT_EQ(check.value, bad);
      check = {};
    }
  for (int bad : {-20, 19, std::numeric_limits<int32_t>::min()})
    for (int place = 0; place < 4 * 37; ++place) {
      std::vector<int32_t> i(4 * 37);
      for (size_t n = 0; n < i.size(); ++n)
        i[n] = n % 2 ? n % 19 : -1 - int(n % 19);
      ASSERT_TRUE(kernel.run(
          "elements", {data(x), data(i), data(elements), &check}, {}, 2));
      EXPECT_EQ(check.failed, 0);
      for (int n = 0; n < 37; ++n)
        EXPECT_EQ(elements[41 + n], x[19 + (i[37 + n] + 19) % 19]);
      i[place] = bad;
      ASSERT_TRUE(kernel.run(
          "elements", {data(x), data(i), data(elements), &check}, {}, 2));
      EXPECT_EQ(check.failed, 1) << bad << " at " << place;
      EXPECT_EQ(check.value, bad);
      check = {};
    }
}

TEST_P(LoopDataMovementTest, DynamicHeadsAreSplitAndTransposed) {
  RunnableKernel kernel = compile(R"(
#in = affine_map<()[s0, s1] -> (s0, s1, 48)>
#split = affine_map<()[s0, s1] -> (s0, s1, 3, 16)>
#out = affine_map<()[s0, s1] -> (s0, 3, s1, 16)>
#flat = affine_map<()[s0, s1] -> (s0 * 3, s1, 16)>
func.func private @f(%x: tensor<?x?x48xf32, #in>) -> tensor<?x?x16xf32, #flat> attributes {ait.kind = #ait.kind<loop>} {
  %n = ait.neg %x : tensor<?x?x48xf32, #in>
  %s = ait.reshape %n : tensor<?x?x48xf32, #in> -> tensor<?x?x3x16xf32, #split>
  %p = ait.permute %s {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x?x3x16xf32, #split> -> tensor<?x3x?x16xf32, #out>
  %r = ait.reshape %p : tensor<?x3x?x16xf32, #out> -> tensor<?x?x16xf32, #flat>
  return %r : tensor<?x?x16xf32, #flat>
})");
  for (int length : {1, 5, 40}) {
    Floats x = random(2 * length * 48), result(x.size()), expected(x.size());
    ASSERT_TRUE(kernel.run("f", {data(x), data(result)}, {2, length}, 3));
    for (int n = 0; n < 2; ++n)
      for (int t = 0; t < length; ++t)
        for (int h = 0; h < 3; ++h)
          for (int d = 0; d < 16; ++d)
            expected[((n * 3 + h) * length + t) * 16 + d] =
                -x[(n * length + t) * 48 + h * 16 + d];
    expectNear(result, expected, 0, "heads");
  }
}

TEST_P(LoopDataMovementTest, DynamicConcatPadAndFlip) {
  RunnableKernel kernel = compile(R"(
#a = affine_map<()[s0] -> (2, s0)>
#c = affine_map<()[s0] -> (2, s0 + 5)>
#p = affine_map<()[s0] -> (2, s0 + 8)>
func.func private @f(%a: tensor<2x?xf32, #a>, %b: tensor<2x5xf32>) -> tensor<2x?xf32, #p> attributes {ait.kind = #ait.kind<loop>} {
  %c = ait.concat %a, %b {dim = 1} : (tensor<2x?xf32, #a>, tensor<2x5xf32>) -> tensor<2x?xf32, #c>
  %f = ait.flip %c {dims = array<i64: 1>} : tensor<2x?xf32, #c> -> tensor<2x?xf32, #c>
  %p = ait.pad %f {low = array<i64: 0, 1>, high = array<i64: 0, 2>, value = -4.0} : tensor<2x?xf32, #c> -> tensor<2x?xf32, #p>
  return %p : tensor<2x?xf32, #p>
})");
  for (int length : {1, 3, 16, 70}) {
    Floats a = random(2 * length), b = random(10, -3, 3, 2),
           result(2 * (length + 8)), expected;
    ASSERT_TRUE(kernel.run("f", {data(a), data(b), data(result)}, {length}, 2));
    for (int row = 0; row < 2; ++row) {
      Floats joined(a.begin() + row * length, a.begin() + (row + 1) * length);
      joined.insert(joined.end(), b.begin() + row * 5,
                    b.begin() + (row + 1) * 5);
      expected.push_back(-4);
      expected.insert(expected.end(), joined.rbegin(), joined.rend());
      expected.insert(expected.end(), 2, -4.0f);
    }
    expectNear(result, expected, 0, "length " + std::to_string(length));
  }
}

TEST_P(LoopDataMovementTest, RotatesHalves) {
  // Rotary position embedding: x * cos + concat(-x[32:], x[:32]) * sin.
  RunnableKernel kernel = compile(R"(
#full = affine_map<()[s0] -> (4, s0, 64)>
#half = affine_map<()[s0] -> (4, s0, 32)>
#angle = affine_map<()[s0] -> (s0, 64)>
func.func private @f(%x: tensor<4x?x64xf32, #full>, %cos: tensor<?x64xf32, #angle>, %sin: tensor<?x64xf32, #angle>) -> tensor<4x?x64xf32, #full> attributes {ait.kind = #ait.kind<loop>} {
  %low = ait.slice %x {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<4x?x64xf32, #full> -> tensor<4x?x32xf32, #half>
  %high = ait.slice %x {starts = array<i64: 0, 0, 32>, steps = array<i64: 1, 1, 1>} : tensor<4x?x64xf32, #full> -> tensor<4x?x32xf32, #half>
  %n = ait.neg %high : tensor<4x?x32xf32, #half>
  %r = ait.concat %n, %low {dim = 2} : (tensor<4x?x32xf32, #half>, tensor<4x?x32xf32, #half>) -> tensor<4x?x64xf32, #full>
  %ce = ait.expand %cos : tensor<?x64xf32, #angle> -> tensor<4x?x64xf32, #full>
  %se = ait.expand %sin : tensor<?x64xf32, #angle> -> tensor<4x?x64xf32, #full>
  %a = ait.mul %x, %ce : tensor<4x?x64xf32, #full>
  %b = ait.mul %r, %se : tensor<4x?x64xf32, #full>
  %s = ait.add %a, %b : tensor<4x?x64xf32, #full>
  return %s : tensor<4x?x64xf32, #full>
})");
  Floats x = random(4 * 9 * 64), c = random(9 * 64, -1, 1, 2),
         s = random(9 * 64, -1, 1, 3), result(x.size());
  ASSERT_TRUE(
      kernel.run("f", {data(x), data(c), data(s), data(result)}, {9}, 2));
  Floats expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    size_t d = i % 64, angle = i % (9 * 64);
    expected[i] =
        x[i] * c[angle] + (d < 32 ? -x[i + 32] : x[i - 32]) * s[angle];
  }
  expectNear(result, expected, 1e-6f, "rotation");
}

TEST_P(LoopDataMovementTest, ScalarsAndEmptyTensors) {
  RunnableKernel kernel = compile(R"(
#e = affine_map<()[s0] -> (s0, 4)>
func.func private @scalar(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.add %a, %b : tensor<f32>
  return %r : tensor<f32>
}
func.func private @sum(%a: tensor<3x5xf32>) -> tensor<f32> attributes {ait.kind = #ait.kind<loop>} {
  %s = ait.sum %a {dims = array<i64: 0, 1>} : tensor<3x5xf32> -> tensor<1x1xf32>
  %r = ait.reshape %s : tensor<1x1xf32> -> tensor<f32>
  return %r : tensor<f32>
}
func.func private @empty(%a: tensor<?x4xf32, #e>) -> tensor<?x4xf32, #e> attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.neg %a : tensor<?x4xf32, #e>
  return %r : tensor<?x4xf32, #e>
})");
  Floats a = {2}, b = {3}, result(1);
  ASSERT_TRUE(kernel.run("scalar", {data(a), data(b), data(result)}));
  EXPECT_EQ(result[0], 5);
  Floats x(15, 2);
  ASSERT_TRUE(kernel.run("sum", {data(x), data(result)}));
  EXPECT_EQ(result[0], 30);
  result[0] = 7;
  ASSERT_TRUE(kernel.run("empty", {data(x), data(result)}, {0}));
  EXPECT_EQ(result[0], 7);
}

TEST_P(LoopDataMovementTest, SliceScatterAndIota) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%a: tensor<4x20xf32>, %b: tensor<4x6xf32>) -> (tensor<4x20xf32>, tensor<20xi64>, tensor<20xf32>) attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.slice_scatter %a, %b {starts = array<i64: 0, 1>, steps = array<i64: 1, 3>} : (tensor<4x20xf32>, tensor<4x6xf32>) -> tensor<4x20xf32>
  %i = ait.iota {dim = 0, start = 3.0, step = 2.0} : tensor<20xi64>
  %j = ait.iota {dim = 0, start = 0.5, step = 0.25} : tensor<20xf32>
  return %r, %i, %j : tensor<4x20xf32>, tensor<20xi64>, tensor<20xf32>
})");
  Floats a = random(80), b = random(24, -3, 3, 2), result(80), expected(a),
         floats(20);
  std::vector<int64_t> integers(20);
  ASSERT_TRUE(kernel.run(
      "f", {data(a), data(b), data(result), data(integers), data(floats)}, {},
      2));
  for (int row = 0; row < 4; ++row)
    for (int i = 0; i < 6; ++i)
      expected[row * 20 + 1 + 3 * i] = b[row * 6 + i];
  expectNear(result, expected, 0, "slice_scatter");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(integers[i], 3 + 2 * i);
    EXPECT_EQ(floats[i], 0.5f + 0.25f * i);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopDataMovementTest, allTargets(),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace testing
} // namespace aitune
