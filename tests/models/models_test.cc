// The example models are there, and C++ can read them and their inputs.
#include <torch/script.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace {

std::string Folder() {
  const char* folder = std::getenv("AITUNE_MODELS");
  return folder == nullptr ? "" : folder;
}

nlohmann::json Index() {
  return nlohmann::json::parse(std::ifstream(Folder() + "/models.json"));
}

std::vector<c10::IValue> Inputs(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  c10::IValue list = torch::jit::pickle_load(bytes);
  return list.toListRef().vec();
}

std::string Spec(const at::Tensor& tensor) {
  std::string text = tensor.scalar_type() == at::kFloat      ? "float32["
                     : tensor.scalar_type() == at::kBFloat16 ? "bfloat16["
                                                             : "int64[";
  for (int64_t size : tensor.sizes()) text += std::to_string(size) + ",";
  text.back() = ']';
  return text;
}

TEST(ModelsTest, IndexNamesAllModels) {
  nlohmann::json index = Index();
  EXPECT_EQ(index.size(), 20u);
  for (const char* name :
       {"resnet50", "mobilenet_v3_large", "vit_b_16", "bert", "gpt2", "minilm",
        "llama_block", "mlp", "lstm", "control_flow"})
    EXPECT_TRUE(index.contains(name) &&
                index.contains(std::string(name) + "_bf16"))
        << name;
}

TEST(ModelsTest, SpecsDescribeInputs) {
  nlohmann::json index = Index();
  for (const auto& [name, entry] : index.items()) {
    auto inputs =
        Inputs(Folder() + "/" + entry["inputs_file"].get<std::string>());
    ASSERT_EQ(inputs.size(), entry["inputs"].size()) << name;
    for (size_t i = 0; i < inputs.size(); ++i)
      EXPECT_EQ(Spec(inputs[i].toTensor()), entry["inputs"][i]) << name;
  }
}

TEST(ModelsTest, SmallModelsRun) {
  c10::InferenceMode guard;
  nlohmann::json index = Index();
  for (const char* name : {"mobilenet_v3_large", "minilm_bf16", "mlp",
                           "lstm_bf16", "control_flow"}) {
    auto module = torch::jit::load(Folder() + "/" +
                                   index[name]["file"].get<std::string>());
    module.eval();
    c10::IValue output = module.forward(
        Inputs(Folder() + "/" + index[name]["inputs_file"].get<std::string>()));
    at::Tensor first = output.isTuple()
                           ? output.toTuple()->elements()[0].toTensor()
                           : output.toTensor();
    EXPECT_TRUE(first.isfinite().all().item<bool>()) << name;
    EXPECT_GT(first.to(at::kFloat).std().item<float>(), 0.0f) << name;
  }
}

}  // namespace
