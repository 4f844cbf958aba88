// Remembers the sizes of earlier calls' inputs and decides from them which axes
// the next compiled version takes as dynamic.
//
// The rule is torch.compile's. With `dynamic` unset, the first version is
// compiled for exactly the first call's sizes; an axis that comes with a second
// size is dynamic in that and all later versions. Sizes below `min_size`, 0 and
// 1 by default, always get a version of their own: an axis of size 1
// broadcasts, for which a dynamic kernel would need a test. Axes that had equal
// sizes in every call share a symbol, as the batch axes of several inputs
// usually do.
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
  // Unset: an axis becomes dynamic at its second size. False: axes never become
  // dynamic. True: all axes are dynamic from the first version on.
  std::optional<bool> dynamic;
  // The range of a dynamic axis, in elements, both ends included. A size
  // outside of it gets a version of its own.
  int64_t min_size = 2;
  int64_t max_size = AxisRange::kUnbounded;
  // The axes found in samples: the batch and dynamic axes of `spec` are dynamic
  // from the first version on, unless `dynamic` is false. Its inputs are the
  // tensors of a call, in order.
  std::optional<GraphSpec> spec;
};

// Not thread-safe.
class SizeHistory {
 public:
  // By everything of a call but sizes, as text, the sizes of calls: those of
  // the axes of all inputs, one after another. Of many calls only those that
  // something follows from, and of many kinds of calls the first ones: a model
  // that refuses what it is called with is called again and again.
  using Groups = std::map<std::string, std::vector<std::vector<int64_t>>>;

  explicit SizeHistory(DynamicOptions options) : options_(std::move(options)) {}

  // Remembers the sizes of a call for which a version will be compiled, and
  // returns the inputs to compile for: those of the call, with dynamic axes as
  // ranges. Appends to `notes`, unless it is null, one line for each dynamic
  // axis with the sizes that it had.
  std::vector<InputDescription> Next(absl::Span<const CallInput> inputs,
                                     std::vector<std::string>* notes);

  // What it remembers, and what it is to remember beside it. Calls with another
  // number of axes than their group's are ignored.
  const Groups& groups() const { return groups_; }
  void Remember(const Groups& groups);

 private:
  bool IsDynamic(const std::vector<std::vector<int64_t>>& calls,
                 size_t flat_axis, int tensor, int axis, int64_t size) const;

  DynamicOptions options_;
  Groups groups_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_GUARDS_SIZE_HISTORY_H_
