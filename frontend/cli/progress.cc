#include "frontend/cli/progress.h"

#include <unistd.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace aitune::cli {
namespace {

constexpr double kLineInterval = 0.1;
constexpr double kLogInterval = 10;

double SteadySeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Progress::Style Progress::StyleOfStandardError() {
  return isatty(STDERR_FILENO) ? Style::kLine : Style::kLog;
}

Progress::Progress(std::ostream& out, Style style,
                   std::function<double()> clock)
    : out_(out),
      style_(style),
      clock_(clock ? std::move(clock) : SteadySeconds) {
  start_ = clock_();
}

Progress::~Progress() { Finish(); }

void Progress::Update(const std::string& phase, int done, int total,
                      const std::string& detail) {
  if (style_ == Style::kSilent) return;
  const double now = clock_();
  // Two phases may take turns, and begin anew each time.
  const auto [found, new_phase] = phases_.try_emplace(phase);
  Phase& current = found->second;
  if (new_phase || done <= current.done) current.start = now;
  current.done = done;
  const double interval = style_ == Style::kLine ? kLineInterval : kLogInterval;
  if (!new_phase && now - last_print_ < interval) return;
  last_print_ = now;
  std::string text = absl::StrFormat("[%5.1f s] %s", now - start_, phase);
  if (total > 0) absl::StrAppend(&text, " ", done, "/", total);
  if (!detail.empty()) absl::StrAppend(&text, total > 0 ? " " : ", ", detail);
  const double in_phase = now - current.start;
  if (total > 0 && done > 0 && done < total && in_phase > 1) {
    absl::StrAppend(&text, absl::StrFormat(", about %.0f s left",
                                           in_phase / done * (total - done)));
  }
  if (style_ == Style::kLine) {
    out_ << "\r\033[K" << text << std::flush;
    line_shown_ = true;
  } else {
    out_ << text << std::endl;
  }
}

void Progress::Finish() {
  if (line_shown_) out_ << "\r\033[K" << std::flush;
  line_shown_ = false;
}

}  // namespace aitune::cli
