// What the program says of what it can't do, or did wrong, and returns then.
#include <caffe2/serialize/inline_container.h>
#include <sys/stat.h>
#include <torch/script.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/end_to_end/program.h"
#include "tests/end_to_end/program_models.h"

namespace aitune {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Copies a model, with other text in its source.
void WriteWithOtherSource(const std::string& from, const std::string& to,
                          const std::string& old_text,
                          const std::string& new_text) {
  caffe2::serialize::PyTorchStreamReader reader(Path(from));
  caffe2::serialize::PyTorchStreamWriter writer(Path(to));
  for (const std::string& name : reader.getAllRecords()) {
    auto [data, size] = reader.getRecord(name);
    std::string text(static_cast<const char*>(data.get()), size);
    if (name == ".data/serialization_id" || name == "version") continue;
    const size_t at = text.find(old_text);
    if (at != std::string::npos) text.replace(at, old_text.size(), new_text);
    writer.writeRecord(name, text.data(), text.size());
  }
  writer.writeEndOfFile();
}

// The files that the tests name.
class Files : public testing::Environment {
 public:
  void SetUp() override {
    SaveTinyModel();
    SaveWholeModel();

    SaveProgram("raising.pt",
                "def forward(self, x: Tensor):\n"
                "    assert x.size(0) == 0, \"no rows wanted\"\n"
                "    return x\n");

    SaveProgram("raises.pt",
                "def forward(self, x: Tensor):\n"
                "    assert bool(torch.isnan(x).sum() < 0), 'never right'\n"
                "    return x * 2\n");

    SaveProgram(
        "rounded.pt",
        "def forward(self, x: Tensor):\n"
        "    return torch.tanh(torch.gelu(x)) * torch.exp(torch.sin(x))\n");

    std::ofstream(Path("text.pt")) << "this is no model\n";
    std::ofstream(Path("twice.py")) << "def twice(x):\n  return x * 2\n";
    const std::string bytes = ReadFile(Path("tiny.pt"));
    std::ofstream(Path("truncated.pt"), std::ios::binary)
        << bytes.substr(0, bytes.size() / 2);

    std::ofstream(Path("empty.pt")).flush();
    std::filesystem::remove(Path("pipe"));
    ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
    std::filesystem::remove(Path("loop.pt"));
    std::filesystem::create_symlink("loop.pt", Path("loop.pt"));
    WriteWithOtherSource("tiny.pt", "unknown.pt", "torch.relu", "torch.rulu");
  }
};

TEST(CommandLine, FullDisk) {
  for (const char* option :
       {"run tiny.pt --inputs samples.pt --output /dev/full",
        "tune tiny.pt --inputs samples.pt --seconds 0 --json /dev/full",
        "run tiny.pt --inputs samples.pt >/dev/full", "--help >/dev/full",
        "tune --help >/dev/full"}) {
    const Outcome outcome = Aitune(option);
    EXPECT_EQ(outcome.code, 1) << option;
    EXPECT_THAT(ErrorLine(outcome), HasSubstr("cannot be written")) << option;
  }
}

// Threads of so large a stack can't be made, as beyond a limit of their number.
TEST(CommandLine, WithoutFurtherThreadsItGoesOn) {
  const Outcome outcome =
      Shell("ulimit -s 100000000 2>/dev/null || exit 77; " + ProgramPath() +
            " tune tiny.pt --inputs samples.pt --seconds 0 --no-cache "
            "--threads 1");
  if (outcome.code == 77) GTEST_SKIP() << "the stack's size is limited";
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("agrees with eager"));
}

// In a file system of its own, which only root may mount.
TEST(CommandLine, AFullDiskKeepsTheCheckpointThatWasThere) {
  torch::jit::Module wide("__torch__.Wide");
  wide.register_parameter("weight", torch::randn({512, 512}), false);
  wide.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.relu(torch.linear(x, self.weight))\n");
  wide.save(Path("wide.pt"));  // 1 MB
  std::ofstream(Path("full_disk.sh")) << R"script(
mkdir -p disk && mount -t tmpfs -o size=500k none disk || exit 77
deploy="$1 deploy --no-cache --seconds 0.02"
$deploy tiny.pt --inputs samples.pt --save disk/net.aitune || exit 1
cp disk/net.aitune before.aitune
for save in disk/net.aitune disk/net/; do
  $deploy wide.pt --input 'float32[2,512]' --save $save 2>&1 && exit 2
done
cmp before.aitune disk/net.aitune || exit 3
echo "disk: $(ls -A disk)"
$1 run disk/net.aitune --inputs samples.pt || exit 4
)script";
  const Outcome outcome = Shell(
      "unshare --mount $(test $(id -u) = 0 || echo --map-root-user) "
      "sh full_disk.sh " +
      ProgramPath());
  if (outcome.code == 77 || outcome.err.find("unshare") != std::string::npos)
    GTEST_SKIP() << "this user may not mount a tmpfs";
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (const char* save : {"disk/net.aitune", "disk/net"})
    EXPECT_THAT(outcome.out,
                testing::ContainsRegex(absl::StrCat(
                    "aitune: .*", save,
                    "\\.[^\n]*can't be written: No space left on device")));
  EXPECT_THAT(outcome.out, HasSubstr("\ndisk: net.aitune\n"));
}

TEST(CommandLine, LogsSpeakForEveryCommand) {
  setenv("AITUNE_LOGS", "output_code,nothing", /*overwrite=*/1);
  for (const char* command : {"tune tiny.pt --seconds 0", "run tiny.pt"}) {
    const Outcome outcome =
        Aitune(std::string(command) + " --inputs samples.pt --no-cache");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("aitune: output_code: "));
    EXPECT_THAT(outcome.err, HasSubstr("'nothing', which is no log channel"));
  }
  unsetenv("AITUNE_LOGS");
}

// Code for a CPU that has more than this one must not run here.
TEST(CommandLine, ATargetThatThisCpuIsNotIsAnError) {
  for (const char* command : {"tune", "bench", "deploy"}) {
    const Outcome outcome = Aitune(
        absl::StrCat(command,
                     " tiny.pt --inputs samples.pt --target amx --no-measure "
                     "--seconds 0.05"));
    if (outcome.code == 0) GTEST_SKIP() << "this CPU has AMX";
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_THAT(ErrorLine(outcome),
                testing::AllOf(HasSubstr("the target 'amx' needs "),
                               HasSubstr("which this CPU has not")));
  }
  EXPECT_EQ(Aitune("tune tiny.pt --inputs samples.pt --target amx "
                   "--compile-to llvm")
                .code,
            0);
}

// 4096 times four functions that are not rounded as LibTorch's are: within any
// tolerance but none at all. LibTorch's own would be rounded as eager's.
TEST(CommandLine, WrongIsNotSuccess) {
  const std::string tune =
      "tune rounded.pt --input 'float32[64,64]' --seconds 0 --no-measure";
  EXPECT_EQ(Aitune(tune).code, 0);
  const Outcome outcome = Aitune(tune + " --tolerance 0");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("DIFFERS from eager"));
  EXPECT_THAT(ErrorLine(outcome), StartsWith("aitune: "));
}

TEST(CommandLine, WhatCannotBeComparedIsNotSuccess) {
  const Outcome outcome =
      Aitune("tune raises.pt --input 'float32[64,8]' --seconds 0");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("never right"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("agrees with eager")));
  EXPECT_THAT(ErrorLine(outcome), StartsWith("aitune: "));
}

struct BadCall {
  const char* name;
  const char* arguments;
  int code;
  const char* text;
};

void PrintTo(const BadCall& call, std::ostream* out) { *out << call.arguments; }

class Refused : public testing::TestWithParam<BadCall> {};

TEST_P(Refused, WithOneClearLine) {
  const Outcome outcome = Aitune(GetParam().arguments);
  EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
  const std::string line = ErrorLine(outcome);
  EXPECT_THAT(line, StartsWith("aitune: "));
  EXPECT_THAT(line, HasSubstr(GetParam().text));
  for (const char* trace : {"terminate called", "frame #", "C++ exception",
                            "Traceback", "c10::Error"}) {
    EXPECT_THAT(outcome.err, Not(HasSubstr(trace)));
  }
  EXPECT_EQ(outcome.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    , Refused,
    testing::ValuesIn(std::vector<BadCall>{
        {"NoCommand", "", 2, "no command given"},
        {"UnknownOption", "tune tiny.pt --bogus", 2, "--bogus"},
        {"MissingFile", "tune nowhere.pt", 1, "nowhere.pt"},
        {"NotTorchScript", "tune text.pt --input 'float32[1]'", 1, "text.pt"},
        {"Truncated", "tune truncated.pt --input 'float32[1,8]'", 1,
         "truncated.pt"},
        {"Empty", "tune empty.pt --input 'float32[1,8]'", 1, "empty.pt"},
        {"NoTorchScriptArchive", "tune samples.pt --input 'float32[1,8]'", 1,
         "samples.pt"},
        {"UnknownOperator", "tune unknown.pt --input 'float32[1,8]'", 1,
         "rulu"},
        {"Directory", "tune . --input 'float32[1,8]'", 1, "."},
        {"LinksInACircle", "tune loop.pt --input 'float32[1,8]'", 1,
         "loop.pt: cannot be read: Too many levels of symbolic links"},
        {"SampleLinksInACircle", "tune tiny.pt --inputs loop.pt", 1,
         "loop.pt: cannot be read: Too many levels of symbolic links"},
        {"LibraryIsAPipe", "tune tiny.pt --inputs samples.pt --library pipe", 1,
         "library pipe: is a pipe"},
        {"PlugInIsAPipe", "tune tiny.pt --inputs samples.pt --plugin pipe", 1,
         "plug-in pipe: is a pipe"},
        {"ReplacementIsAPipe",
         "tune tiny.pt --inputs samples.pt --substitute aten::relu=pipe", 1,
         "pipe: is a pipe"},
        {"ReplacementIsADirectory",
         "tune tiny.pt --inputs samples.pt --substitute aten::relu=.", 1,
         ".: is a directory"},
        {"MeasurementsAreAPipe",
         "tuning import pipe --tuning-database pipes.db", 1, "pipe: is a pipe"},
        {"MeasurementsAreADirectory",
         "tuning import . --tuning-database pipes.db", 1, ".: is a directory"},
        {"NoInputs", "tune tiny.pt", 1, "--input"},
        {"NoSubmodule", "tune whole.pt --input 'float32[2]' --disable half", 1,
         "no submodule half; it has part"},
        {"NoReplacement",
         "tune whole.pt --input 'float32[2]' --substitute part=none.py", 1,
         "none.py"},
        {"BadReplacement",
         "tune whole.pt --input 'float32[2]' --substitute aten::tanh=text.pt",
         1, "the replacement of aten::tanh"},
        {"ReplacementOfNothing",
         "tune whole.pt --input 'float32[2]' --substitute aten::tanhh=twice.py",
         1, "--substitute aten::tanhh has no effect"},
        {"WrongCount",
         "tune tiny.pt --input 'float32[1,8]' --input 'float32[1]'", 1,
         "takes 1"},
        {"WrongRank", "tune tiny.pt --input 'float32[2,3,4,5]'", 1, "4"},
        {"WrongSize", "tune tiny.pt --input 'float32[1,9]'", 1, "9"},
        {"WrongDtype", "tune tiny.pt --input 'int64[1,8]'", 1, "dtype"},
        {"MalformedSpec", "tune tiny.pt --input 'float33[1,8]'", 1, "float33"},
        {"UnknownDtype", "tune tiny.pt --inputs samples.pt --dtype int8", 1,
         "--dtype int8"},
        {"MissingSamples", "tune tiny.pt --inputs none.pt", 1, "none.pt"},
        {"SamplesAreText", "tune tiny.pt --inputs text.pt", 1, "text.pt"},
        {"ModelRaises", "tune raising.pt --input 'float32[2]'", 1,
         "no rows wanted"},
        {"SamplesOfAnotherDtype",
         "tune tiny.pt --inputs samples.pt --input 'float64[1..4,8]'", 1,
         "is not one of --input float64[1..4,8]"},
        {"SavedOverTheModel",
         "deploy tiny.pt --inputs samples.pt --save ./tiny.pt", 1,
         "would replace tiny.pt"},
        {"BatchOutOfTheRange",
         "deploy tiny.pt --input 'float32[1..4,8]' --batches 2,9", 1,
         "9, which is not in the range 1..4"},
        {"NoSuchBackend",
         "deploy tiny.pt --inputs samples.pt --backend Nope --no-measure", 1,
         "there is no backend 'Nope'"},
        {"NoToleranceAtAll", "tune tiny.pt --tolerance inf", 2, "a tolerance"},
        {"UnknownCommandOfCache", "cache foo", 2,
         "\"foo\" is not a command of cache; there are ls, verify, prune and "
         "stats"},
        {"NoCommandOfTuning", "tuning", 2,
         "no command given to tuning; there are stats, export and import"},
        {"NoCacheThere", "cache ls --cache nowhere", 1, "there is none"},
        {"OtherFilesThere", "cache stats --cache .", 1, "has other files"},
        {"FactorWithoutSlow", "reduce tiny.pt --inputs samples.pt --factor 2",
         1, "it goes with --failure slow"},
        {"JsonCannotBeWritten",
         "bench tiny.pt --inputs samples.pt --seconds 0 --json /nowhere/x", 1,
         "/nowhere/x"},
        {"OutputCannotBeWritten",
         "run tiny.pt --inputs samples.pt --output /nowhere/x", 1,
         "/nowhere/x"},
        {"DumpCannotBeWritten",
         "tune tiny.pt --inputs samples.pt --dump /dev/null/x", 1,
         "/dev/null/x"}}),
    [](const testing::TestParamInfo<BadCall>& info) {
      return std::string(info.param.name);
    });

// As a library of another build asks: a message's length, then a kernel (1)
// with the build (7) "old".
TEST(CommandErrors, AProgramThatMeasuresSaysThatItIsOfAnotherBuild) {
  const Outcome outcome =
      Shell("printf '\\007\\0\\0\\0\\0\\0\\0\\0\\012\\005\\072\\003old' | " +
            ProgramPath() + " measure-schedules");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("of another build than this program"));
}

const testing::Environment* const kFiles =
    testing::AddGlobalTestEnvironment(new Files);

}  // namespace
}  // namespace aitune
