#include "tests/sizes/four_ways.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "frontend/api/aitune.h"
#include "frontend/api/module.h"
#include "frontend/cli/commands.h"
#include "runtime/status/status_macros.h"
#include "tests/sizes/compare_sizes.h"

namespace aitune::sizes {
namespace {

namespace fs = std::filesystem;
using frontend::Model;
using frontend::ValueList;

constexpr char kRange[] = "float32[1..130,4]";

// Runs a command of the program; what it prints goes nowhere.
absl::Status Command(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"aitune"};
  for (const std::string& argument : arguments)
    argv.push_back(argument.c_str());
  cli::Options options;
  if (cli::ParseCommandLine(static_cast<int>(argv.size()), argv.data(),
                            options))
    return absl::InternalError("the command line is refused");
  std::ostringstream printed;
  std::streambuf* const before = std::cout.rdbuf(printed.rdbuf());
  const absl::Cleanup restore = [before] { std::cout.rdbuf(before); };
  cli::Progress progress(std::cerr, cli::Progress::Style::kSilent);
  AITUNE_ASSIGN_OR_RETURN(const int code,
                          options.command == cli::Command::kDeploy
                              ? cli::Deploy(options, progress)
                              : cli::Run(options, progress));
  if (code == cli::kSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(arguments[0], " gives ", code));
}

absl::Status OfC(ait_error* error) {
  if (error == nullptr) return absl::OkStatus();
  const absl::Status status(
      static_cast<absl::StatusCode>(ait_error_code(error)),
      ait_error_message(error));
  ait_error_free(error);
  return status;
}

absl::StatusOr<c10::IValue> RunInC(const ait_module* module,
                                   const at::Tensor& x) {
  const ait_tensor input = {
      sizeof(ait_tensor), AIT_FLOAT32, 2, x.sizes().data(),
      x.data_ptr(),       AIT_CPU,     0, nullptr,
      AIT_TENSOR};
  ait_result* result = nullptr;
  AITUNE_RETURN_IF_ERROR(OfC(ait_module_run(module, &input, 1, &result)));
  const absl::Cleanup free = [result] { ait_result_free(result); };
  std::vector<c10::IValue> tensors;
  for (size_t i = 0; i < ait_result_count(result); ++i) {
    ait_tensor output = {sizeof output, 0,         0, nullptr, nullptr, 0, 0,
                         nullptr,       AIT_TENSOR};
    AITUNE_RETURN_IF_ERROR(OfC(ait_result_tensor(result, i, &output)));
    if (output.dtype != AIT_FLOAT32)
      return absl::InternalError("a result that is not float32");
    at::Tensor copy = at::empty(
        at::IntArrayRef(output.sizes, static_cast<size_t>(output.rank)));
    if (copy.numel() > 0)
      std::copy_n(static_cast<const float*>(output.data), copy.numel(),
                  copy.mutable_data_ptr<float>());
    tensors.emplace_back(std::move(copy));
  }
  return c10::IValue(c10::ivalue::Tuple::create(std::move(tensors)));
}

}  // namespace

struct FourWays::Parts {
  explicit Parts(Model loaded) : model(std::move(loaded)) {}

  ~Parts() {
    ait_module_free(of_c);
    ait_module_free(deployed);
  }

  std::string File(const char* name) const { return (folder / name).string(); }

  // The command `arguments` with the sample `x`, and what it saved.
  absl::StatusOr<c10::IValue> CommandFor(std::vector<std::string> arguments,
                                         const at::Tensor& x) const {
    const std::string result = File("result.pt");
    AITUNE_RETURN_IF_ERROR(SaveSample(x));
    arguments.insert(arguments.end(),
                     {"--inputs", File("sample.pt"), "--output", result});
    AITUNE_RETURN_IF_ERROR(Command(arguments));
    std::ifstream file(result, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    return torch::jit::pickle_load(bytes);
  }

  absl::Status SaveSample(const at::Tensor& x) const {
    const std::vector<char> bytes = torch::jit::pickle_save(
        c10::IValue(c10::ivalue::Tuple::create({c10::IValue(x)})));
    std::ofstream file(File("sample.pt"), std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    return file ? absl::OkStatus() : absl::InternalError("sample.pt");
  }

  fs::path folder;
  Model model;
  std::vector<int64_t> samples;  // sizes at which eager does not raise
  std::optional<cli::Subject> subject;
  std::unique_ptr<frontend::CompiledModel> compiled;
  std::unique_ptr<ait::Module> module, checkpoint;
  ait_module *of_c = nullptr, *deployed = nullptr;
};

FourWays::FourWays() = default;
FourWays::~FourWays() = default;

const Model& FourWays::model() const { return parts_->model; }

absl::StatusOr<std::unique_ptr<FourWays>> FourWays::Of(
    const SizeProgram& program, const fs::path& folder) {
  torch::jit::Module module("Net");
  module.define(program.source);
  const std::string file = (folder / "net.pt").string();
  module.save(file);
  AITUNE_ASSIGN_OR_RETURN(Model model, Model::Load(file, {}));
  std::unique_ptr<FourWays> made(new FourWays());
  made->parts_ = std::make_unique<Parts>(std::move(model));
  Parts& parts = *made->parts_;
  parts.folder = folder;
  // The largest, as of a range, then small ones.
  for (const int64_t rows : {130, 9, 5, 40, 77, 100, 21, 33, 2, 1}) {
    if (parts.samples.size() < 3 &&
        parts.model.RunEager(ValueList({InputOf(rows)})).ok())
      parts.samples.push_back(rows);
  }
  if (parts.samples.empty()) return made;
  AITUNE_RETURN_IF_ERROR(parts.SaveSample(InputOf(parts.samples[0])));
  AITUNE_RETURN_IF_ERROR(made->ByTheCommandLine());
  AITUNE_RETURN_IF_ERROR(made->AsAModule());
  AITUNE_RETURN_IF_ERROR(made->ByTheCInterface());
  return made;
}

absl::Status FourWays::ByTheCommandLine() {
  Parts& parts = *parts_;
  const std::vector<std::string> of_model = {
      "run",     parts.File("net.pt"), "--input",     kRange,
      "--cache", parts.File("cache"),  "--no-measure"};
  std::vector<const char*> argv = {"aitune"};
  for (const std::string& argument : of_model) argv.push_back(argument.c_str());
  argv.insert(argv.end(), {"--inputs", "sample.pt"});
  const std::string sample = parts.File("sample.pt");
  argv.back() = sample.c_str();
  cli::Options options;
  if (cli::ParseCommandLine(static_cast<int>(argv.size()), argv.data(),
                            options))
    return absl::InternalError("the command line is refused");
  cli::Progress progress(std::cerr, cli::Progress::Style::kSilent);
  AITUNE_ASSIGN_OR_RETURN(parts.subject, cli::LoadSubject(options, progress));
  AITUNE_ASSIGN_OR_RETURN(parts.compiled,
                          cli::BuildSubject(options, *parts.subject, progress));
  ways_.push_back({"aitune run", [&parts](const at::Tensor& x) {
                     return parts.compiled->Run(ValueList({x}));
                   }});
  const std::string saved = parts.File("deployed.aitune");
  AITUNE_RETURN_IF_ERROR(
      Command({"deploy", parts.File("net.pt"), "--input", kRange, "--inputs",
               sample, "--cache", parts.File("cache"), "--no-measure",
               "--strategy", "OneBackend", "--backend", "TorchInductorBackend",
               "--seconds", "0", "--save", saved}));
  commands_.push_back({"the command aitune run", [&parts, of_model](auto& x) {
                         return parts.CommandFor(of_model, x);
                       }});
  commands_.push_back(
      {"the command aitune run of the checkpoint", [&parts, saved](auto& x) {
         return parts.CommandFor({"run", saved}, x);
       }});
  return absl::OkStatus();
}

absl::Status FourWays::AsAModule() {
  Parts& parts = *parts_;
  ait::ModuleOptions options;
  options.cache_dir = parts.folder / "cache";
  options.compile.measureCandidates = false;
  options.use_default_tuning_database = false;
  AITUNE_ASSIGN_OR_RETURN(parts.module,
                          ait::Module::Load(parts.File("net.pt"), options));
  for (const int64_t rows : parts.samples) {
    AITUNE_RETURN_IF_ERROR(
        parts.module->Record(ValueList({InputOf(rows)}), rows));
  }
  ait::TuneOptions tuning;
  // More compiled versions than the other ways have, which leave what is beyond
  // the usual limit to LibTorch.
  tuning.backends = {
      {"TorchInductorBackend",
       {{"options", ConfigDict{{"recompile_limit", int64_t{32}}}}}}};
  tuning.timing.warmup_rounds = 1;
  tuning.timing.min_rounds = tuning.timing.max_rounds = 1;
  AITUNE_RETURN_IF_ERROR(parts.module->Tune(*OneBackend(), tuning));
  const std::string file = parts.File("module.aitune");
  AITUNE_RETURN_IF_ERROR(
      parts.module->Save(file, BundleFormat::kFile).status());
  AITUNE_ASSIGN_OR_RETURN(parts.checkpoint, ait::Module::LoadCheckpoint(file));
  ways_.push_back({"Module", [&parts](const at::Tensor& x) {
                     return parts.module->Run(ValueList({x}));
                   }});
  ways_.push_back({"its checkpoint", [&parts](const at::Tensor& x) {
                     return parts.checkpoint->Run(ValueList({x}));
                   }});
  return absl::OkStatus();
}

absl::Status FourWays::ByTheCInterface() {
  Parts& parts = *parts_;
  ait_options* const options = ait_options_new();
  const absl::Cleanup free = [options] { ait_options_free(options); };
  const std::string cache = parts.File("cache");
  AITUNE_RETURN_IF_ERROR(OfC(ait_options_set(options, "cache", cache.c_str())));
  AITUNE_RETURN_IF_ERROR(OfC(ait_options_set(options, "no-measure", "true")));
  AITUNE_RETURN_IF_ERROR(OfC(ait_module_load_with(
      options, parts.File("net.pt").c_str(), nullptr, 0, &parts.of_c)));
  const at::Tensor x = InputOf(parts.samples[0]);
  const ait_tensor sample = {
      sizeof(ait_tensor), AIT_FLOAT32, 2, x.sizes().data(),
      x.data_ptr(),       AIT_CPU,     0, nullptr,
      AIT_TENSOR};
  AITUNE_RETURN_IF_ERROR(
      OfC(ait_module_record(parts.of_c, &sample, 1, x.size(0))));
  const char* const ranges[] = {kRange};
  AITUNE_RETURN_IF_ERROR(
      OfC(ait_module_tune_for(parts.of_c, "OneBackend", 0, -1, ranges, 1)));
  AITUNE_RETURN_IF_ERROR(OfC(ait_module_load_checkpoint(
      parts.File("deployed.aitune").c_str(), nullptr, &parts.deployed)));
  ways_.push_back(
      {"C", [&parts](const at::Tensor& x) { return RunInC(parts.of_c, x); }});
  ways_.push_back({"what deploy saved, in C", [&parts](const at::Tensor& x) {
                     return RunInC(parts.deployed, x);
                   }});
  return absl::OkStatus();
}

}  // namespace aitune::sizes
