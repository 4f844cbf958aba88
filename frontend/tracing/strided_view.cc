// aten::as_strided and aten::_reshape_alias: they speak of memory, which
// compiled code and regions lay out otherwise than eager does. In a trace they
// pick elements by their indices.
#include <ATen/Functions.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// For each element of `view`, which shares the memory of `self`, the index of
// that element in `self`, flattened. Nothing if memory between or beyond the
// elements of `self` is in it.
std::optional<at::Tensor> IndicesInto(const at::Tensor& self,
                                      const at::Tensor& view) {
  if (view.numel() == 0)
    return at::empty(view.sizes(), at::TensorOptions().dtype(at::kLong));
  const int64_t offset = view.storage_offset() - self.storage_offset();
  int64_t last = offset;
  for (int64_t axis = 0; axis < view.dim(); ++axis)
    last += (view.size(axis) - 1) * view.stride(axis);
  if (!self.is_non_overlapping_and_dense() || offset < 0 ||
      last >= self.numel())
    return std::nullopt;
  const at::Tensor indices = at::empty_strided(
      self.sizes(), self.strides(), at::TensorOptions().dtype(at::kLong));
  indices.copy_(at::arange(self.numel()).view(self.sizes()));
  return indices.as_strided(view.sizes(), view.strides(), offset).contiguous();
}

}  // namespace

absl::StatusOr<bool> Interpreter::SpeaksOfMemory(const Invocation& call) {
  const std::string& name = call.schema->name();
  if (name == "aten::as_strided") return true;
  if (name != "aten::_reshape_alias") return false;
  // With the strides of a reshape it is one.
  AITUNE_ASSIGN_OR_RETURN(std::vector<std::vector<c10::IValue>> executed,
                          Execute(call));
  for (size_t probe = 0; probe < executed.size(); ++probe) {
    const at::Tensor view = executed.at(probe)[0].toTensor();
    const std::optional<at::Tensor> indices =
        IndicesInto(call.arguments[0]->tensor(probe), view);
    if (!indices ||
        !at::equal(*indices, at::arange(view.numel()).view(view.sizes())))
      return true;
  }
  return false;
}

absl::Status Interpreter::SettleStridedView(const Invocation& call) {
  const std::string what =
      absl::StrCat("which elements ", call.schema->name(), " picks");
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    AITUNE_RETURN_IF_ERROR(Settle(call.arguments[i], what));
    for (const ProbedRef& number : call.arguments[i]->elements)
      AITUNE_RETURN_IF_ERROR(Settle(number, what));
  }
  const ProbedValue& source = *call.arguments[0];
  const TracedStorage& storage = *source.storage;
  // An input's elements lie in order, whatever its sizes.
  if (storage.input >= 0 && source.views.empty()) return absl::OkStatus();
  for (const std::vector<SizeExpression>* sizes :
       {&source.type.sizes, &storage.base_type.sizes}) {
    for (const SizeExpression& size : *sizes) {
      for (const int symbol : SymbolsOf(size))
        region_.Fix(symbol, Reason(absl::StrCat(what, " depends on the size")));
    }
  }
  return KeepProbes(what);
}

absl::StatusOr<Interpreter::Results> Interpreter::EmitStridedView(
    const Invocation& call) {
  const ProbedRef& source = call.arguments[0];
  AITUNE_RETURN_IF_ERROR(SettleStridedView(call));
  AITUNE_ASSIGN_OR_RETURN(std::vector<std::vector<c10::IValue>> executed,
                          Execute(call));
  auto result = std::make_shared<ProbedValue>();
  result->kind = ProbedValue::Kind::kTensor;
  std::optional<at::Tensor> indices;
  for (size_t probe = 0; probe < executed.size(); ++probe) {
    const at::Tensor view = executed.at(probe)[0].toTensor();
    const std::optional<at::Tensor> here =
        IndicesInto(source->tensor(probe), view);
    if (!here) {
      return absl::UnimplementedError(absl::StrCat(
          call.schema->name(), " reaches memory that is not its tensor's"));
    }
    if (indices && !at::equal(*indices, *here)) {
      return absl::UnimplementedError(absl::StrCat(
          call.schema->name(), " picks other elements for other sizes"));
    }
    indices = here;
    result->probes.emplace_back(view);
  }
  AITUNE_ASSIGN_OR_RETURN(const ValueId self, functionalizer_.Read(*source));
  result->type.dtype = source->type.dtype;
  for (const int64_t size : indices->sizes())
    result->type.sizes.emplace_back(size);
  result->has_type = true;
  result->id = builder_.AddFunctionalCall(
      "aten::take", "",
      {ArgumentTemplate::Value(self),
       ArgumentTemplate::Value(builder_.AddConstant(*indices, ""))},
      result->type);
  functionalizer_.ShareStorage(result, *source, ViewStep());
  return Results({std::move(result)});
}

}  // namespace aitune::frontend
