#include "compiler/schedule/CudaSpace.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/gpu/Generate.h"
#include "compiler/dialect/KernelAttributes.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {

absl::StatusOr<KernelSpace>
listCudaSpace(func::FuncOp kernel, ArrayAttr symbols, const GpuTarget &target) {
  AITUNE_ASSIGN_OR_RETURN(std::vector<Schedule> schedules,
                          listCudaSchedules(kernel, symbols, target));
  const std::optional<ait::KernelKind> known = ait::getKernelKind(kernel);
  const std::string kind =
      known ? ait::stringifyKernelKind(*known).str() : "unknown";
  if (schedules.empty())
    return absl::UnimplementedError(
        absl::StrCat("this ", kind, " kernel has no parameters on a GPU"));
  KernelSpace space;
  space.form = absl::StrCat("cuda ", kind);
  space.schedules = std::move(schedules);
  Schedule unsearched{"{}", "as without a search",
                      space.schedules.front().features};
  space.schedules.insert(space.schedules.begin(), std::move(unsearched));
  return space;
}

} // namespace aitune
