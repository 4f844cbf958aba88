#include "compiler/driver/OperatorGroups.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/fusion/KernelGraph.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/plan/Provenance.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace aitune {
namespace {

/// What a kernel does of an operator.
enum class Part {
  Moves,     ///< copies elements, or what any kernel may compute again
  Pointwise, ///< computes on each element
  Core,      ///< more
};

Part partOf(Operation *op) {
  if (ait::isMovement(op) || isRecomputed(op) || isa<ait::ConvertOp>(op))
    return Part::Moves;
  return ait::isPointwise(op) ? Part::Pointwise : Part::Core;
}

/// What a kernel does of its operators, in the order of the trace. The launches
/// of a kernel are made of different operators, in the same order.
std::vector<Part> partsOf(func::FuncOp kernel,
                          const std::vector<int64_t> &positions) {
  std::map<int64_t, Part> parts;
  for (int64_t position : positions)
    parts[position] = Part::Moves;
  for (Operation &op : kernel.getBody().front().without_terminator())
    for (int64_t position : traceOps(&op))
      if (auto found = parts.find(position); found != parts.end())
        found->second = std::max(found->second, partOf(&op));
  std::vector<Part> result;
  for (const auto &entry : parts)
    result.push_back(entry.second);
  // A kernel that computes nothing is there to move.
  if (llvm::all_of(result, [](Part part) { return part == Part::Moves; }))
    result.assign(result.size(), Part::Core);
  return result;
}

struct Launch {
  ait::LaunchOp op;
  /// What it does of each operator, by its position in the trace.
  std::map<int64_t, Part> parts;
};

std::vector<Launch> collectLaunches(ModuleOp module) {
  std::vector<Launch> launches;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return launches;
  const llvm::DenseSet<Value> atLoad = findKnownAtLoad(main);
  std::map<std::string, std::vector<Part>> kernels;
  for (auto op : main.getOps<ait::LaunchOp>()) {
    auto kernel = module.lookupSymbol<func::FuncOp>(op.getKernel());
    const std::vector<int64_t> positions = traceOps(op);
    if (!kernel || positions.empty() ||
        llvm::all_of(op.getResults(),
                     [&](Value result) { return atLoad.contains(result); }))
      continue;
    // The function's locations are those of its first launch.
    const auto [known, isFirst] =
        kernels.try_emplace(op.getKernel().str(), std::vector<Part>());
    if (isFirst)
      known->second = partsOf(kernel, positions);
    Launch launch{op, {}};
    const bool isAlike = known->second.size() == positions.size();
    for (auto [i, position] : llvm::enumerate(positions))
      launch.parts[position] = isAlike ? known->second[i] : Part::Core;
    launches.push_back(std::move(launch));
  }
  return launches;
}

} // namespace

std::vector<OperatorGroup> groupByOperators(ModuleOp module) {
  const std::vector<Launch> launches = collectLaunches(module);
  // Operators belong to the launches that do most of them.
  std::map<int64_t, Part> most;
  for (const Launch &launch : launches)
    for (auto [position, part] : launch.parts) {
      auto [entry, isNew] = most.try_emplace(position, part);
      entry->second = std::max(entry->second, part);
    }
  llvm::EquivalenceClasses<size_t> together;
  std::map<int64_t, size_t> firstOf;
  for (size_t i = 0; i < launches.size(); ++i) {
    together.insert(i);
    for (auto [position, part] : launches[i].parts) {
      // What copies an operator's result stands for itself.
      if (part == Part::Moves && most[position] != Part::Moves)
        continue;
      const auto [first, isNew] = firstOf.try_emplace(position, i);
      if (!isNew && part != Part::Moves)
        together.unionSets(first->second, i);
    }
  }
  // Groups by the first of their launches.
  std::map<size_t, OperatorGroup> groups;
  std::map<size_t, size_t> leaders;
  for (size_t i = 0; i < launches.size(); ++i) {
    const size_t leader =
        leaders.try_emplace(together.getLeaderValue(i), i).first->second;
    OperatorGroup &group = groups[leader];
    group.launches.push_back(launches[i].op);
    absl::StrAppend(&group.form, group.form.empty() ? "" : "+",
                    ait::LaunchOp(launches[i].op).getKernel().str());
  }
  for (auto [position, first] : firstOf) {
    OperatorGroup &group = groups[leaders.at(together.getLeaderValue(first))];
    group.traceOps.push_back(position);
    if (most[position] == Part::Core)
      group.core.push_back(position);
  }
  std::vector<OperatorGroup> result;
  for (auto &[first, group] : groups) {
    absl::StrAppend(&group.form, " of ", group.traceOps.size());
    result.push_back(std::move(group));
  }
  return result;
}

} // namespace aitune
