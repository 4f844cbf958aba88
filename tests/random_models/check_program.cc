#include "tests/random_models/check_program.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/check/check.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/gpu.h"

namespace aitune::random_models {
namespace {

using frontend::CompiledModel;
using frontend::Model;
using frontend::ModelInputs;
using frontend::SizeCombination;
using frontend::ValueList;

// Further versions, compiled at a call, cost most.
constexpr int kMostSizes = 9;

// The largest sizes, the smallest, and others at random, by the seed.
std::vector<SizeCombination> Sizes(const ModelInputs& inputs, uint64_t seed) {
  const frontend::SymbolAssignment symbols =
      *frontend::AssignSymbols(inputs.specs);
  std::mt19937_64 random(seed);
  std::vector<SizeCombination> combinations;
  std::set<std::vector<int64_t>> known;
  for (int i = 0; i < 2 * kMostSizes; ++i) {
    std::vector<int64_t> sizes;
    for (const frontend::SymbolSpec& symbol : symbols.symbols) {
      const auto count = static_cast<uint64_t>(symbol.max - symbol.min + 1);
      sizes.push_back(i == 0   ? symbol.max
                      : i == 1 ? symbol.min
                               : symbol.min +
                                     static_cast<int64_t>(random() % count));
    }
    if (!known.insert(sizes).second ||
        combinations.size() == static_cast<size_t>(kMostSizes))
      continue;
    combinations.push_back(
        {absl::StrCat("sizes ", absl::StrJoin(sizes, ",")), sizes});
  }
  return combinations;
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text.substr(0, 600);
}

// Empty if it agrees.
std::string Problem(const frontend::CaseResult& result) {
  if (result.agrees()) return "";
  if (!result.note.empty()) return absl::StrCat(result.name, ": ", result.note);
  for (const frontend::Comparison& output : result.outputs) {
    if (!output.agrees)
      return absl::StrCat(result.name, ", result ", output.output, " ",
                          output.problem);
  }
  return result.name;
}

}  // namespace

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAgrees:
      return "agrees";
    case Outcome::kEagerRaises:
      return "eager raises";
    case Outcome::kDiffers:
      return "differs";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kDies:
      break;
  }
  return "dies";
}

ProgramResult CheckProgram(const Program& program, const CheckConfig& config) {
  ProgramResult result;
  const absl::StatusOr<Model> model = Model::FromSource(SourceOf(program));
  if (!model.ok())
    return {Outcome::kEagerRaises, OneLine(model.status().ToString())};
  ModelInputs inputs;
  for (const std::string& spec : program.inputs)
    inputs.specs.push_back(*frontend::ParseInputSpec(spec));
  const std::vector<frontend::InputCase> cases =
      *frontend::RandomCases(inputs, Sizes(inputs, program.seed), program.seed);

  frontend::CheckOptions options;
  if (config.device != "cpu") options.device = Device::Gpu(0);
  frontend::BuildOptions build;
  build.all_sizes = true;
  build.compile.device = config.device;
  // Convolutions of float32 keep its precision on a GPU too, ours and eager's.
  if (options.device.is_gpu()) {
    build.compile.tf32Convolution = false;
    at::globalContext().setAllowTF32CuDNN(false);
  }
  build.compile.measureCandidates = config.measures;
  const auto compiled = CompiledModel::Build(*model, inputs, build);
  if (!compiled.ok()) {
    const bool eager_raises = !model->RunEager(cases[0].arguments).ok();
    return {eager_raises ? Outcome::kEagerRaises : Outcome::kRefused,
            OneLine(compiled.status().ToString())};
  }

  std::map<DataType, std::optional<Model>> references;
  options.reference = [&](DataType dtype) -> absl::StatusOr<const Model*> {
    std::optional<Model>& reference = references[dtype];
    if (!reference) {
      absl::StatusOr<Model> made = Model::FromSource(SourceOf(program, dtype));
      if (!made.ok()) return made.status();
      reference = *std::move(made);
    }
    return &*reference;
  };
  const frontend::CheckReport report = frontend::CheckAgainstEager(
      [&](const ValueList& arguments) { return (*compiled)->Run(arguments); },
      *model, cases, options);
  result.sizes = static_cast<int>(cases.size());
  result.versions = static_cast<int>((*compiled)->versions().size());
  if (!report.compared()) result.outcome = Outcome::kEagerRaises;
  for (const frontend::CaseResult& one : report.cases) {
    const std::string problem = Problem(one);
    if (problem.empty()) continue;
    result.outcome = Outcome::kDiffers;
    result.detail = OneLine(problem);
    break;
  }
  return result;
}

}  // namespace aitune::random_models
