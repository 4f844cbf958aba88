// Programs whose results differ for special values alone: infinities, zeros
// with a sign, what half precision rounds to infinity, large integers.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <limits>
#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using frontend::CompiledModel;
using frontend::Model;
using frontend::ValueList;

struct SpecialCase {
  const char* name;
  const char* expression;  // of x
  at::ScalarType dtype;
};

void PrintTo(const SpecialCase& c, std::ostream* out) { *out << c.name; }

class SpecialValues : public testing::TestWithParam<SpecialCase> {};

TEST_P(SpecialValues, AreAsInEager) {
  const SpecialCase& c = GetParam();
  auto model = Model::FromSource(absl::StrCat(
      "def forward(self, x: Tensor):\n    return ", c.expression, "\n"));
  ASSERT_TRUE(model.ok()) << model.status();
  frontend::InputChoice choice;
  choice.specs = {c.dtype == at::kHalf ? "float16[1..9]" : "float32[1..9]"};
  auto chosen = frontend::ChooseInputs(*model, choice);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  frontend::BuildOptions options;
  options.compile.measureCandidates = false;
  auto compiled = CompiledModel::Build(*model, *chosen, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_TRUE((*compiled)->report().fallbacks.empty());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const ValueList inputs(
      {at::tensor({300.0f, 2.0f, 0.0f, -0.0f, -kInfinity, kInfinity, 1.0f})
           .to(c.dtype)});
  auto ours = (*compiled)->Run(inputs);
  ASSERT_TRUE(ours.ok()) << ours.status();
  const at::Tensor result = ours->toTensor(),
                   expected = model->RunEager(inputs)->toTensor();
  EXPECT_TRUE(at::allclose(result, expected, 1e-3, 1e-5, /*equal_nan=*/true))
      << result << expected;
}

const SpecialCase kCases[] = {
    {"power_by_a_tensor", "torch.pow(x, torch.full_like(x, 0.5))", at::kFloat},
    {"power_by_a_tensor_without_axes", "torch.pow(x, torch.tensor(0.5))",
     at::kFloat},
    {"inverse_power_by_a_tensor", "torch.pow(x, torch.full_like(x, -0.5))",
     at::kFloat},
    {"power_by_a_number", "torch.pow(x, 0.5)", at::kFloat},
    {"bytes",
     "torch.where(x > 1e30, torch.full([x.size(0)], 200, dtype=0).to(6), x)",
     at::kFloat},
    {"large_start",
     "torch.arange(9007199254740993, 9007199254740993 + x.size(0))",
     at::kFloat},
    {"infinite_products", "torch.nan_to_num(x * x, 0.0, 1.0, -1.0)", at::kHalf},
    {"products_that_are_finite",
     "torch.where(torch.isfinite(x * x), x * x, torch.zeros_like(x))",
     at::kHalf},
    {"products_that_equal", "torch.where(x * x == x, x, x + 1.0)", at::kHalf},
};

INSTANTIATE_TEST_SUITE_P(, SpecialValues, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<SpecialCase>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace aitune
