// The machine that object code is for, as text: part of every cache key and
// checkpoint, without LLVM, so that a process that only runs compiled models
// can say whether they are for this machine.
#ifndef AITUNE_RUNTIME_TARGET_HOST_TARGET_H_
#define AITUNE_RUNTIME_TARGET_HOST_TARGET_H_

#include <string>
#include <string_view>

namespace aitune {

// This machine's architecture, CPU model and instruction set extensions, such
// as "x86_64; AuthenticAMD 25.17; avx avx2 avx512f ...". Equal texts mean that
// code made on one runs, and was measured, on the other's kind of machine.
// Thread-safe.
const std::string& HostTarget();

// The text of HostTarget for what Linux prints in /proc/cpuinfo. Extensions
// that code generation does not know (virtualisation, power, ...) are left out.
std::string TargetOf(std::string_view architecture, std::string_view cpuinfo);

// What differs between two targets, for people: "the CPU is AuthenticAMD 25.17,
// not GenuineIntel 6.143; missing avx512_fp16". Empty for equal ones.
std::string TargetDifference(std::string_view wanted, std::string_view given);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_TARGET_HOST_TARGET_H_
