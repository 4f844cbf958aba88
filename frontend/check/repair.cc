#include "frontend/check/repair.h"

#include <set>
#include <string>
#include <utility>

namespace aitune::frontend {
namespace {

// Times that a model is built again at most. Each replaces all kernels that its
// inputs show to be wrong.
constexpr int kMostRepairs = 4;
// And those that may replace nothing.
constexpr size_t kMostInVain = 2;

}  // namespace

CheckReport CheckAndRepair(const RunFunction& ours, const Model& model,
                           absl::Span<const InputCase> cases,
                           const CheckOptions& options,
                           const RepairFunction& repair) {
  CheckReport report = CheckAgainstEager(ours, model, cases, options);
  std::vector<RepairAttempt> repairs;
  std::set<size_t> in_vain;  // cases whose repair replaced nothing
  for (int attempt = 0; attempt < kMostRepairs && in_vain.size() < kMostInVain;
       ++attempt) {
    size_t failed = 0;
    while (failed < cases.size() &&
           (report.cases[failed].agrees() ||
            report.cases[failed].missed_error || in_vain.count(failed) > 0))
      ++failed;
    if (failed == cases.size()) break;
    const absl::StatusOr<bool> replaced = repair(cases[failed].arguments);
    repairs.push_back({cases[failed].name, report.cases[failed].Problem(),
                       replaced.ok() && *replaced,
                       std::string(replaced.status().message())});
    if (!replaced.ok() || !*replaced) in_vain.insert(failed);
    if (!replaced.ok()) continue;
    // Also where nothing was: another build may do without what was wrong.
    report = CheckAgainstEager(ours, model, cases, options);
  }
  report.repairs = std::move(repairs);
  return report;
}

}  // namespace aitune::frontend
