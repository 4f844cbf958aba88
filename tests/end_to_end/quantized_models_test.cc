// Quantised builds of the example models (tests/models/make_models.py), on the
// CPU, beside eager: how near their outputs are, and whether the meaning of
// real sentences is kept. The models are in the folder AITUNE_MODELS.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "frontend/values/pytree.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {
namespace {

struct Quantized {
  Model model;
  ModelInputs inputs;
  std::unique_ptr<CompiledModel> built;
};

// Nothing is timed: layers are refused for their error alone.
Quantized Build(const std::string& name, const std::string& scheme) {
  const char* folder = std::getenv("AITUNE_MODELS");
  EXPECT_NE(folder, nullptr) << "run the tests with ./bazelw";
  const std::string path =
      absl::StrCat(folder == nullptr ? "" : folder, "/", name, ".pt");
  auto model = Model::Load(path);
  EXPECT_TRUE(model.ok()) << model.status();
  InputChoice choice;
  choice.model_file = path;
  auto inputs = ChooseInputs(*model, choice);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  BuildOptions options;
  options.compile.measureCandidates = false;
  options.compile.quantization = scheme;
  auto built = CompiledModel::Build(*model, *inputs, options);
  EXPECT_TRUE(built.ok()) << built.status();
  return {*std::move(model), *std::move(inputs), *std::move(built)};
}

at::Tensor FirstTensor(const c10::IValue& value) {
  for (const Leaf& leaf : Leaves(value))
    if (leaf.value->isTensor()) return leaf.value->toTensor();
  return {};
}

struct Bound {
  const char* model;
  const char* scheme;
  double cosine;  // the least to eager's first output
};

class QuantizedModels : public testing::TestWithParam<Bound> {};

TEST_P(QuantizedModels, FirstOutputIsNearEager) {
  const Quantized model = Build(GetParam().model, GetParam().scheme);
  size_t quantized = 0;
  for (const QuantizedLayer& layer : model.built->report().quantized_layers)
    quantized += layer.refusal.empty();
  EXPECT_GT(quantized, 0u);
  const ValueList& samples = *model.inputs.samples;
  const auto ours = model.built->Run(samples),
             eager = model.model.RunEager(samples);
  ASSERT_TRUE(ours.ok() && eager.ok()) << ours.status() << eager.status();
  EXPECT_GE(CosineOf(FirstTensor(*ours), FirstTensor(*eager)),
            GetParam().cosine)
      << quantized << " layers are quantised";
}

INSTANTIATE_TEST_SUITE_P(
    , QuantizedModels,
    testing::Values(Bound{"bert", "int8wo", 0.999},
                    Bound{"bert", "int8dq", 0.99},
                    Bound{"gpt2", "int8wo,extended_layers=on", 0.999},
                    Bound{"gpt2", "int8dq,extended_layers=on", 0.99},
                    Bound{"vit_b_16", "int8wo", 0.999},
                    Bound{"vit_b_16", "int8dq", 0.99}),
    [](const auto& info) {
      return absl::StrCat(info.param.model, "_",
                          std::string(info.param.scheme).substr(0, 6));
    });

// Ten sentences in pairs of one meaning, as the model's own tokenizer numbers
// their parts: a compiler, bread, a flood, music and a train.
const std::vector<std::vector<int64_t>>& Sentences() {
  static const auto* const sentences = new std::vector<std::vector<int64_t>>{
      {101, 1037, 21624, 4332, 1037, 4030, 2944, 2046, 1037, 3435, 2028, 1010,
       1998, 14148, 2009, 1012, 102},
      {101, 1996, 2565, 16315, 1037, 2897, 2046, 3698, 3642, 2008, 3216, 5514,
       1012, 102},
      {101, 7852, 9466, 2138, 21957, 3084, 3806, 2013, 5699, 1012, 102},
      {101,  2000, 8670, 3489, 1037,  27048, 1010, 4666, 13724, 1010,
       2300, 1010, 5474, 1998, 21957, 1010,  1998, 3524, 1012,  102},
      {101, 1996, 2314, 10361, 1996, 3028, 2044, 2093, 2420, 1997, 4542, 1012,
       102},
      {101, 3082, 4542, 2716, 2152, 2300, 2000, 1996, 4731, 2011, 1996, 5460,
       1012, 102},
      {101, 2016, 3248, 1996, 6710, 1999, 2019, 4032, 2006, 14803, 1012, 102},
      {101, 2006, 13499, 2002, 10975, 18908, 13087, 1996, 10145, 2007, 1037,
       5164, 8530, 1012, 102},
      {101, 1996, 3345, 2000, 1996, 3023, 3727, 2012, 2698, 1999, 1996, 2851,
       1012, 102},
      {101, 2019, 2220, 2737, 2326, 3632, 2000, 1996, 20276, 1012, 102}};
  return *sentences;
}

// [sentences, sentences], the cosines of the embeddings that `embed` gives for
// ids and mask of one sentence, padded to 128.
template <typename Embed>
at::Tensor Similarities(const Embed& embed) {
  std::vector<at::Tensor> embeddings;
  for (const std::vector<int64_t>& sentence : Sentences()) {
    const auto length = static_cast<int64_t>(sentence.size());
    const at::Tensor ids = at::zeros({1, 128}, at::kLong),
                     mask = at::zeros({1, 128}, at::kLong);
    ids[0].slice(0, 0, length).copy_(at::tensor(sentence, at::kLong));
    mask[0].slice(0, 0, length).fill_(1);
    const auto embedding = embed(ValueList({ids, mask}));
    EXPECT_TRUE(embedding.ok()) << embedding.status();
    embeddings.push_back(FirstTensor(*embedding)[0].clone());
  }
  const at::Tensor all = at::stack(embeddings);
  return all.matmul(all.t()).fill_diagonal_(-2);
}

class SentenceEmbeddings : public testing::TestWithParam<std::string> {};

// The nearest sentence of each is its partner, in eager and quantised, and no
// similarity is far from eager's.
TEST_P(SentenceEmbeddings, RankingIsEagers) {
  const Quantized model = Build("minilm", GetParam());
  const at::Tensor eager =
      Similarities([&](const ValueList& x) { return model.model.RunEager(x); });
  const at::Tensor ours =
      Similarities([&](const ValueList& x) { return model.built->Run(x); });
  EXPECT_TRUE(eager.argmax(1).equal(ours.argmax(1)));
  for (int64_t i = 0; i < eager.size(0); ++i)
    EXPECT_EQ(eager[i].argmax().item<int64_t>(), i ^ 1) << i;
  const double error = (ours - eager).abs().max().item<double>();
  EXPECT_LT(error, 0.03);
}

INSTANTIATE_TEST_SUITE_P(, SentenceEmbeddings,
                         testing::Values("int8wo", "int8dq"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace aitune::frontend
