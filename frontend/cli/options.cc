#include "frontend/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <sstream>

namespace aitune::cli {
namespace {

constexpr char kDescription[] =
    "aitune compiles TorchScript models for this CPU, checks the result "
    "against eager\nPyTorch and times it against PyTorch's own compiler.\n";

constexpr char kInputsHelp[] = R"(
Inputs:
  --input "float32[1,3,224,224]"        one for each argument, in order
  --input "int64[1..32,128]{0..30000}"  a range is a dynamic axis, compiled once
                                        for all its sizes; braces give values
  --input "float32[n=1..8,m=2..64,16]"  axes of one name have one size
  --inputs samples.pt                   saved with torch.save: a tensor, or the
                                        arguments as a list, tuple or dict
  With both, the file gives values and --input the dynamic axes. Without either
  aitune takes the inputs recorded in the model, or NAME.inputs.pt beside NAME.pt.)";

constexpr char kFooter[] = R"(
Examples:
  aitune tune resnet50.pt --input "float32[1,3,224,224]"
  aitune tune bert.pt --inputs samples.pt --explain
  aitune tune model.pt --dtype bfloat16 --json report.json
  aitune tune model.pt --compile-to=fused > model.mlir
  aitune run model.pt --inputs samples.pt --output results.pt
  aitune bench model.pt --seconds 20 --json -
  aitune inspect model.pt --top 10

Exit codes:
  0  success
  1  the model, its inputs, a file or the compiler failed
  2  the command line is wrong
  3  compiled, but outputs differ from eager

`aitune COMMAND --help` lists the options of a command.)";

constexpr char kInputGroup[] = "Model and inputs";
constexpr char kCompileGroup[] = "Compiling";

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

CLI::Validator NumberFrom(double least, const std::string& expected) {
  return Check(expected, [least](const std::string& text) {
    double number = 0;
    return CLI::detail::lexical_cast(text, number) && number >= least;
  });
}

CLI::Validator OneOf(const std::vector<std::string>& names) {
  return Check("one of " + CLI::detail::join(names, ", "),
               [names](const std::string& text) {
                 return std::find(names.begin(), names.end(), text) !=
                        names.end();
               });
}

CompilePhase PhaseOf(const std::string& name) {
  if (name == "import") return CompilePhase::Import;
  if (name == "transformed") return CompilePhase::Transformed;
  if (name == "fused") return CompilePhase::Fused;
  if (name == "linalg") return CompilePhase::Linalg;
  return CompilePhase::LLVM;
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
  app.add_option("--threads", options.threads,
                 "Threads of every implementation; default: LibTorch's")
      ->type_name("N")
      ->check(NumberFrom(1, "a number of threads"))
      ->group(kInputGroup);
  app.add_option("--seed", options.seed, "Seed of random inputs; default: 0")
      ->type_name("N")
      ->group(kInputGroup);
  AddJson(app, options);
  app.footer(kInputsHelp);
}

void AddPlugins(CLI::App& app, Options& options) {
  app.add_option("--plugin", options.plugins,
                 "Shared library that adds passes, schedules, cost models or "
                 "search strategies; may be given again")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(kCompileGroup);
}

void AddCompileOptions(CLI::App& app, Options& options) {
  app.add_option("--device", options.device,
                 "Compile for and run on cpu (default), cuda or cuda:N, the "
                 "GPU number N")
      ->type_name("NAME")
      ->check(Check("cpu, cuda or cuda:N",
                    [](const std::string& text) {
                      return text == "cpu" || text == "cuda" ||
                             (text.rfind("cuda:", 0) == 0 && text.size() > 5 &&
                              text.find_first_not_of("0123456789", 5) ==
                                  std::string::npos);
                    }))
      ->group(kCompileGroup);
  app.add_flag("--emulate-eager-casts", options.emulate_eager_casts,
               "Round after every operation where eager does, instead of once "
               "a fused kernel")
      ->group(kCompileGroup);
  app.add_flag_callback(
         "--no-measure", [&options] { options.measure_candidates = false; },
         "Choose between library and generated kernels by rule, not by "
         "measuring")
      ->group(kCompileGroup);
  app.add_option("--target", options.target,
                 "Generate for avx2, avx512 or amx instead of all that this "
                 "CPU has")
      ->type_name("NAME")
      ->check(OneOf({"avx2", "avx512", "amx"}))
      ->group(kCompileGroup);
  app.add_option("--dump", options.dump_directory,
                 "Write the IR after each phase, object code and one "
                 "standalone benchmark a kernel into DIR")
      ->type_name("DIR")
      ->group(kCompileGroup);
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
  AddPlugins(app, options);
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
      ->group("Cache");
}

void AddCache(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "cache", "Look after the models that were compiled before");
  app->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, CacheAction action) {
    CLI::App* sub = app->add_subcommand(name, help);
    AddCacheFolder(*sub, options);
    AddJson(*sub, options);
    sub->callback([&options, action] {
      options.command = Command::kCache;
      options.cache_action = action;
    });
    return sub;
  };
  add("ls", "List what is kept, the last used first", CacheAction::kList);
  add("verify", "Read everything and remove what is damaged",
      CacheAction::kVerify)
      ->add_flag("--keep", options.keep_damaged,
                 "Only tell what is damaged; exit code 1 if anything is");
  add("prune", "Remove the least recently used", CacheAction::kPrune)
      ->add_option("--max-bytes", options.max_bytes,
                   "What may stay, such as 2GB; default: nothing")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  add("stats", "Size, hits and misses", CacheAction::kStats);
}

void AddTuningDatabase(CLI::App& app, Options& options) {
  app.add_option(
         "--tuning-database", options.tuning_database,
         "File with what searches found: schedules in it are used, and "
         "--tune-budget adds to it; default: aitune/schedules.db beside "
         "the default cache, none with --cache or --no-cache")
      ->type_name("FILE")
      ->group("Schedule search");
}

void AddSearchOptions(CLI::App& app, Options& options) {
  app.add_option("--tune-budget", options.tune_budget,
                 "Time to search for faster schedules of generated kernels, "
                 "such as 30s or 5m; Ctrl-C ends it with the best so far; "
                 "default: none")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}}))
      ->check(NumberFrom(0, "a time"))
      ->type_name("TIME")
      ->group("Schedule search");
  app.add_option("--tune-strategy", options.tune_strategy,
                 "successive-halving, random or a plug-in's; default: "
                 "successive-halving")
      ->type_name("NAME")
      ->group("Schedule search");
  app.add_option("--cost-model", options.cost_model,
                 "What orders schedules before they are measured: roofline or "
                 "a plug-in's; default: roofline")
      ->type_name("NAME")
      ->group("Schedule search");
  app.add_flag("--transfer", options.transfer,
               "Try first what the database knows of similar kernels")
      ->group("Schedule search");
}

void AddTuning(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "tuning", "Look at a tuning database, copy it, merge another one");
  app->require_subcommand(1);
  const auto add = [&](const char* name, const char* help,
                       TuningAction action) {
    CLI::App* sub = app->add_subcommand(name, help);
    sub->add_option("--tuning-database", options.tuning_database,
                    "The database; default: aitune/schedules.db in "
                    "$XDG_CACHE_HOME or ~/.cache")
        ->type_name("FILE");
    sub->callback([&options, action] {
      options.command = Command::kTuning;
      options.tuning_action = action;
    });
    return sub;
  };
  add("stats", "Count kernels and measurements", TuningAction::kStats);
  add("export", "Write all measurements, one JSON object a line",
      TuningAction::kExport)
      ->add_option("FILE", options.tuning_file, "The file to write")
      ->required();
  add("import", "Merge a file that export wrote", TuningAction::kImport)
      ->add_option("FILE", options.tuning_file, "The file to read")
      ->required();
}

// How tune starts the processes that measure (compiler/tune); for no user.
void AddMeasure(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand("measure-schedules", "")->group("");
  AddPlugins(*app, options);
  app->callback([&options] { options.command = Command::kMeasure; });
}

void AddTune(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "tune", "Compile a model, compare it with eager, time it, report");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  AddCacheOptions(*app, options);
  app->add_option_function<std::string>(
         "--compile-to",
         [&options](const std::string& name) {
           options.compile_to = PhaseOf(name);
         },
         "Stop after a phase and print its IR to stdout: import, transformed, "
         "fused, linalg, llvm")
      ->type_name("PHASE")
      ->check(OneOf({"import", "transformed", "fused", "linalg", "llvm"}))
      ->group(kCompileGroup);
  app->add_option("--tolerance", options.tolerance,
                  "Largest error to eager, relative to the output's scale. "
                  "Default: float32 1e-4, float64 1e-9; float16 and bfloat16 "
                  "twice eager's own distance to a float32 run")
      ->type_name("X")
      ->check(NumberFrom(0, "a tolerance"))
      ->group("Report");
  app->add_option("--seconds", options.seconds,
                  "Time to spend on timing; 0: none; default: 6")
      ->type_name("S")
      ->check(NumberFrom(0, "a number of seconds"))
      ->group("Report");
  app->add_flag("--explain", options.explain,
                "Print every decision: what was not imported, fused or "
                "chosen, and why")
      ->group("Report");
  AddTuningDatabase(*app, options);
  AddSearchOptions(*app, options);
  app->callback([&options] { options.command = Command::kTune; });
}

void AddRun(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "run", "Compile a model, run it once, save or print its outputs");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  AddCacheOptions(*app, options);
  app->add_option("--output", options.output_file,
                  "Save the outputs, to be read with torch.load; without it "
                  "their shapes and first elements are printed")
      ->type_name("FILE")
      ->group("Report");
  AddTuningDatabase(*app, options);
  app->callback([&options] { options.command = Command::kRun; });
}

void AddBench(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "bench", "Time a compiled model against eager and TorchScript in turn");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  AddCacheOptions(*app, options);
  app->add_option("--against", options.against,
                  "What to time beside ours, separated by commas: eager, "
                  "torchscript, or none; default: eager,torchscript")
      ->type_name("NAMES")
      ->delimiter(',')
      ->check(OneOf({"eager", "torchscript", "none"}))
      ->group("Report");
  app->add_option("--seconds", options.seconds,
                  "Time to spend on timing; default: 6")
      ->type_name("S")
      ->check(NumberFrom(0, "a number of seconds"))
      ->group("Report");
  app->add_flag("--paced", options.paced,
                "For a program that times several: print the report as one "
                "line of JSON, then run once for each line on stdin and print "
                "the milliseconds")
      ->group("Report");
  AddTuningDatabase(*app, options);
  app->callback([&options] { options.command = Command::kBench; });
}

void AddInspect(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "inspect", "Show operators, fused kernels and the time of each step");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  AddCacheOptions(*app, options);
  app->add_option("--repeats", options.repeats, "Profiled runs; default: 20")
      ->type_name("N")
      ->check(NumberFrom(1, "a number of runs"))
      ->group("Report");
  app->add_option("--top", options.top,
                  "Rows of the step table; 0: all; default: 25")
      ->type_name("N")
      ->check(NumberFrom(0, "a number of rows"))
      ->group("Report");
  AddTuningDatabase(*app, options);
  app->callback([&options] { options.command = Command::kInspect; });
}

}  // namespace

std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                    Options& options) {
  CLI::App app(kDescription, "aitune");
  app.formatter(std::make_shared<Formatter>());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Subcommands", "Commands");
  AddTune(app, options);
  AddRun(app, options);
  AddBench(app, options);
  AddInspect(app, options);
  AddCache(app, options);
  AddTuning(app, options);
  AddMeasure(app, options);
  app.footer(kFooter);
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    if (app.get_subcommands().empty()) {
      text = argc > 1 ? std::string("\"") + argv[1] + "\" is not a command"
                      : "no command given";
      text += "; there are tune, run, bench, inspect, cache and tuning";
    }
    std::cerr << "aitune: " << text << "; see `aitune --help`\n";
    return kUsage;
  }
  return std::nullopt;
}

}  // namespace aitune::cli
