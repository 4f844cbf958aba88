#include "frontend/check/tf32_operands.h"

#include <ATen/ATen.h>

#include <string>

#include "frontend/check/eager_runs.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

Model MakeModel(const std::string& source) {
  return *Model::FromSource(source);
}

constexpr char kProgram[] =
    "def forward(self, x: Tensor, w: Tensor):\n"
    "  return torch.conv1d(x, w), torch.matmul(x, x.transpose(1, 2))\n";

// 1 + 2^-11 is as far from 1 as from the next number of tf32, and rounded up.
TEST(WithTf32Operands, RoundsTheOperandsOfWhatMayUseIt) {
  const Model model = MakeModel(kProgram);
  const at::Tensor x = at::full({1, 1, 1}, 1 + 0x1p-11),
                   w = at::full({1, 1, 1}, -1 - 0x1p-12);
  const auto run = [&](bool convolutions, bool products, const at::Tensor& x,
                       const at::Tensor& w) {
    const auto rounded = WithTf32Operands(model, convolutions, products);
    EXPECT_TRUE(rounded.ok()) << rounded.status();
    return *rounded->RunEager(ValueList({x, w}));
  };
  const auto number = [](const c10::IValue& result, size_t i) {
    return result.toTupleRef().elements()[i].toTensor().item<double>();
  };
  const double exact = (1 + 0x1p-11) * (1 + 0x1p-11), up = 1 + 0x1p-10;
  c10::IValue result = run(true, false, x, w);
  EXPECT_EQ(number(result, 0), -up);
  EXPECT_NEAR(number(result, 1), exact, 1e-7);
  result = run(true, true, x, w);
  EXPECT_EQ(number(result, 1), static_cast<float>(up * up));
  result = run(true, true, at::full({1, 1, 1}, INFINITY), w);
  EXPECT_EQ(number(result, 0), -INFINITY);
  result = run(true, true, x.to(at::kDouble), w.to(at::kDouble));
  EXPECT_DOUBLE_EQ(number(result, 1), exact);
}

TEST(WithTf32Operands, LeavesTheModelAsItIs) {
  const Model model = MakeModel(kProgram);
  const at::Tensor x = at::randn({2, 3, 5}), w = at::randn({4, 3, 2});
  const auto before = model.RunEager(ValueList({x, w}));
  ASSERT_TRUE(WithTf32Operands(model, true, true).ok());
  EXPECT_TRUE(SameTensors(*model.RunEager(ValueList({x, w})), *before));
  EXPECT_EQ(WithTf32Operands(MakeModel("def forward(self, x: Tensor):\n"
                                       "  return x * 2\n"),
                             true, true)
                .status()
                .code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace aitune::frontend
