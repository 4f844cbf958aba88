// Describes as text the machine that object code is for. The text is part of
// every cache key and checkpoint. It is made without LLVM, so that a process
// that only runs compiled models can tell whether they are for this machine.
#ifndef AITUNE_RUNTIME_TARGET_HOST_TARGET_H_
#define AITUNE_RUNTIME_TARGET_HOST_TARGET_H_

#include <string>
#include <string_view>

namespace aitune {

// Whether the C library has functions of vectors that kernels may call: libmvec
// of glibc 2.35 or later. Thread-safe.
bool HasVectorMath();

// This machine's architecture, CPU model, instruction set extensions and
// whether it has libmvec, such as
// "x86_64; AuthenticAMD 25.17; avx avx2 avx512f ... libmvec". Equal texts mean
// that code made on one runs, and was measured, on the other's kind of machine.
// Thread-safe.
const std::string& HostTarget();

// The text of HostTarget for an architecture ("x86_64") and the contents of
// Linux's /proc/cpuinfo. Extensions that code generation does not use
// (virtualisation, power, ...) are left out. Thread-safe.
std::string TargetOf(std::string_view architecture, std::string_view cpuinfo);

// How the target `given` differs from `wanted`, for people: "the CPU is
// AuthenticAMD 25.17, not GenuineIntel 6.143; missing avx512_fp16". Empty when
// they are equal. Thread-safe.
std::string TargetDifference(std::string_view wanted, std::string_view given);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_TARGET_HOST_TARGET_H_
