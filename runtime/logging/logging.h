// What the runtime tells people: channels that are off until asked for, and
// warnings and errors that are always on.
//
// The channels are those of PyTorch's TORCH_LOGS that have a meaning here; the
// environment variable AITUNE_LOGS names the ones to print, separated by
// commas, as in AITUNE_LOGS=recompiles,dynamic. Names in TORCH_LOGS count too,
// but for those that have no meaning here. An embedder that has a log of its
// own takes all records with SetLogSink.
#ifndef AITUNE_RUNTIME_LOGGING_LOGGING_H_
#define AITUNE_RUNTIME_LOGGING_LOGGING_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace aitune {

enum class LogChannel {
  kDynamic,      // which axes are dynamic, and why
  kPerfHints,    // what would make the model faster
  kGraphBreaks,  // which operators LibTorch runs, and why
  kRecompiles,   // which guard failed, and how to avoid that
  kOutputCode,   // the generated code
  kWarning,      // warnings; always on
  kError,        // errors; always on
};

// "dynamic", "perf_hints", ...; "warning" and "error" for the last two.
std::string_view Name(LogChannel channel);

// Whether records of the channel reach the sink: the channel is always on, was
// named in AITUNE_LOGS or TORCH_LOGS, or was enabled. Ask before making an
// expensive text. Thread-safe.
bool IsEnabled(LogChannel channel);

// Turns a channel on or off for the process. Warnings and errors stay on.
// Thread-safe.
void SetEnabled(LogChannel channel, bool enabled);

// Hands `text` to the sink if the channel is enabled. Thread-safe.
void Log(LogChannel channel, std::string_view text);

using LogSink = std::function<void(LogChannel channel, std::string_view text)>;

// Takes the records from now on; null: the standard sink, which prints
// "aitune: CHANNEL: TEXT" to stderr. The sink is called by one thread at a time
// and must not log. Returns the sink in use before (null: the standard one).
// Thread-safe.
LogSink SetLogSink(LogSink sink);

// The channels whose names are in `names`, separated by commas. Spaces around a
// name do not count, nor does a + before it (PyTorch's for more detail). Other
// names are appended to `unknown`, which must not be null. Thread-safe.
std::vector<LogChannel> ParseLogChannels(std::string_view names,
                                         std::vector<std::string>* unknown);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_LOGGING_LOGGING_H_
