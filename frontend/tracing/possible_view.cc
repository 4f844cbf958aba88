// Operators that give a view where the memory of their tensor allows it, and
// elsewhere a copy or an error: which of them depends on sizes (an axis that is
// expanded to 1 stays as it is), and decides who sees a later write.
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/shared_memory.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

std::vector<int64_t> SizesAt(const TensorType& type,
                             absl::Span<const int64_t> point) {
  std::vector<int64_t> sizes;
  for (const SizeExpression& size : type.sizes)
    sizes.push_back(size.Evaluate(point));
  return sizes;
}

void AddSymbols(const TensorType& type, std::set<int>& symbols) {
  for (const SizeExpression& size : type.sizes) {
    const std::vector<int> read = SymbolsOf(size);
    symbols.insert(read.begin(), read.end());
  }
}

// An argument that reads no value of the trace.
SizeFunctionRef FunctionOfArgument(const ArgumentTemplate& recipe) {
  switch (recipe.kind) {
    case ArgumentTemplate::Kind::kSize:
      return SizeFunction::Size(recipe.size);
    case ArgumentTemplate::Kind::kList: {
      std::vector<SizeFunctionRef> elements;
      for (const ArgumentTemplate& child : recipe.children)
        elements.push_back(FunctionOfArgument(child));
      return SizeFunction::Container(SizeFunction::Kind::kList,
                                     c10::ListType::create(recipe.type), {},
                                     std::move(elements));
    }
    default:
      return SizeFunction::Fixed(recipe.fixed);
  }
}

bool IsContiguous(const TracedStorage& storage) {
  return std::all_of(storage.base_tensors.begin(), storage.base_tensors.end(),
                     [](const at::Tensor& t) { return t.is_contiguous(); });
}

// Whether `result` is a view of `self`, whatever the sizes: the probes' share
// memory that is contiguous.
bool IsSurelyView(const ProbedValue& self, const ProbedValue& result) {
  for (size_t probe = 0; probe < result.probes.size(); ++probe) {
    const at::Tensor& source = self.tensor(probe);
    if (!source.is_contiguous() || !result.tensor(probe).is_alias_of(source))
      return false;
  }
  return true;
}

}  // namespace

bool ReadsOtherValues(const ViewStep& step) {
  std::vector<ValueId> values;
  for (size_t i = 1; i < step.arguments.size(); ++i)
    CollectValues(step.arguments[i], values);
  return !values.empty();
}

std::optional<std::vector<int64_t>> AxisOrder(const TracedStorage& storage) {
  const at::Tensor& first = storage.base_tensors[0];
  std::vector<int64_t> order(static_cast<size_t>(first.dim()));
  std::iota(order.begin(), order.end(), 0);
  // As it is, where axes of one element could be anywhere.
  if (IsContiguous(storage)) return order;
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return first.stride(a) > first.stride(b);
  });
  for (const at::Tensor& base : storage.base_tensors) {
    if (base.dim() != first.dim() || !base.permute(order).is_contiguous())
      return std::nullopt;
  }
  return order;
}

at::Tensor PossibleView::SelfAt(absl::Span<const int64_t> point) const {
  const at::TensorOptions meta = at::TensorOptions().device(at::kMeta);
  const std::vector<int64_t> sizes = SizesAt(base_type, point);
  std::vector<int64_t> outer_first, axes(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto axis = static_cast<size_t>((*axis_order)[i]);
    outer_first.push_back(sizes[axis]);
    axes[axis] = static_cast<int64_t>(i);
  }
  at::Tensor self = at::empty(outer_first, meta).permute(axes);
  for (const ViewStep& step : path) {
    std::vector<c10::IValue> stack = {self};
    for (size_t i = 1; i < step.arguments.size(); ++i)
      stack.push_back(Materialize(step.arguments[i], point, nullptr));
    c10::Dispatcher::singleton()
        .findSchemaOrThrow(step.name.c_str(), step.overload.c_str())
        .callBoxed(stack);
    self = stack.at(0).toTensor();
  }
  return self;
}

bool PossibleView::SharesAt(absl::Span<const int64_t> point) const {
  const at::Tensor self = SelfAt(point);
  const at::Tensor result = memory_format ? self.contiguous(*memory_format)
                                          : self.reshape(SizesAt(type, point));
  return self.numel() == 0 ? shared : result.is_alias_of(self);
}

std::optional<PossibleView> Interpreter::FindView(
    const Invocation& call, const ProbedValue& result) const {
  if (region_.ranges().empty() || !result.IsTensor() || !result.has_type ||
      !call.arguments[0]->IsTensor())
    return std::nullopt;
  const ProbedValue& self = *call.arguments[0];
  if (self.storage->unknown_views ||
      std::any_of(self.views.begin(), self.views.end(), ReadsOtherValues))
    return std::nullopt;
  std::set<int> symbols;
  AddSymbols(self.storage->base_type, symbols);
  for (const ViewStep& step : self.views) AddSymbols(step.type, symbols);
  AddSymbols(result.type, symbols);
  if (symbols.empty()) return std::nullopt;
  PossibleView view;
  view.source = self.storage;
  view.result = result.storage;
  view.base_type = self.storage->base_type;
  view.axis_order = AxisOrder(*self.storage);
  view.path = self.views;
  view.type = result.type;
  if (call.schema->name() == "aten::contiguous")
    view.memory_format = call.arguments.at(1)->probes[0].toMemoryFormat();
  view.shared = self.storage == result.storage;
  view.symbols.assign(symbols.begin(), symbols.end());
  view.what = Reason(absl::StrCat("whether ", call.schema->name(),
                                  " gives a view depends on the size"));
  return view;
}

void Interpreter::NotePossibleView(const Invocation& call,
                                   ProbedValue& result) {
  const bool may_sum = call.schema->name() == "aten::sum_to_size";
  if (!may_sum && !GivesViewOrCopy(call.schema->name())) return;
  ProbedValue& self = *call.arguments[0];
  if (KnownSizes(self) != nullptr && KnownSizes(result) != nullptr &&
      region_.ranges().empty())
    return;
  if (!may_sum) {
    if (std::optional<PossibleView> view = FindView(call, result)) {
      possible_views_.push_back(*std::move(view));
      return;
    }
    if (self.IsTensor() && result.IsTensor() && result.has_type) {
      // A copy may be a view elsewhere, of memory to which no way is known:
      // neither is written then.
      if (self.storage != result.storage &&
          (self.storage->unknown_views ||
           std::any_of(self.views.begin(), self.views.end(), ReadsOtherValues)))
        result.storage->unknown_views = true;
      return;
    }
  }
  if (IsSurelyView(self, result)) return;
  NoteSharing(self, result);
  for (const auto& [name, content] : environment_) {
    if (content != nullptr && ShareMemory(*content, self))
      NoteSharing(*content, result);
  }
}

absl::Status Interpreter::CheckView(const Invocation& call,
                                    const ProbedValue& result) {
  if (call.schema->name() != "aten::view") return absl::OkStatus();
  const std::optional<PossibleView> view = FindView(call, result);
  if (!view || view->path.empty() || !view->axis_order) return absl::OkStatus();
  const auto holds = [&](absl::Span<const int64_t> point) {
    bool found = false;
    const absl::Status status =
        CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
          const at::Tensor self = view->SelfAt(point);
          found = true;
          self.view(SizesAt(view->type, point));
          return absl::OkStatus();
        });
    // Where operators before it raise, they raise there too.
    return status.ok() || !found;
  };
  if (!holds(region_.anchor()) ||
      !region_.Restrict(view->symbols, holds, {}, view->what))
    return absl::OkStatus();
  return KeepProbes("whether a view is possible");
}

std::optional<SizeFunctionRef> Interpreter::StridedShapeOf(
    const ProbedValue& tensor) const {
  const TracedStorage& storage = *tensor.storage;
  if (storage.unknown_views || !IsContiguous(storage) ||
      std::any_of(tensor.views.begin(), tensor.views.end(), ReadsOtherValues))
    return std::nullopt;
  SizeFunctionRef function = SizeFunction::Shape(
      storage.base_type.sizes, ToScalarType(storage.base_type.dtype));
  for (const ViewStep& step : tensor.views) {
    const c10::OperatorHandle handle =
        c10::Dispatcher::singleton().findSchemaOrThrow(step.name.c_str(),
                                                       step.overload.c_str());
    std::vector<SizeFunctionRef> arguments = {std::move(function)};
    for (size_t i = 1; i < step.arguments.size(); ++i)
      arguments.push_back(FunctionOfArgument(step.arguments[i]));
    function = SizeFunction::Call(handle, std::move(arguments));
  }
  return function;
}

absl::Status Interpreter::SettlePossibleViews(const TracedStorage& written) {
  std::vector<PossibleView> concerned;
  for (size_t i = possible_views_.size(); i-- > 0;) {
    const std::shared_ptr<TracedStorage> source =
        possible_views_[i].source.lock();
    const std::shared_ptr<TracedStorage> result =
        possible_views_[i].result.lock();
    // What nobody reads any more may be written by anyone.
    const bool alive = source != nullptr && result != nullptr;
    if (alive && source.get() != &written && result.get() != &written) continue;
    if (alive) concerned.push_back(std::move(possible_views_[i]));
    possible_views_.erase(possible_views_.begin() +
                          static_cast<std::ptrdiff_t>(i));
  }
  for (const PossibleView& view : concerned) {
    if (!view.axis_order)
      return absl::UnimplementedError(
          absl::StrCat(view.what, ", and the tensor has gaps in its memory"));
    const auto holds = [&](absl::Span<const int64_t> point) {
      bool same = true;
      // Sizes at which the operators raise stay: they raise there too.
      (void)CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        same = view.SharesAt(point) == view.shared;
        return absl::OkStatus();
      });
      return same;
    };
    if (!holds(region_.anchor()))
      return absl::UnimplementedError(absl::StrCat(
          "a tensor is written, and it is not known who sees it: ", view.what));
    region_.Restrict(view.symbols, holds, {}, view.what);
    AITUNE_RETURN_IF_ERROR(KeepProbes("who sees a write"));
  }
  return absl::OkStatus();
}

}  // namespace aitune::frontend
