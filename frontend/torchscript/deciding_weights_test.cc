#include "frontend/torchscript/deciding_weights.h"

#include <torch/torch.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<std::string> DecidingIn(const std::string& body) {
  torch::jit::Module module("net");
  module.register_parameter("w", torch::ones({4, 4}), false);
  module.register_buffer("places", torch::zeros({3}, torch::kLong));
  module.define(absl::StrCat("def forward(self, x: Tensor):\n", body));
  module.eval();
  return DecidingWeights(*Model::FromModule(module));
}

TEST(DecidingWeights, AreThoseOfNumbersAndSizes) {
  for (const char* body : {
           "  return x * float(self.w[0, 0])\n",
           "  return x if bool(self.w.sum() > 0) else x * 2\n",
           "  return x * torch.nonzero(self.w).size(0)\n",
           "  return x * torch.where(self.w != 0)[0].size(0)\n",
           "  return x * self.w[self.w > 0].size(0)\n",
           "  return x * torch.one_hot(self.w.long()).size(2)\n",
           "  return x * torch.tensor_split(x, self.w[0].long())[0].size(0)\n",
           // What is written elsewhere, and what the rounds of a loop hand on.
           "  y = torch.zeros([4, 4])\n  y[0].copy_(self.w[0])\n"
           "  return x * float(y.sum())\n",
           "  a = torch.zeros([4, 4])\n  b = a * 1\n  c = a * 1\n"
           "  for i in range(x.size(0)):\n"
           "    x = x * float(c[0, 0])\n    c = b\n    b = a\n    a = self.w\n"
           "  return x\n",
       })
    EXPECT_THAT(DecidingIn(body), ElementsAre("w")) << body;
}

TEST(DecidingWeights, AreNotThoseOfElementsOrOfInputs) {
  for (const char* body : {
           "  return torch.linear(x, self.w)\n",
           "  return torch.where(self.w > 0, x, 2 * x)\n",
           "  return x * float(torch.linear(x, self.w).sum())\n",
           "  return x * self.w[torch.arange(2)].sum()\n",
           "  return torch.tensor_split(self.w * x, [1])[0]\n",
           "  y = torch.zeros([4, 4])\n  y.add_(self.w * x)\n"
           "  return x * float(y.sum())\n",
       })
    EXPECT_THAT(DecidingIn(body), IsEmpty()) << body;
  EXPECT_THAT(DecidingIn("  return self.w[self.places] * x\n"),
              ElementsAre("places"));
}

}  // namespace
}  // namespace aitune::frontend
