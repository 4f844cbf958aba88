#include "frontend/check/nan_dependence.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <limits>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The second element is hidden by a weight of 0 from the first output only.
Model Masking() {
  auto model = Model::FromSource(
      "def forward(self, x: Tensor):\n"
      "    weights = torch.tensor([[1., 0.], [1., 1.]])\n"
      "    return torch.mv(weights, x)\n");
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

ValueList Arguments(const at::Tensor& tensor) {
  return ValueList({c10::IValue(tensor)});
}

RunFunction Eager(const Model& model) {
  return [&model](const ValueList& arguments) {
    return model.RunEager(arguments);
  };
}

TEST(NanDependence, FindsWhatIsNotFinite) {
  EXPECT_FALSE(AllFinite(Arguments(at::tensor({1.f, kNan}))));
  EXPECT_FALSE(AllFinite(Arguments(at::tensor({1.f, -kInfinity}))));
  EXPECT_TRUE(AllFinite(Arguments(at::tensor({1.f, 2.f}))));
  EXPECT_TRUE(AllFinite(Arguments(at::tensor({1, 2}))));
  // Of which LibTorch can't tell.
  EXPECT_TRUE(AllFinite(Arguments(at::tensor({1.f, kNan}).to_sparse())));
}

TEST(NanDependence, ReplacesOnlyWhatDoesNotDependOnIt) {
  const ValueList arguments = Arguments(at::tensor({3.f, kNan}));
  const Model model = Masking();
  auto eager = model.RunEager(arguments);
  ASSERT_TRUE(eager.ok()) << eager.status();
  ASSERT_TRUE(eager->toTensor().isnan().all().item<bool>());
  // Ours lost both NaN; only the first rightly so.
  auto expected = ReplaceIndependentNans(Eager(model), arguments, *eager,
                                         at::tensor({3.f, 3.f}));
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->replaced, 1);
  const at::Tensor result = expected->result->toTensor();
  EXPECT_EQ(result[0].item<float>(), 3.f);
  EXPECT_TRUE(result[1].isnan().item<bool>());
}

TEST(NanDependence, ReplacesNanOfInfinities) {
  const ValueList arguments = Arguments(at::tensor({3.f, kInfinity}));
  const Model model = Masking();
  auto eager = model.RunEager(arguments);
  ASSERT_TRUE(eager.ok()) << eager.status();
  ASSERT_TRUE(eager->toTensor()[0].isnan().item<bool>());
  auto expected = ReplaceIndependentNans(Eager(model), arguments, *eager,
                                         at::tensor({3.f, kInfinity}));
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->replaced, 1);
}

// Most numbers give the bound, and still the NaN that is lost was wrong.
TEST(NanDependence, BoundsDependOnTheirNan) {
  const ValueList arguments = Arguments(at::tensor({3.f, kNan}));
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor):\n"
      "  return torch.clamp(x, -100., -5.)\n");
  ASSERT_TRUE(model.ok()) << model.status();
  auto eager = model->RunEager(arguments);
  ASSERT_TRUE(eager.ok()) << eager.status();
  auto expected = ReplaceIndependentNans(Eager(*model), arguments, *eager,
                                         at::tensor({-5.f, -5.f}));
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->replaced, 0);
}

TEST(NanDependence, LeavesNanThatOursHasToo) {
  const ValueList arguments = Arguments(at::tensor({3.f, kNan}));
  const Model model = Masking();
  auto eager = model.RunEager(arguments);
  ASSERT_TRUE(eager.ok()) << eager.status();
  auto expected = ReplaceIndependentNans(Eager(model), arguments, *eager,
                                         at::tensor({kNan, kNan}));
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->replaced, 0);
}

TEST(NanDependence, OtherShapesReplaceNothing) {
  const ValueList arguments = Arguments(at::tensor({3.f, kNan}));
  const Model model = Masking();
  auto eager = model.RunEager(arguments);
  ASSERT_TRUE(eager.ok()) << eager.status();
  auto expected = ReplaceIndependentNans(Eager(model), arguments, *eager,
                                         at::tensor({3.f, 3.f, 3.f}));
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->replaced, 0);
}

TEST(NanDependence, SparseInputsStayAsTheyAre) {
  const ValueList arguments({c10::IValue(at::tensor({3.f, kNan}).to_sparse()),
                             c10::IValue(at::tensor({1.f, kNan}))});
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor, y: Tensor):\n"
      "  return x.to_dense() + y\n");
  ASSERT_TRUE(model.ok()) << model.status();
  auto eager = model->RunEager(arguments);
  ASSERT_TRUE(eager.ok()) << eager.status();
  auto expected = ReplaceIndependentNans(Eager(*model), arguments, *eager,
                                         at::tensor({4.f, 0.f}));
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->replaced, 0);
}

TEST(NanDependence, SparseResultsStayAsTheyAre) {
  const ValueList arguments = Arguments(at::tensor({3.f, kNan}));
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor):\n"
      "  return x.to_sparse()\n");
  ASSERT_TRUE(model.ok()) << model.status();
  auto eager = model->RunEager(arguments);
  ASSERT_TRUE(eager.ok()) << eager.status();
  auto expected = ReplaceIndependentNans(Eager(*model), arguments, *eager,
                                         at::tensor({3.f, 3.f}).to_sparse());
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->replaced, 0);
}

}  // namespace
}  // namespace aitune::frontend
