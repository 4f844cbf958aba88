// Which axes change: the sizes that inputs came with so far, and from them the
// ranges to compile for next.
//
// The rule is torch.compile's: with `dynamic` unset, the first sizes are
// compiled as they are; an axis that comes with a second size is dynamic from
// then on, in that and all later versions. Sizes 0 and 1 are always compiled
// for themselves (they broadcast, and a dynamic kernel would have to ask). Axes
// that had equal sizes in every call share a symbol: batch axes of several
// inputs usually do.
#ifndef AITUNE_RUNTIME_GUARDS_SIZE_HISTORY_H_
#define AITUNE_RUNTIME_GUARDS_SIZE_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/backend/graph_spec.h"
#include "runtime/guards/input_description.h"

namespace aitune {

struct DynamicOptions {
  // Unset: an axis becomes dynamic at its second size. False: never. True: all
  // axes from the first.
  std::optional<bool> dynamic;
  // The range of a dynamic axis. Sizes outside are compiled for themselves.
  int64_t min_size = 2;
  int64_t max_size = AxisRange::kUnbounded;
  // What samples said: batch and dynamic axes of it are dynamic from the first,
  // unless `dynamic` is false. Its inputs are the tensors of a call, in order.
  std::optional<GraphSpec> spec;
};

// Not thread-safe.
class SizeHistory {
 public:
  explicit SizeHistory(DynamicOptions options) : options_(std::move(options)) {}

  // Notes the sizes of a call that is to be compiled, and gives the inputs to
  // compile for: the call's own, with dynamic axes as ranges. The axes that
  // became dynamic by this call are told in `notes`, if it is not null.
  std::vector<InputDescription> Next(absl::Span<const CallInput> inputs,
                                     std::vector<std::string>* notes);

 private:
  // Calls that differ in sizes alone.
  struct Group {
    // sizes[call][axis], the axes of all inputs one after another.
    std::vector<std::vector<int64_t>> sizes;
  };

  bool IsDynamic(const Group& group, size_t flat_axis, int tensor, int axis,
                 int64_t size) const;

  DynamicOptions options_;
  std::map<std::string, Group> groups_;  // by everything but sizes
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_GUARDS_SIZE_HISTORY_H_
