// Traces of programs that raise for most elements of their inputs. A trace is
// made with elements that are made up, and is for all that the program takes.
#include <ATen/Functions.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/trace_test_util.h"
#include "frontend/values/value_list.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

struct Program {
  const char* name;
  const char* source;
  std::vector<std::string> specs;
  std::function<std::vector<c10::IValue>()> good;  // what it takes
  std::function<std::vector<c10::IValue>()> bad;   // what it raises for
  bool whole;  // whether LibTorch runs all of it
};

at::Tensor Longs(const std::vector<int64_t>& values) {
  return at::tensor(values, at::kLong);
}

class MadeUpElements : public ::testing::TestWithParam<Program> {};

TEST_P(MadeUpElements, AreNoReasonToRefuseAProgram) {
  const Program& program = GetParam();
  const auto model = Model::FromSource(program.source);
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<InputSpec> specs;
  for (const std::string& text : program.specs)
    specs.push_back(*ParseInputSpec(text));
  const auto trace = BuildTrace(*model, specs, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->ops.at(0).name == "aitune::model", program.whole);
  const ValueList good(program.good());
  const auto ours = RunTrace(*trace, good);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_EQ(Difference(*ours, *model->RunEager(good)), "");
  const ValueList bad(program.bad());
  EXPECT_FALSE(model->RunEager(bad).ok());
  EXPECT_FALSE(RunTrace(*trace, bad).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Programs, MadeUpElements,
    ::testing::Values(
        Program{"Index",
                "def forward(self, x: Tensor, i: Tensor):\n"
                "  return x[i] * 2\n",
                {"float32[2..8,4]", "int64[2..7]{5..5}"},
                [] {
                  return std::vector<c10::IValue>{at::randn({6, 4}),
                                                  Longs({0, 5, 1})};
                },
                [] {
                  return std::vector<c10::IValue>{at::randn({6, 4}),
                                                  Longs({0, 6, 1})};
                },
                false},
        Program{"WrittenAtAnIndex",
                "def forward(self, x: Tensor, i: Tensor, v: Tensor):\n"
                "  y = x * 2\n"
                "  y.index_put_([i], v, accumulate=True)\n"
                "  return y + 1\n",
                {"float32[2..8,4]", "int64[2..7]{5..5}", "float32[2..7,4]"},
                [] {
                  return std::vector<c10::IValue>{
                      at::randn({6, 4}), Longs({0, 5, 0}), at::randn({3, 4})};
                },
                [] {
                  return std::vector<c10::IValue>{
                      at::randn({6, 4}), Longs({0, 6, 0}), at::randn({3, 4})};
                },
                false},
        Program{"Factor",
                "def forward(self, x: Tensor):\n"
                "  return torch.linalg_cholesky(x) * 2\n",
                {"float32[2..5,2..5]"},
                [] {
                  const at::Tensor x = at::randn({3, 3});
                  return std::vector<c10::IValue>{x.matmul(x.t()) + at::eye(3)};
                },
                [] { return std::vector<c10::IValue>{-at::eye(3)}; },
                false},
        Program{"Probabilities",
                "def forward(self, p: Tensor, y: Tensor):\n"
                "  return torch.binary_cross_entropy(p, y) * 2\n",
                {"float32[2..5]", "float32[2..5]"},
                [] {
                  return std::vector<c10::IValue>{at::full({3}, 0.25),
                                                  at::ones({3})};
                },
                [] {
                  return std::vector<c10::IValue>{at::full({3}, 1.25),
                                                  at::ones({3})};
                },
                false},
        Program{"Lengths",
                "def forward(self, x: Tensor, n: Tensor):\n"
                "  data, sizes = torch._pack_padded_sequence(x * 2, n, True)\n"
                "  return data + 1, sizes\n",
                {"float32[2..5,2..6,4]", "int64[2..5]{0..0}"},
                [] {
                  return std::vector<c10::IValue>{at::randn({3, 5, 4}),
                                                  Longs({5, 2, 1})};
                },
                [] {
                  return std::vector<c10::IValue>{at::randn({3, 5, 4}),
                                                  Longs({5, 2, 0})};
                },
                false},
        Program{"Loop",
                "def forward(self, x: Tensor):\n"
                "  n = 0\n"
                "  while bool((x > 0).all()):\n"
                "    x = x - 1\n"
                "    n += 1\n"
                "    assert n <= 3, 'too large'\n"
                "  return x * 2, n\n",
                {"float32[2..5]{50..60}"},
                [] { return std::vector<c10::IValue>{at::full({3}, 2.5)}; },
                [] { return std::vector<c10::IValue>{at::full({3}, 9.)}; },
                false},
        Program{
            "LoopThatMustRun",
            "def forward(self, x: Tensor, n: Tensor):\n"
            "  parts: List[Tensor] = []\n"
            "  for i in range(int(n.max())):\n"
            "    parts.append(x[i] * 2)\n"
            "  return torch.stack(parts)\n",
            {"float32[2..4,3]", "int64[2]{9..9}"},
            [] {
              return std::vector<c10::IValue>{at::randn({4, 3}), Longs({2, 3})};
            },
            [] {
              return std::vector<c10::IValue>{at::randn({4, 3}), Longs({5, 1})};
            },
            false},
        Program{"SizesOfData",
                "def forward(self, x: Tensor, n: Tensor):\n"
                "  return x.repeat_interleave(n, 0).narrow(0, 0, 4) * 2\n",
                {"float32[2..5,4]", "int64[2..5]{0..0}"},
                [] {
                  return std::vector<c10::IValue>{at::randn({3, 4}),
                                                  Longs({1, 2, 3})};
                },
                [] {
                  return std::vector<c10::IValue>{at::randn({3, 4}),
                                                  Longs({1, 1, 1})};
                },
                true}),
    [](const auto& info) { return std::string(info.param.name); });

// What no elements help is an error.
TEST(ElementsMadeUp, DoNotHideThatSizesAreWrong) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor, i: Tensor):\n"
      "  return x.gather(0, i) * 2\n");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(
      BuildTrace(
          *model,
          {*ParseInputSpec("float32[3,4]"), *ParseInputSpec("int64[3,5]")}, {})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

// Nor do they where the sizes that it is for are none of the probes'.
TEST(ElementsMadeUp, DoNotHideThatTheSizesAskedForAreWrong) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor):\n"
      "  return x[:x.size(0) % 5].max()\n");
  ASSERT_TRUE(model.ok()) << model.status();
  TraceOptions options;
  options.anchor = {60};
  const auto trace =
      BuildTrace(*model, {*ParseInputSpec("float32[1..64]")}, options);
  EXPECT_EQ(trace.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(trace.status().message(),
              testing::HasSubstr("aten::max(float32[0]) fails"));
}

}  // namespace
}  // namespace aitune::frontend
