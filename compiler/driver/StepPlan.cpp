#include "compiler/driver/StepPlan.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {
namespace {

class StepIsolator {
public:
  explicit StepIsolator(const ExecutablePlan &whole) : whole(whole) {}

  absl::StatusOr<StepPlan> isolate(int step);

private:
  void findInitialization(const Step &step);
  Step copy(const Step &step);
  int keep(int32_t value);
  void setStorage(ValueProto &value, int32_t number);

  const ExecutablePlan &whole;
  StepPlan part;
  std::set<int32_t> written; ///< roots that the step writes
  std::vector<const Step *> initialization;
  std::map<int32_t, int> kept; ///< values of the part, by those of the whole
};

/// Those initialization steps that `step` needs, directly or not.
void StepIsolator::findInitialization(const Step &step) {
  std::set<int32_t> needed;
  auto need = [&](const Step &reader) {
    for (int32_t input : reader.inputs())
      needed.insert(rootOf(whole, input));
  };
  need(step);
  for (const Step &earlier : llvm::reverse(whole.initialization())) {
    if (llvm::none_of(earlier.outputs(), [&](int32_t output) {
          return needed.count(rootOf(whole, output)) > 0;
        }))
      continue;
    need(earlier);
    initialization.insert(initialization.begin(), &earlier);
  }
}

/// Where value `number` of the whole, no alias, is in the part.
void StepIsolator::setStorage(ValueProto &value, int32_t number) {
  if (value.storage() == ValueProto::INPUT ||
      value.storage() == ValueProto::CONSTANT || value.persistent())
    return;
  const bool isOutput = written.count(number) > 0;
  value.set_storage(isOutput ? ValueProto::OUTPUT : ValueProto::INPUT);
  value.set_index(isOutput ? part.outputs.size()
                           : whole.inputs_size() + part.inputs.size());
  (isOutput ? part.outputs : part.inputs).push_back(number);
  *(isOutput ? part.plan.add_outputs() : part.plan.add_inputs()) = value.type();
}

int StepIsolator::keep(int32_t value) {
  if (auto found = kept.find(value); found != kept.end())
    return found->second;
  ValueProto proto = whole.values(value);
  if (proto.storage() == ValueProto::ALIAS)
    proto.set_index(keep(proto.index()));
  else
    setStorage(proto, value);
  const int position = part.plan.values_size();
  if (proto.storage() == ValueProto::OUTPUT)
    part.plan.add_output_values(position);
  *part.plan.add_values() = std::move(proto);
  kept[value] = position;
  return position;
}

Step StepIsolator::copy(const Step &step) {
  Step result = step;
  result.clear_alternative();
  for (int32_t &input : *result.mutable_inputs())
    input = keep(input);
  for (int32_t &output : *result.mutable_outputs())
    output = keep(output);
  if (result.has_fallback())
    result.mutable_fallback()->set_region(0);
  return result;
}

absl::StatusOr<StepPlan> StepIsolator::isolate(int number) {
  const Step &step = whole.steps(number);
  auto isOpaque = [&](int32_t value) {
    return whole.values(rootOf(whole, value)).storage() == ValueProto::OPAQUE;
  };
  if (llvm::any_of(step.inputs(), isOpaque) ||
      llvm::any_of(step.outputs(), isOpaque))
    return absl::UnimplementedError(
        absl::StrCat("step ", step.name(),
                     " can't be run alone: only LibTorch knows what "
                     "it reads or writes"));
  *part.plan.mutable_symbols() = whole.symbols();
  *part.plan.mutable_inputs() = whole.inputs();
  part.plan.set_device(whole.device());
  part.plan.set_ignores_checks(whole.ignores_checks());
  for (int32_t output : step.outputs())
    written.insert(rootOf(whole, output));
  findInitialization(step);
  for (const Step *earlier : initialization)
    *part.plan.add_initialization() = copy(*earlier);
  *part.plan.add_steps() = copy(step);
  return std::move(part);
}

} // namespace

int32_t rootOf(const ExecutablePlan &plan, int32_t value) {
  while (plan.values(value).storage() == ValueProto::ALIAS)
    value = plan.values(value).index();
  return value;
}

absl::StatusOr<StepPlan> isolateStep(const ExecutablePlan &plan, int step) {
  return StepIsolator(plan).isolate(step);
}

} // namespace aitune
