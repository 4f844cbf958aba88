// What the documents that this project follows say of backends, where a real
// model has to show it: README.md here tells which test is for which statement.
#include "frontend/testing/backends.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <filesystem>
#include <functional>
#include <set>

#include "absl/cleanup/cleanup.h"
#include "compiler/Compiler.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/autocast.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/substitution.h"
#include "runtime/control/control.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr char kProbe[] = "aitune_test::probe";
constexpr const char* kBackends[] = {
    "TorchCudaGraphsBackend", "TorchEagerBackend", "TorchInductorBackend",
    "TorchScriptBackend"};

// What the operator does besides doubling its argument.
std::function<void()> on_probe;

[[maybe_unused]] const torch::jit::RegisterOperators probe(
    {torch::jit::Operator(
        "aitune_test::probe(Tensor x) -> Tensor",
        [](torch::jit::Stack& stack) {
          if (on_probe) on_probe();
          const at::Tensor x = torch::jit::pop(stack).toTensor();
          torch::jit::push(stack, x * 2);
        },
        c10::AliasAnalysisKind::FROM_SCHEMA)});

class ProbeResolver : public torch::jit::Resolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction& method,
      const torch::jit::SourceRange& range) override {
    if (name == "probe")
      return std::make_shared<torch::jit::BuiltinFunction>(
          c10::Symbol::fromQualString(kProbe), std::nullopt);
    return torch::jit::nativeResolver()->resolveValue(name, method, range);
  }
};

// relu(probe(x)), of which no compiler knows the operator.
std::shared_ptr<TorchScriptSource> ProbedSource() {
  torch::jit::Module module("__torch__.Probed");
  module.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.relu(probe(x)) + 1.\n",
      std::make_shared<ProbeResolver>());
  auto model = Model::FromModule(module);
  EXPECT_TRUE(model.ok()) << model.status();
  return std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*std::move(model)), "probed");
}

class SeedsTest : public testing::Test {
 protected:
  ~SeedsTest() override { on_probe = nullptr; }

  // Builds and checks one call.
  static void ExpectBuilds(const std::shared_ptr<TorchScriptSource>& source,
                           Backend& backend, const at::Tensor& x) {
    const absl::Status built = backend.Build(RequestOf(source, {x}));
    ASSERT_TRUE(built.ok()) << built;
    ExpectAgrees(*source, backend, x);
  }

  static ConfigDict Option(const std::string& name, ConfigValue value) {
    return {{"options", ConfigDict{{name, std::move(value)}}}};
  }

  const LogCapture capture_;
};

// A model with state: what it gives tells how often it was called with which
// sample.
TEST_F(SeedsTest, ABuildCallsEachSampleAtMostOnce) {
  for (const char* name : kBackends) {
    for (const bool autocast : {false, true}) {
      torch::jit::Module module("__torch__.Counter");
      module.register_buffer("seen", at::zeros({1}));
      module.register_attribute("training", c10::BoolType::get(), true);
      module.define(
          "def forward(self, x: Tensor):\n"
          "    self.seen.add_(x[:1])\n"
          "    return x * 0. + self.seen\n");
      auto model = Model::FromModule(module);
      ASSERT_TRUE(model.ok()) << model.status();
      auto source = std::make_shared<TorchScriptSource>(
          std::make_shared<const Model>(*std::move(model)), "counter");
      auto backend = BackendOf(name, {{"autocast_enabled", autocast}});
      const absl::Status built = backend->Build(
          RequestOf(source, {at::full({2}, 1.), at::full({3}, 16.)}));
      ASSERT_TRUE(built.ok()) << name << built;
      const float seen = module.attr("seen").toTensor().item<float>();
      EXPECT_THAT(seen, AnyOf(0, 1, 16, 17)) << name;
      // The state goes on from there.
      auto result = Call(*source, *backend, at::full({2}, 256.));
      ASSERT_TRUE(result.ok()) << name << result.status();
      EXPECT_EQ(result->toTensor()[0].item<float>(), seen + 256) << name;
    }
  }
}

TEST_F(SeedsTest, TheDeviceIsOneThatTheBackendRunsOn) {
  for (const char* name : kBackends) {
    BuildRequest request = RequestOf(SourceOf(kNet), {at::randn({2, 3})});
    request.device = *Device::Parse("xpu");
    EXPECT_EQ(
        BackendOf(name)->Build(request).message(),
        std::string("Device xpu is not supported by the backend ") + name);
  }
}

TEST_F(SeedsTest, OnlyCompilingBackendsAreJit) {
  EXPECT_FALSE(BackendOf("TorchEagerBackend")->is_jit());
  EXPECT_TRUE(BackendOf("TorchScriptBackend")->is_jit());
  EXPECT_TRUE(BackendOf("TorchInductorBackend")->is_jit());
}

TEST_F(SeedsTest, EveryModeBuildsAndAgrees) {
  for (const char* mode : {"default", "reduce-overhead", "max-autotune",
                           "max-autotune-no-cudagraphs"}) {
    auto backend = BackendOf("TorchInductorBackend", {{"mode", mode}});
    ExpectBuilds(SourceOf(kNet), *backend, at::randn({2, 3}));
    EXPECT_EQ(backend->Describe(),
              std::string("TorchInductorBackend(mode=") + mode + ")");
  }
}

TEST_F(SeedsTest, PerfHintsTellWhyThereAreNoCudaGraphs) {
  SetEnabled(LogChannel::kPerfHints, true);
  ExpectBuilds(SourceOf(kNet),
               *BackendOf("TorchInductorBackend", {{"mode", "default"}}),
               at::randn({2, 3}));
  EXPECT_THAT(capture_.lines(), IsEmpty());
  ExpectBuilds(
      SourceOf(kNet),
      *BackendOf("TorchInductorBackend", {{"mode", "reduce-overhead"}}),
      at::randn({2, 3}));
  EXPECT_THAT(capture_.lines(),
              Contains(HasSubstr("perf_hints: CUDA graphs are not used: the "
                                 "model runs on a CPU")));
}

TEST_F(SeedsTest, AutocastWithoutADtypeTakesTheDevices) {
  const at::Tensor x = at::randn({16, 3});
  auto unset = BackendOf("TorchInductorBackend", {{"autocast_enabled", true}});
  auto named = BackendOf(
      "TorchInductorBackend",
      {{"autocast_enabled", true}, {"autocast_dtype", DataType::kBFloat16}});
  auto source = SourceOf(kNet);
  ASSERT_TRUE(unset->Build(RequestOf(source, {x})).ok());
  ASSERT_TRUE(named->Build(RequestOf(source, {x})).ok());
  EXPECT_TRUE(at::equal(Call(*source, *unset, x)->toTensor(),
                        Call(*source, *named, x)->toTensor()));
}

// What LibTorch runs of it looks at the device of each tensor.
TEST_F(SeedsTest, AutocastMakesCastsForACpuAndAGpu) {
  const auto narrowed =
      WithAutocast(SourceOf(kNet)->model(), DataType::kFloat16);
  ASSERT_TRUE(narrowed.ok()) << narrowed.status();
  const auto graph = narrowed->impl().module().get_method("forward").graph();
  int casts = 0;
  for (const torch::jit::Node* node : graph->nodes()) {
    if (node->kind() !=
        c10::Symbol::fromQualString("aten::_autocast_to_reduced_precision"))
      continue;
    ++casts;
    for (const size_t is_for_device : {1, 2}) {
      const auto enabled = torch::jit::toIValue(node->input(is_for_device));
      ASSERT_TRUE(enabled.has_value());
      EXPECT_TRUE(enabled->toBool());
    }
    for (const size_t dtype : {3, 4}) {
      const auto given = torch::jit::toIValue(node->input(dtype));
      ASSERT_TRUE(given.has_value());
      EXPECT_EQ(given->toScalarType(), at::kHalf);
    }
  }
  EXPECT_EQ(casts, 2) << "the operands of the product";
}

TEST_F(SeedsTest, EmulatedCastsRoundAsEagerDoes) {
  const std::string chain =
      "def forward(self, x: Tensor):\n"
      "    return (x * 1.7 * 0.9 - x) * x\n";
  const at::Tensor x = at::randn({64, 64}).to(at::kBFloat16);
  auto source = SourceOf(chain);
  const at::Tensor eager = source->model().RunEager(ValueList({x}))->toTensor();
  for (const bool emulate : {false, true}) {
    auto backend = BackendOf("TorchInductorBackend",
                             Option("emulate_precision_casts", emulate));
    ASSERT_TRUE(backend->Build(RequestOf(source, {x})).ok());
    EXPECT_EQ(at::equal(Call(*source, *backend, x)->toTensor(), eager),
              emulate);
  }
}

TEST_F(SeedsTest, CallsComputeWithTheThreadsOfTheOption) {
  auto source = ProbedSource();
  const int before = at::get_num_threads();
  auto backend = BackendOf("TorchInductorBackend", Option("cpp.threads", 7));
  std::vector<int> threads;
  on_probe = [&] { threads.push_back(at::get_num_threads()); };
  ASSERT_TRUE(backend->Build(RequestOf(source, {at::randn({2, 3})})).ok());
  ASSERT_TRUE(Call(*source, *backend, at::randn({2, 3})).ok());
  // Calls give LibTorch half of them where other processes take the cores.
  EXPECT_THAT(threads, AllOf(Not(IsEmpty()), Each(AnyOf(7, 7 / 2))));
  EXPECT_EQ(at::get_num_threads(), before);
}

TEST_F(SeedsTest, TheDebugFolderGetsIrAndCode) {
  const std::filesystem::path folder = EmptyFolder();
  ExpectBuilds(SourceOf(kNet),
               *BackendOf("TorchInductorBackend",
                          Option("trace.debug_dir", folder.string())),
               at::randn({2, 3}));
  EXPECT_TRUE(std::filesystem::exists(folder / "graph" / "0-import.mlir"));
  // Of each kernel its IR, assembly, object code and a benchmark.
  std::set<std::string> extensions;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    extensions.insert(file.path().extension());
  EXPECT_THAT(extensions, IsSupersetOf({".mlir", ".s", ".o", ".cc"}));
}

TEST_F(SeedsTest, SkippedGuardsLetAWrongResultThrough) {
  auto model = ModelOf(
      "def forward(self, x: Tensor, k: int):\n"
      "    return x * k\n");
  auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(std::move(model)), "scaled");
  const auto call = [&](const Backend& backend, int64_t k) {
    auto outputs =
        backend.Infer(Values(*source->Flatten(ValueList({at::ones({2}), k}))));
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return source->UnflattenResult(*outputs)->toTensor();
  };
  for (const bool skip : {false, true}) {
    auto backend =
        BackendOf("TorchInductorBackend",
                  Option("guard_filter_fn",
                         skip ? "keep_tensor_guards_unsafe"
                              : "skip_guard_on_all_nn_modules_unsafe"));
    BuildRequest request;
    request.model = source;
    request.device = *Device::Parse("cpu");
    request.samples.push_back(
        *source->Flatten(ValueList({at::ones({2}), int64_t{2}})));
    ASSERT_TRUE(backend->Build(request).ok());
    const int64_t graphs = compileCounts().graphs;
    EXPECT_TRUE(at::equal(call(*backend, 3), at::full({2}, skip ? 2. : 3.)));
    EXPECT_EQ(compileCounts().graphs, graphs + (skip ? 0 : 1));
  }
}

TEST_F(SeedsTest, OperatorsSeeThatTheyRunInACompilation) {
  auto source = ProbedSource();
  auto backend = BackendOf("TorchInductorBackend");
  std::vector<bool> compiling;
  on_probe = [&] { compiling.push_back(IsCompiling()); };
  ASSERT_TRUE(backend->Build(RequestOf(source, {at::randn({2, 3})})).ok());
  EXPECT_THAT(compiling, AllOf(Not(IsEmpty()), Each(true)));
  // So do those of the command line, which needs no backend.
  compiling.clear();
  ModelInputs inputs;
  inputs.samples = ValueList({at::randn({2, 3})});
  ASSERT_TRUE(CompiledModel::Build(source->model(), inputs, {}).ok());
  EXPECT_THAT(compiling, AllOf(Not(IsEmpty()), Each(true)));
  compiling.clear();
  ASSERT_TRUE(Call(*source, *backend, at::randn({2, 3})).ok());
  EXPECT_THAT(compiling, AllOf(Not(IsEmpty()), Each(false)));
}

TEST_F(SeedsTest, TheStanceCantBeSetInsideOfACompiledCall) {
  auto source = ProbedSource();
  auto backend = BackendOf("TorchInductorBackend");
  ASSERT_TRUE(backend->Build(RequestOf(source, {at::randn({2, 3})})).ok());
  absl::Status status;
  on_probe = [&] { status = SetStance(Stance::kForceEager); };
  ASSERT_TRUE(Call(*source, *backend, at::randn({2, 3})).ok());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CurrentStance(), Stance::kDefault);
  // Eager calls are no compiled ones.
  const ScopedStance eager(Stance::kForceEager);
  on_probe = [&] { status = SetStance(Stance::kDefault); };
  ASSERT_TRUE(Call(*source, *backend, at::randn({2, 3})).ok());
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(SeedsTest, ASubstitutionMakesAFullGraphOfAnUnknownOperator) {
  auto source = ProbedSource();
  const at::Tensor x = at::randn({2, 3});
  auto backend = BackendOf("TorchInductorBackend", {{"fullgraph", true}});
  EXPECT_THAT(std::string(backend->Build(RequestOf(source, {x})).message()),
              AllOf(HasSubstr("fullgraph=True"), HasSubstr(kProbe)));
  ASSERT_TRUE(
      SubstituteInGraph(kProbe, "def probe(x: Tensor):\n    return x * 2.\n")
          .ok());
  ExpectBuilds(source, *backend, x);
  int calls = 0;
  on_probe = [&] { ++calls; };
  ASSERT_TRUE(Call(*source, *backend, x).ok());
  EXPECT_EQ(calls, 0);
  ASSERT_TRUE(SubstituteInGraph(kProbe, "").ok());
}

TEST_F(SeedsTest, AnOperatorThatIsAllowedIsNoGraphBreak) {
  auto source = ProbedSource();
  const at::Tensor x = at::randn({2, 3});
  auto backend = BackendOf("TorchInductorBackend", {{"fullgraph", true}});
  EXPECT_FALSE(backend->Build(RequestOf(source, {x})).ok());
  AllowInGraph(kProbe);
  const absl::Cleanup disallow = [] { DisallowInGraph(kProbe); };
  ExpectBuilds(source, *backend, x);
  int calls = 0;
  on_probe = [&] { ++calls; };
  ASSERT_TRUE(Call(*source, *backend, x).ok());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace aitune::frontend
