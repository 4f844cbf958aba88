#include "compiler/schedule/ScheduleProviders.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/support/PluginName.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace aitune {
namespace {

struct Registered {
  ScheduleProvider provider;
  std::string plugin; ///< ofPlugin
};

std::vector<Registered> &registered() {
  static auto *const all = new std::vector<Registered>();
  return *all;
}

/// Why `schedule` cannot be one of a space whose schedules have so many
/// features; empty if it can.
std::string whatIsWrong(const Schedule &schedule, size_t features,
                        MLIRContext *context) {
  std::string errors;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    absl::StrAppend(&errors, errors.empty() ? ": " : "; ", diagnostic.str());
    return success();
  });
  if (!isa_and_nonnull<DictionaryAttr>(
          parseAttribute(schedule.config, context)))
    return absl::StrCat("'", schedule.config,
                        "' is no dictionary of parameters", errors);
  if (schedule.features.size() != features)
    return absl::StrCat("'", schedule.config, "' has ",
                        schedule.features.size(),
                        " features, the template's own have ", features);
  if (!llvm::all_of(schedule.features,
                    [](double feature) { return std::isfinite(feature); }))
    return absl::StrCat("'", schedule.config,
                        "' has a feature that is no finite number");
  if (!std::isfinite(schedule.operations) || schedule.operations < 0)
    return absl::StrCat("'", schedule.config, "' has ", schedule.operations,
                        " for its share of the operations");
  return "";
}

} // namespace

void registerSchedules(ScheduleProvider provider) {
  registered().push_back({std::move(provider), ofPlugin()});
}

void addRegisteredSchedules(func::FuncOp kernel, KernelSpace &space) {
  const size_t features = space.schedules.front().features.size();
  std::vector<Schedule> added;
  for (const Registered &one : registered()) {
    if (!one.provider) {
      space.refused.push_back(
          absl::StrCat("schedules", one.plugin, ": there is no function"));
      continue;
    }
    std::vector<Schedule> given;
    const std::string thrown =
        whatIsThrown([&] { given = one.provider(kernel, space); });
    if (!thrown.empty())
      space.refused.push_back(absl::StrCat(
          "the schedules", one.plugin, " for a ", space.form, ": ", thrown));
    for (Schedule &schedule : given) {
      const std::string wrong =
          whatIsWrong(schedule, features, kernel.getContext());
      if (wrong.empty())
        added.push_back(std::move(schedule));
      else
        space.refused.push_back(absl::StrCat(
            "a schedule", one.plugin, " for a ", space.form, ": ", wrong));
    }
  }
  // After the default and before the template's other schedules: a cost model
  // without records keeps the order, and added schedules should be measured.
  space.schedules.insert(space.schedules.begin() + 1, added.begin(),
                         added.end());
}

} // namespace aitune
