// Generated concatenations against plain C++. Their parts are loops of their
// own, up to some number and some length of code, whatever the sizes are.
#include "compiler/codegen/cpu/loops/LoopKernelTesting.h"

namespace aitune {
namespace testing {
namespace {

class LoopConcatTest : public LoopKernelTest {};

// The parts are those of the operand from the last to the first, every other
// one negative.
TEST_P(LoopConcatTest, OfKnownSizes) {
  auto check = [&](int rows, int parts, const std::vector<int> &widths) {
    std::vector<int> begins = {0};
    for (int part = 0; part < parts; ++part)
      begins.push_back(begins.back() + widths[part % widths.size()]);
    const int columns = begins.back();
    const std::string row = std::to_string(rows) + "x",
                      full =
                          "tensor<" + row + std::to_string(columns) + "xf32>";
    std::string text = "func.func private @f(%a: " + full + ") -> " + full +
                       " attributes {ait.kind = #ait.kind<loop>} {\n",
                names, types;
    for (int part = parts - 1; part >= 0; --part) {
      const std::string number = std::to_string(part),
                        type = "tensor<" + row +
                               std::to_string(begins[part + 1] - begins[part]) +
                               "xf32>",
                        comma = part + 1 == parts ? "" : ", ";
      text += "  %s" + number + " = ait.slice %a {starts = array<i64: 0, " +
              std::to_string(begins[part]) +
              ">, steps = array<i64: 1, 1>} : " + full + " -> " + type + "\n";
      if (part % 2 == 1)
        text +=
            "  %n" + number + " = ait.neg %s" + number + " : " + type + "\n";
      names += comma + (part % 2 == 1 ? "%n" : "%s") + number;
      types += comma + type;
    }
    text += "  %c = ait.concat " + names + " {dim = 1} : (" + types + ") -> " +
            full + "\n  return %c : " + full + "\n}";
    RunnableKernel kernel = compile(text);
    Floats a = random(rows * columns), result(a.size()), expected;
    ASSERT_TRUE(kernel.run("f", {data(a), data(result)}, {}, 3));
    for (int i = 0; i < rows; ++i)
      for (int part = parts - 1; part >= 0; --part)
        for (int j = begins[part]; j < begins[part + 1]; ++j)
          expected.push_back(part % 2 == 1 ? -a[i * columns + j]
                                           : a[i * columns + j]);
    expectNear(result, expected, 0,
               std::to_string(parts) + " parts of " + std::to_string(columns));
  };
  check(3, 2, {70001, 1});
  check(2, 3, {1, 64, 30000});
  check(40, 9, {1, 3, 16, 50});
  check(300, 26, {16});
  check(5, 70, {100, 7, 32});
  check(50, 140, {3});
}

// Parts that may be empty, and conditions of which the sizes say which one
// changes first.
TEST_P(LoopConcatTest, OfDynamicSizes) {
  RunnableKernel kernel = compile(R"(
#a = affine_map<()[s0] -> (3, s0)>
#b = affine_map<()[s0, s1] -> (3, s1)>
#c = affine_map<()[s0, s1] -> (3, s0 * 2 + s1 + 7)>
func.func private @f(%a: tensor<3x?xf32, #a>, %b: tensor<3x?xf32, #b>, %d: tensor<3x7xf32>) -> tensor<3x?xf32, #c>
    attributes {ait.kind = #ait.kind<loop>} {
  %c = ait.concat %a, %b, %d, %a {dim = 1} : (tensor<3x?xf32, #a>, tensor<3x?xf32, #b>, tensor<3x7xf32>, tensor<3x?xf32, #a>) -> tensor<3x?xf32, #c>
  %e = ait.concat %b, %d, %a, %a {dim = 1} : (tensor<3x?xf32, #b>, tensor<3x7xf32>, tensor<3x?xf32, #a>, tensor<3x?xf32, #a>) -> tensor<3x?xf32, #c>
  %f = ait.flip %e {dims = array<i64: 1>} : tensor<3x?xf32, #c> -> tensor<3x?xf32, #c>
  %r = ait.sub %c, %f : tensor<3x?xf32, #c>
  return %r : tensor<3x?xf32, #c>
})");
  for (int first : {0, 1, 16, 67, 5000})
    for (int second : {0, 1, 5, 32, 7001}) {
      Floats a = random(3 * first, -3, 3, 1), b = random(3 * second, -3, 3, 2),
             d = random(21, -3, 3, 3), result(3 * (2 * first + second + 7)),
             expected;
      ASSERT_TRUE(kernel.run("f", {data(a), data(b), data(d), data(result)},
                             {first, second}, 3));
      for (int row = 0; row < 3; ++row) {
        Floats joined, other;
        auto add = [&](Floats &to, const Floats &from, int size) {
          to.insert(to.end(), from.begin() + row * size,
                    from.begin() + (row + 1) * size);
        };
        add(joined, a, first);
        add(joined, b, second);
        add(joined, d, 7);
        add(joined, a, first);
        add(other, b, second);
        add(other, d, 7);
        add(other, a, first);
        add(other, a, first);
        std::reverse(other.begin(), other.end());
        for (size_t i = 0; i < joined.size(); ++i)
          expected.push_back(joined[i] - other[i]);
      }
      expectNear(result, expected, 0,
                 std::to_string(first) + " and " + std::to_string(second));
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopConcatTest, allTargets(),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace testing
} // namespace aitune
