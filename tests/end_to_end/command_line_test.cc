// The program itself: what it prints, writes and returns where all is well.
#include <torch/script.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/program.h"
#include "tests/end_to_end/program_models.h"

namespace aitune {
namespace {

using testing::Contains;
using testing::Ge;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// The files that the tests name.
class Files : public testing::Environment {
 public:
  void SetUp() override {
    SaveTinyModel();
    SaveWholeModel();

    SaveProgram("narrow.pt",
                "def forward(self, x: Tensor):\n"
                "    return x * x.new_ones([4])[torch.arange(x.size(0))]\n");
    SaveSamples("three.pt", {torch::full({3}, 2.0f)});

    // A cache of four rows, which a fifth call overflows.
    torch::jit::Module cache("__torch__.Cache");
    cache.register_buffer("rows", torch::zeros({4, 8}));
    cache.register_buffer("next", torch::zeros({1}, torch::kLong));
    cache.define(
        "def forward(self, x: Tensor):\n"
        "    self.rows.index_copy_(0, self.next, x)\n"
        "    self.next.add_(1)\n"
        "    return self.rows * 2\n");
    cache.save(Path("cache.pt"));

    // The same of its caller, who has the next row in it; it is the last.
    SaveProgram("decodes.pt",
                "def forward(self, x: Tensor, rows: Tensor, next: Tensor):\n"
                "    rows.index_copy_(0, next.clone(), x)\n"
                "    next.add_(1)\n"
                "    return rows * 2\n");
    SaveSamples("last.pt", {torch::ones({1, 8}), torch::zeros({4, 8}),
                            torch::full({1}, 3, torch::kLong)});

    SaveProgram("differs.pt",
                "def forward(self, x: Tensor, y: Tensor):\n"
                "    rows = x.size(0) - y.size(0)\n"
                "    return torch.tanh(x.new_zeros([rows, 5]) + 1)\n");

    SaveProgram("fills.pt",
                "def forward(self, x: Tensor, seen: List[Tensor]):\n"
                "    seen.append(x)\n"
                "    return x * len(seen)\n");
    SaveSamples("list.pt", {torch::ones({3}), c10::List<torch::Tensor>()});

    SaveProgram("copies.pt",
                "def forward(self, x: Tensor):\n"
                "    a = x.contiguous()\n"
                "    a.add_(1.0)\n"
                "    return a, x\n");
    SaveSamples("rows.pt", {torch::ones({6, 4}).slice(0, 0, 6, 2)});

    SaveProgram("adds.pt",
                "def forward(self, x: Tensor, y: Tensor):\n"
                "    x.add_(y)\n"
                "    return x * 2, y + 1\n");
    const at::Tensor one = torch::ones({3, 3}), whole = torch::ones({3, 6});
    SaveSamples("one.pt", {one, one});
    SaveSamples("halves.pt", {whole.slice(1, 0, 3), whole.slice(1, 3, 6)});

    SaveProgram(
        "random.pt",
        "def forward(self, x: Tensor):\n    return x + torch.rand_like(x)\n");

    SaveProgram("product.pt",
                "def forward(self, x: Tensor, y: Tensor):\n"
                "    return torch.matmul(x, y)\n");

    std::ofstream(Path("method.py"))
        << "def forward(self, x: Tensor):\n    return torch.sigmoid(x)\n";
    std::ofstream(Path("function.py"))
        << "def tanh(x: Tensor):\n    return torch.cos(x)\n";

    SaveSamples("nan.pt", {torch::full({3, 8}, std::nanf(""))});
  }
};

TEST(CommandLine, TunePrintsASummary) {
  const Outcome outcome =
      Aitune("tune tiny.pt --input 'float32[1..4,8]' --seconds 0.05");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* text :
       {"tiny.pt: forward(", "float32[1..4,8]", "operators", "100 %",
        "agrees with eager", "output[0]", "float32[4,16]", "ours", "eager",
        "torchscript", "weights"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST(CommandLine, TuneWritesJson) {
  const Outcome outcome = Aitune(
      "tune tiny.pt --input 'float32[4,8]' --seconds 0.05 --json report.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(ReadFile(Path("report.json")));
  EXPECT_EQ(json["command"], "tune");
  EXPECT_EQ(json["check"]["agrees"], true);
  EXPECT_EQ(json["coverage"]["flops"], 2.0 * 4 * 16 * 8);
  EXPECT_EQ(json["coverage"]["flop_share"], 1.0);
  EXPECT_EQ(json["model"]["weight_bytes"], 16 * 8 * 4);
  for (const char* name : {"ours", "eager", "torchscript"}) {
    EXPECT_GT(json["timing"][name]["median"], 0) << name;
  }
}

TEST(CommandLine, JsonOnStdoutIsAlone) {
  const Outcome outcome = Aitune(
      "bench tiny.pt --inputs samples.pt --seconds 0.05 --json - --against "
      "eager");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_TRUE(json["timing"].contains("ours"));
  EXPECT_FALSE(json["timing"].contains("torchscript"));
  EXPECT_THAT(outcome.err, HasSubstr("speed"));
}

TEST(CommandLine, RunWritesWhatTorchLoads) {
  ASSERT_EQ(Aitune("run tiny.pt --inputs samples.pt --output out.pt").code, 0);
  const std::string bytes = ReadFile(Path("out.pt"));
  const c10::IValue result =
      torch::jit::pickle_load(std::vector<char>(bytes.begin(), bytes.end()));
  torch::jit::Module model = torch::jit::load(Path("tiny.pt"));
  const c10::IValue eager = model.forward({torch::ones({3, 8})});
  for (int i = 0; i < 2; ++i) {
    // The order of sums is that of the kernel which was fastest.
    EXPECT_TRUE(torch::allclose(result.toTupleRef().elements()[i].toTensor(),
                                eager.toTupleRef().elements()[i].toTensor(),
                                /*rtol=*/1e-4, /*atol=*/1e-5));
  }
}

// A program that times several asks for a call, for many, and for a result.
TEST(CommandLine, PacedBenchDoesWhatItsInputAsksFor) {
  const std::string bench =
      "' | " + ProgramPath() + " bench tiny.pt --inputs samples.pt --paced";
  const Outcome outcome =
      Shell("printf '\\n5\\n5 2\\nsave paced.pt\\n" + bench);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string report, saved, more;
  double once = 0, many = 0, threads = 0;
  std::getline(lines, report);
  EXPECT_TRUE(nlohmann::json::parse(report).contains("compile"));
  lines >> once >> many >> threads >> saved;
  EXPECT_GT(once, 0);
  EXPECT_GT(many, 0);
  EXPECT_GT(threads, 0);
  EXPECT_EQ(saved, "paced.pt");
  EXPECT_FALSE(lines >> more) << more;
  ASSERT_EQ(Aitune("run tiny.pt --inputs samples.pt --output out.pt").code, 0);
  EXPECT_EQ(ReadFile(Path("paced.pt")).size(), ReadFile(Path("out.pt")).size());
  for (const std::string line : {"0", "5 0", "5 2 1", "five"}) {
    const Outcome wrong = Shell("printf '" + line + "\\n" + bench);
    EXPECT_EQ(wrong.code, 1);
    EXPECT_THAT(ErrorLine(wrong),
                HasSubstr("'" + line + "' is no number of calls"));
  }
}

// Calls that are timed find the state that the model was saved with.
TEST(CommandLine, ACacheIsNotFilledByWhatIsTimed) {
  for (const char* command :
       {"tune cache.pt --seconds 0.05", "bench cache.pt --seconds 0.05",
        "inspect cache.pt",
        "deploy cache.pt --seconds 0.05 --save cache.ait"}) {
    const Outcome outcome =
        Aitune(absl::StrCat(command, " --input 'float32[1,8]' --no-measure"));
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.err;
  }
  const Outcome paced = Shell(absl::StrCat(
      "yes '' | head -n 6 | ", ProgramPath(),
      " bench cache.pt --input 'float32[1,8]' --no-measure --paced"));
  EXPECT_EQ(paced.code, 0) << paced.err;
}

TEST(CommandLine, ArgumentsAreNotFilledByWhatIsTimed) {
  const std::string call = " decodes.pt --inputs last.pt --no-measure";
  for (const char* rest : {"tune --seconds 0.05", "bench --seconds 0.05",
                           "inspect --repeats 6", "deploy --seconds 0.05"}) {
    const Outcome outcome = Aitune(rest + call);
    EXPECT_EQ(outcome.code, 0) << rest << ": " << outcome.err;
    EXPECT_THAT(outcome.out, Not(HasSubstr("fail"))) << rest;
  }
  const Outcome paced = Shell(absl::StrCat(
      "yes '' | head -n 6 | ", ProgramPath(), " bench", call, " --paced"));
  EXPECT_EQ(paced.code, 0) << paced.err;
}

// At the ends of the ranges eager raises.
TEST(CommandLine, TimesTheLargestSizesThatEagerAccepts) {
  for (const char* command : {"tune", "bench"}) {
    const Outcome outcome = Aitune(absl::StrCat(
        command,
        " differs.pt --input 'float32[1..6,5]' --input 'float32[0..8,5]' "
        "--seconds 0.05 --no-measure"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out,
                HasSubstr("timed      float32[6,5], float32[6,5], as eager "
                          "refuses the largest sizes"));
  }
}

TEST(CommandLine, AListIsNotFilledByWhatIsTimed) {
  for (const std::string command : {"tune", "bench"}) {
    const Outcome outcome =
        Aitune(command + " fills.pt --inputs list.pt --seconds 0.05");
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("torchscript")) << command;
  }
}

// Compiled code gets contiguous copies, of which the program would see that a
// copy of them is none.
TEST(CommandLine, LibTorchRunsACallWhoseStridesAreSeen) {
  for (const char* range : {"", " --input 'float32[n=1..40,4]'"}) {
    const std::string call =
        absl::StrCat("copies.pt --inputs rows.pt --no-measure", range);
    const Outcome run = Aitune("run " + call);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("LibTorch runs this call: argument 0 has a "
                                   "tensor, float32[3,4], that is not"));
    EXPECT_THAT(run.out, HasSubstr("output[0] float32[3,4] 2 2"));
    EXPECT_THAT(run.out, HasSubstr("output[1] float32[3,4] 1 1"));
    const Outcome tune = Aitune("tune --seconds 0 " + call);
    EXPECT_EQ(tune.code, 1) << tune.err;
    EXPECT_THAT(ErrorLine(tune), HasSubstr("that is not contiguous"));
  }
}

TEST(CommandLine, LibTorchRunsACallThatWritesSharedMemory) {
  for (const auto& [samples, second] :
       {std::pair("one", "3 3"), {"halves", "2 2"}}) {
    const Outcome run = Aitune(
        absl::StrCat("run adds.pt --inputs ", samples, ".pt --no-measure"));
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("LibTorch runs this call, as arguments "
                                   "share memory"));
    EXPECT_THAT(run.out, HasSubstr("output[0] float32[3,3] 4 4"));
    EXPECT_THAT(run.out,
                HasSubstr(absl::StrCat("output[1] float32[3,3] ", second)));
  }
}

TEST(CommandLine, RunPrintsWithoutAFile) {
  const Outcome outcome = Aitune("run tiny.pt --inputs samples.pt");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("output[0] float32[3,16]"));
  EXPECT_THAT(outcome.out, HasSubstr("output[1] float32[] 24"));
}

// Eager raises at the larger sizes of the range.
TEST(CommandLine, ASampleInARangeWhereTheModelRaisesIsCompiled) {
  for (const char* command :
       {"run", "bench --seconds 0.05", "inspect", "tune --seconds 0"}) {
    const Outcome outcome = Aitune(absl::StrCat(
        command, " narrow.pt --input 'float32[1..64]' --inputs three.pt"));
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.err;
  }
}

TEST(CommandLine, NanIsComputedWith) {
  const Outcome outcome = Aitune("run tiny.pt --inputs nan.pt");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("output[0] float32[3,16] nan nan nan"));
  EXPECT_EQ(Aitune("tune tiny.pt --inputs nan.pt --seconds 0").code, 0);
}

TEST(CommandLine, InspectListsOperatorsAndSteps) {
  const Outcome outcome = Aitune("inspect tiny.pt --inputs samples.pt");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("aten::linear"));
  EXPECT_THAT(outcome.out, HasSubstr("Steps by time"));
  EXPECT_THAT(outcome.out, HasSubstr("matmul"));
}

TEST(CommandLine, CompileToPrintsIr) {
  const std::pair<const char*, const char*> phases[] = {
      {"import", "ait.linear\\|ait.matmul"},
      {"transformed", "ait.matmul"},
      {"fused", "ait.launch"},
      {"linalg", "linalg.generic"},
      {"llvm", "llvm.func"}};
  for (const auto& [phase, text] : phases) {
    const Outcome outcome = Aitune(
        std::string("tune tiny.pt --input 'float32[1..4,8]' --compile-to=") +
        phase);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(
        std::system(
            ("grep -q '" + std::string(text) + "' " + Path("stdout")).c_str()),
        0)
        << phase << "\n"
        << outcome.out;
  }
}

TEST(CommandLine, DumpWritesIrObjectsAndBenchmarks) {
  const Outcome outcome = Aitune(
      "tune tiny.pt --input 'float32[1..4,8]' --seconds 0 --dump dumped");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Outcome files = Shell(
      "cd dumped && ls graph/0-import.mlir graph/*-fusion.mlir "
      "kernels/*/*-linalg.mlir kernels/*/*-llvm.mlir kernels/*/*-object.o");
  EXPECT_EQ(files.code, 0) << files.err;
  // With the CPU's tile registers, if it has some.
  const Outcome half = Aitune(
      "tune product.pt --input 'bfloat16[64,64]' --input 'bfloat16[64,64]' "
      "--no-measure --seconds 0 --dump dumped_half");
  EXPECT_EQ(half.code, 0) << half.err;
  // Each benchmark is built as its first line says, and runs.
  const Outcome benchmarks = Shell(
      "for kernel in dumped/kernels/* dumped_half/kernels/*; do "
      "(cd $kernel && eval \"$(sed -n '1s,^// Build: ,,p' benchmark.cc)\" && "
      "./benchmark) || exit 1; done");
  EXPECT_EQ(benchmarks.code, 0) << benchmarks.err;
  EXPECT_THAT(benchmarks.out, HasSubstr("GFLOP/s on one thread"));
}

TEST(CommandLine, ExplainGivesReasons) {
  const Outcome outcome =
      Aitune("tune random.pt --input 'float32[2,3]' --seconds 0 --explain");
  EXPECT_THAT(outcome.out, HasSubstr("it draws random numbers"));
}

// The replacements compute something else, which shows that they are used.
TEST(CommandLine, SubmodulesAreDisabledAndReplaced) {
  const std::string tune =
      "tune whole.pt --input 'float32[4,8]' --seconds 0 --explain ";
  const Outcome disabled = Aitune(tune + "--disable part");
  EXPECT_EQ(disabled.code, 0) << disabled.err;
  EXPECT_THAT(disabled.out, HasSubstr("disabled"));
  const Outcome method = Aitune(tune + "--substitute part=method.py");
  EXPECT_EQ(method.code, 3) << method.err;
  EXPECT_THAT(method.out, HasSubstr("zeros: output error 1 "));
  const Outcome function = Aitune(tune + "--substitute aten::tanh=function.py");
  EXPECT_EQ(function.code, 3) << function.err;
  EXPECT_THAT(function.out, HasSubstr("zeros: output error 2 "));
}

TEST(CommandLine, SamplesBesideTheModelAreFound) {
  ASSERT_EQ(std::system(("cp " + Path("tiny.pt") + " " + Path("beside.pt") +
                         " && cp " + Path("samples.pt") + " " +
                         Path("beside.inputs.pt"))
                            .c_str()),
            0);
  const Outcome outcome = Aitune("run beside.pt");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(CommandLine, RandomNumbersAreOfOneSeed) {
  const Outcome outcome =
      Aitune("tune random.pt --input 'float32[64,8]' --seconds 0");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("agrees with eager"));
}

TEST(CommandLine, PathsAreRelativeToTheUsersDirectory) {
  const std::string command =
      "cd / && BUILD_WORKING_DIRECTORY=" + testing::TempDir() + " " +
      ProgramPath() + " run tiny.pt --inputs samples.pt >" + Path("stdout") +
      " 2>" + Path("stderr");
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 0)
      << ReadFile(Path("stderr"));
}

TEST(CommandLine, ASearchIsKeptAndUsed) {
  // Kernels that can be cut in two: a softmax, and a product with an epilogue.
  torch::jit::Module model("__torch__.Searched");
  model.register_parameter("weight", torch::randn({96, 64}), false);
  model.define(
      "def forward(self, x: Tensor):\n"
      "    y = torch.gelu(torch.linear(x, self.weight)) * 2.0 + 1.0\n"
      "    return torch.softmax(y, 1)\n");
  model.save(Path("searched.pt"));
  const std::string tune =
      "tune searched.pt --input 'float32[40,64]' --seconds 0.1 "
      "--cache searched-cache --tuning-database searched.db --json "
      "searched.json ";
  const auto candidates = [](const std::string& name) {
    const nlohmann::json report = nlohmann::json::parse(ReadFile(Path(name)));
    std::vector<std::string> names;
    for (const auto& candidate : report["compile"]["candidates"]) {
      names.push_back(candidate["candidate"].get<std::string>());
    }
    return names;
  };
  Outcome outcome = Aitune(tune + "--tune-budget 3s");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("agrees with eager"));
  EXPECT_THAT(candidates("searched.json"), Contains(StartsWith("cut before")));
  EXPECT_THAT(candidates("searched.json"),
              IsSupersetOf({"default", "tuned", "tuned on one thread"}));

  // What was found is used without a search, and its build is kept.
  for (const char* cache : {"miss", "hit"}) {
    outcome = Aitune(tune);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("agrees with eager"));
    EXPECT_THAT(outcome.out, HasSubstr(std::string("cache      ") + cache));
  }
  // Also by deploy, whose build it then is.
  outcome = Aitune(
      "deploy searched.pt --input 'float32[40,64]' --seconds 0.1 "
      "--cache searched-cache --strategy OneBackend --backend "
      "'TorchInductorBackend(mode=max-autotune)' --tuning-database "
      "searched.db");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("cache      hit"));
  outcome = Aitune("tuning stats --tuning-database searched.db");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(" measurements"));
  outcome = Aitune("tuning stats --tuning-database missing.db");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(ErrorLine(outcome), HasSubstr("missing.db"));
  // A build would go on without it.
  Shell("echo no database, but a text >text.db");
  for (const char* command : {"tune", "run", "deploy"}) {
    outcome = Aitune(std::string(command) +
                     " searched.pt --input 'float32[2,64]' --tuning-database "
                     "text.db");
    EXPECT_EQ(outcome.code, 1) << command;
    EXPECT_THAT(
        ErrorLine(outcome),
        testing::AllOf(HasSubstr("--tuning-database"), HasSubstr("text.db")));
  }
}

TEST(CommandLine, ASearchTriesWinogradsAlgorithms) {
  torch::jit::Module model("__torch__.Convolution");
  model.register_parameter("weight", torch::randn({40, 24, 3, 3}) / 15, false);
  model.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.relu(torch.conv2d(x, self.weight, padding=[1, 1]))\n");
  model.save(Path("winograd.pt"));
  Outcome outcome = Aitune(
      "tune winograd.pt --input 'float32[2,24,19,21]' --seconds 0.1 --no-cache "
      "--tuning-database winograd.db --tune-budget 6s");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("agrees with eager"));
  outcome =
      Aitune("tuning export winograd.jsonl --tuning-database winograd.db");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // What failed or was wrong would have a note that says so.
  std::istringstream lines(ReadFile(Path("winograd.jsonl")));
  std::map<std::string, int> measured;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json record = nlohmann::json::parse(line);
    for (const char* name : {"winograd_2x2", "winograd_4x4"}) {
      if (record["config"].get<std::string>().find(name) == std::string::npos)
        continue;
      EXPECT_EQ(record["note"], "") << line;
      EXPECT_GT(record["microseconds"], 0) << line;
      ++measured[name];
    }
  }
  EXPECT_THAT(measured, SizeIs(Ge(1))) << "none was tried";
}

const testing::Environment* const kFiles =
    testing::AddGlobalTestEnvironment(new Files);

}  // namespace
}  // namespace aitune
