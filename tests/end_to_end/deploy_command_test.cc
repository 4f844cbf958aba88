// What `aitune deploy` chooses, reports and saves, and that `aitune run` runs
// it.
#include <torch/script.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/base/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/program.h"

namespace aitune {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

class Files : public testing::Environment {
 public:
  void SetUp() override {
    torch::manual_seed(0);
    torch::jit::Module part("__torch__.Part");
    part.register_parameter("weight", torch::randn({16, 8}), false);
    part.define(
        "def forward(self, x: Tensor):\n"
        "    return torch.relu(torch.linear(x, self.weight))\n");
    torch::jit::Module model("__torch__.Net");
    model.register_module("part", part);
    model.define(
        "def forward(self, x: Tensor):\n"
        "    return torch.softmax(self.part.forward(x), 1)\n");
    model.save(Path("net.pt"));
    const std::vector<char> samples = torch::jit::pickle_save(
        c10::ivalue::Tuple::create({torch::ones({3, 8})}));
    std::ofstream(Path("samples.pt"), std::ios::binary)
        .write(samples.data(), samples.size());
  }
};
const testing::Environment* const kFiles =
    testing::AddGlobalTestEnvironment(new Files);

std::vector<std::string> Names(const json& list) {
  std::vector<std::string> names;
  for (const json& item : list) names.push_back(item["name"]);
  return names;
}

TEST(RunCommand, AnOutputOverTheLimitOfFilesIsAnErrorNotASignal) {
#if defined(ABSL_HAVE_THREAD_SANITIZER)
  GTEST_SKIP() << "the sanitizer of threads needs a larger file to start";
#endif
  const Outcome outcome = Shell(
      "ulimit -f 16; unset BUILD_WORKING_DIRECTORY; " + ProgramPath() +
      " run net.pt --input 'float32[4000,8]' --no-cache --output large.pt");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(ErrorLine(outcome),
            "aitune: --output large.pt: cannot be written: File too large");
}

TEST(RunCommand, PrintsResultsOfEveryLayout) {
  torch::jit::Module model("__torch__.Sparse");
  model.define(
      "def forward(self, x: Tensor):\n"
      "    return (x * 0 + 2).to_sparse(), torch.complex(x.abs() * 0, x * 0 + "
      "1)\n");
  model.save(Path("sparse.pt"));
  const Outcome outcome = Aitune("run sparse.pt --input 'float32[2]'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "output[0] Sparse float32[2] 2 2\n"
            "output[1] ComplexFloat[2] 0 1 0 1\n");
}

TEST(RunCommand, SummarisesOutputsInJson) {
  torch::jit::Module model("__torch__.Outputs");
  model.define(
      "def forward(self, x: Tensor):\n"
      "    y = torch.relu(x)\n"
      "    return y * 0 + 2, y[:0], torch.full([2, 2], -1, dtype=4), (y * 0) / "
      "0, 5, torch.complex(y * 0, y * 0 + 1), '', "
      "torch._nested_tensor_from_tensor_list([y[:2] * 0 + 1, y * 0 + 4])\n");
  model.save(Path("outputs.pt"));
  const Outcome outcome =
      Aitune("run outputs.pt --input 'float32[3]' --no-cache --json -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json none;
  const auto summary = [&](const char* path, const char* dtype,
                           std::vector<int64_t> sizes, int elements,
                           bool finite, const json& least, const json& most,
                           const json& mean) {
    return json{
        {"output", path},   {"dtype", dtype},       {"layout", "Strided"},
        {"sizes", sizes},   {"elements", elements}, {"finite", finite},
        {"minimum", least}, {"maximum", most},      {"mean", mean}};
  };
  const json expected = {
      summary("[0]", "float32", {3}, 3, true, 2.0, 2.0, 2.0),
      summary("[1]", "float32", {0}, 0, true, none, none, none),
      summary("[2]", "int64", {2, 2}, 4, true, -1.0, -1.0, -1.0),
      summary("[3]", "float32", {3}, 3, false, none, none, none),
      json{{"output", "[4]"}, {"value", "5"}},
      summary("[5]", "ComplexFloat", {3}, 6, true, 0.0, 1.0, 0.5),
      json{{"output", "[6]"}, {"value", ""}}};
  json outputs = json::parse(outcome.out)["outputs"];
  ASSERT_EQ(outputs.size(), 8u);
  const json nested = outputs[7];
  outputs.erase(7);
  EXPECT_EQ(outputs, expected);
  EXPECT_EQ(nested["elements"], 5);
  EXPECT_EQ(nested["minimum"], 1.0);
  EXPECT_EQ(nested["mean"], 2.8);
}

// What a method of an interface is, is known to the call alone.
TEST(DeployCommand, SavesModelsThatCallMethodsOfInterfaces) {
  torch::jit::Module model("__torch__.Chooses");
  const auto unit = model._ivalue()->compilation_unit();
  const auto part =
      c10::InterfaceType::create("__torch__.Op", /*is_module=*/true);
  part->addMethod(c10::FunctionSchema(
      "forward", "",
      {c10::Argument("self", part), c10::Argument("x", c10::TensorType::get())},
      {c10::Argument("", c10::TensorType::get())}));
  unit->register_type(part);
  torch::jit::Module op("__torch__.Relu", unit);
  op.register_parameter("weight", torch::randn({4, 8}), false);
  op.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.relu(torch.linear(x, self.weight))\n");
  model.register_module("other", op);
  model.register_attribute("op", part, op._ivalue());
  model.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.softmax(self.op.forward(x), 1)\n");
  model.save(Path("interface.pt"));
  const Outcome deployed = Aitune(
      "deploy interface.pt --input 'float32[2,8]' --no-cache --seconds 0.02 "
      "--strategy OneBackend --backend TorchInductorBackend --save "
      "interface.aitune");
  ASSERT_EQ(deployed.code, 0) << deployed.err;
  const Outcome ran =
      Aitune("run interface.aitune --input 'float32[2,8]' --seed 3");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Outcome eager =
      Aitune("run interface.pt --input 'float32[2,8]' --seed 3 --no-cache");
  EXPECT_EQ(ran.out, eager.out);
}

TEST(DeployCommand, SaysBeforeItBuildsWhatCannotBeSaved) {
  torch::jit::Module model("__torch__.Packed");
  model.register_buffer("packed", at::quantize_per_tensor(torch::randn({4, 8}),
                                                          0.1, 0, at::kQInt8));
  model.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.relu(x)\n");
  model.save(Path("packed.pt"));
  const Outcome outcome = Aitune(
      "deploy packed.pt --input 'float32[2,8]' --no-cache --save "
      "packed.aitune");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(ErrorLine(outcome),
              AllOf(HasSubstr("--save packed.aitune: packed.pt can't be saved"),
                    HasSubstr("packed is no dense tensor")));
  EXPECT_THAT(outcome.err, Not(HasSubstr("build")));
}

TEST(DeployCommand, TakesPathsThatAreNotUtf8) {
  Shell("mkdir -p 'd\xe9'; cp net.pt 'd\xe9/n\xe9t.pt'");
  const Outcome deployed = Aitune(
      "deploy 'd\xe9/n\xe9t.pt' --input 'float32[2,8]' --cache 'd\xe9/cache' "
      "--dump 'd\xe9/dump' --strategy OneBackend --backend "
      "'TorchInductorBackend' --seconds 0.02 --save 'd\xe9/saved' --json "
      "'d\xe9/report.json' --html 'd\xe9/page.html'");
  ASSERT_EQ(deployed.code, 0) << deployed.err;
  // All code came from the processes that generate it.
  EXPECT_THAT(deployed.err, Not(HasSubstr("code generator")));
  EXPECT_EQ(json::parse(ReadFile(Path("d\xe9/report.json")))["module"],
            "n\xef\xbf\xbdt");
  const Outcome ran = Aitune("run 'd\xe9/saved' --input 'float32[2,8]'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* command :
       {"tune --seconds 0.02", "bench --seconds 0.02", "inspect", "run"}) {
    const Outcome outcome = Aitune(
        std::string(command) +
        " 'd\xe9/n\xe9t.pt' --input 'float32[2,8]' --cache 'd\xe9/cache' "
        "--json -");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["model"]["file"],
              "d\xef\xbf\xbd/n\xef\xbf\xbdt.pt")
        << command;
  }
}

TEST(BackendsCommand, ListsKindsModesAndOptions) {
  const Outcome outcome = Aitune("backends --json -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_THAT(Names(report["backends"]),
              IsSupersetOf({"TorchAOBackend", "TorchCudaGraphsBackend",
                            "TorchEagerBackend", "TorchInductorBackend",
                            "TorchScriptBackend"}));
  EXPECT_THAT(Names(report["modes"]),
              IsSupersetOf({"default", "reduce-overhead", "max-autotune"}));
  EXPECT_THAT(Names(report["options"]), IsSupersetOf({"max_autotune"}));
  for (const char* list : {"backends", "modes", "options"})
    for (const json& item : report[list]) EXPECT_NE(item["help"], "") << item;
  for (const json& backend : report["backends"]) {
    EXPECT_TRUE(backend["usable"]) << backend;
    EXPECT_EQ(backend["devices"][0]["type"], "cpu");
    for (const json& device : backend["devices"])
      EXPECT_EQ(device["usable"], device["reason"] == "") << device;
  }
  EXPECT_THAT(Aitune("backends").out,
              AllOf(HasSubstr("TorchInductorBackend"),
                    HasSubstr("      cpu: can be used\n")));
}

TEST(DeployCommand, KeepsWhatItReads) {
  Shell("cp net.pt kept.pt");
  const std::string before = ReadFile(Path("kept.pt"));
  for (const char* arguments :
       {"tune kept.pt --json kept.pt", "inspect kept.pt --json kept.pt",
        "run kept.pt --output kept.pt", "deploy kept.pt --html kept.pt",
        "deploy kept.pt --save kept.pt", "reduce kept.pt --output kept.pt",
        "deploy net.pt --html kept.pt --substitute aten::tanh=kept.pt"}) {
    const Outcome outcome =
        Aitune(std::string(arguments) + " --input 'float32[2,8]'");
    EXPECT_EQ(outcome.code, 1) << arguments;
    EXPECT_THAT(ErrorLine(outcome), HasSubstr("kept.pt would replace kept.pt"));
    EXPECT_EQ(ReadFile(Path("kept.pt")), before) << arguments;
  }
  // Before the minutes that the rest takes.
  EXPECT_THAT(
      ErrorLine(Aitune("deploy net.pt --input 'float32[2,8]' --save no/such")),
      HasSubstr("--save no/such: there is no folder no; make it"));
}

// What it saved is no model for other commands.
TEST(DeployCommand, NamesTheCommandForACheckpoint) {
  Aitune(
      "deploy net.pt --input 'float32[2,8]' --no-cache --seconds 0.02 "
      "--save done.aitune");
  for (const char* command : {"tune", "bench", "inspect", "deploy", "reduce"})
    EXPECT_THAT(ErrorLine(Aitune(std::string(command) + " done.aitune")),
                HasSubstr("was compiled before (aitune deploy --save): `aitune "
                          "run` runs it"));
}

TEST(DeployCommand, SavesWhatRunRuns) {
  for (const char* path : {"net.aitune", "net.folder/"}) {
    const Outcome deployed = Aitune(
        std::string("deploy net.pt --input 'float32[1..4,8]' --no-cache "
                    "--seconds 0.02 --strategy OneBackend --backend "
                    "'TorchInductorBackend(mode=max-autotune)' --save ") +
        path + " --html page.html --json report.json");
    ASSERT_EQ(deployed.code, 0) << deployed.err;
    EXPECT_THAT(deployed.out, HasSubstr("inputs     float32[1..4,8]"));
    EXPECT_THAT(
        deployed.out,
        HasSubstr("chosen     TorchInductorBackend(mode=max-autotune)"));
    EXPECT_THAT(deployed.out, HasSubstr("part"));
    EXPECT_THAT(ReadFile(Path("page.html")), HasSubstr("<h1>net</h1>"));
    const json report = json::parse(ReadFile(Path("report.json")));
    EXPECT_EQ(report["module"], "net");
    EXPECT_EQ(report["strategy"], "OneBackend");

    const std::string run = std::string("run ") + path + " --inputs samples.pt";
    const size_t printed = deployed.out.find("digest     ");
    ASSERT_NE(printed, std::string::npos);
    const std::string digest = deployed.out.substr(printed + 11, 64);
    EXPECT_EQ(report["saved"], path);
    EXPECT_EQ(report["digest"], digest);
    EXPECT_EQ(report["inputs"], "float32[1..4,8]");
    const Outcome ours = Aitune(run + " --digest " + digest);
    ASSERT_EQ(ours.code, 0) << ours.err;
    const Outcome other = Aitune(run + " --digest " + std::string(64, '0'));
    EXPECT_EQ(other.code, 1);
    EXPECT_THAT(ErrorLine(other), HasSubstr("its digest is " + digest));
    EXPECT_THAT(ours.out, HasSubstr("output float32[3,16]"));
    ASSERT_EQ(Aitune(run + " --output out.pt").code, 0);
    const std::string bytes = ReadFile(Path("out.pt"));
    EXPECT_TRUE(torch::allclose(
        torch::jit::pickle_load(std::vector<char>(bytes.begin(), bytes.end()))
            .toTensor(),
        torch::jit::load(Path("net.pt"))
            .forward({torch::ones({3, 8})})
            .toTensor()));
  }
}

TEST(DeployCommand, RunsOnlyWhatTheOwnerOfTheKeySigned) {
  // The keys of the first two tests of RFC 8032, section 7.1.
  std::ofstream(Path("key.pem"))
      << "-----BEGIN PRIVATE KEY-----\n"
         "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
         "-----END PRIVATE KEY-----\n";
  std::ofstream(Path("public.pem"))
      << "-----BEGIN PUBLIC KEY-----\n"
         "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
         "-----END PUBLIC KEY-----\n";
  std::ofstream(Path("other.pem"))
      << "-----BEGIN PUBLIC KEY-----\n"
         "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
         "-----END PUBLIC KEY-----\n";
  const std::string deploy =
      "deploy net.pt --input 'float32[4,8]' --no-cache --seconds 0.02 "
      "--strategy OneBackend --backend TorchInductorBackend --sign ";
  // Before anything is compiled.
  EXPECT_THAT(ErrorLine(Aitune(deploy + "public.pem --save signed.aitune")),
              HasSubstr("public.pem holds no private Ed25519 key"));
  EXPECT_THAT(ErrorLine(Aitune(deploy + "key.pem")),
              HasSubstr("--sign requires --save"));
  const std::string run =
      "run signed.aitune --input 'float32[4,8]' --verify public.pem";
  const Outcome deployed = Aitune(deploy + "key.pem --save signed.aitune");
  ASSERT_EQ(deployed.code, 0) << deployed.err;
  EXPECT_THAT(deployed.out, HasSubstr("signature  signed.aitune.sig"));
  const Outcome ours = Aitune(run);
  EXPECT_EQ(ours.code, 0) << ours.err;
  const Outcome other =
      Aitune("run signed.aitune --input 'float32[4,8]' --verify other.pem");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(ErrorLine(other), HasSubstr("was not signed by the owner of"));
  // Another checkpoint in its place, with the signature of this one.
  ASSERT_EQ(Aitune("deploy net.pt --input 'float32[2,8]' --no-cache --seconds "
                   "0.02 --strategy OneBackend --backend TorchInductorBackend "
                   "--save signed.aitune")
                .code,
            0);
  const Outcome changed = Aitune(run);
  EXPECT_EQ(changed.code, 1);
  EXPECT_THAT(ErrorLine(changed), HasSubstr("its digest is"));
}

TEST(DeployCommand, ShipsAQuantizedModel) {
  const Outcome deployed = Aitune(
      "deploy net.pt --input 'float32[1..4,8]' --no-cache --seconds 0.02 "
      "--strategy OneBackend --backend "
      "'TorchAOBackend(quantization=int8wo,verdict=False,min_cosine=0.99,"
      "extended_layers=True)' "
      "--save quantized.aitune --json report.json");
  ASSERT_EQ(deployed.code, 0) << deployed.err;
  EXPECT_THAT(deployed.out,
              HasSubstr("chosen     TorchAOBackend(quantization_config="
                        "Int8WeightOnlyConfig(),verdict=False,"
                        "min_cosine=0.99,extended_layers=True)"));
  EXPECT_THAT(deployed.out, HasSubstr("1 of 1 linear layers"));
  const json report = json::parse(ReadFile(Path("report.json")));
  ASSERT_EQ(report["compile"]["quantized_layers"].size(), 1u);
  EXPECT_EQ(report["compile"]["quantized_layers"][0]["scheme"], "int8wo");
  const Outcome ours = Aitune("run quantized.aitune --inputs samples.pt");
  ASSERT_EQ(ours.code, 0) << ours.err;
  EXPECT_THAT(ours.out, HasSubstr("output float32[3,16]"));
}

TEST(DeployCommand, TimesAQuantizedModelBesideTheOthers) {
  const Outcome outcome = Aitune(
      "deploy net.pt --input 'float32[4,8]' --no-cache --seconds 0.02 "
      "--quantize int8wo,verdict=off --min-cosine 0.99 --json -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  ASSERT_EQ(report["backends"].size(), 4u);
  EXPECT_EQ(report["backends"][1]["description"],
            "TorchAOBackend(quantization_config=Int8WeightOnlyConfig(),"
            "verdict=False,min_cosine=0.99)");
  EXPECT_THAT(Aitune("deploy net.pt --quantize int8wo --backend "
                     "TorchScriptBackend")
                  .err,
              HasSubstr("--quantize"));
}

TEST(DeployCommand, TimesBackendsAtEachBatchSize) {
  const Outcome outcome = Aitune(
      "deploy net.pt --input 'float32[1..4,8]' --no-cache --seconds 0.02 "
      "--batches 2,4 --json -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  ASSERT_EQ(report["backends"].size(), 3u);
  for (const json& backend : report["backends"]) {
    ASSERT_EQ(backend["timings"].size(), 2u) << backend;
    EXPECT_EQ(backend["timings"][0]["batch"], 2);
    EXPECT_EQ(backend["timings"][1]["batch"], 4);
  }
  EXPECT_EQ(report["submodules"][1]["path"], "part");
  EXPECT_THAT(outcome.err, HasSubstr("chosen     "));
}

TEST(DeployCommand, ShipsTheBuildThatTuneHasVerified) {
  const std::string with =
      " net.pt --input 'float32[1..4,8]' --cache shared --seconds 0.02 "
      "--emulate-eager-casts --target avx2 --threads 1 --seed 3 --json - ";
  const Outcome tuned = Aitune("tune" + with);
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const json verified = json::parse(tuned.out);
  EXPECT_EQ(verified["compile"]["cache"]["outcome"], "miss");
  const std::string one =
      "--strategy OneBackend --backend "
      "'TorchInductorBackend(mode=max-autotune)' ";
  const Outcome deployed = Aitune("deploy" + with + one + "--explain");
  ASSERT_EQ(deployed.code, 0) << deployed.err;
  const json shipped = json::parse(deployed.out);
  EXPECT_EQ(shipped["compile"]["cache"]["outcome"], "hit");
  EXPECT_EQ(shipped["compile"]["cache"]["key"],
            verified["compile"]["cache"]["key"]);
  EXPECT_EQ(shipped["compile"]["this_process"]["kernels_compiled"], 0);
  // The same fields, and the same verdicts on the same inputs.
  for (const char* part : {"coverage", "check", "compile", "memory", "model"}) {
    ASSERT_TRUE(shipped.contains(part)) << part;
    for (const auto& [name, value] : verified[part].items()) {
      if (name != "time_share") {
        EXPECT_TRUE(shipped[part].contains(name)) << part << " " << name;
      }
    }
  }
  EXPECT_EQ(shipped["check"], verified["check"]);
  EXPECT_THAT(deployed.err, HasSubstr("compiled   "));
  EXPECT_THAT(deployed.err, HasSubstr("checked    agrees with eager on"));
  // Other options are another build.
  const Outcome other = Aitune(
      "deploy net.pt --input 'float32[1..4,8]' --cache shared --seconds 0.02 "
      "--threads 1 --seed 3 --json - " +
      one);
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(json::parse(other.out)["compile"]["cache"]["outcome"], "miss");
  // Both are among those that `cache` looks after.
  const Outcome listed = Aitune("cache ls --cache shared --json -");
  ASSERT_EQ(listed.code, 0) << listed.err;
  std::set<std::string> keys;
  for (const json& entry : json::parse(listed.out)) keys.insert(entry["key"]);
  EXPECT_THAT(keys, testing::UnorderedElementsAre(
                        verified["compile"]["cache"]["key"].get<std::string>(),
                        json::parse(other.out)["compile"]["cache"]["key"]
                            .get<std::string>()));
}

TEST(DeployCommand, SaysWhatIsWrong) {
  const std::string deploy = "deploy net.pt --input 'float32[1..4,8]' ";
  for (const auto& [arguments, code, text] :
       {std::tuple("--backend 'Nothing()'", 1, "Nothing"),
        {"--backend 'TorchInductorBackend(mode)'", 1, "NAME=VALUE"},
        {"--backend 'TorchInductorBackend(mode=fast)'", 1, "fast"},
        {"--backend 'TorchCudaGraphsBackend(mode=default)'", 1,
         "there is no field 'mode'"},
        {"--strategy Fastest", 2, "Fastest"},
        {"--strategy MinLatency --latency-budget 3", 2, "--strategy"},
        {"--latency-budget 1e-5 --seconds 0.02 --no-cache", 1,
         "No backend satisfied latency budget"},
        {"--tf32 all", 1, "tf32 has no effect on cpu"},
        {"--backend TorchScriptBackend --target avx2", 1,
         "no backend of --backend compiles: --target has no effect"},
        {"--transfer", 2, "--tune-budget"},
        {"--html /nowhere/x", 1, "/nowhere/x"}}) {
    const Outcome outcome = Aitune(deploy + arguments);
    EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.err;
    EXPECT_THAT(ErrorLine(outcome), HasSubstr(text));
  }
}

TEST(DeployCommand, RunRefusesDamageAndOptionsOfCompiling) {
  ASSERT_EQ(Aitune("deploy net.pt --input 'float32[1..4,8]' --no-cache "
                   "--seconds 0.02 --strategy OneBackend --backend "
                   "TorchInductorBackend --save damaged.aitune")
                .code,
            0);
  const Outcome converted =
      Aitune("run damaged.aitune --inputs samples.pt --dtype bf16");
  EXPECT_EQ(converted.code, 1);
  EXPECT_THAT(ErrorLine(converted), HasSubstr("--dtype has no effect"));
  const Outcome targeted =
      Aitune("run damaged.aitune --inputs samples.pt --no-measure");
  EXPECT_EQ(targeted.code, 1);
  EXPECT_THAT(ErrorLine(targeted), HasSubstr("--no-measure has no effect"));
  const std::string path = Path("damaged.aitune");
  std::string bytes = ReadFile(path);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
  const Outcome outcome = Aitune("run damaged.aitune --inputs samples.pt");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(ErrorLine(outcome), HasSubstr("damaged.aitune"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("output")));
}

}  // namespace
}  // namespace aitune
