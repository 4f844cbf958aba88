#include "compiler/driver/FirstDifference.h"

#include <cmath>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "compiler/driver/StepPlan.h"
#include "compiler/measure/HostTensor.h"
#include "compiler/reference/NumberFormat.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"
#include "runtime/tensor/data_type.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Bytes around a value of a step that runs alone.
constexpr int64_t kGuardBytes = int64_t{1} << 16;
/// What a result's memory holds before the two runs of a step alone.
constexpr char kFills[] = {'\xff', '\0'};
/// Calls of the model, one after the other.
constexpr int kCalls = 2;
/// Bytes of all values that are kept.
constexpr int64_t kMostBytes = int64_t{4} << 30;

/// How far apart two runs of the same code may be, of the greatest element:
/// some sum in the order in which threads come.
double toleranceOf(DataType dtype) {
  switch (dtype) {
  case DataType::kFloat64:
    return 1e-9;
  case DataType::kFloat32:
    return 1e-3;
  default:
    return 0.05;
  }
}

/// How `actual` differs from `right`; empty where it does not.
std::string differenceOf(const TensorView &right, const TensorView &actual) {
  if (std::memcmp(right.data, actual.data, BytesOf(right)) == 0)
    return "";
  const int64_t count = ElementCount(right.sizes);
  const bool isFloat = IsFloatingPoint(right.dtype);
  auto read = [&](const TensorView &view, int64_t i) {
    const ReferenceElement element =
        NumberFormat::read(view.data, view.dtype, i);
    return isFloat ? element.number : static_cast<double>(element.integer);
  };
  double greatest = 0;
  if (isFloat)
    for (int64_t i = 0; i < count; ++i)
      if (const double size = std::abs(read(right, i)); std::isfinite(size))
        greatest = std::max(greatest, size);
  const double most = isFloat ? greatest * toleranceOf(right.dtype) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = read(right, i), y = read(actual, i);
    if (x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= most)
      continue;
    return absl::StrCat("element ", i, " of ", count, " is ", y, " instead of ",
                        x);
  }
  return "";
}

std::unique_ptr<HostTensor> makeGuarded(TensorView shape) {
  auto made = std::make_unique<HostTensor>(std::move(shape), kGuardBytes);
  // What nobody writes is no right value of before.
  made->fill(0x5a);
  return made;
}

class DifferenceFinder {
public:
  DifferenceFinder(const ExecutablePlan &plan,
                   const std::vector<KernelObject> &objects,
                   const CompilationTarget &target,
                   absl::Span<const ConstantTensor> constants, ModuleOp module,
                   const CompileOptions &options)
      : plan(plan), objects(objects), target(target), constants(constants),
        module(module), options(options) {}

  absl::StatusOr<std::optional<FirstDifference>> find();

private:
  using Regions = std::vector<std::unique_ptr<FallbackRegion>>;

  absl::StatusOr<TensorView> shapeOf(int32_t value) const;
  absl::StatusOr<Regions> makeRegions() const;
  std::vector<KernelObject> objectsOf(const ExecutablePlan &part) const;
  void findLives();
  absl::StatusOr<std::string> runAlone(int step);
  absl::StatusOr<std::optional<FirstDifference>> differenceAfter(int steps);

  const ExecutablePlan &plan;
  const std::vector<KernelObject> &objects;
  const CompilationTarget &target;
  const absl::Span<const ConstantTensor> constants;
  const ModuleOp module;
  const CompileOptions &options;
  std::vector<int64_t> symbols;
  /// The model's inputs, and by value (no alias) what the steps give alone.
  std::vector<std::unique_ptr<HostTensor>> given;
  std::map<int32_t, std::unique_ptr<HostTensor>> right;
  int64_t keptBytes = 0;
  /// The steps that write each value and that read it last.
  std::map<int32_t, int> firstStep, lastStep;
};

/// The value's sizes, without memory.
absl::StatusOr<TensorView> DifferenceFinder::shapeOf(int32_t value) const {
  return ViewOf(plan.values(value).type(), symbols);
}

absl::StatusOr<DifferenceFinder::Regions>
DifferenceFinder::makeRegions() const {
  if (llvm::none_of(plan.steps(),
                    [](const Step &step) { return step.has_fallback(); }))
    return Regions();
  if (!options.audit.makeRegions)
    return absl::UnimplementedError(
        "LibTorch runs a part of the model that is not at hand here");
  return options.audit.makeRegions(module);
}

/// The code of the part's kernels, or all if that is not known by name.
std::vector<KernelObject>
DifferenceFinder::objectsOf(const ExecutablePlan &part) const {
  std::vector<KernelObject> needed;
  bool knowsAll = true;
  auto add = [&](const Step &step) {
    const std::string symbol = step.has_kernel() ? step.kernel().symbol()
                               : step.has_cuda_kernel()
                                   ? step.cuda_kernel().symbol()
                                   : "";
    if (symbol.empty())
      return;
    auto found = llvm::find_if(objects, [&](const KernelObject &object) {
      return object.symbol == symbol;
    });
    knowsAll &= found != objects.end();
    if (found != objects.end() &&
        llvm::none_of(needed, [&](const KernelObject &object) {
          return object.symbol == symbol;
        }))
      needed.push_back(*found);
  };
  llvm::for_each(part.initialization(), add);
  llvm::for_each(part.steps(), add);
  return knowsAll ? needed : objects;
}

void DifferenceFinder::findLives() {
  for (auto [number, step] : llvm::enumerate(plan.steps())) {
    for (int32_t output : step.outputs())
      firstStep.try_emplace(rootOf(plan, output), number);
    for (int32_t input : step.inputs())
      lastStep[rootOf(plan, input)] = static_cast<int>(number);
  }
  for (int32_t output : plan.output_values())
    lastStep[rootOf(plan, output)] = plan.steps_size();
}

/// Runs a step alone, which sets what is right of its results; returns what is
/// wrong with it, if something is.
absl::StatusOr<std::string> DifferenceFinder::runAlone(int step) {
  AITUNE_ASSIGN_OR_RETURN(StepPlan part, isolateStep(plan, step));
  ModelCalls calls;
  if (plan.steps(step).has_fallback()) {
    AITUNE_ASSIGN_OR_RETURN(Regions regions, makeRegions());
    const size_t region = plan.steps(step).fallback().region();
    if (region >= regions.size())
      return absl::InternalError("a region of the model is not made");
    calls.regions.push_back(std::move(regions[region]));
  }
  std::vector<HostTensor *> read;
  for (const std::unique_ptr<HostTensor> &input : given)
    read.push_back(input.get());
  for (int32_t input : part.inputs) {
    const auto found = right.find(input);
    if (found == right.end())
      return absl::StrCat("it reads value ", input,
                          ", which no step before it has written");
    read.push_back(found->second.get());
  }
  std::vector<TensorView> inputs;
  std::vector<std::string> before;
  for (const HostTensor *input : read) {
    inputs.push_back(input->view());
    before.emplace_back(static_cast<const char *>(input->view().data),
                        input->bytes());
  }
  std::vector<std::vector<std::unique_ptr<HostTensor>>> results;
  std::vector<std::vector<TensorView>> outputs;
  for (char fill : kFills) {
    auto &ofCall = results.emplace_back();
    auto &views = outputs.emplace_back();
    for (int32_t output : part.outputs) {
      AITUNE_ASSIGN_OR_RETURN(TensorView shape, shapeOf(output));
      ofCall.push_back(makeGuarded(std::move(shape)));
      ofCall.back()->fill(fill);
      views.push_back(ofCall.back()->view());
    }
  }
  calls.objects = objectsOf(part.plan);
  calls.plan = std::move(part.plan);
  calls.inputs = inputs;
  calls.outputs = outputs;
  AITUNE_RETURN_IF_ERROR(target.runModel(std::move(calls), constants));
  std::string wrong;
  for (const auto &ofCall : results)
    for (const std::unique_ptr<HostTensor> &result : ofCall)
      if (!result->isIntact())
        wrong = "it writes beside its result";
  for (auto [input, was] : llvm::zip_equal(read, before)) {
    if (!input->isIntact())
      wrong = "it writes beside what it reads";
    if (std::memcmp(input->view().data, was.data(), was.size()) != 0)
      wrong = "it overwrites what it reads";
  }
  for (size_t i = 0; i < part.outputs.size(); ++i) {
    if (const std::string difference =
            differenceOf(outputs.front()[i], outputs.back()[i]);
        !difference.empty() && wrong.empty())
      wrong = absl::StrCat("its result depends on what memory held before, or "
                           "is another each time: ",
                           difference);
    std::unique_ptr<HostTensor> &kept = results.back()[i];
    keptBytes += kept->bytes();
    if (keptBytes > kMostBytes)
      return absl::ResourceExhaustedError(absl::StrCat(
          "the values of the model take more than ", kMostBytes, " bytes"));
    right[part.outputs[i]] = std::move(kept);
  }
  return wrong;
}

/// How what the model still needs after its first `steps` differs from what is
/// right.
absl::StatusOr<std::optional<FirstDifference>>
DifferenceFinder::differenceAfter(int steps) {
  std::vector<std::vector<std::unique_ptr<HostTensor>>> held(kCalls);
  std::vector<std::vector<TensorView>> outputs(kCalls);
  std::vector<std::unique_ptr<HostTensor>> results;
  ModelCalls calls;
  calls.copies.resize(kCalls);
  std::vector<int32_t> live;
  for (const auto &[value, first] : firstStep) {
    const ValueProto &proto = plan.values(value);
    const auto last = lastStep.find(value);
    if (first < steps && last != lastStep.end() && last->second >= steps &&
        proto.storage() != ValueProto::OPAQUE && right.count(value) > 0)
      live.push_back(value);
  }
  for (int call = 0; call < kCalls; ++call) {
    for (int32_t output : plan.output_values()) {
      AITUNE_ASSIGN_OR_RETURN(TensorView shape, shapeOf(output));
      results.push_back(makeGuarded(std::move(shape)));
      outputs[call].push_back(results.back()->view());
    }
    for (int32_t value : live) {
      held[call].push_back(makeGuarded(right[value]->view()));
      calls.copies[call].push_back({value, held[call].back()->view()});
    }
  }
  calls.plan = plan;
  calls.objects = objects;
  AITUNE_ASSIGN_OR_RETURN(calls.regions, makeRegions());
  calls.inputs = options.audit.inputs;
  calls.outputs = outputs;
  calls.steps = steps;
  AITUNE_RETURN_IF_ERROR(target.runModel(std::move(calls), constants));
  for (int call = 0; call < kCalls; ++call)
    for (auto [value, copy] : llvm::zip_equal(live, held[call]))
      if (const std::string difference =
              differenceOf(right[value]->view(), copy->view());
          !difference.empty())
        return FirstDifference{
            plan.steps(steps - 1).name(),
            absl::StrCat("after it, the result of ",
                         plan.steps(firstStep[value]).name(),
                         " is not what it is where each step runs alone",
                         call > 0 ? ", in a second run: " : ": ", difference),
            firstStep[value] == steps - 1};
  return std::nullopt;
}

absl::StatusOr<std::optional<FirstDifference>> DifferenceFinder::find() {
  for (const SymbolProto &symbol : plan.symbols())
    symbols.push_back(
        options.audit.inputs[symbol.input()].sizes[symbol.axis()]);
  for (int32_t output : plan.output_values())
    if (plan.values(rootOf(plan, output)).storage() == ValueProto::OPAQUE)
      return absl::UnimplementedError(
          "only LibTorch knows an output of the model");
  for (const TensorView &input : options.audit.inputs) {
    given.push_back(makeGuarded(input));
    given.back()->copyFrom(input.data);
  }
  findLives();
  for (int step = 0; step < plan.steps_size(); ++step) {
    AITUNE_ASSIGN_OR_RETURN(const std::string wrong, runAlone(step));
    if (!wrong.empty())
      return FirstDifference{plan.steps(step).name(), wrong, false};
  }
  // Right after `least` steps, and wrong after `most`.
  int least = 0, most = plan.steps_size();
  AITUNE_ASSIGN_OR_RETURN(std::optional<FirstDifference> first,
                          differenceAfter(most));
  while (first && most - least > 1) {
    const int middle = (least + most) / 2;
    AITUNE_ASSIGN_OR_RETURN(std::optional<FirstDifference> here,
                            differenceAfter(middle));
    (here ? most : least) = middle;
    if (here)
      first = std::move(here);
  }
  return first;
}

} // namespace

absl::StatusOr<std::optional<FirstDifference>> findFirstDifference(
    const ExecutablePlan &plan, const std::vector<KernelObject> &objects,
    const CompilationTarget &target, absl::Span<const ConstantTensor> constants,
    ModuleOp module, const CompileOptions &options) {
  return DifferenceFinder(plan, objects, target, constants, module, options)
      .find();
}

} // namespace aitune
