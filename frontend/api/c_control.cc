// What C programs set for the whole process, and the progress of a tuning.
#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/c_handles.h"
#include "runtime/control/control.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace {

using ait::Guarded;
using ait::Need;
using aitune::LogChannel;

// Those that can be turned off.
constexpr std::array kChannels = {
    LogChannel::kDynamic, LogChannel::kPerfHints, LogChannel::kGraphBreaks,
    LogChannel::kRecompiles, LogChannel::kOutputCode};

}  // namespace

ait_error* ait_options_set_progress(ait_options* options,
                                    void (*progress)(void* user,
                                                     const char* phase,
                                                     int done, int total),
                                    void* user) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(options, "options"));
    auto& told = options->options.compile.progress;
    if (progress == nullptr) {
      told = nullptr;
    } else {
      told = [progress, user](const std::string& phase, int done, int total) {
        progress(user, phase.c_str(), done, total);
      };
    }
    return absl::OkStatus();
  });
}

ait_error* ait_reset(void) {
  return Guarded([] { return aitune::Reset(); });
}

ait_error* ait_allow_in_graph(const char* op) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(op, "op"));
    aitune::AllowInGraph(op);
    return absl::OkStatus();
  });
}

ait_error* ait_disallow_in_graph(const char* op) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(op, "op"));
    aitune::DisallowInGraph(op);
    return absl::OkStatus();
  });
}

ait_error* ait_set_log_sink(void (*sink)(void* user, const char* channel,
                                         const char* text),
                            void* user) {
  return Guarded([&]() -> absl::Status {
    if (sink == nullptr) {
      aitune::SetLogSink(nullptr);
      return absl::OkStatus();
    }
    aitune::SetLogSink([sink, user](LogChannel channel, std::string_view text) {
      sink(user, std::string(aitune::Name(channel)).c_str(),
           std::string(text).c_str());
    });
    return absl::OkStatus();
  });
}

ait_error* ait_set_log_channels(const char* names) {
  return Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(Need(names, "names"));
    std::vector<std::string> unknown;
    const std::vector<LogChannel> wanted =
        aitune::ParseLogChannels(names, &unknown);
    if (!unknown.empty()) {
      std::vector<std::string> known;
      for (const LogChannel channel : kChannels)
        known.emplace_back(aitune::Name(channel));
      return absl::InvalidArgumentError(
          absl::StrCat("there is no log channel '", unknown.front(),
                       "'; there are ", absl::StrJoin(known, ", ")));
    }
    for (const LogChannel channel : kChannels)
      aitune::SetEnabled(channel, false);
    for (const LogChannel channel : wanted) aitune::SetEnabled(channel, true);
    return absl::OkStatus();
  });
}
