// What tells the code generators of two programs apart.
#ifndef AITUNE_COMPILER_CANDIDATES_BUILDSTAMP_H
#define AITUNE_COMPILER_CANDIDATES_BUILDSTAMP_H

#include <string>

namespace aitune {

/// A digest of the sources that make code, and of the messages between the
/// processes that do. A library and a program of one build have the same, and
/// understand each other and each other's kernels.
const std::string &buildStamp();

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_BUILDSTAMP_H
