// Data for which eager raises: compiled code raises too, and names the
// operator, its source and the bound.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

using frontend::CompiledModel;
using frontend::Model;
using frontend::ValueList;
using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

struct Compiled {
  Model model;
  std::unique_ptr<CompiledModel> compiled;
};

std::unique_ptr<Compiled> Build(const std::string& body,
                                const std::vector<std::string>& inputs,
                                bool unchecked = false) {
  auto model = Model::FromSource(body);
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    return nullptr;
  }
  frontend::InputChoice choice;
  choice.specs = inputs;
  auto chosen = frontend::ChooseInputs(*model, choice);
  if (!chosen.ok()) {
    ADD_FAILURE() << chosen.status();
    return nullptr;
  }
  frontend::BuildOptions options;
  options.compile.measureCandidates = false;
  options.compile.uncheckedIndices = unchecked;
  auto compiled = CompiledModel::Build(*model, *chosen, options);
  if (!compiled.ok()) {
    ADD_FAILURE() << compiled.status();
    return nullptr;
  }
  for (const frontend::FallbackOp& op : (*compiled)->report().fallbacks)
    ADD_FAILURE() << "LibTorch runs " << op.op << ": " << op.reason;
  return std::make_unique<Compiled>(
      Compiled{*std::move(model), *std::move(compiled)});
}

int CountChecks(const CompiledModel& compiled) {
  int count = 0;
  for (const Step& step : compiled.plan().steps()) count += step.checks_size();
  return count;
}

at::Tensor Integers(const std::vector<int64_t>& values) {
  return at::tensor(values, at::kLong);
}

// A program of one index (or divisor) tensor "int64[N]", what it takes and what
// it refuses, as eager does.
struct CheckCase {
  const char* name;
  const char* expression;  // of i: int64[6], d: int64[6]
  std::vector<int64_t> good;
  std::vector<std::vector<int64_t>> bad;
  std::vector<std::string> error;  // parts of its text for the first bad one
  at::ScalarType dtype = at::kLong;
};

void PrintTo(const CheckCase& c, std::ostream* out) { *out << c.name; }

class Checks : public testing::TestWithParam<CheckCase> {
 protected:
  static std::string Source(const CheckCase& c) {
    return absl::StrCat(
        "def forward(self, i: Tensor):\n"
        "    x = torch.arange(20, dtype=6).view([5, 4]) * 1.5\n"
        "    n = torch.arange(6) * 3 - 7\n"
        "    return ",
        c.expression, "\n");
  }
  static std::string Spec(const CheckCase& c) {
    // Values that the model takes while it is traced.
    return absl::StrCat(c.dtype == at::kLong ? "int64" : "int32", "[6]{1..3}");
  }
};

TEST_P(Checks, RaisesWhereEagerDoes) {
  const CheckCase& c = GetParam();
  const auto subject = Build(Source(c), {Spec(c)});
  ASSERT_NE(subject, nullptr);
  EXPECT_EQ(CountChecks(*subject->compiled) > 0, !c.bad.empty());
  auto call = [&](const std::vector<int64_t>& values) {
    return ValueList({Integers(values).to(c.dtype)});
  };
  auto agrees = [&] {
    auto eager = subject->model.RunEager(call(c.good));
    auto ours = subject->compiled->Run(call(c.good));
    ASSERT_TRUE(eager.ok()) << eager.status();
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(ours->toTensor().equal(eager->toTensor()))
        << ours->toTensor() << eager->toTensor();
  };
  agrees();
  for (const std::vector<int64_t>& values : c.bad) {
    EXPECT_FALSE(subject->model.RunEager(call(values)).ok());
    auto ours = subject->compiled->Run(call(values));
    EXPECT_EQ(ours.status().code(), absl::StatusCode::kInvalidArgument)
        << values[0] << ", ...";
    if (&values == &c.bad.front()) {
      for (const std::string& part : c.error)
        EXPECT_THAT(std::string(ours.status().message()), HasSubstr(part));
      EXPECT_THAT(std::string(ours.status().message()),
                  HasSubstr(" at <string>:4: "));
    }
    // The next call knows nothing of it.
    agrees();
  }
}

TEST_P(Checks, GivesSomethingWhenUnchecked) {
  const CheckCase& c = GetParam();
  const auto subject = Build(Source(c), {Spec(c)}, /*unchecked=*/true);
  ASSERT_NE(subject, nullptr);
  EXPECT_EQ(CountChecks(*subject->compiled), 0);
  for (const std::vector<int64_t>& values : c.bad) {
    auto ours =
        subject->compiled->Run(ValueList({Integers(values).to(c.dtype)}));
    EXPECT_TRUE(ours.ok()) << ours.status();
  }
  auto eager =
      subject->model.RunEager(ValueList({Integers(c.good).to(c.dtype)}));
  auto ours = subject->compiled->Run(ValueList({Integers(c.good).to(c.dtype)}));
  ASSERT_TRUE(eager.ok() && ours.ok());
  EXPECT_TRUE(ours->toTensor().equal(eager->toTensor()));
}

const std::vector<int64_t> kRows = {0, 1, 2, 3, 4, 0};
// Where negative indices count from the end.
const std::vector<int64_t> kBothWays = {0, -1, 2, -5, 4, -3};

const CheckCase kCases[] = {
    {"embedding",
     "torch.embedding(x, i)",
     kRows,
     {{0, 1, 2, 40, 4, 0},
      {0, 0, 0, 0, 0, 5},
      {-1, 0, 0, 0, 0, 0},
      {0, 0, 0, kLeast, 0, 0},
      {int64_t{1} << 40, 0, 0, 0, 0, 0}},
     {"aten::embedding", "index 40 is out of range for 5 entries",
      "from 0 to 4"}},
    {"embedding_int32",
     "torch.embedding(x, i)",
     kRows,
     {{0, 1, 2, 40, 4, 0}, {-1, 0, 0, 0, 0, 0}},
     {"aten::embedding", "index 40 is out of range for 5 entries"},
     at::kInt},
    {"embedding_of_computed",
     "torch.embedding(x, i + 1) * 2.0",
     {0, 1, 2, 3, -1, 0},
     {{0, 0, 0, 0, 4, 0}, {-2, 0, 0, 0, 0, 0}},
     {"aten::embedding", "index 5"}},
    {"index_select",
     "torch.index_select(x, 0, i)",
     kRows,
     {{0, 1, 2, 3, 5, 0}, {0, 1, 2, 3, -1, 0}},
     {"aten::index_select", "index 5 is out of range for 5 entries"}},
    {"index_select_columns",
     "torch.index_select(x, 1, i)",
     {0, 1, 2, 3, 3, 0},
     {{0, 1, 2, 3, 4, 0}, {0, 1, 2, 3, -1, 0}},
     {"aten::index_select", "index 4 is out of range for 4 entries"}},
    {"gather",
     "torch.gather(x, 1, i.view([3, 2]))",
     {0, 1, 2, 3, 3, 0},
     {{0, 1, 2, 4, 3, 0}, {0, 1, 2, -1, 3, 0}},
     {"aten::gather", "index 4 is out of range for 4 entries", "from 0 to 3"}},
    // Indices are taken modulo the axis.
    {"take_along_dim",
     "torch.take_along_dim(x, i.view([6, 1]), 0)",
     {0, 4, 5, -1, -6, 13},
     {},
     {}},
    {"take_along_no_dim",
     "torch.take_along_dim(x, i)",
     {0, 19, 3, 5, 7, 9},
     {{0, 1, 2, 3, 20, 0}, {0, 1, 2, 3, -1, 0}},
     {"index 20 is out of range for 20 entries", "from 0 to 19"}},
    {"take",
     "torch.take(x, i)",
     {0, 19, -20, 5, -1, 9},
     {{0, 1, 2, 3, 20, 0}, {0, 1, 2, 3, -21, 0}},
     {"aten::take", "index 20 is out of range for 20 entries",
      "from -20 to 19"}},
    {"index",
     "x[i]",
     kBothWays,
     {{0, 1, 2, 3, 5, 0}, {0, 1, 2, 3, -6, 0}, {kLeast, 0, 0, 0, 0, 0}},
     {"aten::index", "index 5 is out of range for 5 entries", "from -5 to 4"}},
    {"index_first_of_two",
     "x[i, torch.arange(6) % 4]",
     kBothWays,
     {{0, 1, 2, 3, 5, 0}, {0, 1, 2, 3, -6, 0}},
     {"aten::index", "index 5 is out of range for 5 entries"}},
    {"index_second_of_two",
     "x[torch.arange(6) % 2, i]",
     {0, -1, 2, -4, 3, -3},
     // Merged with the first it would be an entry of the next row.
     {{4, 1, 2, 3, 3, 0}, {0, 1, 2, 3, -5, 0}},
     {"aten::index", "index 4 is out of range for 4 entries"}},
    {"index_of_an_axis_behind",
     "x[:, i]",
     {0, -1, 2, -4, 3, -3},
     {{0, 1, 2, 3, 4, 0}, {0, 1, 2, 3, -5, 0}},
     {"aten::index", "index 4"}},
    {"one_hot",
     "torch.one_hot(i, 5)",
     kRows,
     {{0, 1, 2, 3, 5, 0}, {0, 1, 2, 3, -1, 0}},
     {"aten::one_hot", "index 5 is out of range for 5 entries"}},
    {"floor_divide",
     "torch.floor_divide(n, i)",
     {1, -1, 2, 3, -4, 5},
     {{1, 2, 0, 3, 4, 5}},
     {"aten::floor_divide", "an integer is divided by 0"}},
    {"remainder",
     "n % i",
     {1, -1, 2, 3, -4, 5},
     {{1, 2, 0, 3, 4, 5}},
     {"aten::remainder", "an integer is divided by 0"}},
    {"fmod",
     "torch.fmod(n, i)",
     {1, -1, 2, 3, -4, 5},
     {{1, 2, 0, 3, 4, 5}},
     {"aten::fmod", "an integer is divided by 0"}},
    {"div_trunc",
     "torch.div(n, i, rounding_mode=\"trunc\")",
     {1, -1, 2, 3, -4, 5},
     {{0, 2, 1, 3, 4, 5}},
     {"aten::div", "an integer is divided by 0"}},
    {"div_floor",
     "torch.div(n, i, rounding_mode=\"floor\")",
     {1, -1, 2, 3, -4, 5},
     {{1, 2, 1, 3, 4, 0}},
     {"aten::div", "an integer is divided by 0"},
     at::kInt},
    // Both branches are computed, as in eager.
    {"within_where",
     "torch.where(i > 4, 0.0, x[i, 0])",
     kBothWays,
     {{0, 1, 2, 3, 5, 0}},
     {"aten::index", "index 5"}},
    // Rows of zeros around are no rows of the table.
    {"within_pad",
     "torch.constant_pad_nd(torch.embedding(x, i), [3, 2, 1, 1])",
     kRows,
     {{0, 1, 2, 3, 5, 0}, {-1, 0, 0, 0, 0, 0}},
     {"aten::embedding", "index 5"}},
    {"within_reduction",
     "torch.sum(torch.embedding(x, i), [1])",
     kRows,
     {{0, 1, 2, 3, 5, 0}, {0, 1, 2, 3, 4, -1}},
     {"aten::embedding", "index 5"}},
};

INSTANTIATE_TEST_SUITE_P(, Checks, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<CheckCase>& info) {
                           return std::string(info.param.name);
                         });

TEST(ChecksOfFloats, NotANumberIsNoIndex) {
  const auto subject = Build(
      "def forward(self, f: Tensor):\n"
      "    x = torch.arange(20, dtype=6).view([5, 4]) * 1.5\n"
      "    return torch.embedding(x, f.to(4))\n",
      {"float32[3]{0..3}"});
  ASSERT_NE(subject, nullptr);
  auto run = [&](std::vector<float> values) {
    return subject->compiled->Run(ValueList({at::tensor(values)})).status();
  };
  EXPECT_TRUE(run({0, 4, 2.5f}).ok());
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity(), 1e30f, -1.0f,
                    -std::numeric_limits<float>::infinity(), 5.0f}) {
    EXPECT_THAT(std::string(run({0, bad, 1}).message()),
                HasSubstr("aten::embedding"))
        << bad;
  }
}

constexpr char kPositions[] =
    "def forward(self, x: Tensor):\n"
    "    table = torch.arange(64, dtype=6).view([16, 4]) * 0.5\n"
    "    return x + torch.embedding(table, torch.arange(x.size(0)))\n";

TEST(ChecksOfSizes, PositionsBeyondTheTable) {
  const auto subject = Build(kPositions, {"float32[1..64,4]"});
  ASSERT_NE(subject, nullptr);
  for (int64_t n : {1, 15, 16}) {
    EXPECT_TRUE(subject->compiled->Run(ValueList({at::zeros({n, 4})})).ok());
  }
  for (int64_t n : {17, 40, 64}) {
    auto result = subject->compiled->Run(ValueList({at::zeros({n, 4})}));
    EXPECT_THAT(
        std::string(result.status().message()),
        AllOf(HasSubstr("aten::embedding"), HasSubstr(" at <string>:3: "),
              HasSubstr("is out of range for 16 entries")));
  }
}

TEST(ChecksOfSizes, PositionsWithinTheTableNeedNone) {
  const auto subject = Build(kPositions, {"float32[1..16,4]"});
  ASSERT_NE(subject, nullptr);
  EXPECT_EQ(CountChecks(*subject->compiled), 0);
}

TEST(ChecksOfSizes, EmptyIndices) {
  const auto subject = Build(
      "def forward(self, i: Tensor):\n"
      "    x = torch.arange(20, dtype=6).view([5, 4]) * 1.5\n"
      "    return torch.embedding(x, i)\n",
      {"int64[0..4]{0..3}"});
  ASSERT_NE(subject, nullptr);
  auto none = subject->compiled->Run(ValueList({Integers({})}));
  EXPECT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(subject->compiled->Run(ValueList({Integers({5})})).ok());
}

// Where there are no elements, eager divides nothing by the 0.
TEST(ChecksOfSizes, NoElementsAreDividedByZero) {
  const auto subject = Build(
      "def forward(self, x: Tensor, d: Tensor):\n"
      "    return torch.arange(x.size(0)) % d\n",
      {"float32[0..9]", "int64[]{1..3}"});
  ASSERT_NE(subject, nullptr);
  auto run = [&](int64_t size) {
    return subject->compiled
        ->Run(ValueList({at::zeros({size}), at::zeros({}, at::kLong)}))
        .status();
  };
  EXPECT_TRUE(run(0).ok()) << run(0);
  EXPECT_THAT(std::string(run(1).message()), HasSubstr("divided by 0"));
}

TEST(ChecksOfSizes, TheBoundIsThatOfTheCall) {
  const auto subject =
      Build("def forward(self, x: Tensor, i: Tensor):\n    return x[i] * 2.0\n",
            {"float32[4..40,3]", "int64[5]{0..3}"});
  ASSERT_NE(subject, nullptr);
  for (int64_t rows : {4, 9, 40}) {
    at::Tensor x = at::ones({rows, 3});
    EXPECT_TRUE(subject->compiled
                    ->Run(ValueList({x, Integers({0, -rows, rows - 1, 0, 0})}))
                    .ok());
    auto result =
        subject->compiled->Run(ValueList({x, Integers({0, 0, 0, rows, 0})}));
    EXPECT_THAT(std::string(result.status().message()),
                HasSubstr(absl::StrCat("index ", rows, " is out of range for ",
                                       rows, " entries")));
  }
}

// Wide rows and many of them: vectors, tails and threads.
TEST(ChecksOfSizes, OneOfMany) {
  const auto subject = Build(
      "def forward(self, x: Tensor, i: Tensor):\n"
      "    return torch.gather(x, 1, i), torch.relu(torch.embedding(x, "
      "i[0]))\n",
      {"float32[7,77]", "int64[7,77]{0..6}"});
  ASSERT_NE(subject, nullptr);
  at::Tensor x = at::randn({7, 77});
  for (int64_t row : {0, 3, 6}) {
    for (int64_t column : {0, 15, 16, 63, 64, 76}) {
      at::Tensor i = at::zeros({7, 77}, at::kLong);
      ASSERT_TRUE(subject->compiled->Run(ValueList({x, i})).ok());
      i[row][column] = 77;
      auto result = subject->compiled->Run(ValueList({x, i}));
      EXPECT_THAT(std::string(result.status().message()),
                  HasSubstr("index 77 is out of range"))
          << row << ", " << column;
    }
  }
}

// Tables of one shape share a kernel, not the place that is named.
TEST(ChecksOfSizes, LaunchesOfOneKernelNameTheirOwnLine) {
  const auto subject = Build(
      "def forward(self, i: Tensor, j: Tensor):\n"
      "    x = torch.arange(20, dtype=6).view([5, 4]) * 1.5\n"
      "    a = torch.embedding(x, i)\n"
      "    b = torch.embedding(x, j)\n"
      "    return a, b\n",
      {"int64[300]{0..3}", "int64[300]{0..3}"});
  ASSERT_NE(subject, nullptr);
  at::Tensor good = at::zeros({300}, at::kLong), bad = good + 9;
  auto first = subject->compiled->Run(ValueList({bad, good})),
       second = subject->compiled->Run(ValueList({good, bad}));
  EXPECT_THAT(std::string(first.status().message()), HasSubstr(":3: index 9"));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(":4: index 9"));
}

}  // namespace
}  // namespace aitune
