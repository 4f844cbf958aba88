// Writes to memory that the same call reads at another place, such as
// `y[1:] += y[:-1]`. Eager raises, or reads what it has written a moment
// before: the functional form reads all of it first.
#include <ATen/Functions.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/shared_memory.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Elements of memory: of more, which the tensors share is not looked at.
constexpr int64_t kMostElements = int64_t{1} << 24;

bool IsSameView(const at::Tensor& a, const at::Tensor& b) {
  return a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

// Whether the tensors, of one memory and dtype, have an element in common.
bool HaveCommonElement(const at::Tensor& a, const at::Tensor& b) {
  const int64_t count =
      static_cast<int64_t>(a.storage().nbytes()) / a.element_size();
  if (a.numel() == 0 || b.numel() == 0 || count > kMostElements) return false;
  const at::Tensor marks = at::zeros({count}, at::kBool);
  marks.as_strided(a.sizes(), a.strides(), a.storage_offset()).fill_(true);
  return marks.as_strided(b.sizes(), b.strides(), b.storage_offset())
      .any()
      .item<bool>();
}

}  // namespace

absl::Status Interpreter::CheckOverlap(const Invocation& call,
                                       size_t written) const {
  const ProbedValue& target = *call.arguments[written];
  // Other operators read an element where they write it.
  const bool in_another_order = call.schema->name() == "aten::masked_scatter_";
  const auto has_its_memory = [&](const ProbedRef& argument) {
    return argument->IsTensor() && argument->storage == target.storage;
  };
  const auto reads_it = [&](size_t argument, size_t probe) {
    if (argument == written || !has_its_memory(call.arguments[argument]))
      return false;
    const at::Tensor &writes = target.tensor(probe),
                     &reads = call.arguments[argument]->tensor(probe);
    return writes.is_alias_of(reads) &&
           writes.scalar_type() == reads.scalar_type() &&
           (in_another_order || !IsSameView(writes, reads)) &&
           HaveCommonElement(writes, reads);
  };
  for (size_t probe = 0; probe < fitter_.probes().size(); ++probe) {
    bool overlaps = false;
    for (size_t i = 0; i < call.arguments.size(); ++i)
      overlaps = overlaps || reads_it(i, probe);
    if (!overlaps) continue;
    // Eager's error, if it is one for eager.
    AITUNE_RETURN_IF_ERROR(
        CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
          const at::Storage copy = CopyOfStorage(target.tensor(probe));
          std::vector<c10::IValue> stack;
          for (const ProbedRef& argument : call.arguments) {
            stack.push_back(ValueInProbe(*argument, probe));
            if (has_its_memory(argument))
              stack.back() = OnStorage(argument->tensor(probe), copy);
          }
          call.run(stack);
          return absl::OkStatus();
        }));
    return absl::UnimplementedError(absl::StrCat(
        call.schema->name(),
        " writes to elements that it also reads, where eager's result depends "
        "on the order"));
  }
  return absl::OkStatus();
}

}  // namespace aitune::frontend
