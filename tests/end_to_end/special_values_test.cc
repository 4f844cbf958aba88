// Programs whose results differ for special values alone: infinities, NaN,
// zeros with a sign, what half precision rounds to infinity, 0 or a whole
// number, large integers.
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
  // Of x; of u, x from 0 to 1, of which half precision keeps nothing beside
  // 2048; of w, [2, the size of x, 2] of such numbers.
  const char* expression;
  at::ScalarType dtype;
};

void PrintTo(const SpecialCase& c, std::ostream* out) { *out << c.name; }

class SpecialValues : public testing::TestWithParam<SpecialCase> {};

TEST_P(SpecialValues, AreAsInEager) {
  const SpecialCase& c = GetParam();
  auto model = Model::FromSource(absl::StrCat(
      "def forward(self, x: Tensor):\n"
      "    u = torch.clamp(torch.nan_to_num(x, 0., 1., 0.), 0., 1.)\n"
      "    v = torch.stack([u, u * 0.5], 1)\n"
      "    w = torch.stack([v, v * 0.7])\n"
      "    return ",
      c.expression, "\n"));
  ASSERT_TRUE(model.ok()) << model.status();
  frontend::InputChoice choice;
  choice.specs = {c.dtype == at::kHalf ? "float16[1..12]" : "float32[1..12]"};
  auto chosen = frontend::ChooseInputs(*model, choice);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  frontend::BuildOptions options;
  options.compile.measureCandidates = false;
  auto compiled = CompiledModel::Build(*model, *chosen, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_TRUE((*compiled)->report().fallbacks.empty());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const ValueList inputs(
      {at::tensor({300.0f, 2.0f, 0.0f, -0.0f, -kInfinity, kInfinity, 1.0f,
                   1.0f / 7, 0.7f, std::numeric_limits<float>::quiet_NaN()})
           .to(c.dtype)});
  auto ours = (*compiled)->Run(inputs);
  ASSERT_TRUE(ours.ok()) << ours.status();
  const at::Tensor result = ours->toTensor(),
                   expected = model->RunEager(inputs)->toTensor();
  EXPECT_EQ(result.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::allclose(result.to(at::kDouble), expected.to(at::kDouble),
                           1e-3, 1e-5, /*equal_nan=*/true))
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
    // 7 / 7 is less than 1 before it is rounded.
    {"floor_of_a_product", "torch.floor(x * 7)", at::kHalf},
    {"integer_of_a_product", "(torch.nan_to_num(x, 0., 9., 9.) * 7).to(4)",
     at::kHalf},
    {"fraction_of_a_product", "torch.frac(x * 7)", at::kHalf},
    {"remainder_of_a_product", "(x * 7) % 1", at::kHalf},
    {"sign_of_what_is_0", "torch.sign(x * 1e-5 * 1e-4)", at::kHalf},
    {"truth_of_what_is_0", "(x * 1e-5 * 1e-4).to(11)", at::kHalf},
    {"inverse_of_what_is_0", "torch.reciprocal(x * 1e-5 * 1e-4)", at::kHalf},
    {"first_of_the_same",
     "torch.sigmoid(torch.nan_to_num(x) + 8.0).flip([0]).argmax(0)", at::kHalf},
    {"division_by_a_large_sum", "x / ((x == x).to(4) * 200000).sum()",
     at::kHalf},
    {"product_with_a_large_sum",
     "x * 0.001953125 * ((x == x).to(4) * 200000).sum()", at::kHalf},
    {"number_that_is_rounded", "1.0 / (x - 0.7)", at::kHalf},
    {"factor_that_is_rounded",
     "1.0 / torch.sub(torch.full_like(x, 0.7), torch.ones_like(x), alpha=0.7)",
     at::kHalf},
    {"threshold_that_is_not", "torch.threshold(x, 0.7, 7.0)", at::kHalf},
    {"softshrink_that_is_not", "torch.softshrink(x, 0.7)", at::kHalf},
    {"root_of_half_precision", "torch.pow(x, 0.5)", at::kHalf},
    {"inverse_root_of_half_precision", "torch.pow(x, -0.5)", at::kHalf},
    // 2049 lies between two numbers of half precision.
    {"integers_become_half", "((x == x).to(4) * 2049).half() - 2048",
     at::kFloat},
    {"doubles_become_half", "((x == x).to(7) * 2049).half() - 2048",
     at::kFloat},
    {"integers_beside_half", "x * 0.001953125 * ((x == x).to(4) * 100000)",
     at::kHalf},
    {"positions_in_bfloat16",
     "torch.arange(250, 250 + x.size(0), dtype=15) - 256", at::kFloat},
    {"product_as_it_is_stored", "(x * 1.0001).float() - x.float()", at::kHalf},
    {"difference_of_what_is_the_same", "x * 1.0001 - x * 1.0002", at::kHalf},
    {"threshold_of_a_product", "torch.threshold(x * 1.0001, 1.0, 7.0)",
     at::kHalf},
    {"floor_of_a_quotient",
     "torch.div(x * 0.9999, torch.tensor(0.5), rounding_mode='floor')",
     at::kHalf},
    {"quotient_by_what_is_0", "x / (x * 1e-4 * 1e-4)", at::kHalf},
    {"logit_of_what_rounds_to_one", "torch.logit(x, 1e-6)", at::kHalf},
    {"logit_between_rounded_bounds", "torch.logit(x.to(15), 1e-3)", at::kFloat},
    {"similarity_of_no_direction",
     "torch.cosine_similarity(torch.stack([x, x * 0.], 0), x.unsqueeze(0), 1)",
     at::kHalf},
    {"largest_difference_beside_nan",
     "torch.cdist(torch.stack([x, u], 1), torch.stack([u, x], 1), "
     "float('inf'))",
     at::kFloat},
    {"logit_of_a_product", "torch.logit(x * 0.9999)", at::kHalf},
    {"sine_of_a_large_product",
     "torch.sin(torch.nan_to_num(x, 0., 9., 9.) * 1000.)", at::kHalf},
    {"integer_of_nan", "(x * 0).to(4) + 1", at::kFloat},
    {"sum_of_bools", "(x >= 1).sum(0, dtype=11)", at::kFloat},
    {"entry_that_no_index_names",
     "1.0 / torch.index_add(x, 0, torch.tensor([0]), torch.ones([1]))",
     at::kFloat},
    {"element_that_no_index_names",
     "1.0 / torch.scatter_add(x, 0, torch.tensor([0]), torch.ones([1]))",
     at::kFloat},
    {"products_that_count_0_times",
     "torch.addbmm(torch.ones([1]), x.unsqueeze(0).unsqueeze(2), "
     "torch.ones([1, 1, 2]), alpha=0)",
     at::kFloat},
    {"least_beside_nan", "torch.topk(x, 1, 0, False)[0]", at::kFloat},
    {"norms_of_one_number",
     "torch.stack([torch.linalg_vector_norm((x * 1e30).unsqueeze(1), 4., [1]), "
     "torch.norm((x * 1e-30).unsqueeze(1), 2, [1])])",
     at::kFloat},
    {"norm_of_all",
     "torch._weight_norm(torch.nan_to_num(x, 0., 9., 9.).unsqueeze(0), "
     "torch.ones([]), -1)",
     at::kFloat},
    {"product_that_counts_0_times",
     "torch.addmm(torch.ones([1]), x.unsqueeze(1), torch.ones([1, 2]), "
     "alpha=0)",
     at::kFloat},
    {"sum_that_becomes_a_double", "(u + 2048.).float().double() - 2048.",
     at::kHalf},
    {"variance_of_a_sum", "(u + 2048.).var()", at::kHalf},
    {"softmax_of_what_is_masked", "torch.softmax(u - 65504., 0)", at::kHalf},
    {"log_softmax_of_what_is_masked", "torch.log_softmax(u - 65504., 0)",
     at::kHalf},
    {"layer_norm_of_sums",
     "torch.layer_norm(torch.stack([u, u * 0.5], 1) + 2048., [2])", at::kHalf},
    {"rms_norm_of_infinite_products",
     "torch.rms_norm(torch.stack([u, u * 0.5], 1) * 300. * 300., [2])",
     at::kHalf},
    {"group_norm_of_sums",
     "torch.group_norm((u + 2048.).unsqueeze(0).unsqueeze(0), 1)", at::kHalf},
    {"scores_that_half_precision_has_infinite",
     "torch.matmul(torch.softmax(torch.matmul(w * 300., (w * 300.).transpose("
     "-1, -2)).half().float(), -1), w)",
     at::kFloat},
    {"scores_of_what_is_masked",
     "torch.matmul(torch.softmax(torch.matmul(w, w.transpose(-1, -2)) + "
     "torch.where(w[..., :1] < 9., -65504., 0.).to(w.dtype), -1), w)",
     at::kHalf},
    {"queries_that_are_small",
     "torch.matmul(torch.softmax(torch.matmul(w * 1e30 * 1e-20, "
     "torch.exp(w * 23.).transpose(-1, -2)), -1), w)",
     at::kFloat},
    // 5000 - 4000 - 1000, of which each product would be rounded otherwise.
    {"sum_of_planes",
     "torch.conv3d(torch.stack([u * 0. + 5000., u * 0. + 4000., "
     "u * 0. + 1000.], 1).view(-1, 1, 3, 1, 1).expand(-1, 2, 3, 2, 2), "
     "torch.cat([torch.full([2, 1, 1, 2, 2], 1.001, dtype=5), "
     "torch.full([2, 1, 2, 2, 2], -1.001, dtype=5)], 2), None, "
     "[1, 1, 1], [0, 0, 0], [1, 1, 1], 2)",
     at::kHalf},
    {"product_with_a_large_element", "x * torch.tensor([70000])", at::kHalf},
    {"quotient_by_a_large_element", "x / torch.tensor([[70000]])", at::kHalf},
    {"exponential_of_a_sum_in_bfloat16",
     "torch.exp((u + 80.).to(15) + u.to(15))", at::kFloat},
};

INSTANTIATE_TEST_SUITE_P(, SpecialValues, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<SpecialCase>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace aitune
