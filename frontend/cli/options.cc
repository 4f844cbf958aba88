#include "frontend/cli/options.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/cli/option_groups.h"

namespace aitune::cli {
namespace {

constexpr char kDescription[] =
    "aitune compiles TorchScript models for this CPU, checks the result "
    "against eager\nPyTorch and times it against PyTorch's own compiler.\n";

constexpr char kFooter[] = R"(
Examples:
  aitune tune resnet50.pt --input "float32[1,3,224,224]"
  aitune tune bert.pt --inputs samples.pt --explain
  aitune tune model.pt --dtype bfloat16 --json report.json
  aitune tune model.pt --compile-to=fused > model.mlir
  aitune run model.pt --inputs samples.pt --output results.pt
  aitune bench model.pt --seconds 20 --json -
  aitune inspect model.pt --top 10
  aitune deploy model.pt --input "float32[1..32,3,224,224]" --save model.aitune
  aitune run model.aitune --inputs samples.pt
  aitune reduce model.pt --inputs samples.pt --output smallest

Exit codes:
  0  success
  1  the model, its inputs, a file or the compiler failed
  2  the command line is wrong: a command, an option or its form
  3  compiled, but outputs differ from eager, or none could be compared
  4  reduce: the model does not fail

Models, checkpoints, cached builds, libraries and plug-ins are programs: they run
with your rights. Use those that you trust; SECURITY.md says what is checked.

`aitune COMMAND --help` lists the options of a command.)";

CompilePhase PhaseOf(const std::string& name) {
  if (name == "import") return CompilePhase::Import;
  if (name == "transformed") return CompilePhase::Transformed;
  if (name == "fused") return CompilePhase::Fused;
  if (name == "linalg") return CompilePhase::Linalg;
  return CompilePhase::LLVM;
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
      ->check(SizeText())
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  add("stats", "Size, hits and misses", CacheAction::kStats);
}

void AddTuning(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "tuning", "Look at a tuning database, copy it, merge another one");
  app->require_subcommand(1);
  const auto add = [&](const char* name, const char* help,
                       TuningAction action) {
    CLI::App* sub = app->add_subcommand(name, help);
    sub->add_option("--tuning-database", options.compile.tuning.database,
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

// How a build starts the processes that generate code; for no user.
void AddGenerate(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand("generate-kernels", "")->group("");
  AddPlugins(*app, options);
  app->add_option("SOCKETS", options.sockets, "")->required();
  app->callback([&options] { options.command = Command::kGenerate; });
}

void AddTolerance(CLI::App& app, Options& options, const std::string& group) {
  app.add_option("--tolerance", options.tolerance,
                 "Largest error to eager, relative to the output's scale. "
                 "Default, by the dtypes that it is computed in: float32 1e-4, "
                 "float64 1e-9; float16 and bfloat16 twice eager's own "
                 "distance to a float32 run")
      ->type_name("X")
      ->check(NumberFrom(0, "a tolerance", std::numeric_limits<double>::max()))
      ->group(group);
}

void AddTune(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "tune", "Compile a model, compare it with eager, time it, report");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  AddQuantization(*app, options);
  AddCacheOptions(*app, options);
  CLI::Option* phase =
      app->add_option_function<std::string>(
             "--compile-to",
             [&options](const std::string& name) {
               options.compile.compileTo = PhaseOf(name);
             },
             "Stop after a phase and print its IR to stdout: import, "
             "transformed, "
             "fused, linalg, llvm")
          ->type_name("PHASE")
          ->check(OneOf({"import", "transformed", "fused", "linalg", "llvm"}))
          ->group(kCompileGroup);
  AddTolerance(*app, options, "Report");
  app->add_option("--seconds", options.seconds,
                  "Most time to spend on timing, of which 100,000 calls need "
                  "no more; 0: none; default: 6")
      ->type_name("S")
      ->check(NumberFrom(0, "a number of seconds"))
      ->group("Report");
  AddExplain(*app, options);
  AddTuningDatabase(*app, options);
  AddSearchOptions(*app, options);
  // Nothing is checked, timed or searched for IR.
  for (const char* useless :
       {"--tolerance", "--seconds", "--explain", "--json", "--tune-budget"})
    phase->excludes(app->get_option(useless));
  app->callback([&options] { options.command = Command::kTune; });
}

void AddRun(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "run",
      "Run a model, or what deploy saved, once; save or print its outputs");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  AddCacheOptions(*app, options);
  app->add_option("--output", options.output_file,
                  "Save the outputs, to be read with torch.load (NamedTuples "
                  "as tuples: LibTorch writes no names); without it their "
                  "shapes and first elements are printed")
      ->type_name("FILE")
      ->group("Report");
  app->add_option("--digest", options.digest,
                  "Run what deploy saved only if this is the digest that "
                  "deploy printed")
      ->type_name("HEX")
      ->group(kInputGroup);
  app->add_option("--verify", options.verify,
                  "Run what deploy saved only if the owner of this public "
                  "Ed25519 key (PEM) signed it")
      ->type_name("FILE")
      ->group(kInputGroup);
  AddTuningDatabase(*app, options);
  app->callback([&options] { options.command = Command::kRun; });
}

void AddBench(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "bench", "Time a compiled model against eager and TorchScript in turn");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  AddQuantization(*app, options);
  AddCacheOptions(*app, options);
  app->add_option("--against", options.against,
                  "What to time beside ours, separated by commas: eager, "
                  "torchscript, or none; default: eager,torchscript")
      ->type_name("NAMES")
      ->delimiter(',')
      ->check(OneOf({"eager", "torchscript", "none"}))
      ->group("Report");
  app->add_option("--seconds", options.seconds,
                  "Most time to spend on timing, of which 100,000 calls need "
                  "no more; default: 6")
      ->type_name("S")
      ->check(NumberFrom(0, "a number of seconds"))
      ->group("Report");
  CLI::Option* paced =
      app->add_flag(
             "--paced", options.paced,
             "For a program that times several: print the report as one "
             "line of JSON, then run once for each line on stdin, or as often "
             "as the line says (with a second number: in each of that many "
             "threads), and print the milliseconds a call; with 'save FILE' "
             "the result goes to FILE")
          ->group("Report");
  for (const char* useless : {"--against", "--seconds", "--json"})
    paced->excludes(app->get_option(useless));
  AddTuningDatabase(*app, options);
  app->callback([&options] { options.command = Command::kBench; });
}

void AddInspect(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "inspect", "Show operators, fused kernels and the time of each step");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  AddQuantization(*app, options);
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

void AddDeploy(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "deploy",
      "Time backends, choose one by a strategy, save it for programs");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  AddQuantization(*app, options);
  AddCacheOptions(*app, options);
  AddTuningDatabase(*app, options);
  AddSearchOptions(*app, options);
  const char* group = "Choice";
  CLI::Option* strategy =
      app->add_option("--strategy", options.strategy,
                      "OneBackend, FirstWins, MaxThroughput or MinLatency; "
                      "default: MaxThroughput")
          ->type_name("NAME")
          ->check(
              OneOf({"OneBackend", "FirstWins", "MaxThroughput", "MinLatency"}))
          ->group(group);
  app->add_option("--latency-budget", options.latency_budget,
                  "Most throughput among the batch sizes at which 99 of 100 "
                  "calls take at most MS milliseconds")
      ->type_name("MS")
      ->check(NumberFrom(1e-6, "a number of milliseconds from 0.000001"))
      ->excludes(strategy)
      ->group(group);
  app->add_option("--backend", options.backends,
                  "Kind and configuration, such as "
                  "\"TorchInductorBackend(mode=max-autotune)\"; may be given "
                  "again, the preferred first; default: that one and "
                  "TorchScriptBackend, with --quantize TorchAOBackend before "
                  "them")
      ->allow_extra_args(false)
      ->excludes(app->get_option("--quantize"))
      ->type_name("TEXT")
      ->group(group);
  AddTolerance(*app, options, group);
  app->add_option("--batches", options.batches,
                  "Batch sizes to time, separated by commas; default: powers "
                  "of two within the range of the first dynamic axis")
      ->type_name("SIZES")
      ->delimiter(',')
      ->check(NumberFrom(1, "a batch size"))
      ->group(group);
  app->add_option("--seconds", options.seconds,
                  "Most time to spend on timing a batch size, of which 1000 "
                  "calls of each backend need no more; default: 6")
      ->type_name("S")
      ->check(NumberFrom(0, "a number of seconds"))
      ->group(group);
  CLI::Option* save =
      app->add_option("--save", options.save,
                      "Save what was chosen as a file, in place of one that is "
                      "there, or as a folder, empty or new, if PATH ends with "
                      "/; `aitune run PATH` runs it")
          ->type_name("PATH")
          ->group("Report");
  app->add_option("--sign", options.sign,
                  "Sign what is saved with this private Ed25519 key (PEM): "
                  "PATH.sig, for `aitune run --verify`")
      ->needs(save)
      ->type_name("FILE")
      ->group("Report");
  app->add_option("--html", options.html,
                  "Write the report as a page with plots to FILE")
      ->type_name("FILE")
      ->group("Report");
  AddExplain(*app, options);
  app->callback([&options] { options.command = Command::kDeploy; });
}

void AddBackends(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "backends", "List the kinds of backends, their modes and options");
  AddJson(*app, options);
  app->callback([&options] { options.command = Command::kBackends; });
}

void AddReduce(CLI::App& root, Options& options) {
  CLI::App* app = root.add_subcommand(
      "reduce",
      "Make of a model that fails the smallest one that fails like it");
  AddModelOptions(*app, options);
  AddCompileOptions(*app, options);
  const char* group = "Reduction";
  app->add_option("--failure", options.failure,
                  "What to look for: wrong, crash, hang, error or slow; "
                  "default: what the model shows, which is never slow")
      ->type_name("KIND")
      ->check(OneOf({"wrong", "crash", "hang", "error", "slow"}))
      ->group(group);
  app->add_option("--factor", options.slow_factor,
                  "With --failure slow: times eager's time from which a model "
                  "is slow; default: 1.5")
      ->type_name("X")
      ->check(NumberFrom(1, "a factor from 1"))
      ->group(group);
  app->add_option("--limit", options.hang_seconds,
                  "Time after which a compilation hangs; default: 120")
      ->type_name("S")
      ->check(NumberFrom(0.1, "a number of seconds from 0.1"))
      ->group(group);
  app->add_option("--tolerance", options.tolerance,
                  "Largest error to eager, as of tune")
      ->type_name("X")
      ->check(NumberFrom(0, "a tolerance", std::numeric_limits<double>::max()))
      ->group(group);
  app->add_option("--seconds", options.reduce_seconds,
                  "Time to spend, after which the best so far stays; 0, the "
                  "default: until nothing helps. Ctrl-C does the same")
      ->type_name("S")
      ->check(NumberFrom(0, "a number of seconds"))
      ->group(group);
  app->add_option("--output", options.output_file,
                  "Folder for model.pt, model.inputs.pt and model.txt, or "
                  "FILE.pt with the two others beside it; default: reduced")
      ->type_name("PATH")
      ->group("Report");
  app->callback([&options] { options.command = Command::kReduce; });
}

// A variable of a script that is not set gives "": for an option with a value
// that is a mistake, and no choice of its default.
void RefuseEmptyValues(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() == 0) continue;
    option->check(CLI::Validator(
        [](std::string& text) {
          return text.empty() ? std::string("its value is empty")
                              : std::string();
        },
        ""));
  }
  for (CLI::App* command : app.get_subcommands({})) RefuseEmptyValues(*command);
}

// "ls, verify, prune and stats".
std::string SubcommandsOf(const CLI::App& app) {
  std::string names;
  const std::vector<const CLI::App*> commands = app.get_subcommands({});
  for (size_t i = 0; i < commands.size(); ++i) {
    const char* const separator = i == 0                     ? ""
                                  : i + 1 == commands.size() ? " and "
                                                             : ", ";
    names += separator + commands[i]->get_name();
  }
  return names;
}

// What is wrong with a command line whose command needs another one; empty if
// it is something else.
std::string MissingSubcommand(const CLI::App& app, int argc,
                              const char* const* argv) {
  for (const CLI::App* command : app.get_subcommands()) {
    if (command->get_require_subcommand_min() == 0 ||
        !command->get_subcommands().empty())
      continue;
    const std::string given =
        argc > 2 ? std::string("\"") + argv[2] + "\" is not a command of "
                 : std::string("no command given to ");
    return given + command->get_name() + "; there are " +
           SubcommandsOf(*command);
  }
  return "";
}

// The options of the command that were given.
std::set<std::string> GivenOptions(const CLI::App& app) {
  std::set<std::string> given;
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() > 0) given.insert(option->get_name());
    }
  }
  return given;
}

}  // namespace

absl::Status RefuseOptions(const Options& options,
                           absl::Span<const char* const> names,
                           const std::string& why) {
  for (const char* name : names) {
    if (options.given.count(name) > 0)
      return absl::InvalidArgumentError(why + ": " + name +
                                        " has no effect on it; leave it out");
  }
  return absl::OkStatus();
}

std::pair<std::string, std::string> SplitSubstitute(const std::string& text) {
  const size_t equals = text.find('=');
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::optional<int> ParseCommandLine(int argc, const char* const* argv,
                                    Options& options) {
  CLI::App app(kDescription, "aitune");
  app.formatter(MakeFormatter());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Subcommands", "Commands");
  AddTune(app, options);
  AddRun(app, options);
  AddBench(app, options);
  AddInspect(app, options);
  AddDeploy(app, options);
  AddReduce(app, options);
  AddBackends(app, options);
  AddCache(app, options);
  AddTuning(app, options);
  AddGenerate(app, options);
  AddMeasure(app, options);
  app.footer(kFooter);
  app.require_subcommand(1);
  RefuseEmptyValues(app);
  try {
    app.parse(argc, argv);
    if (options.quantize) {
      if (absl::Status status = SetQuantization(options); !status.ok())
        throw CLI::ValidationError("--quantize", std::string(status.message()));
    }
    options.given = GivenOptions(app);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    if (std::string missing = MissingSubcommand(app, argc, argv);
        !missing.empty())
      text = std::move(missing);
    if (app.get_subcommands().empty()) {
      text = argc > 1 ? std::string("\"") + argv[1] + "\" is not a command"
                      : "no command given";
      text +=
          "; there are tune, run, bench, inspect, deploy, reduce, backends, "
          "cache and tuning";
    }
    std::cerr << "aitune: " << text << "; see `aitune --help`\n";
    return kUsage;
  }
  return std::nullopt;
}

}  // namespace aitune::cli
