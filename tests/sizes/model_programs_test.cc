// What models do with sizes is as eager does it, compiled, as a module and as a
// checkpoint, and so is what raises.
//
// AITUNE_ALL_SIZES=1 tests each program at 130 sizes, or 260 combinations of
// several, instead of some.
#include "tests/sizes/model_programs.h"

#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/module.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/testing/models.h"
#include "frontend/values/pytree.h"

namespace aitune::sizes {
namespace {

using frontend::InputCase;
using frontend::Model;
using frontend::ModelInputs;
using frontend::SizeCombination;
using frontend::ValueList;
using Runner = std::function<absl::StatusOr<c10::IValue>(const ValueList&)>;

class ModelPrograms : public testing::TestWithParam<ModelProgram> {
 protected:
  void SetUp() override {
    for (const std::string& spec : GetParam().inputs)
      inputs_.specs.push_back(*frontend::ParseInputSpec(spec));
    if (inputs_.specs.empty())
      inputs_.specs = {*frontend::ParseInputSpec("float32[1..130,4]")};
  }

  // Random arguments of sizes that jump through the ranges.
  std::vector<InputCase> Cases(int count) const {
    const auto symbols = frontend::AssignSymbols(inputs_.specs)->symbols;
    if (std::getenv("AITUNE_ALL_SIZES") != nullptr)
      count = symbols.size() > 1 ? 260 : 130;
    std::vector<SizeCombination> combinations;
    for (int64_t i = 0; i < count; ++i) {
      std::vector<int64_t> sizes;
      int64_t position = i * 37 + i / 130;
      for (const frontend::SymbolSpec& symbol : symbols) {
        sizes.push_back(symbol.min + position % (symbol.max - symbol.min + 1));
        position = position * 7 + i / 3 + 11;
      }
      combinations.push_back({absl::StrJoin(sizes, ", "), sizes});
    }
    for (const std::vector<int64_t>& special : GetParam().special)
      combinations.push_back({absl::StrJoin(special, ", "), special});
    return *frontend::RandomCases(inputs_, combinations, /*seed=*/3);
  }

  // Results must not refer to the arguments, which are overwritten.
  static void Compare(const Runner& run, const Model& model,
                      const std::vector<InputCase>& cases) {
    for (const InputCase& one : cases) {
      SCOPED_TRACE(absl::StrCat("sizes ", one.name));
      std::vector<c10::IValue> copies;
      for (const c10::IValue& value : one.arguments.values())
        copies.emplace_back(value.toTensor().clone());
      const auto eager = model.RunEager(one.arguments);
      const auto ours = run(ValueList(copies));
      ASSERT_EQ(ours.ok(), eager.ok()) << ours.status() << "\n"
                                       << eager.status() << "\n"
                                       << GetParam().source;
      if (!eager.ok()) continue;
      for (const c10::IValue& copy : copies) copy.toTensor().fill_(77);
      frontend::ExpectClose(*ours, *eager, 1e-3);
      if (HasFailure()) FAIL() << GetParam().source;
    }
  }

  ModelInputs inputs_;
};

TEST_P(ModelPrograms, AgreeCompiled) {
  const Model model = frontend::ModelOf(GetParam().source);
  frontend::BuildOptions options;
  options.all_sizes = true;
  options.compile.measureCandidates = false;
  const auto compiled = frontend::CompiledModel::Build(model, inputs_, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  Compare([&](const ValueList& call) { return (*compiled)->Run(call); }, model,
          Cases(16));
}

TEST_P(ModelPrograms, AgreeAsAModuleAndAsACheckpoint) {
  const auto model =
      std::make_shared<const Model>(frontend::ModelOf(GetParam().source));
  const auto folder = frontend::EmptyFolder();
  const auto module = ait::Module::Wrap(model, {"net", folder / "cache"});
  const std::vector<InputCase> cases = Cases(12);
  int recorded = 0;
  for (size_t i = 4; recorded < 2 && i < cases.size(); ++i) {
    if (!model->RunEager(cases[i].arguments).ok()) continue;
    ASSERT_TRUE(module->Record(cases[i].arguments, 1).ok());
    ++recorded;
  }
  ait::TuneOptions options;
  options.backends = {{"TorchInductorBackend", {}}};
  options.timing.warmup_rounds = 1;
  options.timing.min_rounds = options.timing.max_rounds = 1;
  const absl::Status tuned = module->Tune(*OneBackend(), options);
  Compare([&](const ValueList& call) { return module->Run(call); }, *model,
          cases);
  // Results of another number of parts than in the first call are left to
  // LibTorch.
  if (!tuned.ok()) return;
  const auto file = folder / "net.aitune";
  ASSERT_TRUE(module->Save(file, BundleFormat::kFile).ok());
  const auto loaded = ait::Module::LoadCheckpoint(file);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Compare([&](const ValueList& call) { return (*loaded)->Run(call); }, *model,
          cases);
}

std::string NameOf(const testing::TestParamInfo<ModelProgram>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (c == ' ' || c == '-') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sequences, ModelPrograms,
                         testing::ValuesIn(SequencePrograms()), NameOf);
INSTANTIATE_TEST_SUITE_P(Shapes, ModelPrograms,
                         testing::ValuesIn(ShapePrograms()), NameOf);
INSTANTIATE_TEST_SUITE_P(Lists, ModelPrograms,
                         testing::ValuesIn(ListPrograms()), NameOf);
INSTANTIATE_TEST_SUITE_P(Rare, ModelPrograms, testing::ValuesIn(RarePrograms()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Users, ModelPrograms,
                         testing::ValuesIn(UserPrograms()), NameOf);

}  // namespace
}  // namespace aitune::sizes
