#include "runtime/logging/logging.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace aitune {
namespace {

constexpr int kChannels = static_cast<int>(LogChannel::kError) + 1;
constexpr int kSwitchable = static_cast<int>(LogChannel::kWarning);

void PrintToStderr(LogChannel channel, std::string_view text) {
  const std::string_view name = Name(channel);
  std::fprintf(stderr, "aitune: %.*s: %.*s\n", static_cast<int>(name.size()),
               name.data(), static_cast<int>(text.size()), text.data());
}

struct State {
  State() {
    enabled[static_cast<int>(LogChannel::kWarning)] = true;
    enabled[static_cast<int>(LogChannel::kError)] = true;
    std::vector<std::string> unknown;
    // Most of its names are PyTorch's own.
    EnableNamedBy("TORCH_LOGS", &unknown);
    unknown.clear();
    EnableNamedBy("AITUNE_LOGS", &unknown);
    for (const std::string& name : unknown) {
      PrintToStderr(
          LogChannel::kWarning,
          absl::StrCat("AITUNE_LOGS names '", name,
                       "', which is no log channel; there are dynamic, "
                       "perf_hints, graph_breaks, recompiles and output_code"));
    }
  }

  void EnableNamedBy(const char* variable, std::vector<std::string>* unknown) {
    const char* names = std::getenv(variable);
    if (names == nullptr) return;
    for (LogChannel channel : ParseLogChannels(names, unknown))
      enabled[static_cast<int>(channel)] = true;
  }

  std::array<std::atomic<bool>, kChannels> enabled{};
  std::mutex mutex;  // held for the sink and its calls
  LogSink sink;
};

// Never destroyed: threads may log while the process ends.
State& GetState() {
  static State* const state = new State;
  return *state;
}

}  // namespace

std::string_view Name(LogChannel channel) {
  static constexpr std::string_view kNames[kChannels] = {
      "dynamic",     "perf_hints", "graph_breaks", "recompiles",
      "output_code", "warning",    "error"};
  return kNames[static_cast<int>(channel)];
}

bool IsEnabled(LogChannel channel) {
  return GetState().enabled[static_cast<int>(channel)].load(
      std::memory_order_relaxed);
}

void SetEnabled(LogChannel channel, bool enabled) {
  if (static_cast<int>(channel) >= kSwitchable) return;
  GetState().enabled[static_cast<int>(channel)] = enabled;
}

void Log(LogChannel channel, std::string_view text) {
  if (!IsEnabled(channel)) return;
  State& state = GetState();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.sink) {
    state.sink(channel, text);
  } else {
    PrintToStderr(channel, text);
  }
}

LogSink SetLogSink(LogSink sink) {
  State& state = GetState();
  std::lock_guard<std::mutex> lock(state.mutex);
  return std::exchange(state.sink, std::move(sink));
}

std::vector<LogChannel> ParseLogChannels(std::string_view names,
                                         std::vector<std::string>* unknown) {
  std::vector<LogChannel> channels;
  for (absl::string_view part :
       absl::StrSplit(absl::string_view(names.data(), names.size()), ',')) {
    part = absl::StripPrefix(absl::StripAsciiWhitespace(part), "+");
    if (part.empty()) continue;
    const std::string_view name(part.data(), part.size());
    int channel = 0;
    while (channel < kSwitchable &&
           Name(static_cast<LogChannel>(channel)) != name)
      ++channel;
    if (channel < kSwitchable) {
      channels.push_back(static_cast<LogChannel>(channel));
    } else {
      unknown->emplace_back(name);
    }
  }
  return channels;
}

}  // namespace aitune
