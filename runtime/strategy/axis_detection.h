// Finds which axes of a model's inputs are batch axes and which are dynamic, by
// comparing the sizes of several samples.
#ifndef AITUNE_RUNTIME_STRATEGY_AXIS_DETECTION_H_
#define AITUNE_RUNTIME_STRATEGY_AXIS_DETECTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/graph_spec.h"
#include "runtime/backend/source_model.h"

namespace aitune {

struct BatchedSample {
  int64_t batch = 1;  // number of items in the sample
  Sample inputs;      // tensors, of which only dtypes and sizes are read
};

// An axis with one size in all samples is fixed. Of the other axes, those whose
// size divided by the batch size is the same in all samples are batch axes, and
// the rest are dynamic: [1, 2, 3, 4] at batch 1 and [2, 8, 6, 4] at batch 2
// give [batch0, dim1, batch2, 4]. kInvalidArgument, naming the input, for no
// samples, a batch size below 1, samples with different numbers of inputs,
// ranks or dtypes, and inputs that are no tensors. Thread-safe.
absl::StatusOr<GraphSpec> DetectAxes(absl::Span<const BatchedSample> samples);

// The sample with its batch axes repeated or cut to `batch` items: item i of
// the result is item i modulo N of the sample, which has N items. Other axes
// stay as they are, and so does what is no tensor, which `spec` leaves out. The
// result owns its tensors' memory. The sample's must be in memory that the CPU
// can read. kInvalidArgument when the tensors do not fit `spec`, or when the
// size of an axis at this batch is not a whole number. Thread-safe.
absl::StatusOr<Sample> RepeatToBatch(const Sample& sample,
                                     const GraphSpec& spec, int64_t batch);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_STRATEGY_AXIS_DETECTION_H_
