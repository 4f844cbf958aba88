// Programs that decide by sizes agree with eager at every size of the range
// that was asked for, whichever way they are run; where eager raises, so do
// they.
//
// AITUNE_SIZE_PROGRAMS=200 tests so many generated programs, each at all sizes.
#include "tests/sizes/size_programs.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "frontend/api/module.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "runtime/logging/logging.h"
#include "tests/sizes/compare_sizes.h"

namespace aitune::sizes {
namespace {

using frontend::BuildOptions;
using frontend::CompiledModel;
using frontend::EmptyFolder;
using frontend::Model;
using frontend::ModelInputs;
using frontend::ModelOf;
using frontend::ParseInputSpec;
using frontend::ValueList;

std::unique_ptr<CompiledModel> Compile(const Model& model, const char* spec) {
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec(spec)};
  BuildOptions options;
  options.all_sizes = true;
  auto compiled = CompiledModel::Build(model, inputs, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? *std::move(compiled) : nullptr;
}

// Compares at all sizes, in an order that jumps. Returns the number of
// versions.
size_t CompareAtAllSizes(const SizeProgram& program) {
  const Model model = ModelOf(program.source);
  const auto compiled =
      Compile(model, absl::StrCat("float32[1..", kLargest, ",4]").c_str());
  if (compiled == nullptr) {
    ADD_FAILURE() << program.name << "\n" << program.source;
    return 0;
  }
  int failures = 0;
  for (int64_t i = 0; i < kLargest && failures < 3; ++i) {
    const int64_t rows = i * 37 % kLargest + 1;
    const ValueList arguments({InputOf(rows)});
    const std::string difference =
        Difference(compiled->Run(arguments), model.RunEager(arguments));
    if (difference.empty()) continue;
    ++failures;
    ADD_FAILURE() << program.name << " at " << rows << ": " << difference
                  << "\n"
                  << program.source;
  }
  return compiled->versions().size();
}

class Written : public testing::TestWithParam<SizeProgram> {};

TEST_P(Written, AgreesAtEverySize) { CompareAtAllSizes(GetParam()); }

TEST_P(Written, AgreesAsAModuleAndAsACheckpoint) {
  auto model = std::make_shared<const Model>(ModelOf(GetParam().source));
  const auto folder = EmptyFolder();
  const auto module = ait::Module::Wrap(model, {"net", folder / "cache"});
  for (const int64_t rows : {5, 9}) {
    ASSERT_TRUE(module->Record(ValueList({InputOf(rows)}), rows).ok());
  }
  ait::TuneOptions options;
  options.backends = {{"TorchInductorBackend", {}}};
  options.timing.warmup_rounds = 1;
  options.timing.min_rounds = options.timing.max_rounds = 1;
  const absl::Status tuned = module->Tune(*aitune::OneBackend(), options);
  ASSERT_TRUE(tuned.ok()) << tuned;
  const auto file = folder / "net.aitune";
  ASSERT_TRUE(module->Save(file, BundleFormat::kFile).ok());
  const auto loaded = ait::Module::LoadCheckpoint(file);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const int64_t rows :
       {1, 2, 7, 16, 20, 21, 24, 40, 41, 64, 65, 99, 130}) {
    const ValueList arguments({InputOf(rows)});
    const auto eager = model->RunEager(arguments);
    EXPECT_EQ(Difference(module->Run(arguments), eager), "")
        << GetParam().name << " as a module at " << rows;
    EXPECT_EQ(Difference((*loaded)->Run(arguments), eager), "")
        << GetParam().name << " as a checkpoint at " << rows;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Written,
                         testing::ValuesIn(WrittenPrograms()),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           for (char& c : name)
                             if (c == ' ') c = '_';
                           return name;
                         });

TEST(SizeProgramsTest, GeneratedOnesAgreeAtEverySize) {
  const char* const asked = std::getenv("AITUNE_SIZE_PROGRAMS");
  const int programs = asked != nullptr ? std::atoi(asked) : 8;
  const char* const first = std::getenv("AITUNE_FIRST_PROGRAM");
  const int start = first != nullptr ? std::atoi(first) : 0;
  size_t versions = 0;
  int failed = 0;
  for (int i = start; i < start + programs && failed < 10; ++i) {
    const bool before = HasFailure();
    versions += CompareAtAllSizes(GeneratedProgram(static_cast<uint64_t>(i)));
    failed += !before && HasFailure();
  }
  std::printf("%d programs, %zu versions\n", programs, versions);
}

TEST(SizeProgramsTest, OneVersionServesWhatDecidesAlike) {
  const Model model = ModelOf(WrittenPrograms()[0].source);
  const auto compiled = Compile(model, "float32[1..128,4]");
  ASSERT_NE(compiled, nullptr);
  for (int64_t rows = 128; rows > 20; --rows)
    ASSERT_TRUE(compiled->Run(ValueList({InputOf(rows)})).ok());
  EXPECT_EQ(compiled->versions().size(), 1);
  for (int64_t rows = 20; rows > 0; --rows)
    ASSERT_TRUE(compiled->Run(ValueList({InputOf(rows)})).ok());
  EXPECT_EQ(compiled->versions().size(), 2);
}

TEST(SizeProgramsTest, AModelWithoutDecisionsHasOneVersion) {
  const Model model = ModelOf(
      "def forward(self, x: Tensor):\n"
      "    return torch.relu(x.view([-1, 2])) * x.size(0)\n");
  const auto compiled = Compile(model, "float32[1..7,4]");
  ASSERT_NE(compiled, nullptr);
  for (int64_t rows = 1; rows <= 7; ++rows) {
    const ValueList arguments({InputOf(rows)});
    EXPECT_EQ(Difference(compiled->Run(arguments), model.RunEager(arguments)),
              "");
  }
  EXPECT_EQ(compiled->versions().size(), 1);
}

TEST(SizeProgramsTest, TwoSymbols) {
  const Model model = ModelOf(R"(
def forward(self, x: Tensor, y: Tensor):
    if x.size(0) > y.size(0):
        return x[:y.size(0)] + y
    return x + y[:x.size(0)]
)");
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec("float32[a=1..40,4]"),
                  *ParseInputSpec("float32[b=1..50,4]")};
  BuildOptions options;
  options.all_sizes = true;
  auto compiled = CompiledModel::Build(model, inputs, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (const auto& [a, b] : std::vector<std::pair<int64_t, int64_t>>{
           {40, 50}, {40, 3}, {1, 1}, {7, 7}, {8, 7}, {2, 50}, {40, 1}}) {
    const ValueList arguments({InputOf(a), InputOf(b)});
    EXPECT_EQ(
        Difference((*compiled)->Run(arguments), model.RunEager(arguments)), "")
        << a << ", " << b;
  }
  EXPECT_LE((*compiled)->versions().size(), 4);
}

// For an odd number of rows eager raises where they are longer than 4, so that
// no version holds all sizes of that path.
constexpr char kRaisesAtOtherSizes[] = R"(
def forward(self, x: Tensor):
    y = x * 2.0
    if x.size(0) % 2 == 1:
        y = y + x.new_ones([4])[torch.arange(x.size(1))]
    return y
)";
constexpr char kItsSizes[] = "float32[a=1..10,b=1..7]";

TEST(SizeProgramsTest, APathThatRaisesAtOtherSizesIsRightWhereItDoesNot) {
  const Model model = ModelOf(kRaisesAtOtherSizes);
  const auto compiled = Compile(model, kItsSizes);
  ASSERT_NE(compiled, nullptr);
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {10, 7}, {5, 4}, {5, 3}, {5, 4}, {1, 1}, {4, 6}}) {
    const ValueList arguments({at::randn({rows, columns})});
    EXPECT_EQ(Difference(compiled->Run(arguments), model.RunEager(arguments)),
              "")
        << rows << ", " << columns;
  }
  EXPECT_EQ(compiled->versions().size(), 4);
  const ValueList raises({at::randn({5, 7})});
  EXPECT_FALSE(model.RunEager(raises).ok());
  EXPECT_FALSE(compiled->Run(raises).ok());
}

TEST(SizeProgramsTest, ASampleOnSuchAPathIsTheFirstVersion) {
  const Model model = ModelOf(kRaisesAtOtherSizes);
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec(kItsSizes)};
  inputs.samples = ValueList({at::randn({5, 3})});
  BuildOptions options;
  options.all_sizes = true;
  const auto compiled = CompiledModel::Build(model, inputs, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_TRUE((*compiled)->Fits(*inputs.samples));
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {5, 3}, {5, 4}, {10, 7}, {4, 6}}) {
    const ValueList arguments({at::randn({rows, columns})});
    EXPECT_EQ(
        Difference((*compiled)->Run(arguments), model.RunEager(arguments)), "")
        << rows << ", " << columns;
  }
  EXPECT_EQ((*compiled)->versions().size(), 3);
}

TEST(SizeProgramsTest, SizesThatTheProgramRefusesAreTriedOnce) {
  const Model model = ModelOf(kRaisesAtOtherSizes);
  const auto compiled = Compile(model, kItsSizes);
  ASSERT_NE(compiled, nullptr);
  int built = 0;
  SetEnabled(LogChannel::kRecompiles, true);
  const LogSink before =
      SetLogSink([&](LogChannel channel, std::string_view text) {
        built += channel == LogChannel::kRecompiles;
      });
  const ValueList raises({at::randn({5, 7})}), others({at::randn({3, 6})});
  for (int call = 0; call < 3; ++call) {
    const auto result = compiled->Run(raises);
    EXPECT_THAT(std::string(result.status().message()),
                testing::HasSubstr("index 4 is out of bounds"));
  }
  EXPECT_EQ(built, 1);
  EXPECT_FALSE(compiled->Run(others).ok());
  EXPECT_EQ(built, 2);
  const ValueList fits({at::randn({3, 4})});
  EXPECT_EQ(Difference(compiled->Run(fits), model.RunEager(fits)), "");
  EXPECT_EQ(built, 3);
  // Another dtype is refused without a further build, too.
  const ValueList integers({at::ones({9, 2}, at::kLong)});
  for (int call = 0; call < 2; ++call)
    EXPECT_FALSE(compiled->Run(integers).ok());
  EXPECT_EQ(built, 4);
  SetLogSink(before);
  SetEnabled(LogChannel::kRecompiles, false);
}

// What was tried for a call of another fixed size says nothing about the rest.
TEST(SizeProgramsTest, ACallOfAnotherFixedSizeRefusesNoOther) {
  const Model model = ModelOf(R"(
def forward(self, x: Tensor, z: Tensor):
    y = x * z.sum()
    if x.size(0) % 2 == 1:
        y = y + x.new_ones([4])[torch.arange(x.size(1))]
    return y
)");
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec(kItsSizes), *ParseInputSpec("float32[4]")};
  BuildOptions options;
  options.all_sizes = true;
  const auto compiled = CompiledModel::Build(model, inputs, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const at::Tensor x = at::randn({5, 3});
  EXPECT_FALSE((*compiled)->Run(ValueList({x, at::randn({6})})).ok());
  const ValueList fits({x, at::randn({4})});
  EXPECT_EQ(Difference((*compiled)->Run(fits), model.RunEager(fits)), "");
}

TEST(SizeProgramsTest, AModuleIsTunedForASampleOnSuchAPath) {
  const auto model =
      std::make_shared<const Model>(ModelOf(kRaisesAtOtherSizes));
  const auto module =
      ait::Module::Wrap(model, {"net", EmptyFolder() / "cache"});
  const ValueList sample({at::randn({5, 3})});
  ASSERT_TRUE(module->Record(sample, 1).ok());
  ait::TuneOptions options;
  options.backends = {{"TorchInductorBackend", {}}};
  options.timing.warmup_rounds = 1;
  options.timing.min_rounds = options.timing.max_rounds = 1;
  options.inputs.emplace();
  options.inputs->specs = {*ParseInputSpec(kItsSizes)};
  options.inputs->samples = sample;
  const absl::Status tuned = module->Tune(*aitune::OneBackend(), options);
  ASSERT_TRUE(tuned.ok()) << tuned;
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {5, 3}, {5, 4}, {10, 7}, {4, 6}}) {
    const ValueList arguments({at::randn({rows, columns})});
    EXPECT_EQ(Difference(module->Run(arguments), model->RunEager(arguments)),
              "")
        << rows << ", " << columns;
  }
}

}  // namespace
}  // namespace aitune::sizes
