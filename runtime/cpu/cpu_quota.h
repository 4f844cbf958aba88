// How much CPU time the process's control groups leave it: containers are given
// fractions of a machine so, which the number of cores does not show.
#ifndef AITUNE_RUNTIME_CPU_CPU_QUOTA_H_
#define AITUNE_RUNTIME_CPU_CPU_QUOTA_H_

#include <optional>
#include <string>

namespace aitune {

// The CPU time that the process may use, in CPUs (seconds a second), such as
// 1.5: the least that its control group of version 2 (cpu.max) or 1
// (cpu.cfs_quota_us of cpu.cfs_period_us) and those around it allow. None where
// no group sets a limit or the system does not tell. `root` is the folder that
// holds proc and sys, "" the system's own. Thread-safe.
std::optional<double> CpuQuota(const std::string& root = "");

// The most threads that a caller may ask for. OpenMP ends the process where the
// machine refuses it a thread.
inline constexpr int kMostThreads = 1024;

// The number of threads to compute with, at least 1, for a process that may run
// on `cores` cores with `quota` (CpuQuota). A part of a CPU counts as a whole
// one: with 1.5 CPUs, 2 threads make up to 1.35 times as many calls a second as
// 1, and calls that the quota interrupts take less than 3 times as long
// (efficientnet_b0 and MiniLM on two cores of an EPYC).
int ThreadsFor(int cores, std::optional<double> quota);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_CPU_QUOTA_H_
