// Calls of a module that run while their caller does something else.
#include <ATen/core/ivalue.h>

#include <memory>
#include <utility>

#include "frontend/api/async_call.h"
#include "frontend/api/call_queue.h"
#include "frontend/api/module.h"
#include "frontend/api/module_calls.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace ait {

std::unique_ptr<AsyncCall> Module::RunAsync(
    const aitune::frontend::ValueList& arguments,
    const CallOptions& options) const {
  auto work = [this, arguments, outputs = options.outputs,
               owns_result =
                   options.owns_result]() -> absl::StatusOr<c10::IValue> {
    const bool copies = owns_result || outputs.has_value();
    AITUNE_ASSIGN_OR_RETURN(c10::IValue result,
                            copies ? RunOwned(arguments) : Run(arguments));
    if (owns_result)
      result = aitune::frontend::MapTensors(result, [](const at::Tensor& tensor,
                                                       int) {
        return aitune::frontend::SharesMemory(tensor) ? tensor.clone() : tensor;
      });
    if (outputs.has_value())
      AITUNE_RETURN_IF_ERROR(CopyResult(result, *outputs));
    AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                            aitune::Device::ParseCpuOrGpu(options_.device));
    if (!device.is_gpu()) return result;
    aitune::frontend::WaitForStream(device);
    AITUNE_RETURN_IF_ERROR(TakeFailedCheck());
    return result;
  };
  return queue_->Add(std::move(work), options);
}

}  // namespace ait
