// The id that a linker gives each program and shared library: a hash of it,
// that stands in memory (--build-id, which Debian's compilers ask for).
#ifndef AITUNE_RUNTIME_TARGET_BUILD_ID_H_
#define AITUNE_RUNTIME_TARGET_BUILD_ID_H_

#include <string>

namespace aitune {

// The bytes of the build id of the program or library that has `address`, a
// function or object of it. Empty if it has no id, or nothing has the address.
// Reads no file. Thread-safe.
std::string LinkersBuildId(const void* address);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_TARGET_BUILD_ID_H_
