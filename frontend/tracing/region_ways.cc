// What a node that LibTorch runs whole gives, whichever way its data leads.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/any_node.h"
#include "frontend/torchscript/run_limits.h"
#include "frontend/tracing/graph_program.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/probe_program.h"
#include "frontend/tracing/region_layouts.h"
#include "frontend/tracing/region_runner.h"
#include "frontend/tracing/region_sizes.h"
#include "frontend/tracing/shared_memory.h"
#include "frontend/tracing/untaken_branches.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using Kind = ProbedValue::Kind;

// What a run on a way that a probe's elements do not lead may take, in seconds:
// a loop need not end there.
constexpr double kSecondsOfOtherWay = 1;

// Sizes at which the length of a loop is looked at.
constexpr size_t kLengthPoints = 4096;

// Whether a value that only LibTorch knows is a tensor of unknown sizes, or a
// number that may become a size.
bool BringsSizes(const ProbedValue& value) {
  if (value.kind == Kind::kOpaque && !value.has_sizes &&
      !value.is_list_of_known)
    return !value.probes[0].isBool() && !value.probes[0].isDouble();
  return std::any_of(value.elements.begin(), value.elements.end(),
                     [](const ProbedRef& e) { return BringsSizes(*e); });
}

// Adds what `value` and its parts are, by their places: one text for each
// dtype, rank or kind. The elements of a list have one place.
void AddKinds(const c10::IValue& value, const std::string& place,
              std::map<std::string, std::set<std::string>>& kinds) {
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    kinds[place].insert(absl::StrCat(c10::toString(tensor.scalar_type()), " ",
                                     tensor.is_nested() ? -1 : tensor.dim()));
    return;
  }
  kinds[place].insert(value.tagKind());
  if (value.isList()) {
    for (const c10::IValue& element : value.toListRef())
      AddKinds(element, place + "[]", kinds);
  } else if (value.isTuple()) {
    for (size_t i = 0; i < value.toTupleRef().elements().size(); ++i)
      AddKinds(value.toTupleRef().elements()[i], absl::StrCat(place, "(", i),
               kinds);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict())
      AddKinds(entry.value(), place + "{}", kinds);
  }
}

// Whether two results are tensors of one dtype and rank, and of the same sizes
// where those have to be the same.
bool SameType(const c10::IValue& a, const c10::IValue& b, bool same_sizes) {
  return a.isTensor() && b.isTensor() && IsPlainTensor(a.toTensor()) &&
         IsPlainTensor(b.toTensor()) &&
         a.toTensor().scalar_type() == b.toTensor().scalar_type() &&
         a.toTensor().dim() == b.toTensor().dim() &&
         (!same_sizes || a.toTensor().sizes() == b.toTensor().sizes());
}

// Whether the elements of two tensors have the same places in memory; of those
// of other sizes, whether the rows of both lie one behind the other.
bool LieAlike(const c10::IValue& left, const c10::IValue& right) {
  const at::Tensor &a = left.toTensor(), &b = right.toTensor();
  return a.sizes() == b.sizes() ? HaveOneLayout(a, b)
                                : a.is_contiguous() && b.is_contiguous();
}

// Whether a loop, whose length sizes decide, runs as often in all probes.
bool RunsAlike(const ProbedValue& length, size_t probes) {
  for (size_t probe = 1; probe < probes; ++probe) {
    if (ValueInProbe(length, probe).toInt() != ValueInProbe(length, 0).toInt())
      return false;
  }
  return true;
}

}  // namespace

bool Contains(Node* node, const std::vector<c10::Symbol>& kinds) {
  const auto is = [&](Node* inner) {
    return std::find(kinds.begin(), kinds.end(), inner->kind()) != kinds.end();
  };
  return std::any_of(node->blocks().begin(), node->blocks().end(),
                     [&](Block* block) { return AnyNode(block, is); });
}

absl::Status RegionRunner::Try(const NodeRegion& region,
                               const std::vector<c10::IValue>& given,
                               const std::vector<c10::IValue>& control,
                               RegionWays& ways,
                               std::vector<c10::IValue>& stack) const {
  stack = given;
  stack.insert(stack.end(), control.begin(), control.end());
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        region.run_in_probe(stack);
        return absl::OkStatus();
      }));
  for (size_t i = 0; i < region.output_count(); ++i) {
    AddKinds(stack[i], "", ways.kinds[i]);
    for (size_t j = 0; j < given.size(); ++j) {
      if (ShareMemory(stack[i], given[j])) ways.aliased[i].insert(j);
    }
    for (size_t j = i + 1; j < stack.size(); ++j) {
      if (ShareMemory(stack[i], stack[j])) ways.shared[i].insert(j);
    }
  }
  return absl::OkStatus();
}

std::vector<c10::IValue> RegionRunner::GivenIn(const NodeRegion& region,
                                               size_t probe) {
  std::vector<c10::IValue> given;
  for (const ProbedRef& content : region.contents)
    given.push_back(ValueInProbe(*content, probe));
  return given;
}

std::vector<c10::IValue> RegionRunner::ControlsIn(const NodeRegion& region,
                                                  size_t probe) {
  std::vector<c10::IValue> controls;
  for (size_t i = 0; i < region.controls; ++i)
    controls.push_back(
        ValueInProbe(*interpreter_.Get(region.node->input(i)), probe));
  return controls;
}

void RegionRunner::SeeUntakenWays(const NodeRegion& region) {
  const auto run = [&](const std::shared_ptr<Graph>& graph) {
    const RecordedFunction run_in_probe = MakeProbeProgram(
        graph, MakeGraphProgram(graph, "untaken way of a region").run);
    for (size_t probe = 0; probe < interpreter_.fitter_.probes().size();
         ++probe) {
      std::vector<c10::IValue> stack = GivenIn(region, probe);
      const std::vector<c10::IValue> controls = ControlsIn(region, probe);
      stack.insert(stack.end(), controls.begin(), controls.end());
      CatchExceptions(absl::StatusCode::kInternal, "", [&] {
        run_in_probe(stack);
        return absl::OkStatus();
      }).IgnoreError();
    }
  };
  SeeUntakenBranches(region.graph, region.outlined, run);
}

bool RegionRunner::MayNotRun(Node* loop) {
  const ProbedRef length = interpreter_.Get(loop->input(0)),
                  condition = interpreter_.Get(loop->input(1));
  if (!condition->uniform || !condition->probes[0].toBool()) return true;
  const SizeFunctionRef function = interpreter_.FunctionOf(length);
  if (function == nullptr) return true;
  bool complete = false;
  for (const SizePoint& point : interpreter_.region_.Points(
           function->symbols, kLengthPoints, &complete)) {
    const absl::StatusOr<c10::IValue> value =
        SizeEvaluator(point, /*real=*/false).Evaluate(function);
    if (!value.ok() || !value->isInt() || value->toInt() <= 0) return true;
  }
  return !complete && !length->size;
}

absl::StatusOr<RegionWays> RegionRunner::RunAllWays(const NodeRegion& region) {
  Node* const node = region.node;
  const size_t output_count = region.output_count();
  const bool is_if = region.is_if(), is_loop = region.is_loop();
  RegionWays ways;
  ways.kinds.resize(output_count);
  ways.aliased.resize(output_count);
  ways.shared.resize(output_count);
  // A tensor that has the same type each time has that type in the trace,
  // unless sizes in the region come from data. Other results stay LibTorch's.
  const bool sizes_known =
      std::none_of(region.contents.begin(), region.contents.end(),
                   [](const ProbedRef& c) { return BringsSizes(*c); }) &&
      std::none_of(node->blocks().begin(), node->blocks().end(), MayPickSizes);
  ways.sizes_known = (is_if || is_loop) && sizes_known;
  for (size_t i = 0; i < output_count; ++i)
    ways.stable.push_back(ways.sizes_known &&
                          !MayBeOfSeveralTypes(*node->output(i)->type()));
  ways.others_unseen = Contains(node, {c10::prim::If, c10::prim::Loop});
  bool tries_others = region.is_limited;
  // The sizes of what a loop carries may follow from how often it runs. Probes
  // of several lengths show how; else no length may change them.
  const bool same_sizes = !region.has_length_of_sizes() ||
                          RunsAlike(*interpreter_.Get(node->input(0)),
                                    interpreter_.fitter_.probes().size());
  const bool may_not_run = region.has_length_of_sizes() && MayNotRun(node);
  // As the data decides, and then with each other decision that data or sizes
  // could make: each branch of an if, no round and one round of a loop.
  for (size_t probe = 0; probe < interpreter_.fitter_.probes().size();
       ++probe) {
    const std::vector<c10::IValue> given = GivenIn(region, probe),
                                   actual = ControlsIn(region, probe);
    std::vector<c10::IValue>& stack = ways.outputs.emplace_back();
    const auto attempt = [&](const std::vector<c10::IValue>& control) {
      const RunLimits limits(kSecondsOfProbe, /*limits_sizes=*/false);
      return Try(region, given, control, ways, stack);
    };
    absl::Status status = attempt(actual);
    // The elements of probes may be random: where an if raises for them, the
    // other branch shows as well what it gives, and a loop one round or none.
    if (!status.ok() && is_if) status = attempt({!actual[0].toBool()});
    if (!status.ok() && is_loop) status = attempt({int64_t{1}, true});
    if (!status.ok() && is_loop) status = attempt({int64_t{0}, false});
    if (!status.ok()) return absl::UnimplementedError(status.message());
    std::vector<std::vector<c10::IValue>> others;
    if (is_if) others = {{true}, {false}};
    if (region.has_length_of_sizes()) {
      others = {{int64_t{1}, true}};
      if (may_not_run) others.push_back({int64_t{0}, false});
    }
    if (is_loop && !region.has_one_way())
      others = {{int64_t{0}, false}, {int64_t{1}, true}};
    for (const std::vector<c10::IValue>& control : others) {
      std::vector<c10::IValue> other;
      const RunLimits limits(kSecondsOfOtherWay, /*limits_sizes=*/true);
      // A way that fails gives no result, so it does not matter for the type.
      if (!tries_others || !Try(region, given, control, ways, other).ok()) {
        ways.others_unseen = true;
        tries_others = tries_others && !limits.IsLate();
        continue;
      }
      // The layout has to be the same, too, where it is asked for.
      for (size_t i = 0; i < output_count; ++i)
        ways.stable[i] =
            ways.stable[i] && SameType(stack[i], other[i], same_sizes) &&
            (!interpreter_.asks_for_layout_ || LieAlike(stack[i], other[i]));
    }
  }
  if (interpreter_.asks_for_layout_ && ways.others_unseen)
    ways.stable.assign(output_count, false);
  if (region.is_limited && interpreter_.options_.sees_parts)
    SeeUntakenWays(region);
  // Where the probes' results are copies, others' may be views.
  const bool copies =
      std::any_of(node->blocks().begin(), node->blocks().end(), [](Block* b) {
        return AnyNode(b, [](Node* inner) {
          return GivesViewOrCopy(inner->kind().toQualString());
        });
      });
  if (interpreter_.aliases_ == nullptr || (!ways.others_unseen && !copies))
    return ways;
  for (size_t i = 0; i < output_count; ++i) {
    for (size_t j = 0; j < region.free.size(); ++j) {
      if (interpreter_.aliases_->mayContainAlias(node->output(i),
                                                 region.free[j]))
        ways.aliased[i].insert(j);
    }
    for (size_t j = i + 1; j < output_count; ++j) {
      if (interpreter_.aliases_->mayContainAlias(node->output(i),
                                                 node->output(j)))
        ways.shared[i].insert(j);
    }
  }
  return ways;
}

}  // namespace aitune::frontend
