#include "frontend/backends/compiled/version_notes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/compiled_model/build_logs.h"
#include "runtime/control/control.h"
#include "runtime/logging/logging.h"

namespace aitune::frontend {
void VersionNotes::Add(const BuildReport& report, const std::string& model) {
  LogBuild(report, model);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!report.tuning.note.empty())
    texts_.insert(absl::StrCat("the search of schedules: ", report.tuning.note));
  for (const QuantizedLayer& layer : report.quantized_layers) {
    if (!layer.refusal.empty())
      texts_.insert(
          absl::StrCat(layer.layer, " is not quantised: ", layer.refusal));
  }
  for (const WrongCandidate& wrong : report.wrong) {
    texts_.insert(absl::StrCat(wrong.candidate, " of ", wrong.kernel,
                               " was wrong and is replaced by ",
                               wrong.replacement, ": ", wrong.reason));
    if (std::none_of(
            wrong_.begin(), wrong_.end(),
            [&](const WrongCandidate& known) { return IsSame(known, wrong); }))
      wrong_.push_back(wrong);
  }
  for (const FallbackOp& op : report.fallbacks) {
    texts_.insert(absl::StrCat("LibTorch runs ", TextOf(op)));
  }
}

void VersionNotes::AddWrong(const std::string& problem,
                            const std::string& model) {
  const std::string text = absl::StrCat(
      "LibTorch runs calls whose version differed from eager: ", problem);
  Log(LogChannel::kWarning, absl::StrCat(model, ": ", text));
  const std::lock_guard<std::mutex> lock(mutex_);
  texts_.insert(text);
}

std::vector<std::string> VersionNotes::Texts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {texts_.begin(), texts_.end()};
}

std::vector<WrongCandidate> VersionNotes::wrong() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return wrong_;
}

void VersionNotes::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  texts_.clear();
  wrong_.clear();
}

absl::Status CheckFullGraph(const BuildReport& report) {
  std::string refused;
  int breaks = 0;
  for (const FallbackOp& op : report.fallbacks) {
    if (!IsAllowedInGraph(op.op) && breaks++ == 0) refused = TextOf(op);
  }
  if (breaks == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "fullgraph=True, but LibTorch would have to run ", breaks,
      breaks == 1 ? " operator: " : " operators, the first ", refused,
      ". Allow it with allow_in_graph, or set fullgraph to False."));
}

}  // namespace aitune::frontend
