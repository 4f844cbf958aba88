#include "frontend/reduce/search.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/reduce/graph_edits.h"
#include "frontend/reduce/subset.h"
#include "frontend/reduce/tensor_edits.h"
#include "runtime/status/status_macros.h"

namespace aitune::reduce {
namespace {

class Search {
 public:
  explicit Search(const SearchOptions& options) : options_(options) {}

  absl::Status Start(const Program& program) {
    AITUNE_ASSIGN_OR_RETURN(recording_, RunEager(program));
    best_ = program;
    verdicts_[Fingerprint(program)] = true;
    return absl::OkStatus();
  }

  absl::StatusOr<SearchResult> Finish() && {
    if (!status_.ok()) return status_;
    return SearchResult{std::move(best_), tried_, !stopped_};
  }

  void Run() {
    Try(WithoutMutation(best_));
    Try(WithoutControlFlow(best_, recording_));
    std::string before;
    while (!Ended() && Fingerprint(best_) != before) {
      before = Fingerprint(best_);
      ReduceOutputs();
      DropLaterNodes();
      ReduceOutputs();
      DropEarlierNodes();
      RemoveNodes(Filling::kRecorded);
      RemoveNodes(Filling::kOperand);
      MergeAllInputs();
      if (!options_.shrink_tensors) continue;
      ShrinkExtents();
      ShrinkAxes();
      SimplifyElements();
    }
  }

 private:
  bool Ended() {
    if (!stopped_ && options_.stop && options_.stop()) stopped_ = true;
    return stopped_ || !status_.ok();
  }

  // Whether the candidate fails; it is then the best one.
  bool Try(const std::optional<Program>& candidate) {
    if (!candidate || Ended()) return false;
    const std::string fingerprint = Fingerprint(*candidate);
    if (const auto known = verdicts_.find(fingerprint);
        known != verdicts_.end())
      return known->second && fingerprint == Fingerprint(best_);
    bool& verdict = verdicts_[fingerprint];
    verdict = false;
    absl::StatusOr<Recording> recording = RunEager(*candidate);
    if (!recording.ok()) return false;  // nothing to compare with
    ++tried_;
    if (options_.progress) options_.progress(OperatorCount(best_), tried_);
    const absl::StatusOr<bool> fails = options_.fails(*candidate);
    if (!fails.ok()) status_ = fails.status();
    if (Ended() || !*fails) return false;
    verdict = true;
    best_ = *candidate;
    recording_ = *std::move(recording);
    if (options_.improved) status_ = options_.improved(best_);
    return true;
  }

  void ReduceOutputs() {
    const Program base = best_;
    const Recording recording = recording_;
    const int count = OutputCount(base, recording);
    if (count == 1) {
      Try(KeepOutputs(base, recording, {true}));  // without containers
      return;
    }
    for (int i = 0; i < count && !Ended(); ++i) {
      std::vector<bool> keep(count);
      keep[i] = true;
      if (Try(KeepOutputs(base, recording, keep))) return;
    }
    MinimizeSubset(count, [&](const std::vector<bool>& keep) {
      return !Ended() && Try(KeepOutputs(base, recording, keep));
    });
  }

  // The first node after which the program may end.
  void DropLaterNodes() {
    const Program base = best_;
    const Recording recording = recording_;
    int low = 0, high = TopNodeCount(base) - 1;
    while (low < high && !Ended()) {
      const int middle = (low + high) / 2;
      if (Try(CutAfter(base, recording, middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
  }

  // The last node before which the program may start.
  void DropEarlierNodes() {
    const Program base = best_;
    const Recording recording = recording_;
    const int count = NodeCount(base);
    int low = 0, high = count - 1;
    while (low < high && !Ended()) {
      const int middle = (low + high + 1) / 2;
      std::vector<bool> keep(count);
      for (int i = middle; i < count; ++i) keep[i] = true;
      if (Try(KeepNodes(base, recording, keep, Filling::kRecorded))) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
  }

  void RemoveNodes(Filling filling) {
    const Program base = best_;
    const Recording recording = recording_;
    MinimizeSubset(NodeCount(base), [&](const std::vector<bool>& keep) {
      return !Ended() && Try(KeepNodes(base, recording, keep, filling));
    });
  }

  void MergeAllInputs() {
    for (int from = static_cast<int>(best_.inputs.size()) - 1;
         from > 0 && !Ended(); --from) {
      for (int to = 0; to < from; ++to) {
        if (from < static_cast<int>(best_.inputs.size()) &&
            Try(MergeInputs(best_, from, to)))
          break;
      }
    }
  }

  // Tries size 1, then half of `size` and half of that.
  template <typename Resized>
  void ShrinkSize(int64_t size, Resized resized) {
    if (size < 2 || Try(resized(best_, size, int64_t{1}))) return;
    while (size > 3 && !Ended() && Try(resized(best_, size, size / 2)))
      size /= 2;
  }

  void ShrinkExtents() {
    for (const int64_t extent : Extents(best_)) {
      for (const bool numbers : {true, false}) {
        ShrinkSize(extent,
                   [&](const Program& program, int64_t from, int64_t to) {
                     return ResizeExtent(program, from, to, numbers);
                   });
      }
    }
  }

  void ShrinkAxes() {
    for (size_t input = 0; input < best_.inputs.size(); ++input) {
      if (!best_.inputs[input].isTensor()) continue;
      const int axes = static_cast<int>(best_.inputs[input].toTensor().dim());
      for (int axis = 0; axis < axes && !Ended(); ++axis) {
        ShrinkSize(best_.inputs[input].toTensor().size(axis),
                   [&](const Program& program, int64_t, int64_t to) {
                     return ResizeAxis(program, static_cast<int>(input), axis,
                                       to);
                   });
      }
    }
  }

  // All tensors at once, then each.
  void SimplifyElements() {
    const int count = TensorCount(best_);
    for (const Fill fill : {Fill::kZeros, Fill::kOnes, Fill::kRounded}) {
      if (Try(FillTensors(best_, std::vector<bool>(count, true), fill)))
        continue;
      for (int i = 0; i < count && !Ended(); ++i) {
        std::vector<bool> chosen(count);
        chosen[i] = true;
        Try(FillTensors(best_, chosen, fill));
      }
    }
  }

  const SearchOptions& options_;
  Program best_;
  Recording recording_;  // of best_
  // By fingerprint, of all programs that were tried.
  std::unordered_map<std::string, bool> verdicts_;
  int tried_ = 0;
  bool stopped_ = false;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<SearchResult> Reduce(const Program& program,
                                    const SearchOptions& options) {
  Search search(options);
  AITUNE_RETURN_IF_ERROR(search.Start(program));
  search.Run();
  return std::move(search).Finish();
}

}  // namespace aitune::reduce
