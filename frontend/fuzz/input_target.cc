#include "frontend/fuzz/input_target.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/compiled_model.pb.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_inputs.h"
#include "frontend/values/value_list.h"
#include "runtime/bundle/private_folder.h"
#include "runtime/executable/test_plan.h"
#include "runtime/fuzz/fuzzed_plans.h"
#include "runtime/target/host_target.h"

namespace aitune::frontend {
namespace {

constexpr char kSha256[] = "of the fuzzed model";
constexpr char kSpecOfModel[] = "float32[2,3]";
// The most elements of an input for which an artifact's model is traced: larger
// ones would test the machine's memory.
constexpr int64_t kMostElements = 1 << 16;

void Check(bool holds, std::string_view what, std::string_view input) {
  if (holds) return;
  std::cerr << what << ": " << input << "\n";
  std::abort();
}

// The file `name` of this process, with these bytes.
std::string FileOf(const char* name, std::string_view bytes) {
  static const std::unique_ptr<PrivateFolder> folder = *PrivateFolder::Make();
  const std::filesystem::path path = folder->path() / name;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path.string();
}

// LibTorch runs all of it but the product of its input with a constant.
const Model& TheModel() {
  static const Model model = [] {
    torch::jit::Module module("__torch__.Net");
    module.register_parameter("weight", at::ones({3}), false);
    module.define(
        "def forward(self, x: Tensor):\n"
        "    return torch.cumsum(torch.sort(x)[0] * self.weight, 1)\n");
    module.eval();
    return *ModelFromBytes(*ModelBytes(*Model::FromModule(module)));
  }();
  return model;
}

const std::string& TheModelsBytes() {
  static const std::string bytes = *ModelBytes(TheModel());
  return bytes;
}

// The model's file with another record of this beginning and end of its name.
std::string WithRecord(std::string_view begin, std::string_view end,
                       const std::string* contents, std::string* old) {
  std::istringstream stream(TheModelsBytes());
  caffe2::serialize::PyTorchStreamReader reader(&stream);
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter writer(
      [&](const void* data, size_t size) {
        bytes.append(static_cast<const char*>(data), size);
        return size;
      });
  for (const std::string& name : reader.getAllRecords()) {
    if (name == ".data/serialization_id" || name == "version") continue;
    auto [data, size] = reader.getRecord(name);
    std::string record(static_cast<const char*>(data.get()), size);
    if (absl::StartsWith(name, {begin.data(), begin.size()}) &&
        absl::EndsWith(name, {end.data(), end.size()})) {
      if (old != nullptr) *old = record;
      if (contents != nullptr) record = *contents;
    }
    writer.writeRecord(name, record.data(), record.size());
  }
  writer.writeEndOfFile();
  return bytes;
}

bool ReadModel(std::string_view bytes) {
  return Model::Load(FileOf("model.pt", bytes)).ok();
}

bool IsSmall(const InputSpec& spec) {
  int64_t elements = 1;
  for (const AxisSpec& axis : spec.axes) {
    if (axis.max > kMostElements) return false;
    elements *= std::max<int64_t>(axis.max, 1);
    if (elements > kMostElements) return false;
  }
  return std::all_of(spec.children.begin(), spec.children.end(),
                     [](const InputSpec& child) { return IsSmall(child); });
}

// A spec is read as it was written, and small ones give arguments.
void UseSpec(const InputSpec& spec, std::string_view input) {
  const std::string written = ToString(spec);
  const absl::StatusOr<InputSpec> again = ParseInputSpec(written);
  Check(again.ok() && ToString(*again) == written,
        "the text of a spec is not read as it was written", input);
  AssignSymbols({spec, *again}).IgnoreError();
  ModelInputs inputs;
  inputs.specs = {spec};
  if (IsSmall(spec)) TypicalArguments(inputs, /*seed=*/1).IgnoreError();
}

bool ReadSpec(std::string_view text) {
  const absl::StatusOr<InputSpec> spec = ParseInputSpec(text);
  if (!spec.ok()) return false;
  UseSpec(*spec, text);
  return true;
}

bool ReadSamples(std::string_view bytes) {
  const absl::StatusOr<ValueList> samples =
      LoadSamples(FileOf("samples.pt", bytes));
  if (!samples.ok()) return false;
  const absl::StatusOr<std::vector<InputSpec>> specs = SpecsOf(*samples);
  if (!specs.ok()) return true;
  for (const InputSpec& spec : *specs) UseSpec(spec, bytes);
  return true;
}

bool ReadAnArtifact(std::string_view bytes) {
  CompiledModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return false;
  // Those of another machine are refused before they are read.
  proto.set_version(kArtifactVersion);
  proto.set_model_sha256(kSha256);
  proto.set_target(HostTarget());
  proto.clear_gpu();
  proto.clear_versions();
  ModelInputs inputs;
  for (const std::string& text : proto.input_specs()) {
    absl::StatusOr<InputSpec> spec = ParseInputSpec(text);
    if (!spec.ok()) continue;
    if (!IsSmall(*spec)) return false;
    inputs.specs.push_back(*std::move(spec));
  }
  if (inputs.specs.empty())
    inputs.specs.push_back(*ParseInputSpec(kSpecOfModel));
  for (const int64_t size : proto.trace_anchor())
    if (size > kMostElements) return false;
  std::vector<int64_t> most;
  for (const SymbolProto& symbol : proto.plan().symbols())
    most.push_back(symbol.max());
  // Loading runs the plan's initialization.
  const bool small = aitune::IsSmall(proto.plan(), most, kMostElements);
  if (!small) proto.mutable_plan()->clear_initialization();
  absl::StatusOr<CompiledParts> parts = ReadArtifact(
      proto.SerializeAsString(), std::string(256, '\x01'), TheModel(), kSha256);
  if (!parts.ok()) return false;
  const auto compiled =
      CompiledModel::FromParts(TheModel(), *std::move(parts), nullptr);
  if (!compiled.ok()) return false;
  const absl::StatusOr<ValueList> arguments =
      TypicalArguments(inputs, /*seed=*/1);
  if (small && arguments.ok()) (*compiled)->Run(*arguments).IgnoreError();
  return true;
}

// An artifact as the compiler makes it, without kernels.
std::string SeedArtifact() {
  ModelInputs inputs;
  inputs.specs.push_back(*ParseInputSpec(kSpecOfModel));
  TraceOptions options;
  options.outlines = false;
  options.sees_parts = false;
  const Trace trace = *MakeTrace(TheModel(), inputs, options);
  CompiledParts parts;
  TestPlan t;
  const int x = t.Input({2, 3}), y = t.Output({2, 3});
  const int product = t.Arena({2, 4});
  t.Fallback(0, {x}, {y});
  t.AddStep({x, t.Constant(0, {3, 4})}, {product})->mutable_matmul();
  parts.plan = t.plan;
  parts.constants = {
      FloatConstant(std::vector<float>(3 * 4), {3, 4}, "product")};
  RegionDefinition& region = parts.regions.emplace_back();
  for (size_t i = 0; i < trace.ops.size(); ++i)
    region.ops.push_back(static_cast<int>(i));
  region.inputs = {trace.inputs.at(0)};
  region.outputs = {trace.outputs.at(0)};
  parts.input_structure = trace.input_structure;
  parts.output_structure = trace.output_structure;
  parts.trace_sha256 = TraceSha256(trace);
  parts.input_specs = {kSpecOfModel};
  return WriteArtifact(parts, TheModel(), kSha256)->model;
}

std::string SeedSamples() {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::TensorType::get());
  dict.insert("x", at::ones({2}));
  const std::vector<char> bytes = torch::jit::pickle_save(
      c10::ivalue::Tuple::create({at::ones({2, 3}), int64_t{5}, dict}));
  return {bytes.begin(), bytes.end()};
}

std::string Input(FuzzedInput form, std::string_view bytes) {
  return std::string(1, static_cast<char>(form)) + std::string(bytes);
}

}  // namespace

bool ReadInput(std::string_view input) {
  if (input.empty()) return false;
  const std::string bytes(input.substr(1));
  switch (static_cast<FuzzedInput>(input[0])) {
    case FuzzedInput::kModel:
      return ReadModel(bytes);
    case FuzzedInput::kCode:
      return ReadModel(WithRecord("code/", ".py", &bytes, nullptr));
    case FuzzedInput::kPickle:
      return ReadModel(WithRecord("data.pkl", "", &bytes, nullptr));
    case FuzzedInput::kSpec:
      return ReadSpec(bytes);
    case FuzzedInput::kSamples:
      return ReadSamples(bytes);
    case FuzzedInput::kArtifact:
      return ReadAnArtifact(bytes);
  }
  return false;
}

std::vector<std::string> SeedInputs() {
  std::string code, pickle;
  WithRecord("code/", ".py", nullptr, &code);
  WithRecord("data.pkl", "", nullptr, &pickle);
  std::vector<std::string> seeds = {
      Input(FuzzedInput::kModel, TheModelsBytes()),
      Input(FuzzedInput::kCode, code), Input(FuzzedInput::kPickle, pickle),
      Input(FuzzedInput::kSamples, SeedSamples()),
      Input(FuzzedInput::kArtifact, SeedArtifact())};
  for (const char* spec :
       {"float32[1,3,224,224]", "int64[batch=1..8,128]{0..30521}",
        "(float16[2..4,batch],[int64=-5,bool=true],none)",
        "{\"a b\":float64=0.5,7:str=\"x\\n\",complex128=(1,-2):bool[]}"})
    seeds.push_back(Input(FuzzedInput::kSpec, spec));
  return seeds;
}

}  // namespace aitune::frontend
