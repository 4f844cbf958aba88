#include "frontend/compiled_model/model_versions.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/values/gpu.h"
#include "runtime/logging/logging.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune::frontend {
namespace {

constexpr int kRandomSizes = 3;
constexpr size_t kMaxSizes = 24;
// How far from the anchor a constraint's boundary is looked for.
constexpr int64_t kMaxSteps = 256;
// Sizes of which it is kept whether a version could be built, so that callers
// with ever other sizes do not fill the memory.
constexpr size_t kMaxTried = 4096;

// The sizes that a version covers, for each symbol of the inputs.
struct Held {
  std::vector<int64_t> min, max;
  std::vector<int> plan_symbol;  // -1: the size is fixed
};

Held HeldBy(const ExecutablePlan& plan, const std::vector<SymbolSpec>& asked) {
  Held held;
  for (const SymbolSpec& symbol : asked) {
    held.min.push_back(symbol.min);
    held.max.push_back(symbol.max);
    held.plan_symbol.push_back(-1);
    // A version for arguments of other ranks, or without one.
    if (symbol.input >= plan.inputs_size() ||
        symbol.axis >= plan.inputs(symbol.input).sizes_size())
      continue;
    const SizeExpressionProto& size =
        plan.inputs(symbol.input).sizes(symbol.axis);
    if (size.kind() == SizeExpressionProto::CONSTANT) {
      held.min.back() = held.max.back() = size.value();
    } else if (size.kind() == SizeExpressionProto::SYMBOL) {
      const SymbolProto& of_plan = plan.symbols(static_cast<int>(size.value()));
      held.min.back() = of_plan.min();
      held.max.back() = of_plan.max();
      held.plan_symbol.back() = static_cast<int>(size.value());
    }
  }
  return held;
}

}  // namespace

ModelVersions::ModelVersions(const Model& model, ModelInputs inputs,
                             const BuildOptions& options, const Device& device)
    : model_(model),
      inputs_(std::move(inputs)),
      options_(options),
      state_(VersionState::Of(model, device)) {
  options_.all_sizes = false;
  options_.compile.progress = nullptr;
  options_.trace.progress = nullptr;
  options_.compile.tuning.budgetSeconds = 0;
  options_.compile.mayQuantizeNone = true;
}

CompiledModel* ModelVersions::Match(const ValueList& arguments) const {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::unique_ptr<CompiledModel>& version : versions_) {
    if (version->Fits(arguments)) return version.get();
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<CompiledModel>> ModelVersions::BuildFor(
    const std::vector<int64_t>& sizes, const ValueList& arguments) const {
  Log(LogChannel::kRecompiles,
      absl::StrCat("no version covers the sizes ", absl::StrJoin(sizes, ", "),
                   ": one is built"));
  BuildOptions options = options_;
  options.trace.anchor = sizes;
  // Beside the one for the lengths that the first version has unrolled.
  options.trace.rolled_loops = true;
  ModelInputs inputs = inputs_;
  inputs.samples.reset();
  absl::StatusOr<std::unique_ptr<CompiledModel>> made =
      CompiledModel::Build(model_, inputs, options);
  if (made.ok()) return made;
  // The program may raise at other sizes of the range only.
  options.trace.anchor.clear();
  absl::StatusOr<std::vector<InputSpec>> fixed_sizes =
      WithSizesOf(inputs_.specs, ToCpu(arguments));
  if (!fixed_sizes.ok()) return made;
  inputs.specs = *std::move(fixed_sizes);
  absl::StatusOr<std::unique_ptr<CompiledModel>> fixed =
      CompiledModel::Build(model_, inputs, options);
  return fixed.ok() ? std::move(fixed) : std::move(made);
}

absl::StatusOr<const CompiledModel*> ModelVersions::Find(
    const ValueList& arguments) {
  if (const CompiledModel* version = Match(arguments)) return version;
  std::lock_guard<std::mutex> compile_lock(compile_mutex_);
  // Another thread may have compiled it meanwhile.
  if (const CompiledModel* version = Match(arguments)) return version;
  AITUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                          SymbolSizes(inputs_.specs, arguments));
  if (state_ != nullptr) {
    AITUNE_ASSIGN_OR_RETURN(const bool is_new, state_->HasChanged());
    if (is_new) return nullptr;
  }
  const absl::Status mismatch = absl::InvalidArgumentError(
      "the arguments differ from the inputs that the model was compiled for "
      "in nesting, dtypes or ranks; pass such inputs, or compile the model "
      "for these");
  if (const auto tried = tried_.find(sizes); tried != tried_.end())
    return tried->second.ok() ? mismatch : tried->second;
  absl::StatusOr<std::unique_ptr<CompiledModel>> made =
      BuildFor(sizes, arguments);
  // What failed for another reason may succeed the next time.
  if (made.ok() || absl::IsInvalidArgument(made.status())) {
    if (tried_.size() >= kMaxTried) tried_.clear();
    tried_.emplace(sizes, made.status());
  }
  if (!made.ok()) return made.status();
  std::lock_guard<std::mutex> lock(mutex_);
  versions_.push_back(*std::move(made));
  if (!versions_.back()->Fits(arguments)) return mismatch;
  return versions_.back().get();
}

absl::StatusOr<bool> ModelVersions::Repair(const ValueList& arguments,
                                           const ValueList& there,
                                           const BuildProgress& progress) {
  CompiledModel* version = Match(there);
  if (version == nullptr)
    return absl::InvalidArgumentError(
        "no version of the model was built for these arguments; run it with "
        "them first");
  AITUNE_ASSIGN_OR_RETURN(const bool changed,
                          version->Repair(arguments, progress));
  LeaveOut(version->report().wrong);
  return changed;
}

void ModelVersions::LeaveOut(absl::Span<const WrongCandidate> wrong) {
  for (const WrongCandidate& candidate : wrong) {
    std::vector<WrongCandidate>& known = options_.compile.leftOut;
    if (std::none_of(known.begin(), known.end(),
                     [&](const WrongCandidate& other) {
                       return IsSame(other, candidate);
                     }))
      known.push_back(candidate);
  }
}

std::vector<const CompiledModel*> ModelVersions::all() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<const CompiledModel*> versions;
  for (const std::unique_ptr<CompiledModel>& version : versions_)
    versions.push_back(version.get());
  return versions;
}

absl::StatusOr<std::vector<std::vector<int64_t>>> BoundarySizes(
    const CompiledModel& compiled, const ModelInputs& inputs, uint64_t seed) {
  if (inputs.specs.empty()) return std::vector<std::vector<int64_t>>();
  AITUNE_ASSIGN_OR_RETURN(const SymbolAssignment assignment,
                          AssignSymbols(inputs.specs));
  const std::vector<SymbolSpec>& asked = assignment.symbols;
  if (asked.empty()) return std::vector<std::vector<int64_t>>();
  std::vector<int64_t> anchor;
  for (const SymbolSpec& symbol : asked) anchor.push_back(symbol.max);
  if (inputs.samples) {
    absl::StatusOr<std::vector<int64_t>> sizes =
        SymbolSizes(inputs.specs, *inputs.samples);
    if (sizes.ok()) anchor = *std::move(sizes);
  }
  std::set<std::vector<int64_t>> found;
  const auto add = [&](size_t symbol, int64_t size) {
    if (size < asked[symbol].min || size > asked[symbol].max) return;
    std::vector<int64_t> sizes = anchor;
    sizes[symbol] = size;
    if (found.size() < kMaxSizes) found.insert(std::move(sizes));
  };
  const ExecutablePlan& plan = compiled.plan();
  const Held held = HeldBy(plan, asked);
  for (size_t s = 0; s < asked.size(); ++s) {
    if (held.min[s] == asked[s].min && held.max[s] == asked[s].max) continue;
    for (const int64_t size :
         {held.min[s] - 1, held.min[s], held.max[s], held.max[s] + 1})
      add(s, size);
  }
  for (const SizeConstraintProto& proto : plan.constraints()) {
    AITUNE_ASSIGN_OR_RETURN(const SizeConstraint constraint,
                            FromProto(proto, plan.symbols_size()));
    std::vector<int64_t> of_plan(static_cast<size_t>(plan.symbols_size()));
    for (size_t s = 0; s < asked.size(); ++s) {
      if (held.plan_symbol[s] >= 0)
        of_plan[static_cast<size_t>(held.plan_symbol[s])] = anchor[s];
    }
    const std::vector<int> read = SymbolsOf(constraint.expression);
    for (size_t s = 0; s < asked.size(); ++s) {
      if (std::find(read.begin(), read.end(), held.plan_symbol[s]) ==
          read.end())
        continue;
      for (const int64_t direction : {-1, 1}) {
        std::vector<int64_t> sizes = of_plan;
        int64_t& size = sizes[static_cast<size_t>(held.plan_symbol[s])];
        const bool before = constraint.Holds(sizes);
        for (int64_t step = 1; step <= kMaxSteps; ++step) {
          size = anchor[s] + direction * step;
          if (size < asked[s].min || size > asked[s].max) break;
          if (constraint.Holds(sizes) == before) continue;
          add(s, size - direction);
          add(s, size);
          break;
        }
      }
    }
  }
  // Where another alternative of a kernel begins.
  for (const Step& step : plan.steps()) {
    for (const int64_t beyond : {0, 1}) {
      std::vector<int64_t> sizes = anchor;
      bool is_asked = !step.alternative().most().empty();
      for (size_t s = 0; s < asked.size() && is_asked; ++s) {
        if (held.plan_symbol[s] < 0) continue;
        sizes[s] = step.alternative().most(held.plan_symbol[s]) + beyond;
        is_asked = sizes[s] >= asked[s].min && sizes[s] <= asked[s].max;
      }
      if (is_asked && found.size() < kMaxSizes) found.insert(std::move(sizes));
    }
  }
  std::mt19937_64 random(seed);
  for (int i = 0; i < kRandomSizes; ++i) {
    std::vector<int64_t> sizes;
    for (const SymbolSpec& symbol : asked)
      sizes.push_back(std::uniform_int_distribution<int64_t>(
          symbol.min, symbol.max)(random));
    found.insert(std::move(sizes));
  }
  // CheckCases has these.
  std::vector<int64_t> low, middle, high;
  for (const SymbolSpec& symbol : asked) {
    low.push_back(symbol.min);
    middle.push_back((symbol.min + symbol.max) / 2);
    high.push_back(symbol.max);
  }
  for (const std::vector<int64_t>& known : {low, middle, high})
    found.erase(known);
  return std::vector<std::vector<int64_t>>(found.begin(), found.end());
}

}  // namespace aitune::frontend
