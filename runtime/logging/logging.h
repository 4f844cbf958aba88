// What the runtime tells people: channels that are off until asked for, and
// warnings and errors that are always on.
//
// The channels are those of PyTorch's TORCH_LOGS that have a meaning here; the
// environment variable AITUNE_LOGS names the ones to print, separated by
// commas, as in AITUNE_LOGS=recompiles,dynamic. An embedder that has a log of
// its own takes all records with SetLogSink.
#ifndef AITUNE_RUNTIME_LOGGING_LOGGING_H_
#define AITUNE_RUNTIME_LOGGING_LOGGING_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace aitune {

enum class LogChannel {
  kDynamic,      // which axes are dynamic, and why
  kPerfHints,    // what would make it faster
  kGraphBreaks,  // what is left to LibTorch, and why
  kRecompiles,   // which guard failed, and what would avoid it
  kOutputCode,   // the generated code
  kWarning,      // always on
  kError,        // always on
};

// "dynamic", "perf_hints", ...; "warning" and "error" for the last two.
std::string_view Name(LogChannel channel);

// Whether a record of the channel goes anywhere: it is always on, was named in
// AITUNE_LOGS, or was enabled. Ask before making an expensive text.
// Thread-safe.
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

// The channels that `names`, separated by commas, asks for. Names that there
// are not are added to `unknown`. Spaces around a name do not count.
std::vector<LogChannel> ParseLogChannels(std::string_view names,
                                         std::vector<std::string>* unknown);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_LOGGING_LOGGING_H_
