// Quantised checkpoints: the codes are there once, the weights not at all, and
// in a loaded model not before LibTorch reads them.
#include "frontend/checkpoint/weight_codes.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compiler/Compiler.h"
#include "frontend/checkpoint/checkpoint.h"
#include "frontend/checkpoint/checkpoint.pb.h"
#include "frontend/testing/backends.h"
#include "frontend/testing/models.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/control.h"
#include "runtime/hash/sha256.h"

namespace aitune::frontend {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kWidth = 512;

// Linear layers without anything else, in bfloat16.
Model Layers() {
  torch::jit::Module module("net");
  for (const char* name : {"first", "second"})
    module.register_parameter(
        name, at::randn({kWidth, kWidth}).to(at::kBFloat16).div_(16), false);
  module.define(
      "def forward(self, x: Tensor):\n"
      "  return torch.linear(torch.relu(torch.linear(x, self.first)), "
      "self.second)\n");
  module.eval();
  return *ModelFromBytes(*ModelBytes(*Model::FromModule(module)));
}

constexpr int64_t kLargeWidth = 2048;
constexpr int64_t kLargeCount = 3;
constexpr int64_t kLargeBytes = kLargeCount * kLargeWidth * kLargeWidth * 2;

// So many layers with these weights, and what else `more` computes with x.
Model LargeLayers(const std::vector<at::Tensor>& weights,
                  const std::string& more = "") {
  torch::jit::Module module("net");
  std::string forward = "def forward(self, x: Tensor):\n";
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::string name = "w" + std::to_string(i);
    module.register_parameter(name, weights[i], false);
    forward += "  x = torch.relu(torch.linear(x, self." + name + "))\n";
  }
  module.register_buffer("last", at::zeros({kLargeWidth}, at::kBFloat16));
  module.define(forward + more + "  return x\n");
  module.eval();
  return *Model::FromModule(module);
}

std::vector<at::Tensor> LargeWeights() {
  at::manual_seed(1);
  std::vector<at::Tensor> weights;
  for (int64_t i = 0; i < kLargeCount; ++i)
    weights.push_back(
        at::randn({kLargeWidth, kLargeWidth}).to(at::kBFloat16).div_(32));
  return weights;
}

// What the codes beside a loaded model stand for.
std::vector<at::Tensor> WeightsOfCodes(const Model& model) {
  std::map<std::string, at::Tensor> beside;
  for (const ConstantTensor& tensor : model.impl().beside)
    beside[tensor.name] = TensorOn(tensor.view).to(at::kFloat);
  std::vector<at::Tensor> weights;
  for (int64_t i = 0; i < kLargeCount; ++i) {
    const std::string name = "w" + std::to_string(i);
    weights.push_back(
        (beside.at(name + ".codes") * beside.at(name + ".scales").unsqueeze(1))
            .to(at::kBFloat16));
  }
  return weights;
}

at::Tensor Rows(int64_t rows, int64_t width = kWidth) {
  at::manual_seed(static_cast<uint64_t>(rows));
  return at::randn({rows, width}).to(at::kBFloat16);
}

class WeightCodes : public testing::TestWithParam<const char*> {
 protected:
  // A backend with a version for each of two sizes.
  std::unique_ptr<Backend> Built(
      const std::shared_ptr<TorchScriptSource>& source) {
    auto backend = BackendOf("TorchAOBackend", {{"quantization", GetParam()},
                                                {"verdict", false},
                                                {"extended_layers", true}});
    const absl::Status built =
        backend->Build(RequestOf(source, {Rows(3)}, root_ / "cache"));
    EXPECT_TRUE(built.ok()) << built;
    EXPECT_TRUE(Call(*source, *backend, Rows(5)).ok());
    return backend;
  }
  LoadedCheckpoint SavedAndLoaded(const TorchScriptSource& source,
                                  const Backend& backend) {
    const auto saved =
        SaveCheckpoint(backend, source, path_, BundleFormat::kFile);
    EXPECT_TRUE(saved.ok()) << saved.status();
    auto loaded = LoadCheckpoint(path_);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_TRUE(loaded->backend->Deploy(std::nullopt).ok());
    return *std::move(loaded);
  }

  // The same of LargeLayers, with a version for three rows; what it gave for
  // them before it was saved.
  LoadedCheckpoint LargeLoaded(at::Tensor* before,
                               const std::string& more = "") {
    const auto source = std::make_shared<TorchScriptSource>(
        std::make_shared<const Model>(LargeLayers(LargeWeights(), more)),
        "net");
    auto backend = BackendOf("TorchAOBackend", {{"quantization", GetParam()},
                                                {"verdict", false},
                                                {"extended_layers", true}});
    const absl::Status built =
        backend->Build(RequestOf(source, {Rows(3, kLargeWidth)}));
    EXPECT_TRUE(built.ok()) << built;
    auto loaded = SavedAndLoaded(*source, *backend);
    *before = Call(*source, *backend, Rows(3, kLargeWidth))->toTensor().clone();
    return loaded;
  }

  const fs::path root_ = EmptyFolder();
  const fs::path path_ = root_ / "net.aitune";
};
INSTANTIATE_TEST_SUITE_P(Schemes, WeightCodes,
                         testing::Values("int8wo", "int8dq", "fp8wo"));

TEST_P(WeightCodes, TakeHalfOfTheWeightsAndGiveTheSame) {
  const auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(Layers()), "net");
  const auto backend = Built(source);
  auto loaded = SavedAndLoaded(*source, *backend);
  // Two versions; what else is stored takes less than a tenth here.
  const auto weights = static_cast<double>(2 * 2 * kWidth * kWidth);  // bytes
  EXPECT_LT(static_cast<double>(fs::file_size(path_)), 0.6 * weights);

  const int64_t graphs = compileCounts().graphs;
  for (const int64_t rows : {3, 5}) {
    const auto before = Call(*source, *backend, Rows(rows));
    const auto after = Call(*loaded.source, *loaded.backend, Rows(rows));
    ASSERT_TRUE(before.ok() && after.ok()) << after.status();
    EXPECT_TRUE(before->toTensor().equal(after->toTensor())) << rows;
  }
  EXPECT_EQ(compileCounts().graphs, graphs);

  // What LibTorch computes has what the codes stand for, and a version that is
  // compiled now the codes themselves.
  const auto eager = loaded.source->model().RunEager(ValueList({Rows(7)}));
  const auto later = Call(*loaded.source, *loaded.backend, Rows(7));
  const auto before = source->model().RunEager(ValueList({Rows(7)}));
  const auto unsaved = Call(*source, *backend, Rows(7));
  ASSERT_TRUE(eager.ok() && later.ok()) << eager.status() << later.status();
  ASSERT_TRUE(unsaved.ok()) << unsaved.status();
  EXPECT_GT(CosineOf(eager->toTensor(), before->toTensor()), 0.999);
  EXPECT_TRUE(later->toTensor().equal(unsaved->toTensor()));

  // Saved again it is as before, with one version more.
  const auto again = SavedAndLoaded(*loaded.source, *loaded.backend);
  EXPECT_LT(static_cast<double>(fs::file_size(path_)), 0.65 * weights);
  const auto first = Call(*source, *backend, Rows(3));
  const auto last = Call(*again.source, *again.backend, Rows(3));
  ASSERT_TRUE(first.ok() && last.ok()) << last.status();
  EXPECT_TRUE(first->toTensor().equal(last->toTensor()));
  EXPECT_EQ(again.backend->Usage().eager_calls, 0);
}

TEST_P(WeightCodes, CompiledCallsDoWithoutTheWeights) {
  at::Tensor before;
  const auto loaded = LargeLoaded(&before);
  const Model& model = loaded.source->model();
  const at::Tensor three = Rows(3, kLargeWidth), seven = Rows(7, kLargeWidth);
  const auto after = Call(*loaded.source, *loaded.backend, three);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_TRUE(after->toTensor().equal(before));
  EXPECT_EQ(model.UnmadeBytes(), kLargeBytes);
  // Half as many bytes for the codes, and a few for scales.
  EXPECT_NEAR(static_cast<double>(loaded.backend->Memory().model),
              kLargeBytes / 2, kLargeBytes / 100);

  // Other sizes, which LibTorch is to run, on several threads at once.
  const at::Tensor expected = LargeLayers(WeightsOfCodes(model))
                                  .RunEager(ValueList({seven}))
                                  ->toTensor();
  std::atomic<bool> go = false;
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const ScopedStance eager(Stance::kEagerOnRecompile);
      while (!go) std::this_thread::yield();
      const auto result = Call(*loaded.source, *loaded.backend, seven);
      EXPECT_TRUE(result.ok()) << result.status();
      if (result.ok() && result->toTensor().equal(expected)) ++equal;
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 4);
  EXPECT_EQ(loaded.backend->Usage().eager_calls, 4);
  EXPECT_EQ(model.UnmadeBytes(), 0);
  EXPECT_NEAR(static_cast<double>(loaded.backend->Memory().model),
              kLargeBytes * 3 / 2, kLargeBytes / 100);
  EXPECT_TRUE(
      Call(*loaded.source, *loaded.backend, three)->toTensor().equal(before));
}

TEST_P(WeightCodes, AreSavedAgainWithoutTheWeights) {
  at::Tensor before;
  const auto loaded = LargeLoaded(&before);
  const Model& model = loaded.source->model();
  const fs::path again = root_ / "again.aitune";
  const auto save_again = [&] {
    const auto saved = SaveCheckpoint(*loaded.backend, *loaded.source, again,
                                      BundleFormat::kFile);
    EXPECT_TRUE(saved.ok()) << saved.status();
    // In the others there are maps, which are stored in any order.
    const Blobs first = *ReadBundle(path_), second = *ReadBundle(again);
    ASSERT_EQ(first.size(), second.size());
    for (const auto& [name, bytes] : first) {
      const std::string& same = second.at(name);
      EXPECT_EQ(bytes.size(), same.size()) << name;
      if (name == "model.pt" || name == "codes" || name == "codes.data")
        EXPECT_TRUE(bytes == same) << name;
    }
  };
  save_again();
  EXPECT_EQ(model.UnmadeBytes(), kLargeBytes);
  ASSERT_TRUE(model.MakeWeights().ok());
  save_again();
  const auto last = LoadCheckpoint(again);
  ASSERT_TRUE(last.ok()) << last.status();
  ASSERT_TRUE(last->backend->Deploy(std::nullopt).ok());
  const auto after = Call(*last->source, *last->backend, Rows(3, kLargeWidth));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_TRUE(after->toTensor().equal(before));
}

TEST_P(WeightCodes, OfReplacedWeightsNeedAnotherBuild) {
  at::Tensor before;
  const auto loaded = LargeLoaded(&before);
  const at::Tensor weight = LargeWeights()[1].neg();
  auto with_weight =
      loaded.source->model().WithWeights({{"w1", ViewOf(weight)}});
  ASSERT_TRUE(with_weight.ok()) << with_weight.status();
  const auto changed = std::make_shared<const Model>(*std::move(with_weight));
  const auto next = std::make_shared<TorchScriptSource>(changed, "net");
  const absl::Status refused = loaded.backend->ToDictFor(next).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(refused.message()).find("'w1'"), std::string::npos)
      << refused;

  // The changed model has the new weight beside those of codes.
  std::vector<at::Tensor> weights = WeightsOfCodes(loaded.source->model());
  weights[1] = weight;
  const ValueList rows({Rows(7, kLargeWidth)});
  const auto result = changed->RunEager(rows);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->toTensor().equal(
      LargeLayers(weights).RunEager(rows)->toTensor()));
  const auto after =
      Call(*loaded.source, *loaded.backend, Rows(3, kLargeWidth));
  EXPECT_TRUE(after->toTensor().equal(before));
}

// The codes beside the model that was loaded are not those of the new weight.
TEST_P(WeightCodes, OfReplacedWeightsAreNotSaved) {
  const auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(Layers()), "net");
  const LoadedCheckpoint loaded = SavedAndLoaded(*source, *Built(source));
  const at::Tensor weight =
      source->model().impl().module().attr("first").toTensor() * 1.2;
  auto with_weight =
      loaded.source->model().WithWeights({{"first", ViewOf(weight)}});
  ASSERT_TRUE(with_weight.ok()) << with_weight.status();
  const auto next = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*std::move(with_weight)), "net");
  const LoadedCheckpoint again = SavedAndLoaded(*next, *Built(next));
  EXPECT_GT(again.source->model().UnmadeBytes(), 0);
  const at::Tensor made =
      again.source->model().impl().module().attr("first").toTensor();
  EXPECT_LT((made - weight).norm().item<float>(),
            0.05f * weight.norm().item<float>());
}

// Its transpose is nearly the weight as well.
TEST_P(WeightCodes, AreThoseOfTheWeightAndNotOfItsTranspose) {
  at::manual_seed(3);
  const at::Tensor half = at::randn({kWidth, kWidth}).div_(16);
  const at::Tensor weight =
      (half + half.t() + at::randn({kWidth, kWidth}).div_(160))
          .to(at::kBFloat16);
  torch::jit::Module module("net");
  module.register_parameter("weight", weight, false);
  module.define(
      "def forward(self, x: Tensor):\n"
      "  return torch.relu(torch.matmul(x, self.weight))\n");
  module.eval();
  const auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*Model::FromModule(module)), "net");
  const LoadedCheckpoint loaded = SavedAndLoaded(*source, *Built(source));
  EXPECT_GT(loaded.source->model().UnmadeBytes(), 0);
  const at::Tensor made =
      loaded.source->model().impl().module().attr("weight").toTensor();
  EXPECT_LT((made - weight).norm().item<float>(),
            0.6f * (made - weight.t()).norm().item<float>());
}

// What LibTorch runs is traced with weights that go again.
TEST_P(WeightCodes, AreNotMadeForPartsThatLibTorchRuns) {
  at::Tensor before;
  const auto loaded =
      LargeLoaded(&before, "  x = torch.renorm(x, 2., 0, 1000.)\n");
  const Model& model = loaded.source->model();
  const at::Tensor three = Rows(3, kLargeWidth);
  const auto after = Call(*loaded.source, *loaded.backend, three);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_TRUE(after->toTensor().equal(before));
  EXPECT_EQ(loaded.backend->Usage().eager_calls, 0);
  EXPECT_EQ(model.UnmadeBytes(), kLargeBytes);
  const auto eager = model.RunEager(ValueList({three}));
  ASSERT_TRUE(eager.ok()) << eager.status();
  EXPECT_GT(CosineOf(eager->toTensor(), before), 0.999);
}

// The codes of 1 are those of a little less.
TEST_P(WeightCodes, AreNotAllThatIsKeptOfWeightsThatDecide) {
  torch::jit::Module module("net");
  at::manual_seed(4);
  for (const char* name : {"first", "second"}) {
    at::Tensor weight = at::randn({kWidth, kWidth}).to(at::kBFloat16).div_(16);
    weight[0].zero_();
    weight[0][0] = 1;
    module.register_parameter(name, weight, false);
  }
  module.define(R"(
def forward(self, x: Tensor):
    y = torch.linear(torch.relu(torch.linear(x, self.first)), self.second)
    if bool(self.first[0, 0] >= 1.0):
        y = y + 100.0
    if bool(torch.linear(x, self.second).sum() != 0.0):
        y = y + 1.0
    return y
)");
  module.eval();
  const auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*Model::FromModule(module)), "net");
  const auto backend = Built(source);
  const at::Tensor x = Rows(3);
  const auto before = Call(*source, *backend, x);
  ASSERT_TRUE(before.ok()) << before.status();
  const LoadedCheckpoint loaded = SavedAndLoaded(*source, *backend);
  EXPECT_EQ(loaded.source->model().UnmadeBytes(), kWidth * kWidth * 2)
      << "one of the weights was kept";
  for (const int64_t rows : {3, 40}) {
    const auto after = Call(*loaded.source, *loaded.backend, Rows(rows));
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_GT(after->toTensor().mean().item<float>(), 90.0f);
  }
}

// LibTorch keeps what calls write, which compiled code shares.
TEST_P(WeightCodes, AreThoseOfAModelWithState) {
  at::Tensor before;
  const auto loaded =
      LargeLoaded(&before, "  self.last.add_(x[0])\n  x = x + self.last\n");
  const Model& model = loaded.source->model();
  EXPECT_TRUE(loaded.source->SharesState());
  const auto last = [&] {
    return model.impl().bare_module.attr("last").toTensor().to(at::kFloat);
  };
  // It was saved before the call that gave `before`.
  EXPECT_EQ(last().abs().max().item<float>(), 0);
  const at::Tensor three = Rows(3, kLargeWidth);
  const auto after = Call(*loaded.source, *loaded.backend, three);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_TRUE(after->toTensor().equal(before));
  const at::Tensor row = last();
  EXPECT_GT(row.max().item<float>(), 0);
  ASSERT_TRUE(Call(*loaded.source, *loaded.backend, three).ok());
  EXPECT_TRUE(at::allclose(last(), 2 * row, 0.01, 0.01));
  EXPECT_EQ(loaded.backend->Usage().eager_calls, 0);
  EXPECT_EQ(model.UnmadeBytes(), kLargeBytes);

  // LibTorch goes on with the same state.
  ASSERT_TRUE(model.RunEager(ValueList({three})).ok());
  EXPECT_GT(CosineOf(last(), row), 0.999);
  EXPECT_NEAR((last().norm() / row.norm()).item<float>(), 3, 0.03);
  EXPECT_EQ(model.UnmadeBytes(), 0);
}

TEST_P(WeightCodes, ThatDontFitAreErrors) {
  const auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(Layers()), "net");
  const auto backend = Built(source);
  ASSERT_TRUE(
      SaveCheckpoint(*backend, *source, path_, BundleFormat::kFile).ok());
  Blobs blobs = *ReadBundle(path_);
  std::string& data = blobs["codes.data"];
  data.resize(data.size() / 2);
  CheckpointProto proto;
  ASSERT_TRUE(proto.ParseFromString(blobs["checkpoint"]));
  (*proto.mutable_parts())["codes.data"] = Sha256Hex(data);
  blobs["checkpoint"] = proto.SerializeAsString();
  const fs::path damaged = root_ / "damaged.aitune";
  ASSERT_TRUE(WriteBundle(damaged, blobs, BundleFormat::kFile).ok());
  const auto loaded = LoadCheckpoint(damaged);
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(loaded.status().message()).find("codes"),
            std::string::npos)
      << loaded.status();
}

}  // namespace
}  // namespace aitune::frontend
