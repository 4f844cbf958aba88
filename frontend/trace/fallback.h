// Makes the fallback regions of a plan: the operators of a trace that LibTorch
// runs because the compiler does not support them.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_FALLBACK_H_
#define AITUNE_FRONTEND_TRACE_FALLBACK_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/trace/recorded_op.h"
#include "frontend/trace/trace.h"
#include "runtime/device/device.h"
#include "runtime/executable/fallback_region.h"

namespace aitune::frontend {

// The data of a trace that all of its regions share.
struct RecordedTrace {
  std::vector<RecordedOp> ops;  // one for each operator of the trace
  // By operator: its schema's name and overload.
  std::vector<std::pair<std::string, std::string>> schemas;
  std::vector<TraceValue> values;
  std::vector<ConstantTensor> constants;
};

// A region that runs ops[i] for each i of `op_indices`, in order. Values that
// are neither inputs nor results of an earlier operator must be constants;
// reading another is an error when the region runs. The region runs on
// the device of `place`: its inputs are there, and on a GPU constants and
// devices among the operators' arguments are moved there.
std::unique_ptr<FallbackRegion> MakeFallbackRegion(
    std::shared_ptr<const RecordedTrace> trace,
    const std::vector<int>& op_indices, const std::vector<ValueId>& inputs,
    const std::vector<ValueId>& outputs, const RegionPlace& place = {});

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_FALLBACK_H_
