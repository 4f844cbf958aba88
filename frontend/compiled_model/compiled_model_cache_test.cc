// A second build takes what the first one left, and nothing else.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/jit.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/compiled_model/cache_key.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "frontend/torchscript/model_tensors.h"
#include "frontend/torchscript/substitution.h"
#include "runtime/cuda/gpu_target.h"

namespace aitune::frontend {
namespace {

namespace fs = std::filesystem;
using Outcome = CacheReport::Outcome;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CompiledModelCache : public testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    auto cache = Cache::Open(folder_);
    ASSERT_TRUE(cache.ok()) << cache.status();
    cache_ = *std::move(cache);
  }

  std::unique_ptr<CompiledModel> Build(const Model& model,
                                       const std::string& spec,
                                       BuildOptions options = {}) {
    ModelInputs inputs;
    auto parsed = ParseInputSpec(spec);
    if (!parsed.ok()) ADD_FAILURE() << parsed.status();
    inputs.specs = {*parsed};
    options.cache = cache_.get();
    options.compile.measureCandidates = false;
    auto built = CompiledModel::Build(model, inputs, options);
    if (!built.ok()) ADD_FAILURE() << built.status();
    return built.ok() ? *std::move(built) : nullptr;
  }

  static void ExpectAgrees(const Model& model, const CompiledModel& compiled,
                           const at::Tensor& x) {
    auto ours = compiled.Run(ValueList({x})),
         eager = model.RunEager(ValueList({x}));
    ASSERT_TRUE(ours.ok()) << ours.status();
    ASSERT_TRUE(eager.ok()) << eager.status();
    ExpectClose(*ours, *eager);
  }

  const fs::path folder_ = EmptyFolder();
  std::unique_ptr<Cache> cache_;
};

TEST_F(CompiledModelCache, SecondBuildCompilesNothing) {
  const Model model = ModelOf(kNet);
  auto first = Build(model, "float32[2,3]");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->cache().outcome, Outcome::kMiss);
  EXPECT_TRUE(first->cache().stored) << first->cache().detail;
  const CompileCounts before = compileCounts();
  EXPECT_GT(before.kernels, 0);

  Open();
  const Model again = ModelOf(kNet);
  auto second = Build(again, "float32[2,3]");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->cache().outcome, Outcome::kHit) << second->cache().detail;
  EXPECT_EQ(compileCounts().graphs, before.graphs);
  EXPECT_EQ(compileCounts().kernels, before.kernels);
  EXPECT_EQ(compileCounts().measurements, before.measurements);
  EXPECT_EQ(second->report().kernels, first->report().kernels);
  EXPECT_EQ(second->report().coverage.ops, first->report().coverage.ops);
  EXPECT_EQ(second->plan().SerializeAsString(),
            first->plan().SerializeAsString());
  ExpectAgrees(again, *second, at::randn({2, 3}));
}

// With a replacement of an operator another program is compiled.
TEST_F(CompiledModelCache, SubstitutionsArePartOfTheKey) {
  const Model model = ModelOf(kNet);
  auto first = Build(model, "float32[2,3]");
  ASSERT_NE(first, nullptr);
  ASSERT_TRUE(
      SubstituteInGraph("aten::relu",
                        "def relu(x: Tensor):\n    return torch.abs(x)\n")
          .ok());
  auto second = Build(model, "float32[2,3]");
  ASSERT_TRUE(SubstituteInGraph("aten::relu", "").ok());
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->cache().outcome, Outcome::kMiss);
  EXPECT_NE(second->cache().key, first->cache().key);
  const at::Tensor x = at::randn({2, 3});
  const auto plain = first->Run(ValueList({x})),
             replaced = second->Run(ValueList({x}));
  ASSERT_TRUE(plain.ok() && replaced.ok());
  EXPECT_FALSE(at::allclose(plain->toTensor(), replaced->toTensor()));
  EXPECT_EQ(Build(model, "float32[2,3]")->cache().outcome, Outcome::kHit);
}

// A disabled submodule's operators are LibTorch's, counted with the reason,
// and the results eager's.
TEST_F(CompiledModelCache, DisabledSubmodulesAreLibTorchs) {
  torch::jit::Module inner("__torch__.Inner"), outer("__torch__.Outer");
  inner.define(
      "def forward(self, x: Tensor):\n    return torch.tanh(x) * 2.\n");
  outer.register_module("inner", inner);
  outer.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.relu(self.inner.forward(torch.exp(x))) + 1.\n");
  auto model = Model::FromModule(outer);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(model->Disable("inner").ok());
  for (const Outcome outcome : {Outcome::kMiss, Outcome::kHit}) {
    auto built = Build(*model, "float32[2,3]");
    ASSERT_NE(built, nullptr);
    EXPECT_EQ(built->cache().outcome, outcome) << built->cache().detail;
    int disabled = 0;
    for (const FallbackOp& op : built->report().fallbacks)
      disabled += op.reason == "disabled" ? 1 : 0;
    EXPECT_EQ(disabled, 2);
    EXPECT_EQ(built->report().coverage.ops, 5);
    EXPECT_EQ(built->report().coverage.compiled_ops, 3);
    ExpectAgrees(*model, *built, at::randn({2, 3}));
  }
}

TEST_F(CompiledModelCache, DynamicSizesComeBack) {
  const Model model = ModelOf(kNet);
  ASSERT_NE(Build(model, "float32[1..8,3]"), nullptr);
  auto second = Build(model, "float32[1..8,3]");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->cache().outcome, Outcome::kHit) << second->cache().detail;
  for (const int64_t rows : {1, 5, 8})
    ExpectAgrees(model, *second, at::randn({rows, 3}));
  auto symbols = second->SymbolValues(ValueList({at::randn({5, 3})}));
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  EXPECT_EQ(*symbols, std::vector<int64_t>({5}));
}

TEST_F(CompiledModelCache, RegionsOfLibTorchComeBack) {
  const Model model = ModelOf(kNetWithFallback);
  auto first = Build(model, "float32[2,3]");
  ASSERT_NE(first, nullptr);
  ASSERT_FALSE(first->report().fallbacks.empty());
  EXPECT_TRUE(first->cache().stored) << first->cache().detail;
  const int64_t graphs = compileCounts().graphs;
  auto second = Build(model, "float32[2,3]");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->cache().outcome, Outcome::kHit) << second->cache().detail;
  EXPECT_EQ(compileCounts().graphs, graphs);
  EXPECT_EQ(second->report().fallbacks.size(),
            first->report().fallbacks.size());
  ExpectAgrees(model, *second,
               at::tensor({0.5f, -1.f, 2.f, 3.f, -2.f, 1.f}).view({2, 3}));
}

// The trace that they run is made again for the arguments as they were.
TEST_F(CompiledModelCache, RegionsOfDictsWithKeysOfAnyTypeComeBack) {
  const std::pair<const char*, const char*> kCases[] = {
      {"int", "7"},
      {"str", "\"a\""},
      {"float", "float64=0.1"},
      {"bool", "bool=true"},
      {"complex", "complex128=(0.5,-1)"},
  };
  for (const auto& [type, key] : kCases) {
    SCOPED_TRACE(type);
    const std::string dict = absl::StrCat("Dict[", type, ", Tensor]");
    const Model model =
        ModelOf(absl::StrCat("def forward(self, x: ", dict,
                             ") -> Tuple[List[Tensor], ", dict, ", ", dict,
                             "]:\n"
                             "    found: List[Tensor] = []\n"
                             "    doubled: ",
                             dict,
                             " = {}\n"
                             "    for key in x.keys():\n"
                             "        found.append(torch.nonzero(x[key]))\n"
                             "        doubled[key] = x[key] * 2\n"
                             "    return found, doubled, x\n"));
    const std::string spec = absl::StrCat("{", key, ":float32[3]}");
    auto first = Build(model, spec);
    ASSERT_NE(first, nullptr);
    ASSERT_FALSE(first->report().fallbacks.empty());
    EXPECT_TRUE(first->cache().stored) << first->cache().detail;
    auto second = Build(model, spec);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->cache().outcome, Outcome::kHit) << second->cache().detail;
    const auto call = MakeInputs({*ParseInputSpec(spec)}, {}, 1);
    ASSERT_TRUE(call.ok()) << call.status();
    const auto ours = second->Run(*call), eager = model.RunEager(*call);
    ASSERT_TRUE(ours.ok()) << ours.status();
    ASSERT_TRUE(eager.ok()) << eager.status();
    ExpectClose(*ours, *eager);
  }
}

// A stored model may say anything with checksums that fit.
TEST_F(CompiledModelCache, RegionsBeyondTheTraceAreRefused) {
  const Model model = ModelOf(kNetWithFallback);
  auto built = Build(model, "float32[2,3]");
  ASSERT_NE(built, nullptr);
  auto sha256 = ModelSha256(model);
  ASSERT_TRUE(sha256.ok()) << sha256.status();
  const auto load = [&](const auto& change) {
    auto blobs =
        cache_->Find(*CacheKey::Parse(built->cache().key)).entry->blobs;
    auto parts = ReadArtifact(blobs[kModelBlob], blobs[kConstantsBlob], model,
                              *sha256, "");
    EXPECT_TRUE(parts.ok()) << parts.status();
    EXPECT_FALSE(parts->regions.empty());
    change(parts->regions[0]);
    const auto loaded =
        CompiledModel::FromParts(model, *std::move(parts), nullptr);
    return std::string(loaded.status().message());
  };
  EXPECT_EQ(load([](RegionDefinition&) {}), "");
  EXPECT_THAT(load([](RegionDefinition& region) { region.ops[0] = 1 << 30; }),
              HasSubstr("LibTorch is to run operator 1073741824 of a trace"));
  EXPECT_THAT(load([](RegionDefinition& region) { region.ops[0] = -1; }),
              HasSubstr("operator -1"));
  EXPECT_THAT(load([](RegionDefinition& region) { region.inputs[0] = 999; }),
              HasSubstr("value 999"));
  EXPECT_THAT(load([](RegionDefinition& region) { region.outputs[0] = -7; }),
              HasSubstr("value -7"));
}

TEST_F(CompiledModelCache, WhatDiffersIsAnotherEntry) {
  const Model model = ModelOf(kNet);
  ASSERT_NE(Build(model, "float32[2,3]"), nullptr);
  // Sizes, the program, a number in it, options: all count.
  EXPECT_EQ(Build(model, "float32[3,3]")->cache().outcome, Outcome::kMiss);
  std::string other = kNet;
  other.replace(other.find("1.5"), 3, "1.5000000001");
  EXPECT_EQ(Build(ModelOf(other), "float32[2,3]")->cache().outcome,
            Outcome::kMiss);
  BuildOptions options;
  options.compile.emulateEagerCasts = true;
  EXPECT_EQ(Build(model, "float32[2,3]", options)->cache().outcome,
            Outcome::kMiss);
  EXPECT_EQ(Build(model, "float32[2,3]")->cache().outcome, Outcome::kHit);
}

TEST_F(CompiledModelCache, DamageIsCompiledAgain) {
  const Model model = ModelOf(kNet);
  ASSERT_NE(Build(model, "float32[2,3]"), nullptr);
  int damaged = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder_)) {
    if (!file.is_regular_file() || file.path().filename() != "0") continue;
    std::fstream stream(file.path(),
                        std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(file.file_size() / 2);
    stream.put('\x5a');
    ++damaged;
  }
  ASSERT_EQ(damaged, 1);
  auto again = Build(model, "float32[2,3]");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->cache().outcome, Outcome::kMiss);
  EXPECT_THAT(again->cache().detail, HasSubstr("damaged"));
  EXPECT_TRUE(again->cache().stored);
  ExpectAgrees(model, *again, at::randn({2, 3}));
  EXPECT_EQ(Build(model, "float32[2,3]")->cache().outcome, Outcome::kHit);
}

TEST_F(CompiledModelCache, DumpsAreNotServedFromTheCache) {
  const Model model = ModelOf(kNet);
  ASSERT_NE(Build(model, "float32[2,3]"), nullptr);
  BuildOptions options;
  options.compile.dumpDirectory = (folder_ / "dump").string();
  auto dumped = Build(model, "float32[2,3]", options);
  ASSERT_NE(dumped, nullptr);
  EXPECT_EQ(dumped->cache().outcome, Outcome::kOff);
  EXPECT_FALSE(fs::is_empty(folder_ / "dump"));
}

TEST_F(CompiledModelCache, OutputsKeepTheirNesting) {
  const Model model = ModelOf(R"(
def forward(self, x: Tensor) -> Dict[str, List[Tensor]]:
    return {"a": [x + 1, x * 2], "b": [torch.relu(x)]}
)");
  ASSERT_NE(Build(model, "float32[4]"), nullptr);
  auto second = Build(model, "float32[4]");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->cache().outcome, Outcome::kHit) << second->cache().detail;
  const at::Tensor x = at::randn({4});
  auto ours = second->Run(ValueList({x}));
  ASSERT_TRUE(ours.ok()) << ours.status();
  const auto dict = ours->toGenericDict();
  EXPECT_TRUE(at::equal(dict.at("a").toTensorList()[1], x * 2));
  EXPECT_TRUE(at::equal(dict.at("b").toTensorList()[0], at::relu(x)));
}

TEST_F(CompiledModelCache, ResultsOfSeveralTypesKeepThem) {
  const Model model = ModelOf(R"(
def forward(self, x: Tensor) -> Dict[str, Union[Tensor, List[Tensor], int, NoneType]]:
    rows: Dict[str, Union[Tensor, List[Tensor], int, NoneType]] = {}
    rows["a"] = x + 1
    rows["b"] = [x, x * 2]
    rows["c"] = 3
    rows["d"] = None
    return rows
)");
  ASSERT_NE(Build(model, "float32[4]"), nullptr);
  auto second = Build(model, "float32[4]");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->cache().outcome, Outcome::kHit) << second->cache().detail;
  const ValueList call({at::randn({4})});
  auto ours = second->Run(call);
  ASSERT_TRUE(ours.ok()) << ours.status();
  const auto eager = model.RunEager(call);
  ASSERT_TRUE(eager.ok()) << eager.status();
  ExpectClose(*ours, *eager);
  EXPECT_EQ(*ours->type(), *eager->type());
}

// A plan for a GPU is stored and read without one.
TEST_F(CompiledModelCache, PlansForAGpuAreForThatGpuAlone) {
  const Model model = ModelOf(kNet);
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec("float32[2,3]")};
  const std::string h200 = cuda::ToString(
      {"NVIDIA H200", 90, 132, 13000, "580.159.03", 130000, 91300});
  const std::string newer =
      cuda::ToString({"NVIDIA H200", 90, 132, 13010, "590.1", 130000, 91300});
  std::set<std::string> keys;
  for (const std::string& gpu : {std::string(), h200, newer})
    keys.insert(KeyOfBuild("hash", inputs, {}, {}, gpu).hex());
  EXPECT_EQ(keys.size(), 3u);

  CompiledParts parts;
  parts.plan.set_device("cuda");
  parts.objects = {
      std::string("\x7f"
                  "ELF\0cubin",
                  10)};
  parts.gpu = h200;
  auto blobs = WriteArtifact(parts, model, "hash");
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  auto same = ReadArtifact(blobs->model, blobs->constants, model, "hash", h200);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->objects, parts.objects);
  EXPECT_EQ(same->plan.device(), "cuda");
  auto other =
      ReadArtifact(blobs->model, blobs->constants, model, "hash", newer);
  EXPECT_THAT(std::string(other.status().message()),
              AllOf(HasSubstr("580.159.03"), HasSubstr("590.1")));
  auto cpu = ReadArtifact(blobs->model, blobs->constants, model, "hash");
  EXPECT_EQ(cpu.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(cpu.status().message()),
              HasSubstr("not for the CPU"));
}

TEST(KeyOfBuild, CudaIsTheFirstGpu) {
  const auto key = [](const std::string& device) {
    CompileOptions compile;
    compile.device = device;
    return KeyOfBuild("model", {}, compile, {}, "a GPU").hex();
  };
  EXPECT_EQ(key("cuda"), key("cuda:0"));
  EXPECT_NE(key("cuda"), key("cuda:1"));
  EXPECT_NE(key("cuda"), key("cpu"));
}

// Their error on the samples, or on numbers of a range, decides which layers
// are quantised.
TEST(KeyOfBuild, HoldsTheSamplesOfQuantisedLayersAlone) {
  const auto key = [](const at::Tensor& sample, const std::string& scheme) {
    ModelInputs inputs;
    inputs.samples = ValueList({sample});
    CompileOptions compile;
    compile.quantization = scheme;
    return KeyOfBuild("model", inputs, compile, {}).hex();
  };
  const at::Tensor ones = at::ones({2, 3}), twos = at::full({2, 3}, 2.0);
  EXPECT_EQ(key(ones, ""), key(twos, ""));
  EXPECT_NE(key(ones, "int8dq"), key(twos, "int8dq"));
  EXPECT_EQ(key(ones, "int8dq"), key(at::ones({3, 2}).t(), "int8dq"));
}

TEST(CheckCompileOptions, WhatHasNoEffectIsRefused) {
  CompileOptions options;
  EXPECT_TRUE(CheckCompileOptions(options).ok());
  options.target = "avx2";
  EXPECT_TRUE(CheckCompileOptions(options).ok());
  options.device = "cuda:1";
  EXPECT_EQ(CheckCompileOptions(options).message(),
            "the target avx2 has no effect on cuda:1, for which code is made "
            "of the GPU's own kind; leave it out");
  options.target.clear();
  options.tf32Matmul = true;
  EXPECT_TRUE(CheckCompileOptions(options).ok());
  options.tuning.budgetSeconds = 30;
  EXPECT_TRUE(CheckCompileOptions(options).ok());
  options.device = "cpu";
  EXPECT_THAT(std::string(CheckCompileOptions(options).message()),
              HasSubstr("tf32 has no effect on cpu"));
}

TEST(ModelSha256, IsOfWhatTheModelComputes) {
  const auto hash = [](const std::string& source) {
    auto model = Model::FromSource(source);
    EXPECT_TRUE(model.ok()) << model.status();
    auto sha = ModelSha256(*model);
    EXPECT_TRUE(sha.ok()) << sha.status();
    return *sha;
  };
  const std::string base = "def forward(self, x: Tensor):\n    return x * ";
  EXPECT_EQ(hash(base + "0.5\n"), hash(base + "0.5\n"));
  EXPECT_EQ(hash(base + "0.5\n"), hash(base + "0.5  # half\n"));
  EXPECT_NE(hash(base + "0.5\n"), hash(base + "0.500000001\n"));
  EXPECT_NE(hash(base + "0.5\n"), hash(base + "x\n"));
}

TEST(ModelSha256, IsOfTheEnumsThatTheModelHas) {
  const auto hash = [](const char* chosen) {
    const auto type = c10::EnumType::create(
        c10::QualifiedName("__torch__.Mode"), c10::IntType::get(),
        {{"SUM", int64_t{1}}, {"MEAN", int64_t{2}}},
        std::make_shared<torch::jit::CompilationUnit>());
    torch::jit::Module module("net");
    for (const auto& [name, value] : type->enumNamesValues()) {
      if (name == chosen)
        module.register_attribute(
            "mode", type,
            c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(type, name,
                                                                     value)));
    }
    module.define("def forward(self, x: Tensor):\n    return x * 2\n");
    auto model = Model::FromModule(std::move(module));
    EXPECT_TRUE(model.ok()) << model.status();
    auto sha = ModelSha256(*model);
    EXPECT_TRUE(sha.ok()) << sha.status();
    return sha.ok() ? *sha : "";
  };
  EXPECT_EQ(hash("SUM"), hash("SUM"));
  EXPECT_NE(hash("SUM"), hash("MEAN"));
}

// As the functions of torch.nn.functional are by scripted models.
TEST(ModelSha256, IsOfTheFunctionsThatTheModelCalls) {
  struct Resolver : torch::jit::NativeResolver {
    std::shared_ptr<torch::jit::SugaredValue> resolveValue(
        const std::string& name, torch::jit::GraphFunction& method,
        const torch::jit::SourceRange& place) override {
      if (name == "helper")
        return std::make_shared<torch::jit::FunctionValue>(
            &unit->get_function("helper"));
      return NativeResolver::resolveValue(name, method, place);
    }
    std::shared_ptr<torch::jit::CompilationUnit> unit;
  };
  const auto hash = [](const std::string& body) {
    auto resolver = std::make_shared<Resolver>();
    resolver->unit =
        torch::jit::compile("def helper(x: Tensor):\n    return " + body);
    torch::jit::Module module("net");
    module.define("def forward(self, x: Tensor):\n    return helper(x)\n",
                  resolver);
    auto model = Model::FromModule(std::move(module));
    EXPECT_TRUE(model.ok()) << model.status();
    auto sha = ModelSha256(*model);
    EXPECT_TRUE(sha.ok()) << sha.status();
    return *sha;
  };
  EXPECT_EQ(hash("x * 2\n"), hash("x * 2\n"));
  EXPECT_NE(hash("x * 2\n"), hash("x * 3\n"));
}

}  // namespace
}  // namespace aitune::frontend
