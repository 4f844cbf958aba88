// The soak as a program: its exit code is 0 if all results were right, there
// was no error and, in a run of a minute or more, memory did not grow.
#include "tests/soak/soak.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/soak/memory.h"

namespace aitune::soak {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// A sanitizer keeps freed memory, and a history, so that a process grows.
constexpr bool kMemoryIsOurs = false;
#else
constexpr bool kMemoryIsOurs = true;
#endif
#else
constexpr bool kMemoryIsOurs = true;
#endif

int Main(const SoakOptions& options) {
  const auto report = RunSoak(options);
  if (!report.ok()) {
    std::fprintf(stderr, "%s\n", report.status().ToString().c_str());
    return 1;
  }
  PrintLine(*report);
  const QuarterPeaks peaks = PeaksOf(report->memory);
  const bool is_flat = peaks.IsFlat();
  // In a shorter run caches and the allocator's pools are still filling.
  const bool is_judged = kMemoryIsOurs && report->seconds >= 60;
  std::printf("memory by quarters: %.0f %.0f %.0f %.0f MB, %s\n",
              peaks.of[0] / 1e6, peaks.of[1] / 1e6, peaks.of[2] / 1e6,
              peaks.of[3] / 1e6, is_flat ? "flat" : "growing");
  const bool is_well = report->calls > 0 && report->wrong == 0 &&
                       report->errors == 0 && (is_flat || !is_judged);
  return is_well ? 0 : 1;
}

}  // namespace
}  // namespace aitune::soak

int main(int argc, char** argv) {
  aitune::soak::SoakOptions options;
  CLI::App app("Calls modules from many threads, and compares with eager.");
  app.add_option("--seconds", options.seconds, "how long, after the tuning")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "that call at the same time")
      ->check(CLI::Range(1, 1024));
  app.add_option("--seed", options.seed, "of the sizes");
  CLI11_PARSE(app, argc, argv);
  const char* const folder = std::getenv("TEST_TMPDIR");
  std::string path =
      std::string(folder != nullptr ? folder : "/tmp") + "/aitune_soak_XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    std::perror(path.c_str());
    return 1;
  }
  options.folder = path;
  const int result = aitune::soak::Main(options);
  std::filesystem::remove_all(path);
  return result;
}
