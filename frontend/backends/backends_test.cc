// The backends on TorchScript models, through the interface that users
// have.
#include "frontend/testing/backends.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "compiler/Compiler.h"
#include "frontend/compiled_model/compiled_model.h"
#include "runtime/backend/registry.h"
#include "runtime/control/control.h"
#include "runtime/cuda/device.h"
#include "runtime/executable/memory_use.h"
#include "runtime/logging/logging.h"

namespace aitune::frontend {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class BackendsTest : public testing::Test {
 protected:
  BuildRequest Request(std::shared_ptr<TorchScriptSource> source,
                       const std::vector<at::Tensor>& samples) const {
    return RequestOf(std::move(source), samples, folder_);
  }
  const std::vector<std::string>& logs() const { return capture_.lines(); }

  const fs::path folder_ = EmptyFolder();
  const LogCapture capture_;
};

TEST_F(BackendsTest, AreRegisteredByName) {
  std::vector<std::string> names;
  for (const BackendDescription& backend : ListBackends()) {
    names.push_back(backend.name);
    EXPECT_FALSE(backend.help.empty());
    ASSERT_EQ(backend.devices.size(), 2u);
    EXPECT_EQ(backend.devices[0].type, "cpu");
    EXPECT_EQ(backend.devices[0].reason, "");
    EXPECT_EQ(backend.devices[1].type, "cuda");
    if (!cuda::Device::Open(0).ok()) {
      EXPECT_FALSE(backend.devices[1].reason.empty());
    }
  }
  EXPECT_THAT(names, ElementsAre("TorchAOBackend", "TorchCudaGraphsBackend",
                                 "TorchEagerBackend", "TorchInductorBackend",
                                 "TorchScriptBackend"));
}

TEST_F(BackendsTest, GiveEagersResults) {
  for (const char* name : {"TorchCudaGraphsBackend", "TorchEagerBackend",
                           "TorchInductorBackend", "TorchScriptBackend"}) {
    auto source = SourceOf(kNet);
    auto backend = BackendOf(name);
    const at::Tensor x = at::randn({2, 3});
    ASSERT_TRUE(backend->Build(Request(source, {x})).ok()) << name;
    ExpectAgrees(*source, *backend, x);
    ASSERT_TRUE(backend->Deactivate().ok());
    EXPECT_FALSE(Call(*source, *backend, x).ok());
    ASSERT_TRUE(backend->Activate().ok());
    ExpectAgrees(*source, *backend, x);
  }
}

TEST_F(BackendsTest, AGpuThatThereIsNotIsAnErrorAndTheCpuStillWorks) {
  if (cuda::Device::Open(0).ok()) GTEST_SKIP() << "there is a GPU";
  for (const char* name : {"TorchCudaGraphsBackend", "TorchEagerBackend",
                           "TorchInductorBackend", "TorchScriptBackend"}) {
    auto source = SourceOf(kNet);
    auto backend = BackendOf(name);
    const at::Tensor x = at::randn({2, 3});
    BuildRequest request = Request(source, {x});
    request.device = *Device::Parse("cuda:0");
    EXPECT_EQ(backend->Build(request), cuda::Device::Open(0).status()) << name;
    EXPECT_EQ(backend->state(), BackendState::kInit);
    request.device = *Device::Parse("cpu");
    ASSERT_TRUE(backend->Build(request).ok()) << name;
    ExpectAgrees(*source, *backend, x);
  }
}

TEST_F(BackendsTest, WhatOnlyAGpuHasIsRefusedOnACpu) {
  for (const ConfigDict& options :
       {ConfigDict{{"backends.cuda.matmul.allow_tf32", true}},
        ConfigDict{{"backends.cudnn.allow_tf32", false}},
        ConfigDict{{"triton.cudagraphs", true}}}) {
    auto backend = BackendOf("TorchInductorBackend", {{"options", options}});
    const absl::Status status =
        backend->Build(Request(SourceOf(kNet), {at::randn({2, 3})}));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(options.begin()->first));
  }
}

TEST_F(BackendsTest, ActivateDoesNotCompile) {
  auto source = SourceOf(kNet);
  auto backend = BackendOf("TorchInductorBackend");
  const at::Tensor x = at::randn({2, 3});
  ASSERT_TRUE(backend->Build(Request(source, {x})).ok());
  ExpectAgrees(*source, *backend, x);
  const MemoryUse active = backend->Memory();
  ASSERT_TRUE(backend->Deactivate().ok());
  EXPECT_LT(backend->Memory().total(), active.total());
  EXPECT_EQ(backend->Memory().arenas, 0);
  EXPECT_EQ(backend->Memory().weights, 0);
  const int64_t graphs = compileCounts().graphs;
  ASSERT_TRUE(backend->Activate().ok());
  ExpectAgrees(*source, *backend, x);
  EXPECT_EQ(compileCounts().graphs, graphs);
  EXPECT_EQ(backend->Memory().weights, active.weights);
}

TEST_F(BackendsTest, ActivateDoesNotCompileWithoutACacheEither) {
  auto source = SourceOf(kNet);
  auto backend = BackendOf("TorchInductorBackend");
  const at::Tensor x = at::randn({2, 3});
  BuildRequest request = Request(source, {x});
  request.cache_dir.clear();
  ASSERT_TRUE(backend->Build(request).ok());
  ASSERT_TRUE(backend->Deactivate().ok());
  const int64_t graphs = compileCounts().graphs;
  ASSERT_TRUE(backend->Activate().ok());
  ExpectAgrees(*source, *backend, x);
  EXPECT_EQ(compileCounts().graphs, graphs);
}

TEST_F(BackendsTest, ASecondBuildComesFromTheCache) {
  const at::Tensor x = at::randn({2, 3});
  ASSERT_TRUE(BackendOf("TorchInductorBackend")
                  ->Build(Request(SourceOf(kNet), {x}))
                  .ok());
  const int64_t graphs = compileCounts().graphs;
  auto source = SourceOf(kNet);
  auto backend = BackendOf("TorchInductorBackend");
  ASSERT_TRUE(backend->Build(Request(source, {at::randn({2, 3})})).ok());
  ExpectAgrees(*source, *backend, x);
  EXPECT_EQ(compileCounts().graphs, graphs);
}

// dynamic unset: static first, dynamic at the second size of an axis.
TEST_F(BackendsTest, UnsetDynamicIsDynamicFromTheSecondSize) {
  SetEnabled(LogChannel::kRecompiles, true);
  auto source = SourceOf(kNet);
  auto backend = BackendOf("TorchInductorBackend");
  ASSERT_TRUE(backend->Build(Request(source, {at::randn({4, 3})})).ok());
  int64_t graphs = compileCounts().graphs;
  ExpectAgrees(*source, *backend, at::randn({4, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs);
  ExpectAgrees(*source, *backend, at::randn({6, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs + 1);
  EXPECT_THAT(logs(), Contains(AllOf(
                          HasSubstr("recompiles: compiling version 1 of net"),
                          HasSubstr("the size of axis 0 of input 0"),
                          HasSubstr("to avoid it"))));
  ExpectAgrees(*source, *backend, at::randn({7, 3}));
  ExpectAgrees(*source, *backend, at::randn({2, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs + 1);
}

// dynamic=False: every combination of sizes for itself.
TEST_F(BackendsTest, FalseDynamicSpecializesAlways) {
  auto source = SourceOf(kNet);
  auto backend = BackendOf("TorchInductorBackend", {{"dynamic", false}});
  ASSERT_TRUE(backend->Build(Request(source, {at::randn({4, 3})})).ok());
  const int64_t graphs = compileCounts().graphs;
  for (const int64_t rows : {5, 6, 7})
    ExpectAgrees(*source, *backend, at::randn({rows, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs + 3);
}

// dynamic=True: dynamic up front.
TEST_F(BackendsTest, TrueDynamicDoesNotRecompile) {
  auto source = SourceOf(kNet);
  auto backend = BackendOf("TorchInductorBackend", {{"dynamic", true}});
  ASSERT_TRUE(backend->Build(Request(source, {at::randn({8, 3})})).ok());
  const int64_t graphs = compileCounts().graphs;
  for (const int64_t rows : {2, 5, 16})
    ExpectAgrees(*source, *backend, at::randn({rows, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs);
  // Beyond the reach one more version is made, which reaches further.
  for (const int64_t rows : {17, 33, 64})
    ExpectAgrees(*source, *backend, at::randn({rows, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs + 1);
}

TEST_F(BackendsTest, BeyondTheRecompileLimitLibTorchRunsTheCall) {
  auto source = SourceOf(kNet);
  auto backend = BackendOf(
      "TorchInductorBackend",
      {{"dynamic", false}, {"options", ConfigDict{{"recompile_limit", 2}}}});
  ASSERT_TRUE(backend->Build(Request(source, {at::randn({4, 3})})).ok());
  // Sizes that the model itself refuses are no versions.
  for (int64_t columns = 4; columns < 8; ++columns)
    EXPECT_FALSE(Call(*source, *backend, at::randn({4, columns})).ok());
  ExpectAgrees(*source, *backend, at::randn({5, 3}));
  EXPECT_THAT(backend->Notes(), Not(Contains(HasSubstr("beyond the limit"))));
  const int64_t graphs = compileCounts().graphs;
  ExpectAgrees(*source, *backend, at::randn({6, 3}));
  ExpectAgrees(*source, *backend, at::randn({7, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs);
  EXPECT_THAT(logs(), Contains(HasSubstr("warning: net has reached the limit "
                                         "of 2 compiled versions")));
  EXPECT_THAT(backend->Notes(),
              Contains(HasSubstr("LibTorch ran 2 calls of sizes beyond the "
                                 "limit of 2 compiled versions")));
  ExpectAgrees(*source, *backend, at::randn({4, 3}));
}

TEST_F(BackendsTest, FullgraphRefusesGraphBreaks) {
  SetEnabled(LogChannel::kGraphBreaks, true);
  const at::Tensor x = at::randn({2, 3});
  auto loose = BackendOf("TorchInductorBackend");
  auto source = SourceOf(kNetWithFallback);
  ASSERT_TRUE(loose->Build(Request(source, {x})).ok());
  ExpectAgrees(*source, *loose, x);
  EXPECT_THAT(logs(), Contains(AllOf(HasSubstr("graph_breaks: net"),
                                     HasSubstr("aten::bincount"))));
  auto strict = BackendOf("TorchInductorBackend", {{"fullgraph", true}});
  const absl::Status refused = strict->Build(Request(source, {x}));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("fullgraph=True"), HasSubstr("aten::bincount")));
  EXPECT_EQ(strict->state(), BackendState::kInit);
  AllowInGraph("aten::bincount");
  const absl::Status allowed = strict->Build(Request(source, {x}));
  DisallowInGraph("aten::bincount");
  EXPECT_TRUE(allowed.ok()) << allowed;
}

TEST_F(BackendsTest, CudaGraphsAreRefusedOnACpuUnlessAModeAsks) {
  const at::Tensor x = at::randn({2, 3});
  auto option =
      BackendOf("TorchInductorBackend",
                {{"options", ConfigDict{{"triton.cudagraphs", true}}}});
  EXPECT_THAT(
      std::string(option->Build(Request(SourceOf(kNet), {x})).message()),
      HasSubstr("triton.cudagraphs has no effect on a CPU"));
  auto mode = BackendOf("TorchInductorBackend", {{"mode", "reduce-overhead"}});
  EXPECT_TRUE(mode->Build(Request(SourceOf(kNet), {x})).ok());
}

TEST_F(BackendsTest, MaxAutotuneMeasures) {
  const at::Tensor x = at::randn({64, 3});
  const int64_t before = compileCounts().measurements;
  ASSERT_TRUE(BackendOf("TorchInductorBackend")
                  ->Build(Request(SourceOf(kNet), {x}))
                  .ok());
  EXPECT_EQ(compileCounts().measurements, before);
  ASSERT_TRUE(BackendOf("TorchInductorBackend", {{"mode", "max-autotune"}})
                  ->Build(Request(SourceOf(kNet), {x}))
                  .ok());
  EXPECT_GT(compileCounts().measurements, before);
}

TEST_F(BackendsTest, AutocastComputesNarrowAndRestoresTheDtype) {
  const at::Tensor x = at::randn({16, 3});
  for (const char* name : {"TorchCudaGraphsBackend", "TorchEagerBackend",
                           "TorchInductorBackend", "TorchScriptBackend"}) {
    auto source = SourceOf(kNet);
    auto backend = BackendOf(name, {{"autocast_enabled", true},
                                    {"autocast_dtype", DataType::kBFloat16}});
    const absl::Status built = backend->Build(Request(source, {x}));
    ASSERT_TRUE(built.ok()) << name << built;
    ExpectAgrees(*source, *backend, x, 0.05);
    auto ours = Call(*source, *backend, x);
    ASSERT_TRUE(ours.ok());
    EXPECT_EQ(ours->toTensor().scalar_type(), at::kFloat) << name;
    const at::Tensor eager =
        source->model().RunEager(ValueList({x}))->toTensor();
    // Computed in bfloat16, or it would be closer.
    EXPECT_GT((ours->toTensor() - eager).abs().max().item<float>(), 1e-4f)
        << name;
  }
}

TEST_F(BackendsTest, StateDictsBringTheArtifactBack) {
  const at::Tensor x = at::randn({2, 3});
  for (const char* name : {"TorchCudaGraphsBackend", "TorchEagerBackend",
                           "TorchInductorBackend", "TorchScriptBackend"}) {
    auto source = SourceOf(kNet);
    auto backend = BackendOf(name);
    ASSERT_TRUE(backend->Build(Request(source, {x})).ok());
    auto state = backend->ToDict();
    ASSERT_TRUE(state.ok()) << state.status();
    const int64_t graphs = compileCounts().graphs;
    auto again = SourceOf(kNet);
    auto loaded = BackendFromDict(again, *state);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ((*loaded)->state(), BackendState::kCheckpointLoaded);
    EXPECT_EQ((*loaded)->Key(), backend->Key());
    const absl::Status deployed = (*loaded)->Deploy(std::nullopt);
    ASSERT_TRUE(deployed.ok()) << deployed;
    ExpectAgrees(*again, **loaded, x);
    EXPECT_EQ(compileCounts().graphs, graphs);

    std::string changed = kNet;
    changed.replace(changed.find("1.5"), 3, "1.6");
    EXPECT_THAT(
        std::string(
            BackendFromDict(SourceOf(changed), *state).status().message()),
        HasSubstr("another model"));
  }
}

TEST_F(BackendsTest, StancesDecideWhatNewInputsDo) {
  auto source = SourceOf(kNet);
  auto backend = BackendOf("TorchInductorBackend", {{"dynamic", false}});
  ASSERT_TRUE(backend->Build(Request(source, {at::randn({4, 3})})).ok());
  const int64_t graphs = compileCounts().graphs;
  {
    const ScopedStance stance(Stance::kForceEager);
    ExpectAgrees(*source, *backend, at::randn({5, 3}));
  }
  {
    const ScopedStance stance(Stance::kEagerOnRecompile);
    ExpectAgrees(*source, *backend, at::randn({5, 3}));
  }
  {
    const ScopedStance stance(Stance::kFailOnRecompile);
    ExpectAgrees(*source, *backend, at::randn({4, 3}));
    EXPECT_THAT(
        std::string(
            Call(*source, *backend, at::randn({5, 3})).status().message()),
        AllOf(HasSubstr("would have to be compiled"),
              HasSubstr("the size of axis 0 of input 0")));
  }
  EXPECT_EQ(compileCounts().graphs, graphs);
  ExpectAgrees(*source, *backend, at::randn({5, 3}));
  EXPECT_EQ(compileCounts().graphs, graphs + 1);
}

// Frozen weights are those of the build, eager's those of now.
TEST_F(BackendsTest, ForceEagerHoldsForTorchScriptToo) {
  torch::jit::Module net("net");
  net.register_buffer("w", at::ones({3}));
  net.define("def forward(self, x: Tensor):\n    return x * self.w\n");
  auto model = Model::FromModule(net);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*std::move(model)), "net");
  auto backend = BackendOf("TorchScriptBackend", {{"freeze", true}});
  const at::Tensor x = at::ones({3});
  ASSERT_TRUE(backend->Build(Request(source, {x})).ok());
  net.setattr("w", at::full({3}, 2.0));
  const auto first = [&] {
    auto result = Call(*source, *backend, x);
    EXPECT_TRUE(result.ok()) << result.status();
    return result->toTensor()[0].item<float>();
  };
  EXPECT_EQ(first(), 1);
  const ScopedStance stance(Stance::kForceEager);
  EXPECT_EQ(first(), 2);
}

TEST_F(BackendsTest, ResetForgetsVersions) {
  auto source = SourceOf(kNet);
  for (const bool is_active : {true, false}) {
    auto backend = BackendOf("TorchInductorBackend");
    BuildRequest request = Request(source, {at::randn({4, 3})});
    request.cache_dir.clear();
    ASSERT_TRUE(backend->Build(request).ok());
    const int64_t graphs = compileCounts().graphs;
    if (!is_active) ASSERT_TRUE(backend->Deactivate().ok());
    ASSERT_TRUE(Reset().ok());
    if (!is_active) ASSERT_TRUE(backend->Activate().ok());
    ExpectAgrees(*source, *backend, at::randn({4, 3}));
    EXPECT_EQ(compileCounts().graphs, graphs + 1) << is_active;
  }
}

// Until the backend is gone, what a reset forgets must be there.
TEST_F(BackendsTest, MayGoWhileAnotherThreadResets) {
  std::promise<void> resets, goes;
  // Registered before the backend's own, so that it is called first.
  const ResetRegistration first([&] {
    resets.set_value();
    goes.get_future().wait();
    // Time for the backend to go as far as it can.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });
  auto source = SourceOf(kNet);
  auto backend = BackendOf("TorchInductorBackend");
  ASSERT_TRUE(backend->Build(Request(source, {at::randn({4, 3})})).ok());
  std::thread other([] { EXPECT_TRUE(Reset().ok()); });
  resets.get_future().wait();
  goes.set_value();
  backend = nullptr;
  other.join();
}

TEST_F(BackendsTest, NestedAndConstantInputs) {
  auto model = Model::FromSource(R"(
def forward(self, x: Dict[str, Tensor], k: int) -> Tuple[Tensor, List[Tensor]]:
    return x["a"] * k, [x["b"] + k]
)");
  ASSERT_TRUE(model.ok()) << model.status();
  auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*std::move(model)), "nested");
  const auto arguments = [](int64_t k) {
    c10::impl::GenericDict dict(c10::StringType::get(), c10::TensorType::get());
    dict.insert("a", at::ones({2}));
    dict.insert("b", at::ones({3}));
    return ValueList({dict, k});
  };
  auto backend = BackendOf("TorchInductorBackend");
  BuildRequest request;
  request.model = source;
  request.device = *Device::Parse("cpu");
  request.samples.push_back(*source->Flatten(arguments(2)));
  const absl::Status built = backend->Build(request);
  ASSERT_TRUE(built.ok()) << built;
  for (const int64_t k : {2, 3}) {  // another constant: another version
    auto inputs = source->Flatten(arguments(k));
    ASSERT_TRUE(inputs.ok());
    auto outputs = backend->Infer(Values(*inputs));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    auto result = source->UnflattenResult(*outputs);
    ASSERT_TRUE(result.ok()) << result.status();
    const auto& elements = result->toTupleRef().elements();
    EXPECT_TRUE(at::equal(elements[0].toTensor(), at::full({2}, double(k))));
    EXPECT_TRUE(
        at::equal(elements[1].toTensorList()[0], at::full({3}, double(k + 1))));
  }
  EXPECT_THAT(
      std::string(
          source->Flatten(ValueList({at::ones({2}), 2})).status().message()),
      HasSubstr("nested in another way"));
}

TEST_F(BackendsTest, ADictIsReadByItsKeysInWhateverOrder) {
  auto model = Model::FromSource(R"(
def forward(self, x: Dict[str, Tensor]) -> Dict[str, Tensor]:
    return {"a": x["a"] * 2, "b": x["b"] - 1}
)");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto shared = std::make_shared<const Model>(*std::move(model));
  const auto arguments = [](const char* first, const char* second) {
    c10::Dict<std::string, at::Tensor> dict;
    for (const char* key : {first, second})
      dict.insert(key, at::full({2}, key[0] == 'a' ? 10. : 20.));
    return ValueList({dict});
  };
  const auto check = [&](const TorchScriptSource& source,
                         const Backend& backend, const ValueList& given) {
    auto inputs = source.Flatten(given);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    auto outputs = backend.Infer(Values(*inputs));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    auto result = source.UnflattenResult(*outputs);
    ASSERT_TRUE(result.ok()) << result.status();
    const auto dict = result->toGenericDict();
    EXPECT_TRUE(at::equal(dict.at("a").toTensor(), at::full({2}, 20.)));
    EXPECT_TRUE(at::equal(dict.at("b").toTensor(), at::full({2}, 19.)));
  };
  auto source = std::make_shared<TorchScriptSource>(shared, "dict");
  auto backend = BackendOf("TorchInductorBackend");
  BuildRequest request;
  request.model = source;
  request.samples.push_back(*source->Flatten(arguments("a", "b")));
  const absl::Status built = backend->Build(request);
  ASSERT_TRUE(built.ok()) << built;
  check(*source, *backend, arguments("a", "b"));
  check(*source, *backend, arguments("b", "a"));
  // What was compiled numbers its inputs, whichever call comes first.
  const auto state = backend->ToDict();
  ASSERT_TRUE(state.ok()) << state.status();
  auto again = std::make_shared<TorchScriptSource>(shared, "dict");
  auto loaded = BackendOf("TorchInductorBackend");
  const absl::Status read = loaded->FromDict(again, *state);
  ASSERT_TRUE(read.ok()) << read;
  const absl::Status deployed = loaded->Deploy(Device());
  ASSERT_TRUE(deployed.ok()) << deployed;
  check(*again, *loaded, arguments("b", "a"));
}

TEST_F(BackendsTest, ThreadsShareABackend) {
  auto source = SourceOf(kNet);
  auto backend = BackendOf("TorchInductorBackend");
  ASSERT_TRUE(backend->Build(Request(source, {at::randn({4, 3})})).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        ExpectAgrees(*source, *backend, at::randn({2 + (t + i) % 5, 3}));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace aitune::frontend
