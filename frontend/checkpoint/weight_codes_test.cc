// Quantised checkpoints: the codes are there once, the weights not at all.
#include "frontend/checkpoint/weight_codes.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "compiler/Compiler.h"
#include "frontend/checkpoint/checkpoint.h"
#include "frontend/testing/backends.h"
#include "frontend/testing/models.h"
#include "frontend/torchscript/model_bytes.h"

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

at::Tensor Rows(int64_t rows) {
  at::manual_seed(static_cast<uint64_t>(rows));
  return at::randn({rows, kWidth}).to(at::kBFloat16);
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

  const fs::path root_ = EmptyFolder();
  const fs::path path_ = root_ / "net.aitune";
};
INSTANTIATE_TEST_SUITE_P(Schemes, WeightCodes,
                         testing::Values("int8wo", "int8dq"));

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

  // What LibTorch computes, and a version that is compiled now, have what the
  // codes stand for.
  const auto eager = loaded.source->model().RunEager(ValueList({Rows(7)}));
  const auto later = Call(*loaded.source, *loaded.backend, Rows(7));
  const auto before = source->model().RunEager(ValueList({Rows(7)}));
  ASSERT_TRUE(eager.ok() && later.ok()) << eager.status() << later.status();
  EXPECT_GT(CosineOf(eager->toTensor(), before->toTensor()), 0.999);
  EXPECT_GT(CosineOf(later->toTensor(), before->toTensor()), 0.999);

  // Saved again it is as before, with one version more.
  const auto again = SavedAndLoaded(*loaded.source, *loaded.backend);
  EXPECT_LT(static_cast<double>(fs::file_size(path_)), 0.65 * weights);
  const auto first = Call(*source, *backend, Rows(3));
  const auto last = Call(*again.source, *again.backend, Rows(3));
  ASSERT_TRUE(first.ok() && last.ok()) << last.status();
  EXPECT_TRUE(first->toTensor().equal(last->toTensor()));
  EXPECT_EQ(again.backend->Usage().eager_calls, 0);
}

TEST_P(WeightCodes, ThatDontFitAreErrors) {
  const auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(Layers()), "net");
  const auto backend = Built(source);
  ASSERT_TRUE(
      SaveCheckpoint(*backend, *source, path_, BundleFormat::kFile).ok());
  Blobs blobs = *ReadBundle(path_);
  blobs["codes.data"].resize(blobs["codes.data"].size() / 2);
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
