// How much memory loading a checkpoint takes beside that of the model.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "frontend/checkpoint/checkpoint.h"
#include "frontend/checkpoint/checkpoint.pb.h"
#include "frontend/testing/backends.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_internal.h"
#include "runtime/hash/sha256.h"

namespace aitune::frontend {
namespace {

namespace fs = std::filesystem;

constexpr int kWeights = 4;
constexpr int64_t kWeightBytes = int64_t{32} << 20;
constexpr int64_t kModelBytes = kWeights * kWeightBytes;

// Bytes of a line of /proc/self/status; 0 if it can't be read.
int64_t StatusBytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line))
    if (line.rfind(name + ":", 0) == 0)
      return std::stoll(line.substr(name.size() + 1)) * 1024;
  return 0;
}

// Starts a new peak ("VmHWM"). False if the kernel refuses it.
bool ResetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return static_cast<bool>(file);
}

// Weights of one row for each kind of element, and what gives their sum.
Model LargeModel() {
  torch::jit::Module module("__torch__.Large");
  std::string forward = "def forward(self, x: Tensor):\n";
  for (int i = 0; i < kWeights; ++i) {
    const std::string name = "w" + std::to_string(i);
    module.register_parameter(
        name, at::full({kWeightBytes / 4}, static_cast<double>(i + 1)), false);
    forward += "  x = x + self." + name + "[0] + self." + name + "[-1]\n";
  }
  module.define(forward + "  return x\n");
  module.eval();
  return *Model::FromModule(module);
}

float ResultOf(const Model& model) {
  const auto result = model.RunEager(ValueList({at::zeros({1})}));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->toTensor().item<float>() : 0;
}

class LoadMemoryTest : public testing::TestWithParam<BundleFormat> {
 protected:
  void Save() {
    const auto source = std::make_shared<TorchScriptSource>(
        std::make_shared<const Model>(LargeModel()), "net");
    const auto backend = BackendOf("TorchEagerBackend");
    ASSERT_TRUE(backend->Build(RequestOf(source, {at::zeros({1})})).ok());
    const auto saved = SaveCheckpoint(*backend, *source, path_, GetParam());
    ASSERT_TRUE(saved.ok()) << saved.status();
  }

  const fs::path root_ = EmptyFolder();
  const fs::path path_ = root_ / "net.aitune";
};
INSTANTIATE_TEST_SUITE_P(Formats, LoadMemoryTest,
                         testing::Values(BundleFormat::kFile,
                                         BundleFormat::kFolder));

TEST_P(LoadMemoryTest, IsThatOfTheModel) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  GTEST_SKIP() << "the sanitizers have memory of their own";
#endif
  Save();
  malloc_trim(0);
  if (!ResetPeak()) GTEST_SKIP() << "the kernel does not reset the peak";
  const int64_t before = StatusBytes("VmRSS");
  const auto loaded = LoadCheckpoint(path_);
  const int64_t peak = StatusBytes("VmHWM") - before;
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(ResultOf(loaded->source->model()), 20);
  // Once, and a quarter for what is being read.
  EXPECT_GT(peak, kModelBytes / 2);
  EXPECT_LT(peak, kModelBytes * 5 / 4);
}

// Two tensors of a file may have the elements of one of its records, which
// LibTorch reads for each.
TEST_P(LoadMemoryTest, PartsThatAreReadTwiceAreLoadedToo) {
  std::string bytes = *ModelBytes(LargeModel());
  {
    const auto reader = std::make_unique<std::istringstream>(bytes);
    caffe2::serialize::PyTorchStreamReader records(reader.get());
    std::string edited;
    caffe2::serialize::PyTorchStreamWriter writer(
        [&](const void* data, size_t size) {
          edited.append(static_cast<const char*>(data), size);
          return size;
        });
    for (const std::string& name : records.getAllRecords()) {
      if (name == ".data/serialization_id" || name == "version") continue;
      auto [data, size] = records.getRecord(name);
      std::string record(static_cast<const char*>(data.get()), size);
      // The pickled name of the second record, of the length 1.
      const std::string second(
          "X\x01\0\0\0"
          "1",
          6);
      const size_t at = record.find(second);
      if (name == "data.pkl") {
        ASSERT_NE(at, std::string::npos);
        record[at + 5] = '0';
      }
      writer.writeRecord(name, record.data(), record.size());
    }
    writer.writeEndOfFile();
    bytes = std::move(edited);
  }
  // 1 in place of 2, twice.
  EXPECT_EQ(ResultOf(*ModelFromBytes(bytes)), 18);
  EXPECT_EQ(ModelFromOwnBytes(bytes).status().code(),
            absl::StatusCode::kAborted);

  Save();
  Blobs blobs = *ReadBundle(path_);
  CheckpointProto proto;
  ASSERT_TRUE(proto.ParseFromString(blobs.at("checkpoint")));
  (*proto.mutable_parts())["model.pt"] = Sha256Hex(bytes);
  blobs.at("checkpoint") = proto.SerializeAsString();
  blobs.at("model.pt") = std::move(bytes);
  fs::remove_all(path_);
  ASSERT_TRUE(WriteBundle(path_, blobs, GetParam()).ok());
  const auto loaded = LoadCheckpoint(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(ResultOf(loaded->source->model()), 18);
}

}  // namespace
}  // namespace aitune::frontend
