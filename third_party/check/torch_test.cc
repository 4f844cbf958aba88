// LibTorch: save, load and run a TorchScript module; its errors are caught.
#include <torch/script.h>

#include <sstream>

#include "gtest/gtest.h"

namespace {

TEST(TorchTest, LoadsAndRunsModule) {
  torch::jit::Module made("twice");
  made.define("def forward(self, x):\n  return x + x\n");
  std::stringstream file;
  made.save(file);

  torch::jit::Module loaded = torch::jit::load(file);
  at::Tensor result = loaded.forward({at::ones({2, 3})}).toTensor();
  EXPECT_EQ(result.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_FLOAT_EQ(result.sum().item<float>(), 12.0f);
}

TEST(TorchTest, MissingFileThrows) {
  EXPECT_THROW(torch::jit::load("/nonexistent/model.pt"), c10::Error);
}

}  // namespace
