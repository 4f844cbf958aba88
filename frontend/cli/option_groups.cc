#include "frontend/cli/option_groups.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "quant/options.h"
#include "runtime/cpu/cpu_quota.h"
#include "runtime/device/device.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

constexpr char kInputsHelp[] = R"(
Inputs:
  --input "float32[1,3,224,224]"        one for each argument, in order
  --input "int64[1..32,128]{0..30000}"  a range is a dynamic axis, compiled once
                                        for all its sizes; braces give values
  --input "float32[n=1..8,m=2..64,16]"  axes of one name have one size
  --inputs samples.pt                   saved with torch.save: a tensor, or the
                                        arguments as a list, tuple or dict (by
                                        name; in order if none is forward's)
  With both, the file gives values and --input the dynamic axes, and the values
  of inputs that are made up for checks. Without either
  aitune takes the inputs recorded in the model, or NAME.inputs.pt beside NAME.pt.)";

// Types and descriptions only: CLI11 would add the validators' names. Long
// descriptions are wrapped to the terminal's usual width.
class Formatter : public CLI::Formatter {
 public:
  Formatter() { column_width(26); }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() || option->get_positional() ? "" : " " + type;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr size_t kWidth = 54;
    std::istringstream words(option->get_description());
    std::string text, word;
    size_t column = 0;
    while (words >> word) {
      if (column > 0 && column + 1 + word.size() > kWidth) {
        text += '\n';
        column = 0;
      } else if (column > 0) {
        text += ' ';
        ++column;
      }
      text += word;
      column += word.size();
    }
    return text;
  }
};

// Refuses what `accepts` does not, saying what `expected` is.
template <typename Accepts>
CLI::Validator Check(const std::string& expected, Accepts accepts) {
  return CLI::Validator(
      [expected, accepts](std::string& text) {
        return accepts(text) ? std::string()
                             : "\"" + text + "\" is not " + expected;
      },
      "");
}

}  // namespace

std::shared_ptr<CLI::Formatter> MakeFormatter() {
  return std::make_shared<Formatter>();
}

CLI::Validator NumberFrom(double least, const std::string& expected,
                          double most) {
  return Check(expected, [least, most](const std::string& text) {
    double number = 0;
    return CLI::detail::lexical_cast(text, number) && number >= least &&
           number <= most;
  });
}

CLI::Validator SizeText() {
  return Check("a size such as 500MB or 2GB", [](const std::string& text) {
    return !text.empty() && absl::ascii_isdigit(text[0]);
  });
}

CLI::Validator OneOf(const std::vector<std::string>& names) {
  return Check("one of " + CLI::detail::join(names, ", "),
               [names](const std::string& text) {
                 return std::find(names.begin(), names.end(), text) !=
                        names.end();
               });
}

void AddJson(CLI::App& app, Options& options) {
  app.add_option("--json", options.json,
                 "Write the report as JSON to FILE, or to stdout if -")
      ->type_name("FILE")
      ->group("Report");
}

void AddModelOptions(CLI::App& app, Options& options) {
  app.add_option("MODEL", options.model,
                 "TorchScript file (torch.jit.save), traced or scripted")
      ->required();
  app.add_option("--input", options.inputs,
                 "An argument of forward, DTYPE[SIZES]; once for each")
      ->type_name("SPEC")
      ->allow_extra_args(false)
      ->group(kInputGroup);
  app.add_option("--inputs", options.inputs_file,
                 "Sample arguments saved with torch.save")
      ->type_name("FILE")
      ->group(kInputGroup);
  app.add_option("--dtype", options.dtype,
                 "Convert the model and its floating-point inputs first: "
                 "float32 (fp32), bfloat16 (bf16), float16 (fp16), float64")
      ->type_name("DTYPE")
      ->group(kInputGroup);
  app.add_option(
         "--threads", options.compile.threads,
         absl::StrCat("Threads of every implementation, to ", kMostThreads,
                      "; default: OMP_NUM_THREADS, else as many as "
                      "cores, but no more than a quota of CPU time "
                      "allows"))
      ->type_name("N")
      ->check(NumberFrom(
          1, absl::StrCat("a number of threads from 1 to ", kMostThreads),
          kMostThreads))
      ->group(kInputGroup);
  app.add_option("--seed", options.seed, "Seed of random inputs; default: 0")
      ->type_name("N")
      ->group(kInputGroup);
  AddJson(app, options);
  app.footer(kInputsHelp);
}

void AddSubmoduleOptions(CLI::App& app, Options& options) {
  app.add_option("--disable", options.disabled,
                 "Submodule, such as encoder.layer.0, that LibTorch is to run; "
                 "may be given again")
      ->allow_extra_args(false)
      ->type_name("PATH")
      ->group(kCompileGroup);
  app.add_option("--substitute", options.substitutes,
                 "Compile the TorchScript function in FILE in place of an "
                 "operator (aten::hardswish), or the method in it in place of "
                 "a submodule's forward; may be given again")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE")
      ->check(Check("NAME=FILE",
                    [](const std::string& text) {
                      const size_t equals = text.find('=');
                      return equals != std::string::npos && equals > 0 &&
                             equals + 1 < text.size();
                    }))
      ->group(kCompileGroup);
}

void AddPlugins(CLI::App& app, Options& options) {
  app.add_option("--library", options.libraries,
                 "Shared library that registers operators of the model with "
                 "LibTorch. It is a program: it runs as soon as it is loaded; "
                 "may be given again")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(kCompileGroup);
  app.add_option("--plugin", options.plugins,
                 "Shared library that adds passes, schedules, cost models or "
                 "search strategies. It is a program: it runs as soon as it is "
                 "loaded; may be given again")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(kCompileGroup);
}

void AddDevice(CLI::App& app, Options& options) {
  app.add_option("--device", options.compile.device,
                 "Compile for and run on cpu (default), cuda or cuda:N, the "
                 "GPU number N; what deploy saved runs where it was saved by "
                 "default")
      ->type_name("NAME")
      ->check(Check("cpu, cuda or cuda:N",
                    [](const std::string& text) {
                      return Device::ParseCpuOrGpu(text).ok();
                    }))
      ->group(kCompileGroup);
}

void AddCompileOptions(CLI::App& app, Options& options) {
  AddDevice(app, options);
  app.add_option_function<std::string>(
         "--tf32",
         [&options](const std::string& name) {
           options.compile.tf32Matmul = name == "all";
           options.compile.tf32Convolution = name != "none";
         },
         "What may round float32 operands to tf32 on a GPU, ours and "
         "LibTorch's: none, convolutions (default) or all")
      ->type_name("NAME")
      ->check(OneOf({"none", "convolutions", "all"}))
      ->group(kCompileGroup);
  app.add_flag("--emulate-eager-casts", options.compile.emulateEagerCasts,
               "Round after every operation where eager does, instead of once "
               "a fused kernel")
      ->group(kCompileGroup);
  app.add_flag(
         "--unchecked-indices", options.compile.uncheckedIndices,
         "Give some result of the tensor's own memory for an index out of "
         "range or an integer divided by 0, instead of eager's error")
      ->group(kCompileGroup);
  app.add_flag_callback(
         "--no-measure",
         [&options] { options.compile.measureCandidates = false; },
         "Choose between library and generated kernels by rule, not by "
         "measuring")
      ->group(kCompileGroup);
  app.add_option("--target", options.compile.target,
                 "Generate for avx2, avx512 or amx instead of all that this "
                 "CPU has")
      ->type_name("NAME")
      ->check(OneOf({"avx2", "avx512", "amx"}))
      ->group(kCompileGroup);
  app.add_option("--kernel-seconds", options.compile.generation.kernelSeconds,
                 "Most seconds of processors' time for the code of one kernel; "
                 "a library or LibTorch runs what takes longer. Default: 30")
      ->type_name("S")
      ->check(NumberFrom(0.01, "a number of seconds from 0.01"))
      ->group(kCompileGroup);
  app.add_option("--kernel-memory", options.compile.generation.kernelBytes,
                 "Most memory for it, such as 2GB. Default: 4GB")
      ->type_name("SIZE")
      ->check(SizeText())
      ->transform(CLI::AsSizeValue(false))
      ->check(NumberFrom(1e6, "a number of bytes from 1MB"))
      ->group(kCompileGroup);
  app.add_option("--dump", options.compile.dumpDirectory,
                 "Write the IR after each phase, object code and one "
                 "standalone benchmark a kernel into DIR")
      ->type_name("DIR")
      ->group(kCompileGroup);
  AddSubmoduleOptions(app, options);
  AddPlugins(app, options);
}

void AddQuantization(CLI::App& app, Options& options) {
  const char* group = "Quantisation";
  CLI::Option* quantize =
      app.add_option(
             "--quantize", options.quantize,
             "Quantise linear layers to 8 bits: int8wo or fp8wo "
             "(weights), int8dq or, on a GPU, fp8dq (weights and, at each "
             "call, activations), or auto, the best of them for each; further "
             "choices after commas, such as int8wo,verdict=off")
          ->type_name("NAME")
          ->group(group);
  app.add_option("--skip-modules", options.skip_modules,
                 "Layers to leave alone: a pattern for the paths of their "
                 "modules, such as \"encoder.layer.*.output.dense\"; may be "
                 "given again")
      ->allow_extra_args(false)
      ->needs(quantize)
      ->type_name("GLOB")
      ->group(group);
  app.add_option("--min-cosine", options.min_cosine,
                 "Least cosine of a quantised model's outputs to eager's, 0 "
                 "to 1; default: 0.999")
      ->needs(quantize)
      ->check(NumberFrom(0, "a number from 0 to 1"))
      ->type_name("X")
      ->group(group);
}

absl::Status SetQuantization(Options& options) {
  AITUNE_ASSIGN_OR_RETURN(quant::QuantizationOptions asked,
                          quant::ParseQuantizationOptions(*options.quantize));
  asked.skip_modules.insert(asked.skip_modules.end(),
                            options.skip_modules.begin(),
                            options.skip_modules.end());
  if (options.min_cosine) asked.bound.min_cosine = *options.min_cosine;
  AITUNE_RETURN_IF_ERROR(quant::Validate(asked));
  options.accuracy_bound = asked.bound;
  options.compile.quantization = quant::ToString(asked);
  return absl::OkStatus();
}

void AddCacheFolder(CLI::App& app, Options& options) {
  app.add_option("--cache", options.cache_folder,
                 "Folder of compiled models; default: aitune/models in "
                 "$XDG_CACHE_HOME or ~/.cache")
      ->type_name("DIR")
      ->group("Cache");
}

void AddCacheOptions(CLI::App& app, Options& options) {
  AddCacheFolder(app, options);
  app.add_flag_callback(
         "--no-cache", [&options] { options.use_cache = false; },
         "Compile whatever the cache has, and keep nothing")
      ->excludes(app.get_option("--cache"))
      ->group("Cache");
}

void AddTuningDatabase(CLI::App& app, Options& options) {
  app.add_option(
         "--tuning-database", options.compile.tuning.database,
         "File with what searches found: schedules in it are used, and "
         "--tune-budget adds to it; default: aitune/schedules.db beside "
         "the default cache, none with --cache or --no-cache")
      ->type_name("FILE")
      ->group(kSearchGroup);
}

void AddSearchOptions(CLI::App& app, Options& options) {
  TuningOptions& tuning = options.compile.tuning;
  CLI::Option* budget =
      app.add_option(
             "--tune-budget", tuning.budgetSeconds,
             "Time to search for faster schedules of generated kernels, such "
             "as 30s or 5m; Ctrl-C ends it with the best so far; default: none")
          ->transform(CLI::AsNumberWithUnit(
              std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}}))
          ->check(NumberFrom(0, "a time"))
          ->type_name("TIME")
          ->group(kSearchGroup);
  app.add_option("--tune-strategy", tuning.strategy,
                 "successive-halving, random or a plug-in's; default: "
                 "successive-halving")
      ->needs(budget)
      ->type_name("NAME")
      ->group(kSearchGroup);
  app.add_option("--cost-model", tuning.costModel,
                 "What orders schedules before they are measured: roofline or "
                 "a plug-in's; default: roofline")
      ->needs(budget)
      ->type_name("NAME")
      ->group(kSearchGroup);
  app.add_flag("--transfer", tuning.transfer,
               "Try first what the database knows of similar kernels")
      ->needs(budget)
      ->group(kSearchGroup);
}

void AddExplain(CLI::App& app, Options& options) {
  app.add_flag("--explain", options.explain,
               "Print every decision: what was not imported, fused or "
               "chosen, and why")
      ->group("Report");
}

}  // namespace aitune::cli
