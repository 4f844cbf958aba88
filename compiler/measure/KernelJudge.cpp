#include "compiler/measure/KernelJudge.h"

#include <chrono>

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
  }
  return "";
}

/// Whether every value of the plan has elements. Sizes that the model's
/// constraints leave out can be negative.
bool hasElements(const ExecutablePlan &plan, ArrayRef<int64_t> symbols) {
  return llvm::all_of(plan.values(), [&](const ValueProto &value) {
    auto type = FromProto(value.type(), symbols.size());
    return type.ok() &&
           llvm::all_of(type->sizes, [&](const SizeExpression &size) {
             return size.Evaluate(symbols) > 0;
           });
  });
}

} // namespace

KernelJudge::KernelJudge(func::FuncOp kernel,
                         std::vector<JudgedArgument> arguments,
                         ReferenceOptions options)
    : kernel(kernel), arguments(std::move(arguments)), options(options) {}

std::vector<JudgedInputs>
KernelJudge::inputSets(const ExecutablePlan &plan) const {
  std::vector<JudgedInputs> sets = {JudgedInputs::Extreme};
  const std::vector<int64_t> smallest = symbolsOf(plan, JudgedInputs::Smallest);
  if (smallest != symbolsOf(plan, JudgedInputs::Normal) &&
      hasElements(plan, smallest))
    sets.push_back(JudgedInputs::Smallest);
  // Last: it is what is then timed.
  sets.push_back(JudgedInputs::Normal);
  return sets;
}

bool KernelJudge::takesNonFinite() const {
  bool hasContraction = false;
  const_cast<func::FuncOp &>(kernel).walk([&](Operation *op) {
    hasContraction |=
        isa<ait::MatmulOp, ait::ConvolutionOp, ait::AttentionOp>(op);
  });
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
  absl::StatusOr<std::vector<ReferenceResult>> results =
      computeReference(kernel, values, symbols, options);
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
    const ReferenceCoverage one = coverageOf(results);
    total.known += one.known;
    total.sampled += one.sampled;
  }
  return total;
}

std::vector<int64_t> symbolsOf(const ExecutablePlan &plan, JudgedInputs set) {
  std::vector<int64_t> symbols;
  for (const SymbolProto &symbol : plan.symbols())
    symbols.push_back(set == JudgedInputs::Smallest ? symbol.min()
                                                    : symbol.max());
  return symbols;
}

} // namespace aitune
