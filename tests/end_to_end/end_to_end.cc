#include "tests/end_to_end/end_to_end.h"

#include <ATen/core/ivalue.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/check/check.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"

namespace aitune {
namespace {

using frontend::CompiledModel;
using frontend::Model;

// Beside the case's forward. Sines of large arguments look random and are the
// same on every machine to within a rounding.
constexpr char kHelpers[] = R"(
def weight(self, n: int, sizes: List[int]) -> Tensor:
    return torch.sin(torch.arange(n, dtype=6) * 12.9898).view(sizes)
)";

absl::StatusOr<Model> LoadModel(const Case& c) {
  return Model::FromSource(absl::StrCat(kHelpers, c.source, "\n"));
}

absl::StatusOr<std::unique_ptr<CompiledModel>> Build(
    const Case& c, const Model& model, frontend::ModelInputs& inputs) {
  frontend::InputChoice choice;
  choice.specs = c.inputs;
  auto chosen = frontend::ChooseInputs(model, choice);
  if (!chosen.ok()) return chosen.status();
  inputs = *std::move(chosen);
  frontend::BuildOptions options;
  options.compile.emulateEagerCasts = c.emulate_eager_casts;
  // Which candidate is faster varies from run to run; tests must not.
  options.compile.measureCandidates = false;
  return CompiledModel::Build(model, inputs, options);
}

bool MayFallBack(const Case& c, const std::string& op) {
  return std::any_of(c.fallbacks.begin(), c.fallbacks.end(),
                     [&op](const std::string& allowed) {
                       // op is "aten::add.Tensor", allowed "aten::add".
                       return allowed == "*" || op == allowed ||
                              op.rfind(allowed + ".", 0) == 0;
                     });
}

}  // namespace

absl::StatusOr<std::unique_ptr<CompiledModel>> CompileUnmeasured(
    const Model& model, std::vector<std::string> inputs) {
  frontend::InputChoice choice;
  choice.specs = std::move(inputs);
  auto chosen = frontend::ChooseInputs(model, choice);
  if (!chosen.ok()) return chosen.status();
  frontend::BuildOptions options;
  options.compile.measureCandidates = false;
  return CompiledModel::Build(model, *chosen, options);
}

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

void CheckCase(const Case& c) {
  absl::StatusOr<Model> model = LoadModel(c);
  ASSERT_TRUE(model.ok()) << model.status();
  frontend::ModelInputs inputs;
  auto compiled = Build(c, *model, inputs);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (const frontend::FallbackOp& op : (*compiled)->report().fallbacks) {
    EXPECT_TRUE(MayFallBack(c, op.op))
        << "LibTorch runs " << op.op << ": " << op.reason;
  }

  auto cases = frontend::CheckCases(inputs, /*seed=*/1);
  ASSERT_TRUE(cases.ok()) << cases.status();
  frontend::CheckOptions options;
  options.reference = [&](DataType) -> absl::StatusOr<const Model*> {
    // There are no parameters: the source itself runs in any precision.
    return &*model;
  };
  const frontend::CheckReport report = frontend::CheckAgainstEager(
      [&](const frontend::ValueList& arguments) {
        return (*compiled)->Run(arguments);
      },
      *model, *cases, options);
  for (const frontend::CaseResult& result : report.cases) {
    EXPECT_TRUE(result.agrees()) << result.name << " " << result.note;
    for (const frontend::Comparison& output : result.outputs) {
      EXPECT_TRUE(output.agrees) << "on \"" << result.name << "\", output"
                                 << output.output << " " << output.problem;
    }
  }
  EXPECT_TRUE(report.agrees()) << "no case could be compared";
}

std::string ErrorOf(const Case& c) {
  absl::StatusOr<Model> model = LoadModel(c);
  if (!model.ok()) return std::string(model.status().message());
  frontend::ModelInputs inputs;
  auto compiled = Build(c, *model, inputs);
  if (!compiled.ok()) return std::string(compiled.status().message());
  auto arguments = frontend::TypicalArguments(inputs, /*seed=*/1);
  if (!arguments.ok()) return std::string(arguments.status().message());
  auto result = (*compiled)->Run(*arguments);
  EXPECT_FALSE(result.ok()) << "there is no error";
  return std::string(result.status().message());
}

}  // namespace aitune
