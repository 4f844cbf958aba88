// Kernels made wrong on purpose, for tests of what finds and replaces them.
#ifndef AITUNE_COMPILER_DRIVER_TESTING_FAULTS_H
#define AITUNE_COMPILER_DRIVER_TESTING_FAULTS_H

#include <cstdint>
#include <string>

namespace aitune {

/// What this process compiles from here on has the fault that was planted last.
/// Not thread-safe, and not while something is compiled.
///
/// Generated code computes what the kernel's text says with `to` in place of
/// `from`.
void plantWrongCode(const std::string &from, const std::string &to);
/// Libraries read the right operand of a matmul as if it were transposed.
void plantTransposedLibraries();
/// A kernel of one ait.neg of `count` floats is right at its first call alone.
void plantLaterCalls(int64_t count);
/// A kernel of one ait.neg of `count` floats also writes the 16 bytes behind
/// its result.
void plantStrayWrite(int64_t count);
/// Ends all of it.
void removeFaults();

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_TESTING_FAULTS_H
