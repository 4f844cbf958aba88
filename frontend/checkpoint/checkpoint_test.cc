#include "frontend/checkpoint/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "compiler/Compiler.h"
#include "frontend/checkpoint/checkpoint.pb.h"
#include "frontend/testing/backends.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/substitution.h"
#include "runtime/backend/fake_backend.h"
#include "runtime/control/control.h"
#include "runtime/cuda/device.h"
#include "runtime/hash/sha256.h"

namespace aitune::frontend {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::shared_ptr<TorchScriptSource> Source() {
  // As from a file, where programs come from.
  auto bytes = ModelBytes(ModelOf(kNet));
  if (!bytes.ok()) ADD_FAILURE() << bytes.status();
  auto loaded = ModelFromBytes(*bytes);
  if (!loaded.ok()) ADD_FAILURE() << loaded.status();
  return std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*std::move(loaded)), "net");
}

// Has the part "checkpoint" say of the others that they are its own.
void FitParts(Blobs* blobs) {
  CheckpointProto proto;
  ASSERT_TRUE(proto.ParseFromString(blobs->at("checkpoint")));
  proto.clear_parts();
  for (const auto& [name, bytes] : *blobs)
    if (name != "checkpoint") (*proto.mutable_parts())[name] = Sha256Hex(bytes);
  blobs->at("checkpoint") = proto.SerializeAsString();
}

class CheckpointTest : public testing::TestWithParam<BundleFormat> {
 protected:
  void SetUp() override {
    path_ = root_ / "net.aitune";
    source_ = Source();
  }

  std::string Save(const std::string& kind) {
    auto backend = BackendOf(kind);
    const absl::Status built =
        backend->Build(RequestOf(source_, {at::ones({2, 3})}, root_ / "cache"));
    EXPECT_TRUE(built.ok()) << built;
    auto digest = SaveCheckpoint(*backend, *source_, path_, GetParam());
    EXPECT_TRUE(digest.ok()) << digest.status();
    return digest.ok() ? *digest : "";
  }

  at::Tensor Expected(const at::Tensor& x) const {
    return source_->model().RunEager(ValueList({x}))->toTensor();
  }

  const fs::path root_ = EmptyFolder();
  fs::path path_;
  std::shared_ptr<TorchScriptSource> source_;
};
INSTANTIATE_TEST_SUITE_P(Formats, CheckpointTest,
                         testing::Values(BundleFormat::kFile,
                                         BundleFormat::kFolder));

TEST_P(CheckpointTest, LoadingCompilesNothing) {
  const at::Tensor x = at::ones({2, 3});
  const std::string digest = Save("TorchInductorBackend");
  fs::remove_all(root_ / "cache");  // a checkpoint stands alone
  const int64_t graphs = compileCounts().graphs;
  for (const bool deploy : {true, false}) {
    auto loaded = LoadCheckpoint(path_, digest);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->backend->state(), BackendState::kCheckpointLoaded);
    const absl::Status ready = deploy ? loaded->backend->Deploy(std::nullopt)
                                      : loaded->backend->Activate();
    ASSERT_TRUE(ready.ok()) << ready;
    ExpectAgrees(*loaded->source, *loaded->backend, x);
  }
  EXPECT_EQ(compileCounts().graphs, graphs);
}

TEST_P(CheckpointTest, OtherBackendsComeBackToo) {
  const at::Tensor x = at::ones({2, 3});
  for (const char* kind :
       {"TorchCudaGraphsBackend", "TorchEagerBackend", "TorchScriptBackend"}) {
    fs::remove_all(path_);
    Save(kind);
    auto loaded = LoadCheckpoint(path_);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->backend->name(), kind);
    ASSERT_TRUE(loaded->backend->Deploy(Device::Parse("cpu").value()).ok());
    ExpectAgrees(*loaded->source, *loaded->backend, x);
  }
}

// A buffer and an attribute that calls of over 4 rows count in.
std::shared_ptr<TorchScriptSource> CountingSource() {
  torch::jit::Module module("net");
  module.register_buffer("count", at::ones({1}));
  module.register_attribute("calls", c10::IntType::get(), 1);
  module.define(R"(
def forward(self, x: Tensor):
    if x.size(0) > 4:
        self.count.add_(1)
        self.calls = self.calls + 1
    return x * self.count * self.calls
)");
  auto bytes = ModelBytes(Model::FromModule(std::move(module)).value());
  if (!bytes.ok()) ADD_FAILURE() << bytes.status();
  return std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(ModelFromBytes(*bytes).value()), "net");
}

float FirstElement(const absl::StatusOr<c10::IValue>& result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->toTensor()[0][0].item<float>() : -1;
}

// Whoever changed the state, and whether versions hold what it was.
TEST_P(CheckpointTest, LoadedModelsStartFromTheStateThatWasSaved) {
  for (const char* kind : {"TorchCudaGraphsBackend", "TorchEagerBackend",
                           "TorchInductorBackend", "TorchScriptBackend"}) {
    for (const bool by_owner : {false, true}) {
      fs::remove_all(path_);
      source_ = CountingSource();
      const auto backend = BackendOf(kind);
      const at::Tensor x = at::ones({3, 2}), more = at::ones({5, 2});
      ASSERT_TRUE(
          backend->Build(RequestOf(source_, {x}, root_ / "cache")).ok());
      EXPECT_EQ(FirstElement(Call(*source_, *backend, x)), 1) << kind;
      EXPECT_EQ(
          FirstElement(by_owner ? source_->model().RunEager(ValueList({more}))
                                : Call(*source_, *backend, more)),
          4)
          << kind;
      const auto digest = SaveCheckpoint(*backend, *source_, path_, GetParam());
      ASSERT_TRUE(digest.ok()) << digest.status();
      // What is called after it was saved is not in it.
      EXPECT_EQ(FirstElement(Call(*source_, *backend, more)), 9) << kind;
      for (const bool deploys : {true, false}) {
        auto loaded = LoadCheckpoint(path_, *digest);
        ASSERT_TRUE(loaded.ok()) << loaded.status();
        const absl::Status ready = deploys
                                       ? loaded->backend->Deploy(std::nullopt)
                                       : loaded->backend->Activate();
        ASSERT_TRUE(ready.ok()) << ready;
        for (const auto& [rows, wanted] :
             std::vector<std::pair<const at::Tensor*, float>>{
                 {&x, 4.f}, {&more, 9.f}, {&x, 9.f}})
          EXPECT_EQ(
              FirstElement(Call(*loaded->source, *loaded->backend, *rows)),
              wanted)
              << kind << by_owner << deploys;
        // Built for that state, it is not what the cache has of the first.
        const auto anew = BackendOf(kind);
        ASSERT_TRUE(
            anew->Build(RequestOf(loaded->source, {x}, root_ / "cache")).ok());
        EXPECT_EQ(FirstElement(Call(*loaded->source, *anew, x)), 9) << kind;
      }
      const auto unchanged = CountingSource();
      const auto anew = BackendOf(kind);
      ASSERT_TRUE(anew->Build(RequestOf(unchanged, {x}, root_ / "cache")).ok());
      EXPECT_EQ(FirstElement(Call(*unchanged, *anew, x)), 1) << kind;
    }
  }
}

// A model that may change its state, but whose calls did not, has its versions.
TEST_P(CheckpointTest, VersionsOfTheStateThatIsSavedAreLoaded) {
  source_ = CountingSource();
  const auto backend = BackendOf("TorchInductorBackend", {{"dynamic", false}});
  const at::Tensor x = at::ones({3, 2});
  ASSERT_TRUE(backend->Build(RequestOf(source_, {x}, root_ / "cache")).ok());
  EXPECT_EQ(FirstElement(Call(*source_, *backend, x)), 1);
  ASSERT_TRUE(SaveCheckpoint(*backend, *source_, path_, GetParam()).ok());
  fs::remove_all(root_ / "cache");
  const int64_t graphs = compileCounts().graphs;
  auto loaded = LoadCheckpoint(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE(loaded->backend->Activate().ok());
  EXPECT_EQ(FirstElement(Call(*loaded->source, *loaded->backend, x)), 1);
  EXPECT_EQ(loaded->backend->Usage().eager_calls, 0);
  EXPECT_EQ(compileCounts().graphs, graphs);
}

// Every part is covered by a checksum.
TEST_P(CheckpointTest, TamperingIsRefused) {
  Save("TorchInductorBackend");
  int changed = 0;
  std::vector<fs::path> files;
  for (const auto& file : fs::recursive_directory_iterator(root_)) {
    if (file.is_regular_file() &&
        file.path().string().find("/cache/") == std::string::npos)
      files.push_back(file.path());
  }
  for (const fs::path& path : files) {
    std::string bytes;
    {
      std::ifstream file(path, std::ios::binary);
      bytes = {std::istreambuf_iterator<char>(file), {}};
    }
    for (size_t i = 5; i < bytes.size(); i += bytes.size() / 7 + 1) {
      if (bytes[i] == '\0') continue;  // maybe padding
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 1);
      std::ofstream(path, std::ios::binary) << damaged;
      EXPECT_FALSE(LoadCheckpoint(path_).ok()) << path << " " << i;
      ++changed;
    }
    std::ofstream(path, std::ios::binary) << bytes;
  }
  EXPECT_GT(changed, 3);
  EXPECT_TRUE(LoadCheckpoint(path_).ok());
  EXPECT_EQ(LoadCheckpoint(path_, std::string(64, '0')).status().code(),
            absl::StatusCode::kDataLoss);
}

// Checksums can be made to fit again, as WriteBundle does here: then each part
// is whole, and the model is still not the one that was compiled.
TEST_P(CheckpointTest, PartsOfAnotherCheckpointAreRefused) {
  Save("TorchInductorBackend");
  const Blobs own = *ReadBundle(path_);
  std::string other_net = kNet;
  const size_t at = other_net.find("relu");
  ASSERT_NE(at, std::string::npos);
  other_net.replace(at, 4, "tanh");
  source_ = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(ModelOf(other_net)), "net");
  fs::remove_all(path_);
  Save("TorchInductorBackend");
  const Blobs other = *ReadBundle(path_);
  const auto load = [&](const Blobs& blobs) {
    fs::remove_all(path_);
    EXPECT_TRUE(WriteBundle(path_, blobs, GetParam()).ok());
    return LoadCheckpoint(path_).status();
  };
  ASSERT_EQ(own.size(), other.size());
  for (const auto& [name, bytes] : other) {
    Blobs mixed = own;
    mixed.at(name) = bytes;
    const absl::Status refused = load(mixed);
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << name;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("is not the one that was saved with the others: it "
                          "was exchanged or changed"));
    if (name != "checkpoint")
      EXPECT_THAT(std::string(refused.message()),
                  HasSubstr("the part " + name));
  }
  Blobs more = own, fewer = own;
  more["artifacts/more"] = "x";
  EXPECT_THAT(std::string(load(more).message()),
              HasSubstr("artifacts/more was added"));
  fewer.erase("artifacts/version0");
  EXPECT_THAT(std::string(load(fewer).message()),
              HasSubstr("artifacts/version0 is missing"));
  EXPECT_EQ(load(own), absl::OkStatus());
}

// A deployed model needs no LLVM in the process.
TEST_P(CheckpointTest, AProgramWithoutTheCompilerDeploysIt) {
  Save("TorchInductorBackend");
  const std::string command =
      "frontend/checkpoint/deploy " + path_.string() + " 2 3 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::vector<std::string> lines;
  char line[4096];
  while (fgets(line, sizeof(line), pipe) != nullptr)
    lines.push_back(std::string(line).substr(0, std::string(line).find('\n')));
  EXPECT_EQ(pclose(pipe), 0) << testing::PrintToString(lines);
  const at::Tensor expected = Expected(at::ones({2, 3})).flatten();
  ASSERT_EQ(lines.size(), expected.numel() + 1u)
      << testing::PrintToString(lines);
  for (int64_t i = 0; i < expected.numel(); ++i)
    EXPECT_NEAR(std::stof(lines[i]), expected[i].item<float>(), 1e-4);
  EXPECT_EQ(lines.back(), "compiler no");
}

// What goes into a checkpoint is code: on its way there nobody else may have
// changed it, and nothing stays behind.
TEST_P(CheckpointTest, ArtifactsAreWrittenWhereOnlyTheUserIs) {
  const fs::path temporary = root_ / "temporary";
  fs::create_directories(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  for (const char* cache : {"", "cache"}) {
    auto backend = BackendOf("TorchInductorBackend");
    const fs::path folder = *cache == '\0' ? fs::path() : root_ / cache;
    ASSERT_TRUE(
        backend->Build(RequestOf(source_, {at::ones({2, 3})}, folder)).ok());
    auto state = backend->ToDict();
    ASSERT_TRUE(state.ok()) << state.status();
    ASSERT_EQ(state->artifacts_size(), 1);
    const fs::path written = state->artifacts(0).path();
    EXPECT_TRUE(fs::exists(written));
    EXPECT_EQ(written.parent_path().parent_path(), temporary);
    EXPECT_EQ(fs::status(written.parent_path()).permissions(),
              fs::perms::owner_all);
    fs::remove_all(path_);
    ASSERT_TRUE(SaveCheckpoint(*backend, *source_, path_, GetParam()).ok());
    EXPECT_TRUE(fs::exists(written));  // ToDict's caller may still need it
    backend.reset();
    EXPECT_TRUE(fs::is_empty(temporary));
    EXPECT_FALSE(fs::exists(root_ / "cache" / "artifacts"));
  }
  unsetenv("TMPDIR");
  EXPECT_TRUE(LoadCheckpoint(path_).ok());
}

// On another kind of machine the model is compiled anew; a program without the
// compiler says what differs.
TEST_P(CheckpointTest, AnotherMachineIsTold) {
  Save("TorchInductorBackend");
  auto blobs = ReadBundle(path_);
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  auto artifact = blobs->find("artifacts/version0");
  ASSERT_NE(artifact, blobs->end());
  const fs::path file = root_ / "artifact";
  std::ofstream(file, std::ios::binary) << artifact->second;
  auto inner = ReadBundle(file);
  ASSERT_TRUE(inner.ok()) << inner.status();
  std::string& model = inner->at("model");
  const size_t at = model.find("x86_64; ");
  ASSERT_NE(at, std::string::npos);
  model.replace(at, 6, "riscv6");
  ASSERT_TRUE(WriteBundle(file, *inner, BundleFormat::kFile).ok());
  std::ifstream changed(file, std::ios::binary);
  artifact->second = {std::istreambuf_iterator<char>(changed), {}};
  FitParts(&*blobs);
  fs::remove_all(path_);
  ASSERT_TRUE(WriteBundle(path_, *blobs, GetParam()).ok());

  const int64_t graphs = compileCounts().graphs;
  auto loaded = LoadCheckpoint(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE(loaded->backend->Deploy(std::nullopt).ok());
  EXPECT_EQ(compileCounts().graphs, graphs + 1) << "not in the first call";
  const at::Tensor x = at::ones({2, 3});
  ExpectAgrees(*loaded->source, *loaded->backend, x);
  EXPECT_EQ(compileCounts().graphs, graphs + 1);

  const std::string command =
      "frontend/checkpoint/deploy " + path_.string() + " 2 3 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char line[4096];
  while (fgets(line, sizeof(line), pipe) != nullptr) text += line;
  EXPECT_NE(pclose(pipe), 0);
  EXPECT_THAT(text, HasSubstr("the architecture is x86_64, not riscv6"));
}

// What LibTorch runs of a model is traced again, with elements that are made
// up.
TEST_P(CheckpointTest, ATraceOfOtherElementsIsCompiledAnew) {
  const auto source = SourceOf(R"(
def forward(self, x: Tensor):
    k: List[int] = x[0].long().tolist()
    parts = torch.split(x, k, 1)
    return parts[0].sum(1) + x.sum()
)");
  const at::Tensor x = at::ones({2, 3});
  auto backend = BackendOf("TorchInductorBackend");
  ASSERT_TRUE(backend->Build(RequestOf(source, {x}, root_ / "cache")).ok());
  ASSERT_TRUE(SaveCheckpoint(*backend, *source, path_, GetParam()).ok());
  auto loaded = LoadCheckpoint(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const absl::Status deployed = loaded->backend->Deploy(std::nullopt);
  ASSERT_TRUE(deployed.ok()) << deployed;
  ExpectAgrees(*loaded->source, *loaded->backend, x);
}

TEST_P(CheckpointTest, AGpuThatThereIsNotIsAnErrorAndTheCpuStillWorks) {
  if (cuda::Device::Open(0).ok()) GTEST_SKIP() << "there is a GPU";
  Save("TorchInductorBackend");
  auto loaded = LoadCheckpoint(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->backend->Deploy(Device::Parse("cuda").value()),
            cuda::Device::Open(0).status());
  EXPECT_EQ(loaded->backend->state(), BackendState::kCheckpointLoaded);
  ASSERT_TRUE(loaded->backend->Deploy(std::nullopt).ok());
  ExpectAgrees(*loaded->source, *loaded->backend, at::ones({2, 3}));
}

// What is compiled after loading would compute something else.
TEST_P(CheckpointTest, SubstitutionsMustBeThere) {
  const std::string same = "def f(x: Tensor):\n    return torch.clamp(x, 0.)\n";
  ASSERT_TRUE(SubstituteInGraph("aten::relu", same).ok());
  ASSERT_TRUE(
      SubstituteInGraph("aten::tanh", "def f(x: Tensor):\n    return x\n")
          .ok());
  Save("TorchInductorBackend");
  // An operator that the model does not have is not asked for.
  ASSERT_TRUE(SubstituteInGraph("aten::tanh", "").ok());
  auto loaded = LoadCheckpoint(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE(loaded->backend->Deploy(std::nullopt).ok());
  ExpectAgrees(*loaded->source, *loaded->backend, at::ones({2, 3}));

  ASSERT_TRUE(SubstituteInGraph("aten::relu", "").ok());
  const absl::Status lacking = LoadCheckpoint(path_).status();
  EXPECT_EQ(lacking.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(lacking.message()),
              HasSubstr("a replacement of aten::relu that this process lacks"));
  ASSERT_TRUE(
      SubstituteInGraph("aten::relu", "def f(x: Tensor):\n    return x\n")
          .ok());
  EXPECT_THAT(std::string(LoadCheckpoint(path_).status().message()),
              HasSubstr("this process has another one"));
  ASSERT_TRUE(SubstituteInGraph("aten::relu", "").ok());
}

TEST_P(CheckpointTest, BackendsSeeThatTheyAreExported) {
  auto behavior = std::make_shared<FakeBehavior>();
  bool exporting = false;
  behavior->save = [&] { exporting = IsExporting(); };
  auto backend = MakeFakeBackend(behavior);
  ASSERT_TRUE(backend->Build(MakeFakeRequest()).ok());
  ASSERT_TRUE(backend->ToDict().ok());
  EXPECT_FALSE(exporting);
  const auto saved = SaveCheckpoint(*backend, *source_, path_, GetParam());
  EXPECT_TRUE(saved.ok()) << saved.status();
  EXPECT_TRUE(exporting);
  EXPECT_FALSE(IsExporting());
}

TEST(Checkpoint, BeforeBuildThereIsNothingToSave) {
  auto backend = BackendOf("TorchInductorBackend");
  EXPECT_EQ(
      SaveCheckpoint(*backend, *Source(), fs::path(testing::TempDir()) / "none",
                     BundleFormat::kFile)
          .status()
          .message(),
      "Backend has not been properly initialized. Please call build() "
      "first.");
}

}  // namespace
}  // namespace aitune::frontend
