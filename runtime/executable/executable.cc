#include "runtime/executable/executable.h"

#include "absl/container/inlined_vector.h"
#include "runtime/executable/input_binding.h"
#include "runtime/executable/loaded_plan.h"
#include "runtime/status/status_macros.h"

namespace aitune {

absl::StatusOr<std::vector<std::vector<int64_t>>> Executable::OutputSizes(
    absl::Span<const TensorView> inputs) const {
  absl::InlinedVector<int64_t, 16> symbols(binding_.symbol_count());
  AITUNE_RETURN_IF_ERROR(binding_.Bind(inputs, absl::MakeSpan(symbols)));
  return loaded_plan_.OutputSizes(symbols);
}

const ExecutablePlan& Executable::plan() const { return loaded_plan_.plan(); }

}  // namespace aitune
