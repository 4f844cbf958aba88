#include "frontend/tracing/region_layouts.h"

#include <c10/util/strides.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/any_node.h"
#include "frontend/torchscript/written_arguments.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/outlining_rules.h"
#include "frontend/tracing/region_runner.h"
#include "frontend/tracing/shared_memory.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// Whether the rows of the tensor lie one behind the other. `with_strides`: and
// the strides of axes of one element, which hold no two elements apart, say so.
bool IsContiguous(const ProbedValue& tensor, bool with_strides) {
  return std::all_of(
      tensor.probes.begin(), tensor.probes.end(),
      [&](const c10::IValue& probe) {
        const at::Tensor& here = probe.toTensor();
        if (here.numel() == 0) return true;
        return here.is_contiguous() &&
               (!with_strides ||
                here.strides() ==
                    at::IntArrayRef(c10::contiguous_strides(here.sizes())));
      });
}

}  // namespace

bool HaveOneLayout(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0) return true;
  for (int64_t axis = 0; axis < a.dim(); ++axis) {
    if (a.size(axis) > 1 && a.stride(axis) != b.stride(axis)) return false;
  }
  return true;
}

RecordedProgram WithLayouts(RecordedProgram program,
                            std::vector<TensorLayout> layouts, size_t count) {
  const auto shared =
      std::make_shared<const std::vector<TensorLayout>>(std::move(layouts));
  const auto laid_out = [shared, count](RecordedFunction run) {
    return
        [shared, count, run = std::move(run)](std::vector<c10::IValue>& stack) {
          size_t next = count;
          for (const TensorLayout& layout : *shared) {
            const at::Tensor memory = stack.at(layout.place).toTensor();
            stack[layout.place] = layout.views.Apply(
                memory.contiguous().permute(layout.axes), stack, next);
          }
          stack.resize(count);
          run(stack);
        };
  };
  RecordedProgram wrapped = program;
  wrapped.run = laid_out(std::move(program.run));
  if (program.on_device) {
    wrapped.on_device = [laid_out, on_device = std::move(program.on_device)](
                            c10::Device device) -> RecordedFunction {
      return laid_out(on_device(device));
    };
  }
  return wrapped;
}

bool WritesPossibleViews(Node* node, torch::jit::AliasDb& aliases) {
  std::vector<Value*> written, given;
  const auto visit = [&](Node* inner) {
    if (GivesViewOrCopy(inner->kind().toQualString()))
      given.push_back(inner->output());
    if (!WritesOnlyContainer(*inner)) {
      for (const size_t i : WrittenArguments(*inner))
        written.push_back(inner->input(i));
    }
    return false;
  };
  for (Block* block : node->blocks()) AnyNode(block, visit);
  return std::any_of(given.begin(), given.end(), [&](Value* result) {
    return std::any_of(written.begin(), written.end(), [&](Value* target) {
      return aliases.mayContainAlias(target, result);
    });
  });
}

c10::Symbol CloneOfMemoryKind() {
  static const auto* const registered =
      new torch::jit::RegisterOperators({torch::jit::Operator(
          "aitune::clone_of_memory(Tensor x) -> Tensor",
          [](torch::jit::Stack& stack) {
            const at::Tensor tensor = torch::jit::pop(stack).toTensor();
            stack.emplace_back(OnStorage(tensor, CopyOfStorage(tensor)));
          },
          c10::AliasAnalysisKind::FROM_SCHEMA)});
  (void)registered;
  static const c10::Symbol symbol =
      c10::Symbol::fromQualString("aitune::clone_of_memory");
  return symbol;
}

bool RegionRunner::HasKnownLayout(const ProbedValue& tensor) const {
  if (!tensor.has_type || tensor.storage->unknown_views ||
      std::any_of(tensor.views.begin(), tensor.views.end(), ReadsOtherValues))
    return false;
  PossibleView view;
  view.base_type = tensor.storage->base_type;
  view.axis_order = AxisOrder(*tensor.storage);
  view.path = tensor.views;
  if (!view.axis_order ||
      view.axis_order->size() != view.base_type.sizes.size())
    return false;
  return CatchExceptions(
             absl::StatusCode::kInternal, "",
             [&] {
               for (size_t i = 0; i < tensor.probes.size(); ++i) {
                 const at::Tensor& here = tensor.tensor(i);
                 const at::Tensor self =
                     view.SelfAt(interpreter_.fitter_.probes().at(i));
                 if (self.sizes() != here.sizes() || !HaveOneLayout(self, here))
                   return absl::UnimplementedError("another layout");
               }
               return absl::OkStatus();
             })
      .ok();
}

absl::Status RegionRunner::FindLayouts(NodeRegion& region) const {
  if (region.node->blocks().empty()) return absl::OkStatus();
  const bool shows = interpreter_.asks_for_layout_ ||
                     WritesPossibleViews(region.node, *interpreter_.aliases_);
  if (!shows && !NeedsViews(interpreter_.graph_->block()))
    return absl::OkStatus();
  for (size_t i = 0; i < region.contents.size(); ++i) {
    std::vector<ProbedRef> tensors;
    CollectTensors(region.contents[i], tensors);
    for (const ProbedRef& tensor : tensors) {
      if (IsContiguous(*tensor, /*with_strides=*/interpreter_.asks_for_layout_))
        continue;
      if (tensor == region.contents[i] && HasKnownLayout(*tensor)) {
        region.laid_out.push_back(i);
      } else if (shows) {
        return absl::UnimplementedError(
            absl::StrCat("the result depends on how a tensor lies in memory, "
                         "and it is not known what that is where ",
                         region.reason));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ArgumentTemplate> RegionRunner::MemoryOf(
    const ProbedValue& tensor) {
  TracedStorage& storage = *tensor.storage;
  AITUNE_ASSIGN_OR_RETURN(
      const ValueId base,
      interpreter_.functionalizer_.ReadBase(storage, tensor.name));
  const std::vector<int64_t> order = *AxisOrder(storage);
  if (std::is_sorted(order.begin(), order.end()))
    return ArgumentTemplate::Value(base);
  TensorType type = storage.base_type;
  std::vector<SizeExpression> axes;
  for (size_t i = 0; i < order.size(); ++i) {
    type.sizes[i] = storage.base_type.sizes[static_cast<size_t>(order[i])];
    axes.emplace_back(order[i]);
  }
  return ArgumentTemplate::Value(interpreter_.builder_.AddFunctionalCall(
      "aten::permute", "",
      {ArgumentTemplate::Value(base), ArgumentTemplate::IntList(axes)}, type));
}

RecordedProgram RegionRunner::ProgramWithLayouts(
    const NodeRegion& region, std::vector<ArgumentTemplate>& recipes) const {
  if (region.laid_out.empty()) return region.program;
  const size_t count = recipes.size();
  std::vector<TensorLayout> layouts;
  for (const size_t place : region.laid_out) {
    const ProbedValue& tensor = *region.contents[place];
    const std::vector<int64_t> order = *AxisOrder(*tensor.storage);
    std::vector<int64_t> axes(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      axes[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    layouts.push_back(
        {place, std::move(axes), RecordedViews(tensor.views, recipes)});
  }
  return WithLayouts(region.program, std::move(layouts), count);
}

}  // namespace aitune::frontend
