// Which axes of a model's inputs are the batch and which are dynamic, found out
// from the sizes that samples came with.
#ifndef AITUNE_RUNTIME_STRATEGY_AXIS_DETECTION_H_
#define AITUNE_RUNTIME_STRATEGY_AXIS_DETECTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/graph_spec.h"
#include "runtime/backend/source_model.h"

namespace aitune {

// A sample and how many items it holds.
struct BatchedSample {
  int64_t batch = 1;
  Sample inputs;  // tensors; only their types are looked at
};

// An axis with one size in all samples is fixed. Of the others, one whose size
// over the batch size is the same in all is a batch axis, the rest are dynamic:
// [1, 2, 3, 4] at batch 1 and [2, 8, 6, 4] at batch 2 give
// [batch0, dim1, batch2, 4]. kInvalidArgument, naming the input, for no
// samples, a batch size below 1, samples with different numbers of inputs,
// ranks or dtypes, and inputs that are no tensors.
absl::StatusOr<GraphSpec> DetectAxes(absl::Span<const BatchedSample> samples);

// The sample with its batch axes repeated or cut to `batch` items; the i-th
// item is the sample's i modulo its number of items. Other axes stay. The
// tensors must be in memory that the CPU can read. kInvalidArgument when the
// sample does not fit `spec` or an axis has no whole size at this batch.
absl::StatusOr<Sample> RepeatToBatch(const Sample& sample,
                                     const GraphSpec& spec, int64_t batch);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_STRATEGY_AXIS_DETECTION_H_
