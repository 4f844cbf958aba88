// A module with options and inputs builds and checks what the command line
// does.
#include "frontend/api/module_options.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <fstream>

#include "frontend/api/module.h"
#include "frontend/api/module_fixture.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "runtime/cache/cache.h"

namespace ait {
namespace {

using aitune::frontend::kNet;
using aitune::frontend::Model;
using aitune::frontend::ModelOf;
using aitune::frontend::ValueList;
using ::testing::HasSubstr;

// What `aitune tune` builds and checks.
aitune::frontend::ModelInputs InputsOf(const std::string& text) {
  aitune::frontend::ModelInputs inputs;
  inputs.specs = {*aitune::frontend::ParseInputSpec(text)};
  return inputs;
}

TEST_F(ModuleTest, WhatTheCommandLineBuiltIsFoundInItsCache) {
  model_ = std::make_shared<const Model>(
      ModelOf("def forward(self, x: Tensor):\n"
              "    if x.size(0) > 2:\n"
              "        return torch.relu(x) + 1\n"
              "    return torch.sigmoid(x) * 3\n"));
  auto cache = aitune::Cache::Open(folder_ / "cache");
  ASSERT_TRUE(cache.ok()) << cache.status();
  aitune::frontend::BuildOptions build;
  build.compile.emulateEagerCasts = true;
  build.compile.threads = 1;
  build.trace.seed = 7;
  build.cache = cache->get();
  const auto inputs = InputsOf("float32[1..4,8]");
  const auto built =
      aitune::frontend::CompiledModel::Build(*model_, inputs, build);
  ASSERT_TRUE(built.ok()) << built.status();
  ASSERT_TRUE((*built)->cache().stored) << (*built)->cache().detail;

  ModuleOptions options{"net", folder_ / "cache"};
  options.compile.emulateEagerCasts = true;
  options.compile.threads = 1;
  const auto first_version = [&] {
    auto module = Module::Wrap(model_, options);
    for (const int64_t batch : {1, 4})
      EXPECT_TRUE(
          module->Record(ValueList({at::randn({batch, 8})}), batch).ok());
    TuneOptions tuning = Quick("TorchInductorBackend");
    tuning.backends[0].second = {{"mode", "max-autotune"}};
    tuning.inputs = inputs;
    tuning.seed = 7;
    const absl::Status tuned = module->Tune(*aitune::OneBackend(), tuning);
    EXPECT_TRUE(tuned.ok()) << tuned;
    const TuneReport report = module->report();
    if (report.chosen() == nullptr || report.chosen()->versions.empty())
      return aitune::frontend::BuiltVersion();
    // It decides by the size.
    EXPECT_EQ(report.chosen()->versions.size(), 2u);
    for (const int64_t batch : {1, 2, 3, 4})
      ExpectAgrees(*module, at::randn({batch, 8}));
    return report.chosen()->versions.front();
  };
  const auto same = first_version();
  EXPECT_EQ(same.cache.outcome, aitune::frontend::CacheReport::Outcome::kHit)
      << same.cache.detail;
  EXPECT_EQ(same.cache.key, (*built)->cache().key);
  EXPECT_EQ(same.report.coverage.ops, (*built)->report().coverage.ops);
  // Other options are another build.
  options.compile.emulateEagerCasts = false;
  EXPECT_EQ(first_version().cache.outcome,
            aitune::frontend::CacheReport::Outcome::kMiss);
}

// None is timed, and all are compiled for.
TEST_F(ModuleTest, ARangeOfBatchesMayBeginWithNone) {
  auto module = Wrap();
  TuneOptions options = Quick("TorchInductorBackend");
  options.inputs = InputsOf("float32[0..4,3]");
  const absl::Status tuned = module->Tune(*aitune::OneBackend(), options);
  ASSERT_TRUE(tuned.ok()) << tuned;
  for (const int64_t batch : {0, 1, 4}) {
    const auto result = module->Run(ValueList({at::randn({batch, 3})}));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->toTensor().size(0), batch);
  }
  EXPECT_EQ(module->Usage().versions, 1);
}

// The inputs are those of the axes that a range names.
TEST_F(ModuleTest, CallsOfOtherRanksAndWithoutATensorAreCompiledToo) {
  model_ = std::make_shared<const Model>(
      ModelOf("def forward(self, x: Optional[Tensor], y: Tensor):\n"
              "    if x is None:\n        return y.exp()\n"
              "    return x.exp().sum() + y.exp()\n"));
  auto module = Module::Wrap(model_, {"net", folder_ / "cache"});
  TuneOptions options = Quick("TorchInductorBackend");
  options.inputs = InputsOf("float32[4,1..8]");
  options.inputs->specs.push_back(
      *aitune::frontend::ParseInputSpec("float32[1..8,3]"));
  const absl::Status tuned = module->Tune(*aitune::OneBackend(), options);
  ASSERT_TRUE(tuned.ok()) << tuned;
  const at::Tensor x = at::rand({4, 2}), y = at::rand({2, 3});
  const auto without = module->Run(ValueList({c10::IValue(), y}));
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_TRUE(at::allclose(without->toTensor(), y.exp()));
  for (const at::Tensor& other : {y, y[0], y[0][0]}) {
    const auto result = module->Run(ValueList({x, other}));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(at::allclose(result->toTensor(), x.exp().sum() + other.exp()));
  }
}

// A sample shows sizes that the model takes.
TEST_F(ModuleTest, ARangeMayEndWhereTheModelRaises) {
  model_ = std::make_shared<const Model>(
      ModelOf("def forward(self, x: Tensor):\n"
              "    assert x.size(0) < 100\n    return x * 2\n"));
  auto module = Module::Wrap(model_, {"net", folder_ / "cache"});
  ASSERT_TRUE(module->Record(ValueList({at::randn({3, 3})}), 3).ok());
  TuneOptions options = Quick("TorchInductorBackend");
  options.inputs = InputsOf("float32[1..130,3]");
  const absl::Status tuned = module->Tune(*aitune::OneBackend(), options);
  ASSERT_TRUE(tuned.ok()) << tuned;
  for (const int64_t rows : {1, 3, 99})
    EXPECT_TRUE(module->Run(ValueList({at::randn({rows, 3})})).ok()) << rows;
  EXPECT_EQ(module->Usage().versions, 1);
  EXPECT_FALSE(module->Run(ValueList({at::randn({100, 3})})).ok());
  // Other samples say nothing of the range.
  for (const char* other : {"float32[100..130,3]", "float64[1..130,3]"}) {
    auto unfit = Module::Wrap(model_, {"net", folder_ / "cache"});
    ASSERT_TRUE(unfit->Record(ValueList({at::randn({3, 3})}), 3).ok());
    options.inputs = InputsOf(other);
    EXPECT_EQ(unfit->Tune(*aitune::OneBackend(), options).code(),
              absl::StatusCode::kInvalidArgument)
        << other;
  }
}

TEST_F(ModuleTest, WithInputsItIsCheckedAsTheCommandLineDoes) {
  auto module = Wrap();
  for (const int64_t batch : {1, 4})
    ASSERT_TRUE(module->Record(ValueList({at::randn({batch, 3})}), batch).ok());
  TuneOptions options = Quick("TorchInductorBackend");
  options.inputs = InputsOf("float32[1..4,3]");
  ASSERT_TRUE(module->Tune(*aitune::OneBackend(), options).ok());
  const TuneReport report = module->report();
  ASSERT_NE(report.chosen(), nullptr);
  const auto cases = aitune::frontend::CheckCases(*options.inputs, 0);
  ASSERT_TRUE(cases.ok());
  std::vector<std::string> wanted, checked;
  for (const auto& one : *cases) wanted.push_back(one.name);
  for (const auto& one : report.chosen()->check.cases)
    checked.push_back(one.name);
  EXPECT_THAT(checked, testing::IsSupersetOf(wanted));
  EXPECT_TRUE(report.chosen()->check.agrees());
  // The same bound, and the same words for what exceeds it.
  model_ = std::make_shared<const Model>(ModelOf(
      "def forward(self, x: Tensor):\n"
      "    return torch.softmax(torch.sin(torch.matmul(x, x.t())), 1)\n"));
  module = Module::Wrap(model_, {"net", folder_ / "cache"});
  ASSERT_TRUE(module->Record(ValueList({at::randn({64, 64})})).ok());
  options.inputs = InputsOf("float32[64,64]");
  options.tolerance = 1e-12;
  const absl::Status refused = module->Tune(*aitune::OneBackend(), options);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("random: output error"));
}

TEST_F(ModuleTest, OptionsHoldForWhatIsCompiledAfterLoadingToo) {
  model_ = std::make_shared<const Model>(
      ModelOf("def forward(self, x: Tensor):\n"
              "    w = torch.arange(16, dtype=6)\n"
              "    return torch.index_select(w, 0, x)\n"));
  const auto call = [](Module& module, int64_t size) {
    return module.Run(ValueList({at::full({size}, 40, at::kLong)})).status();
  };
  for (const bool unchecked : {false, true}) {
    ModuleOptions options{"net", folder_ / "cache"};
    options.compile.uncheckedIndices = unchecked;
    auto module = Module::Wrap(model_, options);
    ASSERT_TRUE(module->Record(ValueList({at::zeros({4}, at::kLong)})).ok());
    const absl::Status tuned =
        module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
    ASSERT_TRUE(tuned.ok()) << tuned;
    EXPECT_EQ(call(*module, 4).ok(), unchecked);
    ASSERT_TRUE(
        module->Save(folder_ / "net.aitune", aitune::BundleFormat::kFile).ok());
    auto loaded = Module::LoadCheckpoint(folder_ / "net.aitune");
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    for (const int64_t size : {4, 7}) {
      // What it compiles for a size is traced with the call, which eager runs.
      const auto zeros =
          (*loaded)->Run(ValueList({at::zeros({size}, at::kLong)}));
      EXPECT_TRUE(zeros.ok()) << zeros.status();
      EXPECT_EQ(call(**loaded, size).ok(), unchecked) << size;
    }
  }
}

TEST_F(ModuleTest, OptionsWithoutEffectAreRefused) {
  const auto refused = [&](const std::function<void(ModuleOptions&)>& change,
                           std::vector<int64_t> batches = {}) {
    ModuleOptions options{"net", folder_ / "cache"};
    change(options);
    model_ = std::make_shared<const Model>(ModelOf(kNet));
    auto module = Module::Wrap(model_, options);
    EXPECT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
    TuneOptions tuning = Quick("TorchInductorBackend");
    tuning.batches = std::move(batches);
    const absl::Status status = module->Tune(*aitune::OneBackend(), tuning);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refused([](auto& o) { o.compile.tf32Matmul = true; }),
              HasSubstr("tf32 has no effect on cpu"));
  EXPECT_THAT(refused([](auto& o) { o.compile.tuning.budgetSeconds = 1; }),
              testing::AllOf(HasSubstr("compile.tuning.worker"),
                             HasSubstr("the option tune-budget"),
                             HasSubstr("the option tune-worker")));
  EXPECT_THAT(refused([](auto& o) { o.compile.device = "cuda"; }),
              HasSubstr("ModuleOptions::device"));
  EXPECT_THAT(refused([](auto& o) {
                o.compile.compileTo = aitune::CompilePhase::Fused;
              }),
              HasSubstr("compile.compileTo"));
  EXPECT_THAT(refused([](auto&) {}, {2, 4}),
              HasSubstr("no axis of the inputs"));
  EXPECT_THAT(refused([](auto&) {}, {-1}), HasSubstr("batch"));
}

// As a program answers that was installed with an older library: with the
// version 3 (field 4), and nothing of its build.
TEST_F(ModuleTest, AWorkerOfAnotherBuildIsAnErrorThatNamesIt) {
  const std::filesystem::path older = folder_ / "older";
  std::ofstream(older) << "#!/bin/bash\n"
                          "for fd in ${!#//,/ }; do\n"
                          "  printf '\\2\\0\\0\\0\\0\\0\\0\\0\\40\\3' >&$fd\n"
                          "done\n"
                          "sleep 100\n";
  std::filesystem::permissions(older, std::filesystem::perms::owner_all);
  ModuleOptions options{"net", folder_ / "cache"};
  ASSERT_TRUE(SetOption("worker", older, options).ok());
  model_ = std::make_shared<const Model>(ModelOf(kNet));
  auto module = Module::Wrap(model_, options);
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
  const absl::Status tuned =
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
  EXPECT_THAT(std::string(tuned.message()),
              HasSubstr("'" + older.string() + "' is of another build"));
}

// Of its first backend, once the module is tuned for one sample.
std::vector<std::string> NotesOfTuning(Module& module,
                                       const TuneOptions& options) {
  EXPECT_TRUE(module.Record(ValueList({at::randn({2, 3})})).ok());
  EXPECT_TRUE(module.Tune(*aitune::OneBackend(), options).ok());
  const TuneReport report = module.report();
  EXPECT_FALSE(report.backends.empty());
  return report.backends.empty() ? std::vector<std::string>()
                                 : report.backends[0].notes;
}

TEST_F(ModuleTest, ADatabaseThatCantBeReadIsNoted) {
  ModuleOptions options;
  options.compile.tuning.database = "/dev/null/none.db";
  model_ = std::make_shared<const Model>(ModelOf(kNet));
  auto module = Module::Wrap(model_, options);
  EXPECT_THAT(NotesOfTuning(*module, Quick("TorchInductorBackend")),
              testing::Contains(HasSubstr("the search of schedules: ")));
}

// Why no call runs a version is said.
TEST_F(ModuleTest, StateThatLibTorchChangesIsNoted) {
  torch::jit::Module net("Net");
  net.register_attribute("training", c10::BoolType::get(), false);
  net.register_attribute("was_called", c10::BoolType::get(), false);
  net.define(R"(
def forward(self, x: Tensor) -> List[Dict[str, Tensor]]:
  if not self.was_called:
    self.was_called = True
  found: List[Dict[str, Tensor]] = []
  for i in range(int((x[:, 0] > -9.0).sum())):
    found.append({"row": x[i]})
  for one in found:
    one["row"] = one["row"] * 2
  return found
)");
  model_ = std::make_shared<const Model>(*Model::FromModule(net));
  auto module = Module::Wrap(model_, {});
  EXPECT_THAT(NotesOfTuning(*module, Quick("TorchInductorBackend")),
              testing::Contains(HasSubstr("changes its own state")));
}

}  // namespace
}  // namespace ait
