// The id that a linker gives each program and shared library: a hash of its
// contents, which is loaded into memory with it (the linker's option
// --build-id, which Debian's compilers set).
#ifndef AITUNE_RUNTIME_TARGET_BUILD_ID_H_
#define AITUNE_RUNTIME_TARGET_BUILD_ID_H_

#include <string>

namespace aitune {

// The bytes of the build id of the program or library that contains `address`,
// which is that of one of its functions or objects. Empty if it has no id, or
// if no program or library contains the address. Reads no file. Thread-safe.
std::string LinkersBuildId(const void* address);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_TARGET_BUILD_ID_H_
