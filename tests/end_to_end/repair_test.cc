// Parts of a model made wrong on purpose: `tune`, `deploy` and modules find
// them by their check, and what they give in the end is right, or refused.
// AITUNE_FAULTS_DEVICE=cuda compiles for a GPU instead of the CPU.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/library.h>
#include <torch/script.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "compiler/driver/testing/Faults.h"
#include "frontend/api/module.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/options.h"
#include "frontend/testing/models.h"

namespace aitune {
namespace {

using frontend::EmptyFolder;
using frontend::Model;
using frontend::ValueList;
using nlohmann::json;
using ::testing::HasSubstr;

bool IsOnGpu() {
  const char* device = std::getenv("AITUNE_FAULTS_DEVICE");
  return device != nullptr && absl::string_view(device) == "cuda";
}

// What of a library's is to be in the place of generated code.
struct Libraries {
  const char* cpu;
  const char* gpu;
};
constexpr Libraries kMatmuls{"onednn", "cublaslt"};
constexpr Libraries kConvolutions{"onednn", "cudnn"};
constexpr Libraries kNone{"LibTorch", "LibTorch"};

// A program of x, what of it is wrong, and what is to be in its place.
struct Fault {
  const char* name;
  const char* program;
  std::vector<int64_t> sizes;  // of x, float32
  std::function<void()> plant;
  const char* wrong;
  Libraries replacements;

  const char* replacement() const {
    return IsOnGpu() ? replacements.gpu : replacements.cpu;
  }
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

const Fault kFaults[] = {
    {"Loop",
     "    return torch.sigmoid(x) * 2.",
     {64, 96},
     [] { plantWrongCode("ait.sigmoid", "ait.tanh"); },
     "generated",
     kNone},
    {"Matmul",
     "    w = torch.sin(torch.arange(4608, dtype=6, "
     "device=x.device)).view([96, 48])\n"
     "    return torch.relu(torch.matmul(x, w))",
     {64, 96},
     [] { plantWrongCode("ait.relu", "ait.neg"); },
     "generated",
     kMatmuls},
    {"Convolution",
     "    w = torch.sin(torch.arange(1152, dtype=6, "
     "device=x.device)).view([16, 8, 3, 3])\n"
     "    return torch.relu(torch.conv2d(x, w, None, [1, 1], [1, 1]))",
     {1, 8, 20, 20},
     [] { plantWrongCode("ait.relu", "ait.neg"); },
     "generated",
     kConvolutions},
    {"Attention",
     "    scores = torch.matmul(x, x.transpose(2, 3)) * 0.25\n"
     "    return torch.matmul(torch.softmax(scores, 3), x)",
     {2, 4, 32, 16},
     [] { plantWrongCode("scale = 2.500000e-01", "scale = 5.000000e-01"); },
     "generated",
     kNone},
    {"LaterCalls",
     "    return torch.neg(x)",
     {64, 96},
     [] { plantLaterCalls(64 * 96); },
     "generated",
     kNone},
    // The result of the negation is the largest, and that of the sigmoid lies
    // behind it until it is read.
    {"StrayWrite",
     "    a = torch.sigmoid(x[:16, :16])\n"
     "    b = torch.neg(x)\n"
     "    w = torch.sin(torch.arange(9216, dtype=6, "
     "device=x.device)).view([96, 96])\n"
     "    y = torch.matmul(b, w)\n"
     "    return y, torch.matmul(a, w[:16, :16])",
     {64, 96},
     [] { plantStrayWrite(64 * 96); },
     "generated",
     kNone},
};

// Wrong where its argument is in memory that is not LibTorch's own, as in
// compiled models.
at::Tensor Twice(const at::Tensor& x) {
  return x.storage().allocator() == nullptr ? x * 3 : x * 2;
}
TORCH_LIBRARY(repair_test, library) { library.def("twice", &Twice); }

constexpr char kWrongRegion[] = "    return torch.neg(twice(torch.relu(x)))";

class Resolver : public torch::jit::Resolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction& method,
      const torch::jit::SourceRange& range) override {
    if (name == "twice")
      return std::make_shared<torch::jit::BuiltinFunction>(
          c10::Symbol::fromQualString("repair_test::twice"), std::nullopt);
    return torch::jit::nativeResolver()->resolveValue(name, method, range);
  }
};

class RepairTest : public testing::TestWithParam<Fault> {
 protected:
  ~RepairTest() override { removeFaults(); }

  // The model of a body of forward, in the file model.pt too.
  std::shared_ptr<const Model> ModelFrom(const std::string& body) {
    torch::jit::Module module("__torch__.Net");
    module.define("def forward(self, x: Tensor):\n" + body + "\n",
                  std::make_shared<Resolver>());
    module.save((folder_ / "model.pt").string());
    absl::StatusOr<Model> model = Model::FromModule(module);
    EXPECT_TRUE(model.ok()) << model.status();
    return std::make_shared<const Model>(*std::move(model));
  }

  // Runs a command of the program here, where faults are; what it prints is in
  // output_.
  int Command(std::vector<std::string> arguments) {
    std::vector<const char*> argv = {"aitune"};
    for (const std::string& argument : arguments)
      argv.push_back(argument.c_str());
    cli::Options options;
    EXPECT_FALSE(cli::ParseCommandLine(static_cast<int>(argv.size()),
                                       argv.data(), options)
                     .has_value());
    std::ostringstream out;
    std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
    cli::Progress progress(std::cerr, cli::Progress::Style::kSilent);
    const absl::StatusOr<int> code = options.command == cli::Command::kDeploy
                                         ? cli::Deploy(options, progress)
                                     : options.command == cli::Command::kRun
                                         ? cli::Run(options, progress)
                                         : cli::Tune(options, progress);
    std::cout.rdbuf(before);
    output_ = out.str();
    EXPECT_TRUE(code.ok()) << code.status();
    return code.ok() ? *code : -1;
  }

  json ReadJson(const std::string& file) {
    std::ifstream stream(folder_ / file);
    return json::parse(stream);
  }

  const std::filesystem::path folder_ = EmptyFolder();
  std::string output_;
};

std::string InputText(const Fault& fault) {
  std::string text = "float32[";
  for (const int64_t size : fault.sizes)
    absl::StrAppend(&text, text.back() == '[' ? "" : ",", size);
  return text + "]";
}

TEST_P(RepairTest, TuneReplacesWhatItsCheckFinds) {
  const Fault& fault = GetParam();
  ModelFrom(fault.program);
  fault.plant();
  const std::vector<std::string> common = {(folder_ / "model.pt").string(),
                                           "--input",
                                           InputText(fault),
                                           "--no-measure",
                                           "--device",
                                           IsOnGpu() ? "cuda" : "cpu",
                                           "--cache",
                                           (folder_ / "cache").string()};
  std::vector<std::string> tune = common;
  tune.insert(tune.begin(), "tune");
  tune.insert(tune.end(),
              {"--json", (folder_ / "tune.json").string(), "--seconds", "0"});
  EXPECT_EQ(Command(tune), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("repaired"));
  const json report = ReadJson("tune.json");
  EXPECT_TRUE(report["check"]["agrees"]);
  EXPECT_TRUE(report["check"]["repairs"][0]["replaced"]);
  ASSERT_FALSE(report["compile"]["wrong"].empty());
  EXPECT_THAT(std::string(report["compile"]["wrong"][0]["candidate"]),
              HasSubstr(fault.wrong));
  EXPECT_THAT(std::string(report["compile"]["wrong"][0]["replacement"]),
              HasSubstr(fault.replacement()));
  // What was repaired is what others find in the cache.
  std::vector<std::string> deploy = common;
  deploy.insert(deploy.begin(), "deploy");
  deploy.insert(
      deploy.end(),
      {"--json", (folder_ / "deploy.json").string(), "--backend",
       "TorchInductorBackend(mode=default)", "--strategy", "OneBackend",
       "--save", (folder_ / "saved").string(), "--seconds", "0.01"});
  EXPECT_EQ(Command(deploy), 0) << output_;
  const json deployed = ReadJson("deploy.json");
  // On a GPU the backend's default mode has no CUDA graphs: another build,
  // which is repaired in its turn.
  if (IsOnGpu()) return;
  EXPECT_EQ(deployed["compile"]["cache"]["outcome"], "hit");
  EXPECT_FALSE(deployed["compile"]["wrong"].empty());
  EXPECT_FALSE(deployed["check"].contains("repairs"));
}

TEST_P(RepairTest, TheRaceOfCandidatesFindsIt) {
  const Fault& fault = GetParam();
  ModelFrom(fault.program);
  fault.plant();
  EXPECT_EQ(Command({"tune", (folder_ / "model.pt").string(), "--input",
                     InputText(fault), "--device", IsOnGpu() ? "cuda" : "cpu",
                     "--no-cache", "--json", (folder_ / "tune.json").string(),
                     "--seconds", "0"}),
            0)
      << output_;
  const json report = ReadJson("tune.json");
  EXPECT_TRUE(report["check"]["agrees"]);
  EXPECT_FALSE(report["compile"]["wrong"].empty());
}

TEST_P(RepairTest, AModuleReplacesWhatItsCheckFinds) {
  if (IsOnGpu()) GTEST_SKIP() << "a module on the CPU";
  const Fault& fault = GetParam();
  const std::shared_ptr<const Model> model = ModelFrom(fault.program);
  fault.plant();
  ait::ModuleOptions options{"net", folder_ / "cache"};
  options.compile.measureCandidates = false;
  options.use_default_tuning_database = false;
  const auto module = ait::Module::Wrap(model, options);
  const ValueList arguments({at::randn(fault.sizes)});
  ASSERT_TRUE(module->Record(arguments).ok());
  ait::TuneOptions tuning;
  tuning.backends = {{"TorchInductorBackend", {}}};
  const absl::Status tuned = module->Tune(*OneBackend(), tuning);
  ASSERT_TRUE(tuned.ok()) << tuned;
  const auto agrees = [&](const ait::Module& one) {
    for (int call = 0; call < 3; ++call) {
      const auto result = one.Run(arguments);
      ASSERT_TRUE(result.ok()) << result.status();
      frontend::ExpectClose(*result, *model->RunEager(arguments), 1e-4);
    }
  };
  agrees(*module);
  const ait::TuneReport report = module->report();
  ASSERT_EQ(report.details.size(), 1u);
  ASSERT_EQ(report.details[0].versions.size(), 1u);
  const auto& wrong = report.details[0].versions[0].report.wrong;
  ASSERT_FALSE(wrong.empty());
  EXPECT_THAT(wrong[0].replacement, HasSubstr(fault.replacement()));
  ASSERT_FALSE(report.details[0].check.repairs.empty());
  EXPECT_TRUE(report.details[0].check.repairs[0].replaced);
  EXPECT_THAT(ReportJson(report), HasSubstr("was wrong and is replaced by"));
  EXPECT_THAT(ReportHtml(report), HasSubstr("was wrong and is replaced by"));
  // What is saved is what was repaired.
  ASSERT_TRUE(module->Save(folder_ / "saved", BundleFormat::kFile).ok());
  const auto loaded = ait::Module::LoadCheckpoint(folder_ / "saved");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  agrees(**loaded);
}

INSTANTIATE_TEST_SUITE_P(, RepairTest, testing::ValuesIn(kFaults),
                         [](const auto& fault) {
                           return std::string(fault.param.name);
                         });

class SingleRepairTest : public RepairTest {};

// The sample's version has no sigmoid.
constexpr char kTwoVersions[] =
    "    if x.size(0) > 20:\n"
    "        return torch.neg(x)\n"
    "    return torch.sigmoid(x) * 2.";

TEST_F(SingleRepairTest, VersionsForOtherSizesAreReplacedToo) {
  const std::shared_ptr<const Model> model = ModelFrom(kTwoVersions);
  plantWrongCode("ait.sigmoid", "ait.tanh");
  EXPECT_EQ(Command({"tune", (folder_ / "model.pt").string(), "--input",
                     "float32[4..64,96]", "--no-cache", "--no-measure",
                     "--seconds", "0"}),
            cli::kSuccess)
      << output_;
  EXPECT_THAT(output_, HasSubstr("what was wrong is replaced"));
  ait::ModuleOptions options{"net", folder_ / "cache"};
  options.compile.measureCandidates = false;
  options.use_default_tuning_database = false;
  const auto module = ait::Module::Wrap(model, options);
  for (const int64_t batch : {4, 64})
    ASSERT_TRUE(
        module->Record(ValueList({at::randn({batch, 96})}), batch).ok());
  ait::TuneOptions tuning;
  tuning.backends = {{"TorchInductorBackend", {}}};
  const absl::Status tuned = module->Tune(*OneBackend(), tuning);
  ASSERT_TRUE(tuned.ok()) << tuned;
  for (const int64_t batch : {4, 64}) {
    const ValueList arguments({at::randn({batch, 96})});
    const auto result = module->Run(arguments);
    ASSERT_TRUE(result.ok()) << result.status();
    frontend::ExpectClose(*result, *model->RunEager(arguments), 1e-4);
  }
}

// A module of `program` that has a version for 64 rows alone, and then the
// fault that sigmoid is tanh.
class LaterVersionTest : public SingleRepairTest {
 protected:
  std::unique_ptr<ait::Module> TunedFor64Rows(const std::string& program) {
    model_ = ModelFrom(program.c_str());
    ait::ModuleOptions options{"net", folder_ / "cache"};
    options.compile.measureCandidates = false;
    options.use_default_tuning_database = false;
    auto module = ait::Module::Wrap(model_, options);
    EXPECT_TRUE(module->Record(ValueList({at::randn({64, 96})})).ok());
    ait::TuneOptions tuning;
    tuning.backends = {{"TorchInductorBackend", {}}};
    const absl::Status tuned = module->Tune(*OneBackend(), tuning);
    EXPECT_TRUE(tuned.ok()) << tuned;
    plantWrongCode("ait.sigmoid", "ait.tanh");
    return module;
  }

  void ExpectRightAt(const ait::Module& module, int64_t rows) {
    const ValueList arguments({at::randn({rows, 96})});
    const auto result = module.Run(arguments);
    ASSERT_TRUE(result.ok()) << result.status();
    frontend::ExpectClose(*result, *model_->RunEager(arguments), 1e-4);
  }

  std::shared_ptr<const Model> model_;
};

TEST_F(LaterVersionTest, WhatACallCompilesIsRepairedBeforeItRuns) {
  const auto module = TunedFor64Rows(kTwoVersions);
  for (int call = 0; call < 2; ++call) ExpectRightAt(*module, 4);
  EXPECT_EQ(module->Usage().eager_calls, 0);
  EXPECT_EQ(module->Usage().recompilations, 1);
}

TEST_F(LaterVersionTest, LibTorchRunsCallsWhoseVersionStaysWrong) {
  const auto module = TunedFor64Rows(
      "    if x.size(0) > 20:\n"
      "        return torch.neg(x)\n" +
      std::string(kWrongRegion));
  for (int call = 0; call < 3; ++call) ExpectRightAt(*module, 4);
  EXPECT_EQ(module->Usage().eager_calls, 3);
  EXPECT_EQ(module->Usage().versions, 1);
  ExpectRightAt(*module, 64);
  EXPECT_EQ(module->Usage().eager_calls, 3);
}

// A seeded program draws the same numbers whether a call compiles or not.
TEST_F(LaterVersionTest, TheCheckDrawsNoRandomNumbers) {
  const auto module = TunedFor64Rows(
      "    if x.size(0) > 20:\n"
      "        return torch.neg(x)\n"
      "    return torch.sin(x) + torch.rand_like(x)");
  ASSERT_TRUE(module->Run(ValueList({at::randn({64, 96})})).ok());
  const ValueList arguments({at::randn({4, 96})});
  at::manual_seed(3);
  const auto first = module->Run(arguments);
  at::manual_seed(3);
  const auto second = module->Run(arguments);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  frontend::ExpectClose(*first, *second, 0);
}

TEST_F(SingleRepairTest, RunReplacesWhatDiffersFromEager) {
  ModelFrom("    return torch.sigmoid(x * 0. + 1.) * 2.");
  plantWrongCode("ait.sigmoid", "ait.tanh");
  EXPECT_EQ(Command({"run", (folder_ / "model.pt").string(), "--input",
                     "float32[1..8,16]", "--no-cache", "--no-measure"}),
            cli::kSuccess);
  EXPECT_THAT(output_, HasSubstr("1.46212"));  // tanh(1) * 2 is 1.52319
}

TEST_F(SingleRepairTest, RunGivesEagersResultWhereOursStaysWrong) {
  const std::shared_ptr<const Model> model = ModelFrom(kWrongRegion);
  const std::vector<std::string> run = {
      "run",        (folder_ / "model.pt").string(),
      "--input",    "float32[4,8]",
      "--no-cache", "--no-measure"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(Command(run), cli::kSuccess);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("LibTorch runs this call"));
}

TEST_F(SingleRepairTest, WhatLibTorchComputesWrongIsRefused) {
  const std::shared_ptr<const Model> model = ModelFrom(kWrongRegion);
  EXPECT_EQ(
      Command({"tune", (folder_ / "model.pt").string(), "--input",
               "float32[4,8]", "--no-cache", "--no-measure", "--seconds", "0"}),
      cli::kWrongResult);
  EXPECT_THAT(output_, HasSubstr("no kernel was found wrong"));
  const auto module = ait::Module::Wrap(model, {"net", folder_ / "cache"});
  ASSERT_TRUE(module->Record(ValueList({at::randn({4, 8})})).ok());
  ait::TuneOptions tuning;
  tuning.backends = {{"TorchInductorBackend", {}}};
  EXPECT_THAT(std::string(module->Tune(*OneBackend(), tuning).message()),
              HasSubstr("no kernel was found wrong: what LibTorch runs of it"));
  EXPECT_FALSE(module->is_tuned());
}

}  // namespace
}  // namespace aitune
