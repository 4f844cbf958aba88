#include "frontend/testing/models.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdlib>
#include <utility>

#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {

Model ModelOf(const std::string& source) {
  auto model = Model::FromSource(source);
  if (model.ok()) return *std::move(model);
  ADD_FAILURE() << model.status();
  std::exit(1);
}

Model TwoLayers(DataType dtype) {
  at::manual_seed(7);
  const auto layer = [&](int64_t n, int64_t k) {
    const at::ScalarType type = ToScalarType(dtype);
    torch::jit::Module module(kLinearClass);
    module.register_parameter("weight", at::randn({n, k}).to(type), false);
    module.register_parameter("bias", at::randn({n}).to(type), false);
    module.define(
        "def forward(self, x: Tensor):\n"
        "    return torch.linear(x, self.weight, self.bias)\n");
    return module;
  };
  torch::jit::Module net("Net");
  net.register_module("first", layer(130, 96));
  net.register_module("second", layer(40, 130));
  net.define(
      "def forward(self, x: Tensor):\n"
      "    return self.second.forward(torch.relu(self.first.forward(x)))\n");
  net.eval();
  auto model = Model::FromModule(std::move(net));
  if (model.ok()) return *std::move(model);
  ADD_FAILURE() << model.status();
  std::exit(1);
}

double CosineOf(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.to(at::kDouble).flatten(),
                   y = b.to(at::kDouble).flatten();
  return x.dot(y).item<double>() /
         (x.norm().item<double>() * y.norm().item<double>());
}

std::filesystem::path EmptyFolder() {
  const testing::TestInfo& test =
      *testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test.test_suite_name()) + "." + test.name();
  for (char& c : name)
    if (c == '/') c = '_';
  const auto folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void ExpectClose(const c10::IValue& ours, const c10::IValue& expected,
                 double tolerance) {
  const std::vector<Leaf> a = Leaves(ours), b = Leaves(expected);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].path, b[i].path);
    if (!b[i].value->isTensor()) {
      EXPECT_EQ(*a[i].value, *b[i].value) << b[i].path;
      continue;
    }
    ASSERT_TRUE(a[i].value->isTensor()) << b[i].path;
    const at::Tensor x = a[i].value->toTensor(), y = b[i].value->toTensor();
    EXPECT_EQ(x.scalar_type(), y.scalar_type()) << b[i].path;
    ASSERT_EQ(x.sizes(), y.sizes()) << b[i].path;
    EXPECT_TRUE(at::allclose(x, y, tolerance, tolerance, /*equal_nan=*/true))
        << b[i].path;
  }
}

LogCapture::LogCapture()
    : previous_(SetLogSink([this](LogChannel channel, std::string_view text) {
        lines_.push_back(std::string(Name(channel)) + ": " + std::string(text));
      })) {}

LogCapture::~LogCapture() {
  SetLogSink(std::move(previous_));
  for (const LogChannel channel :
       {LogChannel::kDynamic, LogChannel::kPerfHints, LogChannel::kGraphBreaks,
        LogChannel::kRecompiles, LogChannel::kOutputCode})
    SetEnabled(channel, false);
}

}  // namespace aitune::frontend
