// Descriptors of files for a process that is started, which gets some of them
// as its standard ones.
#ifndef AITUNE_COMPILER_SUPPORT_DESCRIPTORS_H
#define AITUNE_COMPILER_SUPPORT_DESCRIPTORS_H

namespace aitune {

/// Gives both descriptors numbers above those of the standard input, output and
/// error, which the system gives where this process has closed these: what is
/// made of such a number in a child would be lost when its standard ones are
/// made. They stay closed in programs that are started. False, with both
/// closed, if no descriptor is left.
bool moveBehindStandard(int (&descriptors)[2]);

/// Whether this process has the descriptor.
bool isOpen(int descriptor);

} // namespace aitune

#endif // AITUNE_COMPILER_SUPPORT_DESCRIPTORS_H
