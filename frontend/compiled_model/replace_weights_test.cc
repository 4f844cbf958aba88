// Stored models for other weights: what is computed again, for any device, and
// what is refused.
#include "frontend/compiled_model/replace_weights.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "frontend/values/torch_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kOld[] = "old", kNew[] = "new";

class ReplaceWeightsTest : public testing::Test {
 protected:
  // Compiles a model with the float32[8] weights a, b and c, of which the last
  // two are equal.
  void Compile(const std::string& forward) {
    torch::jit::Module module("__torch__.Net");
    module.register_parameter("a", at::arange(8) * 0.5, false);
    module.register_parameter("b", at::ones({8}), false);
    module.register_parameter("c", at::ones({8}), false);
    module.define(forward);
    auto model = Model::FromModule(module);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = std::make_unique<Model>(*std::move(model));
    ModelInputs inputs;
    auto spec = ParseInputSpec("float32[1..4,8]");
    ASSERT_TRUE(spec.ok());
    inputs.specs = {*std::move(spec)};
    BuildOptions options;
    options.compile.measureCandidates = false;
    options.keep_artifact = true;
    options.model_sha256 = kOld;
    auto built = CompiledModel::Build(*model_, inputs, options);
    ASSERT_TRUE(built.ok()) << built.status();
    ASSERT_NE((*built)->artifact(), nullptr);
    stored_ = *(*built)->artifact();
  }

  // The artifact for b = `elements` eight times.
  absl::StatusOr<ArtifactBlobs> WithB(double elements,
                                      const std::string& gpu = "") {
    at::Tensor b = at::full({8}, elements);
    auto changed = model_->WithWeights({{"b", ViewOf(b)}});
    EXPECT_TRUE(changed.ok()) << changed.status();
    changed_ = std::make_unique<Model>(*std::move(changed));
    return ReplaceWeights(stored_, {*model_, kOld}, {*changed_, kNew}, gpu);
  }

  std::string Refusal() { return std::string(WithB(2).status().message()); }

  std::unique_ptr<Model> model_, changed_;
  ArtifactBlobs stored_;
};

// An artifact for a GPU has its constants replaced in the same way; here one
// that only says that it is.
TEST_F(ReplaceWeightsTest, WhatTracingComputesIsComputedAgainForAnyDevice) {
  Compile("def forward(self, x: Tensor):\n  return x * (self.a * self.b)\n");
  for (const std::string gpu : {"", "a GPU that is made up"}) {
    auto parts =
        ReadArtifact(stored_.model, stored_.constants, *model_, kOld, "");
    ASSERT_TRUE(parts.ok()) << parts.status();
    if (!gpu.empty()) {
      parts->gpu = gpu;
      parts->plan.set_device("cuda");
      auto blobs = WriteArtifact(*parts, *model_, kOld);
      ASSERT_TRUE(blobs.ok()) << blobs.status();
      stored_ = *std::move(blobs);
    }
    auto replaced = WithB(4, gpu);
    ASSERT_TRUE(replaced.ok()) << replaced.status();
    auto now = ReadArtifact(replaced->model, replaced->constants, *changed_,
                            kNew, gpu);
    ASSERT_TRUE(now.ok()) << now.status();
    EXPECT_EQ(now->objects, parts->objects);
    EXPECT_EQ(now->plan.SerializeAsString(), parts->plan.SerializeAsString());
    bool found = false;
    const at::Tensor product = at::arange(8) * 2.0;
    for (const ConstantTensor& constant : now->constants) {
      if (constant.view.sizes != std::vector<int64_t>{8}) continue;
      found = found || std::memcmp(constant.view.data, product.const_data_ptr(),
                                   32) == 0;
    }
    EXPECT_TRUE(found);
  }
}

// LibTorch makes one constant of equal weights.
TEST_F(ReplaceWeightsTest, AWeightThatEqualsAnotherIsReplacedAlone) {
  Compile("def forward(self, x: Tensor):\n  return x * self.b - self.c\n");
  auto replaced = WithB(4);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  auto now =
      ReadArtifact(replaced->model, replaced->constants, *changed_, kNew, "");
  ASSERT_TRUE(now.ok()) << now.status();
  std::map<std::string, float> first;  // element of each weight
  for (const ConstantTensor& constant : now->constants) {
    if (!constant.name.empty())
      first[constant.name] = *static_cast<const float*>(constant.view.data);
  }
  EXPECT_THAT(first, ElementsAre(Pair("b", 4), Pair("c", 1)));
}

TEST_F(ReplaceWeightsTest, ProgramsThatDecideByWeightsAreRefused) {
  Compile(
      "def forward(self, x: Tensor):\n"
      "  if bool(self.b.sum() > 10):\n"
      "    return x + self.a\n"
      "  return x * self.a\n");
  EXPECT_THAT(Refusal(), HasSubstr("the program decides or computes sizes by "
                                   "weights, and takes another path"));
}

// As text both would be the same number.
TEST_F(ReplaceWeightsTest, NumbersOfTheProgramAreComparedExactly) {
  Compile(
      "def forward(self, x: Tensor):\n"
      "  return x * self.a * float(self.b.sum())\n");
  EXPECT_FALSE(WithB(1 + 2e-7).ok());
}

TEST_F(ReplaceWeightsTest, WhatTheCompilerComputedIsRefusedByName) {
  Compile(
      "def forward(self, x: Tensor):\n"
      "  f = self.b.view([2, 2, 2]).transpose(0, 1)\n"
      "  return torch.conv1d(x.view([-1, 2, 4]), f)\n");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("'b'"), HasSubstr("filter")));
}

TEST_F(ReplaceWeightsTest, AnotherModelsArtifactIsRefused) {
  Compile("def forward(self, x: Tensor):\n  return x * self.b\n");
  const ArtifactBlobs first = stored_;
  Compile("def forward(self, x: Tensor):\n  return (x * self.a) * self.b\n");
  stored_ = first;
  EXPECT_THAT(Refusal(), HasSubstr("does not fit its trace"));
}

}  // namespace
}  // namespace aitune::frontend
