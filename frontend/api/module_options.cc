#include "frontend/api/module_options.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "compiler/tune/TuningDatabase.h"
#include "frontend/compiled_model/compiled_model.h"
#include "quant/options.h"
#include "runtime/cache/default_folder.h"
#include "runtime/cpu/cpu_quota.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using Setter = std::function<absl::Status(const std::string&, ModuleOptions&)>;

absl::Status Expected(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("is not ", what));
}

// A setter of one of `names`.
Setter Choice(const std::vector<std::string>& names,
              void (*set)(const std::string&, ModuleOptions&)) {
  return [names, set](const std::string& value, ModuleOptions& options) {
    for (const std::string& name : names) {
      if (name != value) continue;
      set(value, options);
      return absl::OkStatus();
    }
    return Expected(absl::StrCat("one of ", absl::StrJoin(names, ", ")));
  };
}

Setter Flag(void (*set)(bool, ModuleOptions&)) {
  return [set](const std::string& value, ModuleOptions& options) {
    if (value != "true" && value != "false") return Expected("true or false");
    set(value == "true", options);
    return absl::OkStatus();
  };
}

Setter Text(void (*set)(const std::string&, ModuleOptions&)) {
  return [set](const std::string& value, ModuleOptions& options) {
    set(value, options);
    return absl::OkStatus();
  };
}

absl::Status SetThreads(const std::string& value, ModuleOptions& options) {
  int threads = 0;
  if (!absl::SimpleAtoi(value, &threads) || threads < 1 ||
      threads > aitune::kMostThreads)
    return Expected(
        absl::StrCat("a number of threads from 1 to ", aitune::kMostThreads));
  options.compile.threads = threads;
  return absl::OkStatus();
}

absl::Status SetBudget(const std::string& value, ModuleOptions& options) {
  double seconds = 0;
  if (!absl::SimpleAtod(value, &seconds) || !std::isfinite(seconds) ||
      seconds < 0)
    return Expected("a number of seconds");
  options.compile.tuning.budgetSeconds = seconds;
  return absl::OkStatus();
}

absl::Status SetKernelSeconds(const std::string& value,
                              ModuleOptions& options) {
  double seconds = 0;
  if (!absl::SimpleAtod(value, &seconds) || !std::isfinite(seconds) ||
      seconds <= 0)
    return Expected("a number of seconds above 0");
  options.compile.generation.kernelSeconds = seconds;
  return absl::OkStatus();
}

absl::Status SetKernelMemory(const std::string& value, ModuleOptions& options) {
  int64_t bytes = 0;
  if (!absl::SimpleAtoi(value, &bytes) || bytes < 1)
    return Expected("a number of bytes");
  options.compile.generation.kernelBytes = bytes;
  return absl::OkStatus();
}

absl::Status SetQuantization(const std::string& value, ModuleOptions& options) {
  const absl::StatusOr<aitune::quant::QuantizationOptions> asked =
      aitune::quant::ParseQuantizationOptions(value);
  if (!asked.ok())
    return Expected(absl::StrCat("a quantisation: ",
                                 std::string(asked.status().message())));
  options.compile.quantization = aitune::quant::ToString(*asked);
  return absl::OkStatus();
}

// Opened, so that what can't be is an error of who gives it: a build goes on
// without.
absl::Status SetDatabase(const std::string& value, ModuleOptions& options) {
  if (!value.empty()) {
    const absl::Status opened = aitune::TuningDatabase::open(value).status();
    if (!opened.ok())
      return absl::Status(
          opened.code(),
          absl::StrCat("can't be a tuning database: ", opened.message()));
  }
  options.compile.tuning.database = value;
  return absl::OkStatus();
}

// A setter of the command `program verb`, for a program that there is: a build
// goes on without.
Setter Program(const char* verb,
               void (*set)(std::vector<std::string>, ModuleOptions&)) {
  return [verb, set](const std::string& value, ModuleOptions& options) {
    // As it is looked for when it is started.
    std::vector<std::string> places = {value};
    if (value.find('/') == std::string::npos) {
      const char* const path = std::getenv("PATH");
      places.clear();
      for (const absl::string_view folder :
           absl::StrSplit(path != nullptr ? path : "/bin:/usr/bin", ':'))
        places.push_back(
            absl::StrCat(folder.empty() ? "." : folder, "/", value));
    }
    std::error_code error;
    for (const std::string& place : places) {
      if (access(place.c_str(), X_OK) != 0 ||
          !std::filesystem::is_regular_file(place, error))
        continue;
      set({value, verb}, options);
      return absl::OkStatus();
    }
    return Expected("a program that can be started; give the path of `aitune`");
  };
}

absl::Status SetDtype(const std::string& value, ModuleOptions& options) {
  AITUNE_ASSIGN_OR_RETURN(options.dtype, ParseFloatingPoint(value));
  return absl::OkStatus();
}

const std::map<std::string, Setter>& Setters() {
  using Options = ModuleOptions;
  using String = const std::string&;
  static const auto* const setters = new std::map<std::string, Setter>{
      {"device", Text([](String value, Options& o) { o.device = value; })},
      {"cache", Text([](String value, Options& o) { o.cache_dir = value; })},
      {"dump",
       Text([](String value, Options& o) { o.compile.dumpDirectory = value; })},
      {"tuning-database", SetDatabase},
      {"tune-worker", Program("measure-schedules",
                              [](std::vector<std::string> command, Options& o) {
                                o.compile.tuning.worker = std::move(command);
                              })},
      {"tune-budget", SetBudget},
      {"worker", Program("generate-kernels",
                         [](std::vector<std::string> command, Options& o) {
                           o.compile.generation.worker = std::move(command);
                         })},
      {"kernel-seconds", SetKernelSeconds},
      {"kernel-memory", SetKernelMemory},
      {"threads", SetThreads},
      {"dtype", SetDtype},
      {"compile-in-background",
       Flag([](bool value, Options& o) { o.compile_in_background = value; })},
      {"target",
       Choice({"avx2", "avx512", "amx"},
              [](String value, Options& o) { o.compile.target = value; })},
      {"tf32", Choice({"none", "convolutions", "all"},
                      [](String value, Options& o) {
                        o.compile.tf32Matmul = value == "all";
                        o.compile.tf32Convolution = value != "none";
                      })},
      {"emulate-eager-casts", Flag([](bool value, Options& o) {
         o.compile.emulateEagerCasts = value;
       })},
      {"quantize", SetQuantization},
      {"unchecked-indices", Flag([](bool value, Options& o) {
         o.compile.uncheckedIndices = value;
       })},
      {"no-measure", Flag([](bool value, Options& o) {
         o.compile.measureCandidates = !value;
       })}};
  return *setters;
}

}  // namespace

absl::Status SetOption(const std::string& name, const std::string& value,
                       ModuleOptions& options) {
  const auto found = Setters().find(name);
  if (found == Setters().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no option '", name, "'; there are ",
                     absl::StrJoin(Setters(), ", ",
                                   [](std::string* out, const auto& setter) {
                                     absl::StrAppend(out, setter.first);
                                   })));
  }
  const absl::Status status = found->second(value, options);
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("the option ", name, ": '", value, "' ", status.message()));
}

absl::StatusOr<aitune::DataType> ParseFloatingPoint(const std::string& name) {
  using aitune::DataType;
  const std::optional<DataType> dtype = name == "bf16"   ? DataType::kBFloat16
                                        : name == "fp16" ? DataType::kFloat16
                                        : name == "fp32"
                                            ? DataType::kFloat32
                                            : aitune::ParseDataType(name);
  if (dtype.has_value() && IsFloatingPoint(*dtype)) return *dtype;
  return Expected(
      "a floating-point dtype; known are float32, bfloat16, float16, float64");
}

absl::Status CheckModuleOptions(const ModuleOptions& options) {
  aitune::CompileOptions compile = options.compile;
  if (compile.device != aitune::CompileOptions().device)
    return absl::InvalidArgumentError(
        absl::StrCat("compile.device is '", compile.device,
                     "'; where a module runs is ModuleOptions::device"));
  if (compile.compileTo != aitune::CompilePhase::Executable)
    return absl::InvalidArgumentError(
        "compile.compileTo stops before there is code to run; a module can't");
  if (compile.tuning.budgetSeconds > 0 && compile.tuning.worker.empty())
    return absl::InvalidArgumentError(
        "the option tune-budget (compile.tuning.budgetSeconds) asks for a "
        "search, which needs the option tune-worker, the program `aitune`, "
        "which measures (compile.tuning.worker: {\"aitune\", "
        "\"measure-schedules\"})");
  compile.device = options.device;
  return aitune::frontend::CheckCompileOptions(compile);
}

aitune::CompileOptions ToCompileOptions(const ModuleOptions& options) {
  aitune::CompileOptions compile = options.compile;
  if (!compile.tuning.database.empty() || !options.use_default_tuning_database)
    return compile;
  const absl::StatusOr<std::filesystem::path> usual =
      aitune::DefaultTuningDatabase();
  std::error_code error;
  if (usual.ok() && std::filesystem::exists(*usual, error))
    compile.tuning.database = usual->string();
  return compile;
}

}  // namespace ait
