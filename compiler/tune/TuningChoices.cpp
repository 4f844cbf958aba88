#include "compiler/tune/TuningChoices.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "runtime/hash/sha256.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// The version of the templates. Increase it when they generate other code for
/// a schedule.
constexpr char kTemplateVersion[] = "2";
/// Appended to a kernel's key: the key of the place at which it is best cut.
constexpr char kCutKey[] = " cut";
/// After a kernel's key, that of its wrong candidates: a line each.
constexpr char kWrongKey[] = " wrong";
/// After a model's key, that of its threads.
constexpr char kThreadsKey[] = " threads";

} // namespace

absl::StatusOr<TuningChoices>
TuningChoices::open(const std::string &database,
                    const CompilationTarget &target, ArrayAttr symbols) {
  TuningChoices choices;
  choices.symbols = symbols;
  const TuningMachine machine = target.tuningMachine();
  choices.machine = machine.name;
  choices.generator = absl::StrCat(kTemplateVersion, ", ", machine.generator);
  choices.libraries = absl::StrCat(choices.generator, ", ", machine.libraries);
  if (database.empty())
    return choices;
  AITUNE_ASSIGN_OR_RETURN(choices.store, TuningDatabase::open(database));
  return choices;
}

std::string TuningChoices::keyOf(func::FuncOp kernel) const {
  return digestOf(kernel, symbols);
}

absl::Status TuningChoices::choose(const std::string &key,
                                   const std::string &value) const {
  return store ? store->choose(key, machine, generator, value)
               : absl::OkStatus();
}

absl::StatusOr<std::string>
TuningChoices::chosen(const std::string &key) const {
  return store ? store->chosen(key, machine, generator) : std::string();
}

absl::StatusOr<int> TuningChoices::apply(std::vector<Kernel> &kernels) const {
  int reused = 0;
  for (Kernel &kernel : kernels) {
    if (kernel.launches.empty())
      continue;
    const std::string key = keyOf(kernel.function);
    AITUNE_ASSIGN_OR_RETURN(std::string cut, chosen(key + kCutKey));
    if (int place; absl::SimpleAtoi(cut, &place))
      kernel.cuts = {place};
    AITUNE_ASSIGN_OR_RETURN(std::string config, chosen(key));
    if (config.empty())
      continue;
    if (auto parsed = dyn_cast_or_null<DictionaryAttr>(
            parseAttribute(config, kernel.function->getContext()))) {
      ait::setScheduleConfig(kernel.function, parsed);
      ++reused;
    }
  }
  return reused;
}

absl::Status TuningChoices::keepSchedule(const std::string &key,
                                         const std::string &config) const {
  return choose(key, config);
}

absl::Status TuningChoices::keepCuts(const std::vector<Kernel> &kernels) const {
  for (const Kernel &kernel : kernels)
    if (!kernel.parts.empty())
      AITUNE_RETURN_IF_ERROR(choose(
          keyOf(kernel.function) + kCutKey,
          kernel.chosenCut > 0 ? absl::StrCat(kernel.chosenCut) : "whole"));
  return absl::OkStatus();
}

absl::Status
TuningChoices::keepDefaults(const std::vector<Kernel> &kernels) const {
  for (const Kernel &kernel : kernels) {
    const std::string key = keyOf(kernel.function);
    if (!kernel.defaultConfig.empty())
      AITUNE_RETURN_IF_ERROR(choose(key, kernel.defaultConfig));
    if (!kernel.parts.empty())
      AITUNE_RETURN_IF_ERROR(choose(key + kCutKey, "whole"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>>
TuningChoices::wrongOf(func::FuncOp kernel) const {
  if (!store)
    return std::vector<std::string>();
  AITUNE_ASSIGN_OR_RETURN(
      std::string lines,
      store->chosen(keyOf(kernel) + kWrongKey, machine, libraries));
  return absl::StrSplit(lines, '\n', absl::SkipEmpty());
}

absl::Status TuningChoices::keepWrong(func::FuncOp kernel,
                                      const std::string &candidate) const {
  if (!store)
    return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(std::vector<std::string> known, wrongOf(kernel));
  if (llvm::is_contained(known, candidate))
    return absl::OkStatus();
  known.push_back(candidate);
  return store->choose(keyOf(kernel) + kWrongKey, machine, libraries,
                       absl::StrJoin(known, "\n"));
}

absl::Status TuningChoices::keepThreads(const std::string &model,
                                        bool oneThread) const {
  return choose(Sha256Hex(model) + kThreadsKey, oneThread ? "one" : "all");
}

absl::StatusOr<bool>
TuningChoices::usesOneThread(const std::string &model) const {
  AITUNE_ASSIGN_OR_RETURN(std::string found,
                          chosen(Sha256Hex(model) + kThreadsKey));
  return found == "one";
}

} // namespace aitune
