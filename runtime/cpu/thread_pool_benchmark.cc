// How fast the steps of a model run alone, beside other processes that compute,
// and beside a copy of itself:
//   ./bazelw run //runtime/cpu:thread_pool_benchmark -- SECONDS
//
// A model is 60 steps of 2 to 64 units of about 3 us in 10 regions; in the
// second form a loop of libgomp with one part a thread, such as oneDNN's,
// stands between two regions.
#include <ATen/Parallel.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "runtime/cpu/thread_pool.h"

namespace {

using Clock = std::chrono::steady_clock;

void RunUnits(int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    float x = 1;
    for (int i = 0; i < 700; ++i) {
      x = x * 0.999f + 0.5f;
      asm volatile("" : "+x"(x));
    }
  }
}

void RunModel(bool with_library) {
  for (int region = 0; region < 10; ++region) {
    aitune::ParallelRegion([] {
      for (int64_t grid : {64, 4, 32, 2, 64, 16}) {
        aitune::ParallelFor(grid, 1, RunUnits);
      }
    });
    if (with_library) at::parallel_for(0, 64, 1, RunUnits);
  }
}

enum class Beside { kNothing, kLoops, kItself };

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
         1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Prints the rate, the latencies and the CPU time. In a process of its own,
// which has no threads before.
void Measure(const char* name, Beside beside, bool with_library,
             double seconds) {
  std::vector<pid_t> others;
  const int count = beside == Beside::kLoops    ? at::get_num_threads()
                    : beside == Beside::kItself ? 1
                                                : 0;
  for (int i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (;;) {
        if (beside == Beside::kLoops) {
          RunUnits(0, 1000);
        } else {
          RunModel(with_library);
        }
      }
    }
    if (pid > 0) others.push_back(pid);
  }
  for (int i = 0; i < 20; ++i) RunModel(with_library);
  std::vector<double> milliseconds;
  const double cpu = CpuSeconds();
  const auto start = Clock::now();
  for (auto last = start;
       last - start < std::chrono::duration<double>(seconds);) {
    RunModel(with_library);
    const auto now = Clock::now();
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(now - last).count());
    last = now;
  }
  const double elapsed =
      std::chrono::duration<double>(Clock::now() - start).count();
  const double cpu_milliseconds = 1e3 * (CpuSeconds() - cpu);
  for (pid_t other : others) {
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const size_t runs = milliseconds.size();
  std::printf(
      "%-14s %-12s %8.1f runs/s, median %.3f ms, 99 %% %.3f ms, CPU %.3f ms\n",
      name, with_library ? "and library" : "", runs / elapsed,
      milliseconds[runs / 2], milliseconds[runs * 99 / 100],
      cpu_milliseconds / runs);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const std::pair<const char*, Beside> conditions[] = {
      {"alone", Beside::kNothing},
      {"beside loops", Beside::kLoops},
      {"beside itself", Beside::kItself}};
  for (bool with_library : {false, true}) {
    for (const auto& [name, beside] : conditions) {
      const pid_t pid = fork();
      if (pid == 0) {
        Measure(name, beside, with_library, seconds);
        _exit(0);
      }
      if (pid < 0 || waitpid(pid, nullptr, 0) != pid) return 1;
    }
  }
}
