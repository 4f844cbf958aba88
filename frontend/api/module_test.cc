#include "frontend/api/module.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <optional>
#include <thread>

#include "frontend/api/module_fixture.h"
#include "frontend/testing/models.h"
#include "runtime/backend/fake_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/control/control.h"
#include "runtime/cuda/device.h"

namespace ait {
namespace {

using aitune::frontend::Model;
using aitune::frontend::ValueList;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ModuleTest, RunsInEagerUntilItIsTuned) {
  auto module = Wrap();
  EXPECT_FALSE(module->is_tuned());
  EXPECT_EQ(module->Describe(), "eager");
  EXPECT_EQ(module->report().error, "it was not tuned");
  ExpectAgrees(*module, at::randn({2, 3}));
}

TEST_F(ModuleTest, LearnsItsAxesFromSamples) {
  auto module = Wrap();
  ASSERT_TRUE(module->Record(ValueList({at::randn({1, 2, 3, 4})}), 1).ok());
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 8, 6, 4})}), 2).ok());
  auto spec = module->Spec();
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->ToString(), "float32[batch0, dim1, batch2, 4]");
}

// The spec of `module` after RecordInputs of `ranges`.
absl::StatusOr<aitune::GraphSpec> SpecOfRanges(
    Module& module, const std::vector<const char*>& ranges) {
  aitune::frontend::ModelInputs inputs;
  for (const char* const text : ranges)
    inputs.specs.push_back(*aitune::frontend::ParseInputSpec(text));
  if (absl::Status recorded = module.RecordInputs(inputs, 0); !recorded.ok())
    return recorded;
  return module.Spec();
}

// Indices that fit the largest number of rows are too large for one row.
TEST_F(ModuleTest, RecordsTheSmallestInputsForWhichEagerRuns) {
  const auto module =
      Wrap("def forward(self, x: Tensor, i: Tensor):\n  return x[i] * 2\n");
  const auto spec =
      SpecOfRanges(*module, {"float32[1..16,8]", "int64[5]{0..9}"});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_GT(spec->min_batch, 1);
  EXPECT_EQ(spec->max_batch, 16);
}

// Rows beyond those of a table.
TEST_F(ModuleTest, RecordsTheLargestInputsForWhichEagerRuns) {
  const auto module = Wrap(
      "def forward(self, x: Tensor):\n"
      "  return x + torch.ones([21, 8])[torch.arange(x.size(0))]\n");
  const auto spec = SpecOfRanges(*module, {"float32[1..64,8]"});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->min_batch, 1);
  EXPECT_EQ(spec->max_batch, 21);
}

// Eager takes no rows but those beyond the second input's.
TEST_F(ModuleTest, RecordsTheLargestInputsOfOneAxisAfterTheOther) {
  const auto module = Wrap(
      "def forward(self, x: Tensor, y: Tensor):\n"
      "  return x[y.size(0):].amax(0)\n");
  const auto spec =
      SpecOfRanges(*module, {"float32[1..6,5]", "float32[0..7,5]"});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->min_batch, 2);
  EXPECT_EQ(spec->max_batch, 6);
  EXPECT_EQ(spec->ToString(), "float32[batch0, 5], float32[dim0, 5]");
}

TEST_F(ModuleTest, AFailedTuningLeavesNoSamples) {
  auto module =
      Wrap("def forward(self, x: Tensor):\n  return x @ torch.ones([16, 4])\n");
  const auto tune = [&](const char* text) {
    TuneOptions options = Quick("TorchInductorBackend");
    options.inputs.emplace();
    options.inputs->specs.push_back(*aitune::frontend::ParseInputSpec(text));
    return module->Tune(*aitune::OneBackend(), options);
  };
  EXPECT_FALSE(tune("float32[1..8,15]").ok());
  const absl::Status tuned = tune("float32[1..8,16]");
  EXPECT_TRUE(tuned.ok()) << tuned;
  ExpectAgrees(*module, at::randn({3, 16}));
}

TEST_F(ModuleTest, TunesAndRunsEveryBatchSize) {
  auto module = Wrap();
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})}), 2).ok());
  ASSERT_TRUE(module->Record(ValueList({at::randn({8, 3})}), 8).ok());
  const absl::Status tuned =
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
  ASSERT_TRUE(tuned.ok()) << tuned;
  EXPECT_TRUE(module->is_tuned());
  EXPECT_EQ(module->Describe(), "TorchInductorBackend()");
  EXPECT_EQ(module->report().error, "");
  EXPECT_EQ(module->report().inputs, "float32[batch0, 3]");
  for (const int64_t batch : {2, 3, 8})
    ExpectAgrees(*module, at::randn({batch, 3}));
  module->SetDisabled(true);
  EXPECT_EQ(module->Describe(), "eager");
  module->SetDisabled(false);
  EXPECT_TRUE(module->is_tuned());
}

TEST_F(ModuleTest, StrategiesTimeBackendsAgainstEager) {
  auto module = Wrap();
  ASSERT_TRUE(module->Record(ValueList({at::randn({1, 3})}), 1).ok());
  ASSERT_TRUE(module->Record(ValueList({at::randn({4, 3})}), 4).ok());
  for (const auto& strategy :
       {aitune::FirstWins(), aitune::MaxThroughput(), aitune::MinLatency(),
        aitune::LatencyBudget(10000)}) {
    const absl::Status tuned =
        module->Tune(*strategy, Quick("TorchInductorBackend"));
    ASSERT_TRUE(tuned.ok()) << strategy->name() << tuned;
    const TuneReport report = module->report();
    EXPECT_EQ(report.strategy, strategy->name());
    ASSERT_EQ(report.backends.size(), 2u);
    EXPECT_TRUE(report.backends[0].is_eager);
    EXPECT_EQ(report.backends[0].chosen + report.backends[1].chosen, 1);
    EXPECT_FALSE(report.backends[0].timings.empty());
    ExpectAgrees(*module, at::randn({4, 3}));
  }
  EXPECT_EQ(
      module->Tune(*aitune::LatencyBudget(1e-6), Quick("TorchInductorBackend"))
          .message(),
      "No backend satisfied latency budget 0.000 ms");
  // A failure leaves the module as it was.
  ExpectAgrees(*module, at::randn({4, 3}));
}

TEST_F(ModuleTest, FailuresLeaveItInEagerWithTheReason) {
  auto module = Wrap();
  EXPECT_EQ(module->Tune(*aitune::OneBackend(), {}).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
  TuneOptions options = Quick("TorchInductorBackend");
  options.backends[0].second = {
      {"options", aitune::ConfigDict{{"triton.cudagraphs", true}}}};
  EXPECT_FALSE(module->Tune(*aitune::OneBackend(), options).ok());
  EXPECT_FALSE(module->is_tuned());
  EXPECT_THAT(module->report().error, HasSubstr("triton.cudagraphs"));
  EXPECT_THAT(capture_.lines(),
              testing::Contains(HasSubstr("net is not tuned")));
  ExpectAgrees(*module, at::randn({2, 3}));
}

// What a program raises for, other elements than those of the calls, is no
// reason to refuse the calls, nor to load what was made for them.
TEST_F(ModuleTest, RunsProgramsThatRaiseForMostElements) {
  auto module = Wrap(
      "def forward(self, x: Tensor, n: Tensor):\n"
      "    data, sizes = torch._pack_padded_sequence(x * 2, n, True)\n"
      "    return data + 1, sizes, x[0][n - 1]\n");
  const auto arguments = [](const std::vector<int64_t>& lengths) {
    const auto rows = static_cast<int64_t>(lengths.size());
    return ValueList({at::randn({rows, lengths[0] + rows, 4}),
                      at::tensor(lengths, at::kLong)});
  };
  const auto expect_agrees = [&](const Module& with, const ValueList& values) {
    auto ours = with.Run(values);
    ASSERT_TRUE(ours.ok()) << ours.status();
    aitune::frontend::ExpectClose(*ours, *model_->RunEager(values));
  };
  ASSERT_TRUE(module->Record(arguments({3, 2, 1})).ok());
  const absl::Status tuned =
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
  ASSERT_TRUE(tuned.ok()) << tuned;
  expect_agrees(*module, arguments({3, 2, 1}));
  expect_agrees(*module, arguments({3, 1, 1}));
  expect_agrees(*module, arguments({4, 4, 2, 2}));
  expect_agrees(*module, arguments({7, 6}));
  EXPECT_EQ(module->Usage().eager_calls, 0);
  const std::filesystem::path path = folder_ / "net.aitune";
  ASSERT_TRUE(module->Save(path, aitune::BundleFormat::kFile).ok());
  auto loaded = Module::LoadCheckpoint(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  expect_agrees(**loaded, arguments({3, 2, 1}));
  expect_agrees(**loaded, arguments({5, 4}));
}

// Counts its calls in a buffer, or in an attribute.
std::shared_ptr<const Model> Counter(const std::string& body) {
  torch::jit::Module module("Counter");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_buffer("count", at::zeros({1}));
  module.register_attribute("calls", c10::IntType::get(), 0);
  module.define("def forward(self, x: Tensor) -> Tensor:\n" + body);
  auto model = Model::FromModule(module);
  EXPECT_TRUE(model.ok()) << model.status();
  return std::make_shared<const Model>(*std::move(model));
}

TEST_F(ModuleTest, ModelsWithStateAreTunedOnCopiesOfIt) {
  for (const char* body :
       {"  self.count.add_(1)\n  return x * self.count\n",
        "  self.calls = self.calls + 1\n  return x * self.calls\n"}) {
    for (const char* backend : {"TorchInductorBackend", "TorchScriptBackend"}) {
      model_ = Counter(body);
      auto module = Module::Wrap(model_, {"counter", folder_ / "cache"});
      for (const int64_t batch : {1, 4})
        ASSERT_TRUE(
            module->Record(ValueList({at::ones({batch, 3})}), batch).ok());
      ASSERT_TRUE(module->Tune(*aitune::MaxThroughput(), Quick(backend)).ok());
      for (const aitune::BackendReport& report : module->report().backends) {
        EXPECT_THAT(report.reason, Not(HasSubstr("differs")));
        EXPECT_FALSE(report.timings.empty());
      }
      // The first call is the first.
      EXPECT_EQ(module->Run(ValueList({at::ones({1, 3})}))
                    ->toTensor()
                    .sum()
                    .item<float>(),
                3)
          << body << backend;
    }
  }
}

// What the calls of one version change, the calls of the others see.
TEST_F(ModuleTest, StateThatSomeCallsChangeIsSeenByAll) {
  for (const char* body :
       {"  if x.size(0) > 4:\n    self.calls = self.calls + 1\n"
        "  return x * self.calls\n",
        "  if x.size(0) > 4:\n    self.count = self.count + x.mean()\n"
        "  return x * self.count\n",
        "  return torch.batch_norm(x, None, None, self.mean, self.mean, "
        "x.size(0) > 4, 0.5, 1e-5, False)\n"}) {
    const auto make = [&] {
      torch::jit::Module module("Stateful");
      module.register_attribute("training", c10::BoolType::get(), false);
      module.register_buffer("count", at::ones({1}));
      module.register_buffer("mean", at::ones({3}));
      module.register_attribute("calls", c10::IntType::get(), 1);
      module.define(std::string("def forward(self, x: Tensor):\n") + body);
      auto model = Model::FromModule(module);
      EXPECT_TRUE(model.ok()) << model.status();
      return std::make_shared<const Model>(*std::move(model));
    };
    // The calls that change it may be LibTorch's, without a version.
    for (const bool forced : {false, true}) {
      const std::shared_ptr<const Model> eager = make();
      auto module = Module::Wrap(make(), {"stateful", folder_ / "cache"});
      ASSERT_TRUE(module->Record(ValueList({at::randn({3, 3})})).ok());
      ASSERT_TRUE(
          module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"))
              .ok());
      const auto expect_agrees = [&](const Module& ours, int64_t rows) {
        const ValueList arguments({at::randn({rows, 3}).abs()});
        const auto result = ours.Run(arguments);
        ASSERT_TRUE(result.ok()) << body << result.status();
        aitune::frontend::ExpectClose(*result, *eager->RunEager(arguments));
      };
      for (const int64_t rows : {3, 2, 5, 3, 6, 2, 3}) {
        std::optional<aitune::ScopedStance> stance;
        if (forced && rows > 4) stance.emplace(aitune::Stance::kForceEager);
        expect_agrees(*module, rows);
      }
      const std::filesystem::path file = folder_ / "stateful.aitune";
      ASSERT_TRUE(module->Save(file, aitune::BundleFormat::kFile).ok());
      const auto loaded = Module::LoadCheckpoint(file);
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      for (const int64_t rows : {3, 5, 2, 3}) expect_agrees(**loaded, rows);
    }
  }
}

// As of a recurrent network with a state: its parameters are in a list, too,
// which no build may change.
TEST_F(ModuleTest, AModelWithStateAndAListOfParametersIsTunedForAllSamples) {
  const auto make = [] {
    torch::jit::Module module("Recurrent");
    module.register_attribute("training", c10::BoolType::get(), false);
    const at::Tensor weight = at::ones({3, 3}).set_requires_grad(true);
    module.register_parameter("weight", weight, /*is_buffer=*/false);
    module.register_attribute("weights", c10::ListType::ofTensors(),
                              c10::List<at::Tensor>({weight}));
    module.register_attribute("last", c10::TensorType::get(), at::zeros({1}));
    module.define(
        "def forward(self, x: Tensor):\n"
        "  y = x @ self.weights[0]\n"
        "  self.last = x.sum(0)\n"
        "  return y\n");
    auto model = Model::FromModule(module);
    EXPECT_TRUE(model.ok()) << model.status();
    return std::make_shared<const Model>(*std::move(model));
  };
  const std::shared_ptr<const Model> eager = make();
  auto module = Module::Wrap(make(), {"recurrent", folder_ / "cache"});
  using Sizes = std::vector<int64_t>;
  for (const Sizes& sizes :
       {Sizes{5, 2, 3}, {1, 1, 3}, {17, 11, 3}, {3, 3, 3}, {1, 2, 3}})
    ASSERT_TRUE(module->Record(ValueList({at::randn(sizes)}), 1).ok());
  const absl::Status tuned =
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
  ASSERT_TRUE(tuned.ok()) << tuned;
  for (const Sizes& sizes :
       {Sizes{5, 2, 3}, {1, 1, 3}, {4, 7, 3}, {1, 2, 3}, {17, 11, 3}}) {
    const ValueList arguments({at::randn(sizes)});
    const auto result = module->Run(arguments);
    ASSERT_TRUE(result.ok()) << result.status();
    aitune::frontend::ExpectClose(*result, *eager->RunEager(arguments));
  }
}

TEST_F(ModuleTest, EachConfigurationHasTheBoundThatItPromises) {
  for (const aitune::DataType dtype :
       {aitune::DataType::kBFloat16, aitune::DataType::kFloat16}) {
    auto module = Wrap(
        "def forward(self, x: Tensor):\n"
        "    w = torch.sin(torch.arange(4096, dtype=6)).view([64, 64])\n"
        "    for i in range(4):\n"
        "        x = torch.relu(torch.matmul(x, w) * 0.2)\n"
        "    return x\n");
    ASSERT_TRUE(module->Record(ValueList({at::randn({8, 64})})).ok());
    TuneOptions options = Quick("TorchInductorBackend");
    options.backends[0].second = {{"autocast_enabled", true},
                                  {"autocast_dtype", dtype}};
    const absl::Status tuned = module->Tune(*aitune::OneBackend(), options);
    EXPECT_TRUE(tuned.ok()) << tuned;
    // The caller's bound goes before it.
    options.tolerance = 1e-6;
    const absl::Status refused = module->Tune(*aitune::OneBackend(), options);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("exceeds 1e-06"));
    options.tolerance = -1;
    EXPECT_EQ(module->Tune(*aitune::OneBackend(), options).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(ModuleTest, AQuantizedBackendIsHeldToTheCosineThatItPromises) {
  model_ = std::make_shared<const Model>(
      aitune::frontend::TwoLayers(aitune::DataType::kFloat32));
  ModuleOptions options{"net", folder_ / "cache"};
  options.compile.quantization = "int8wo,verdict=off";
  auto module = Module::Wrap(model_, options);
  ASSERT_TRUE(module->Record(ValueList({at::randn({4, 96})})).ok());
  TuneOptions tuning = Quick("TorchInductorBackend");
  EXPECT_THAT(
      std::string(module->Tune(*aitune::OneBackend(), tuning).message()),
      HasSubstr("the quantisation int8wo,verdict=off of the module's options "
                "is for the default backends"));
  tuning.backends.clear();
  const absl::Status tuned = module->Tune(*aitune::MaxThroughput(), tuning);
  ASSERT_TRUE(tuned.ok()) << tuned;
  const TuneReport report = module->report();
  ASSERT_EQ(report.backends.size(), 4u);
  EXPECT_EQ(report.backends[1].description,
            "TorchAOBackend(quantization_config=Int8WeightOnlyConfig(),"
            "verdict=False)");
  options.compile.quantization = "";
  module = Module::Wrap(model_, options);
  ASSERT_TRUE(module->Record(ValueList({at::randn({4, 96})})).ok());
  tuning.backends = {
      {"TorchAOBackend",
       {{"quantization", "int8wo"}, {"min_cosine", 1.0}, {"verdict", false}}}};
  EXPECT_THAT(
      std::string(module->Tune(*aitune::OneBackend(), tuning).message()),
      HasSubstr("to eager (bound 1.00000)"));
  tuning.backends[0].second[1].second = 0.9;
  EXPECT_TRUE(module->Tune(*aitune::OneBackend(), tuning).ok());
  // The caller's bound goes before it.
  tuning.tolerance = 1e-6;
  EXPECT_THAT(
      std::string(module->Tune(*aitune::OneBackend(), tuning).message()),
      HasSubstr("output error 0.0"));
}

TEST_F(ModuleTest, ADeviceThatThereIsNotIsAnError) {
  ModuleOptions options;
  options.device = "xpu";
  EXPECT_THAT(std::string(Module::Load("net.pt", options).status().message()),
              HasSubstr("'xpu'; there are cpu, cuda and cuda:N"));
  const absl::Status gpu = aitune::cuda::Device::Open(0).status();
  if (gpu.ok()) GTEST_SKIP() << "there is a GPU";
  options.device = "cuda";
  EXPECT_EQ(Module::Load("net.pt", options).status(), gpu);
}

TEST_F(ModuleTest, ComesBackFromACheckpoint) {
  auto module = Wrap();
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
  EXPECT_EQ(module->Save(folder_ / "net.aitune", aitune::BundleFormat::kFile)
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  auto digest =
      module->Save(folder_ / "net.aitune", aitune::BundleFormat::kFile);
  ASSERT_TRUE(digest.ok()) << digest.status();
  auto loaded = Module::LoadCheckpoint(folder_ / "net.aitune", *digest);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->name(), "net");
  EXPECT_TRUE((*loaded)->is_tuned());
  ExpectAgrees(**loaded, at::randn({2, 3}));
}

TEST_F(ModuleTest, WhatAnEarlierCallFindsLaterIsTheNextCallsError) {
  auto behavior = std::make_shared<aitune::FakeBehavior>();
  ASSERT_TRUE(aitune::RegisterBackend(
                  "LateBackend",
                  {"Finds errors after its calls.",
                   [behavior](const aitune::ConfigDict&) {
                     return absl::StatusOr<std::unique_ptr<aitune::Backend>>(
                         aitune::MakeFakeBackend("LateBackend", behavior));
                   }})
                  .ok());
  auto module = Wrap("def forward(self, x: Tensor):\n    return x * 2\n");
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
  // The fake does not know how results nest.
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchScriptBackend")).ok());
  const absl::Status tuned =
      module->Tune(*aitune::OneBackend(), Quick("LateBackend"));
  ASSERT_TRUE(tuned.ok()) << tuned;
  EXPECT_TRUE(module->TakeFailedCheck().ok());
  // As an index out of range on a GPU.
  bool failed = true;
  behavior->take_failed_check = [&failed] {
    return std::exchange(failed, false)
               ? absl::InvalidArgumentError("index 40 is out of range")
               : absl::OkStatus();
  };
  const int before = behavior->infers;
  EXPECT_EQ(module->Run(ValueList({at::randn({2, 3})})).status().message(),
            "index 40 is out of range");
  EXPECT_EQ(behavior->infers, before) << "the call was run all the same";
  ExpectAgrees(*module, at::randn({2, 3}));
  failed = true;
  EXPECT_EQ(module->TakeFailedCheck().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(module->TakeFailedCheck().ok()) << "it is told once";
  ExpectAgrees(*module, at::randn({2, 3}));
}

TEST_F(ModuleTest, SamplesThatDoNotGoTogetherAreRefusedWhenTheyAreRecorded) {
  auto module = Wrap();
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
  const absl::Status other =
      module->Record(ValueList({at::randn({2, 3}, at::kDouble)}));
  EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("does not go with"));
  EXPECT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
}

TEST_F(ModuleTest, BatchesAreCounted) {
  auto module = Wrap();
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})}), 2).ok());
  ASSERT_TRUE(module->Record(ValueList({at::randn({4, 3})}), 4).ok());
  TuneOptions options = Quick("TorchInductorBackend");
  for (const int64_t batch : {int64_t{-1}, int64_t{0}}) {
    options.batches = {batch};
    const absl::Status status = module->Tune(*aitune::MaxThroughput(), options);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("from 1 on"));
  }
}

TEST_F(ModuleTest, ThreadsCallWhileAnotherTunes) {
  auto module = Wrap();
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) ExpectAgrees(*module, at::randn({2, 3}));
    });
  }
  const absl::Status tuned =
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
  EXPECT_TRUE(tuned.ok()) << tuned;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ait
