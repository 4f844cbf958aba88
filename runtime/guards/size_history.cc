#include "runtime/guards/size_history.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aitune {
namespace {

// Everything of a call but sizes, as text.
std::string GroupName(absl::Span<const CallInput> inputs) {
  std::string name;
  for (const CallInput& input : inputs) {
    if (input.kind == InputKind::kTensor) {
      absl::StrAppend(&name, std::string(Name(input.dtype)), " ",
                      input.sizes.size(), " ", std::string(Name(input.layout)),
                      " ", std::string(input.device), ";");
    } else {
      const std::string text = ToString(input);
      absl::StrAppend(&name, static_cast<int>(input.kind), " ", text.size(),
                      ":", text, ";");
    }
  }
  return name;
}

// Whether two axes had the same size in every call.
bool AlwaysEqual(const std::vector<std::vector<int64_t>>& sizes, size_t a,
                 size_t b) {
  return std::all_of(
      sizes.begin(), sizes.end(),
      [a, b](const std::vector<int64_t>& call) { return call[a] == call[b]; });
}

// Calls of a group that are remembered whatever they show, for the notes.
constexpr size_t kKeptCalls = 16;
// Groups that are remembered: constants in calls make more of them.
constexpr size_t kMostGroups = 256;

// Whether a call shows what the `known` ones, which have as many axes, do not:
// that an axis has several sizes, or that two axes are not always equal.
bool ShowsMore(const std::vector<std::vector<int64_t>>& known,
               const std::vector<int64_t>& call) {
  // Axes that are always equal are so to the first of them.
  std::map<std::vector<int64_t>, int64_t> by_known;
  for (size_t axis = 0; axis < call.size(); ++axis) {
    std::vector<int64_t> sizes;
    for (const std::vector<int64_t>& one : known) sizes.push_back(one[axis]);
    const bool is_fixed = std::all_of(sizes.begin(), sizes.end(),
                                      [&](int64_t s) { return s == sizes[0]; });
    if (is_fixed && call[axis] != sizes[0]) return true;
    const auto [equal, is_new] = by_known.emplace(std::move(sizes), call[axis]);
    if (!is_new && equal->second != call[axis]) return true;
  }
  return false;
}

// Remembers a call, unless nothing follows from it. There are no more of these
// than two for each axis, beside kKeptCalls.
void Add(const std::vector<int64_t>& call,
         std::vector<std::vector<int64_t>>& known) {
  if (std::find(known.begin(), known.end(), call) != known.end()) return;
  const bool are_alike =
      std::all_of(known.begin(), known.end(),
                  [&](const auto& one) { return one.size() == call.size(); });
  if (known.size() < kKeptCalls || (are_alike && ShowsMore(known, call)))
    known.push_back(call);
}

}  // namespace

bool SizeHistory::IsDynamic(const std::vector<std::vector<int64_t>>& calls,
                            size_t flat_axis, int tensor, int axis,
                            int64_t size) const {
  if (options_.dynamic == false) return false;
  if (size < options_.min_size || size > options_.max_size) return false;
  if (options_.dynamic == true) return true;
  if (options_.spec.has_value() &&
      tensor < static_cast<int>(options_.spec->inputs.size())) {
    const std::vector<GraphAxis>& axes = options_.spec->inputs[tensor].axes;
    if (axis < static_cast<int>(axes.size()) &&
        axes[axis].kind != GraphAxis::Kind::kFixed)
      return true;
  }
  const int64_t first = calls.front()[flat_axis];
  return std::any_of(calls.begin(), calls.end(),
                     [&](const std::vector<int64_t>& call) {
                       return call[flat_axis] != first;
                     });
}

std::vector<InputDescription> SizeHistory::Next(
    absl::Span<const CallInput> inputs, std::vector<std::string>* notes) {
  std::vector<std::vector<int64_t>> forgotten;
  const std::string name = GroupName(inputs);
  const bool is_kept = groups_.size() < kMostGroups || groups_.count(name) > 0;
  std::vector<std::vector<int64_t>>& calls =
      is_kept ? groups_[name] : forgotten;
  std::vector<int64_t> sizes;
  for (const CallInput& input : inputs)
    sizes.insert(sizes.end(), input.sizes.begin(), input.sizes.end());
  // What was stored may be damaged.
  calls.erase(std::remove_if(calls.begin(), calls.end(),
                             [&](const std::vector<int64_t>& call) {
                               return call.size() != sizes.size();
                             }),
              calls.end());
  Add(sizes, calls);

  std::vector<InputDescription> descriptions;
  std::vector<size_t> symbol_axes;  // symbol -> its first axis, flat
  size_t flat = 0;
  int tensor = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    InputDescription description = InputDescription::Of(inputs[i]);
    for (size_t a = 0; a < description.axes.size(); ++a, ++flat) {
      if (!IsDynamic(calls, flat, tensor, static_cast<int>(a), sizes[flat]))
        continue;
      AxisRange& axis = description.axes[a];
      axis.min = options_.min_size;
      axis.max = options_.max_size;
      size_t symbol = 0;
      while (symbol < symbol_axes.size() &&
             !AlwaysEqual(calls, symbol_axes[symbol], flat))
        ++symbol;
      if (symbol == symbol_axes.size()) symbol_axes.push_back(flat);
      axis.symbol = static_cast<int>(symbol);
      if (notes == nullptr) continue;
      std::set<int64_t> seen = {sizes[flat]};
      for (const std::vector<int64_t>& call : calls) seen.insert(call[flat]);
      notes->push_back(absl::StrCat(
          "axis ", a, " of input ", i,
          " is dynamic, sizes so far: ", absl::StrJoin(seen, ", ")));
    }
    if (description.kind == InputKind::kTensor) ++tensor;
    descriptions.push_back(std::move(description));
  }
  return descriptions;
}

void SizeHistory::Remember(const Groups& groups) {
  for (const auto& [name, calls] : groups) {
    if (groups_.size() >= kMostGroups && groups_.count(name) == 0) continue;
    std::vector<std::vector<int64_t>>& known = groups_[name];
    for (const std::vector<int64_t>& sizes : calls) Add(sizes, known);
  }
}

}  // namespace aitune
