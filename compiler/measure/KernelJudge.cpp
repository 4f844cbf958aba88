#include "compiler/measure/KernelJudge.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "compiler/dialect/Ait.h"
#include "runtime/plan/plan.h"

using namespace mlir;

namespace aitune {
namespace {

const char *nameOf(JudgedInputs set) {
  switch (set) {
  case JudgedInputs::Normal:
    return "";
  case JudgedInputs::Extreme:
    return ", on inputs with large and small numbers";
  case JudgedInputs::Smallest:
    return ", at the smallest sizes";
  case JudgedInputs::WithNan:
    return ", on inputs with a NaN";
  }
  return "";
}

/// Elements of each result where a NaN is looked for: the first one reaches the
/// corner, which is among the first that are sampled.
constexpr int64_t kNanSamples = 64;

void acceptAllBesideNan(std::vector<ReferenceResult> &results) {
  for (ReferenceResult &result : results)
    for (ReferenceElement &element : result.elements)
      if (!std::isnan(element.number))
        element.error = std::numeric_limits<double>::infinity();
}

/// The number of elements of each value of the plan; nothing if a size is
/// negative there, as it can be where the model's constraints leave sizes out.
std::optional<std::vector<int64_t>>
countElements(const ExecutablePlan &plan, absl::Span<const int64_t> symbols) {
  std::vector<int64_t> counts;
  for (const ValueProto &value : plan.values()) {
    const absl::StatusOr<PlanTensorType> type =
        FromProto(value.type(), symbols.size());
    if (!type.ok()) // what only LibTorch knows
      continue;
    int64_t &count = counts.emplace_back(1);
    for (const SizeExpression &size : type->sizes) {
      const int64_t here = size.Evaluate(symbols);
      if (here < 0)
        return std::nullopt;
      count *= here;
    }
  }
  return counts;
}

} // namespace

KernelJudge::KernelJudge(func::FuncOp kernel,
                         std::vector<JudgedArgument> arguments,
                         ReferenceOptions options)
    : kernel(kernel), arguments(std::move(arguments)), options(options) {}

std::vector<JudgedInputs>
KernelJudge::inputSets(const ExecutablePlan &plan) const {
  std::vector<JudgedInputs> sets = {JudgedInputs::Extreme};
  const std::vector<int64_t> smallest = symbolsOf(plan, JudgedInputs::Smallest),
                             normal = symbolsOf(plan, JudgedInputs::Normal);
  const auto few = countElements(plan, smallest),
             many = countElements(plan, normal);
  // The memory is that of the normal sizes.
  if (smallest != normal && few && many &&
      llvm::all_of(llvm::zip(*few, *many), [](auto counts) {
        auto [here, most] = counts;
        return here > 0 && here <= most;
      }))
    sets.push_back(JudgedInputs::Smallest);
  if (!takesNonFinite())
    sets.push_back(JudgedInputs::WithNan);
  // Last: it is what is then timed.
  sets.push_back(JudgedInputs::Normal);
  return sets;
}

bool KernelJudge::takesNonFinite() const {
  bool hasContraction = false;
  func::FuncOp(kernel).walk(
      [&](Operation *op) { hasContraction |= ait::isContraction(op); });
  return !hasContraction;
}

absl::Status KernelJudge::prepare(JudgedInputs set,
                                  absl::Span<const TensorView> inputs,
                                  absl::Span<const int64_t> symbols) {
  if (!reason.ok() || known.count(set))
    return reason;
  const auto start = std::chrono::steady_clock::now();
  std::vector<TensorView> values;
  for (const JudgedArgument &argument : arguments)
    values.push_back(argument.input < 0 ? argument.constant
                                        : inputs[argument.input]);
  ReferenceOptions these = options;
  if (set == JudgedInputs::WithNan)
    these.samples = std::min(these.samples, kNanSamples);
  absl::StatusOr<std::vector<ReferenceResult>> results =
      computeReference(kernel, values, symbols, these);
  if (results.ok() && set == JudgedInputs::WithNan)
    acceptAllBesideNan(*results);
  if (results.ok())
    known[set] = *std::move(results);
  else if (set != JudgedInputs::Smallest)
    reason = results.status();
  spent +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return results.status();
}

const std::vector<ReferenceResult> *
KernelJudge::expected(JudgedInputs set) const {
  const auto found = known.find(set);
  return reason.ok() && found != known.end() ? &found->second : nullptr;
}

std::string KernelJudge::judge(JudgedInputs set,
                               absl::Span<const TensorView> results,
                               absl::Span<const ResultMemory> memory) const {
  const std::vector<ReferenceResult> *right = expected(set);
  if (!right)
    return "";
  const std::string difference = compareWithReference(*right, results, memory);
  return difference.empty() ? "" : absl::StrCat(difference, nameOf(set));
}

ReferenceCoverage KernelJudge::coverage() const {
  ReferenceCoverage total;
  for (const auto &[set, results] : known) {
    if (set == JudgedInputs::WithNan)
      continue;
    const ReferenceCoverage one = coverageOf(results);
    total.known += one.known;
    total.sampled += one.sampled;
  }
  return total;
}

std::vector<int64_t> symbolsOf(const ExecutablePlan &plan, JudgedInputs set) {
  std::vector<int64_t> least, most;
  for (const SymbolProto &symbol : plan.symbols()) {
    least.push_back(symbol.min());
    most.push_back(symbol.typical() > 0
                       ? std::min(symbol.typical(), symbol.max())
                       : symbol.max());
  }
  if (set == JudgedInputs::Smallest)
    return least;
  std::vector<std::vector<int64_t>> points = {most};
  for (size_t i = 0; i < most.size(); ++i) {
    points.push_back(most);
    points.back()[i] = least[i];
  }
  points.push_back(least);
  auto found = llvm::find_if(points, [&](const std::vector<int64_t> &point) {
    return hasSizes(plan, point);
  });
  return found == points.end() ? most : *found;
}

bool hasSizes(const ExecutablePlan &plan, absl::Span<const int64_t> symbols) {
  return countElements(plan, symbols).has_value();
}

} // namespace aitune
