// What a backend has done and holds, for a program that watches it.
#ifndef AITUNE_RUNTIME_BACKEND_USAGE_H_
#define AITUNE_RUNTIME_BACKEND_USAGE_H_

#include <cstdint>

namespace aitune {

struct BackendUsage {
  int64_t calls = 0;        // calls, also those that failed
  int64_t eager_calls = 0;  // calls of these that LibTorch ran in eager
  int64_t versions = 0;     // compiled versions that are loaded now
  // Versions of these that a cache had; the others were compiled here, or came
  // with a checkpoint.
  int64_t cache_hits = 0;
  // Versions that calls after the build compiled, or took from a cache.
  int64_t recompilations = 0;
  // Builds in the background since the backend was made: those that gave a
  // version (which count as recompilations too), those that failed, and those
  // asked for or under way now, 0 or 1.
  int64_t background_builds = 0;
  int64_t background_failures = 0;
  int64_t background_pending = 0;
  // Bytes that the versions hold on the device: arenas, packed constants,
  // scratch, and their copies of weights on a GPU. Not the model's own.
  int64_t memory_bytes = 0;
  // Runs, in calls of these versions since each was loaded, of compiled parts
  // of control flow for inputs that no version of the part is right for:
  // LibTorch ran them.
  int64_t eager_parts = 0;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_USAGE_H_
