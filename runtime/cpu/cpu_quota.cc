#include "runtime/cpu/cpu_quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace aitune {
namespace {

// Where a hierarchy of groups is mounted, and which of its groups that shows.
struct Mount {
  std::string folder, group;
};

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Has(absl::string_view list, absl::string_view name) {
  for (absl::string_view element : absl::StrSplit(list, ','))
    if (element == name) return true;
  return false;
}

// The mount of the groups of version 2, or of version 1 that limit CPU time.
// A line is "31 23 0:28 GROUP FOLDER options... - TYPE source OPTIONS".
std::optional<Mount> FindMount(absl::string_view mounts, bool version_2) {
  for (absl::string_view line : absl::StrSplit(mounts, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, " - ");
    if (parts.size() != 2) continue;
    const std::vector<absl::string_view> place = absl::StrSplit(parts[0], ' ');
    const std::vector<absl::string_view> kind = absl::StrSplit(parts[1], ' ');
    if (place.size() < 5 || kind.size() < 3) continue;
    if (version_2 ? kind[0] == "cgroup2"
                  : kind[0] == "cgroup" && Has(kind[2], "cpu"))
      return Mount{std::string(place[4]), std::string(place[3])};
  }
  return std::nullopt;
}

// The process's group in that hierarchy. A line is "ID:CONTROLLERS:GROUP", with
// "0::" for version 2.
std::optional<std::string> FindGroup(absl::string_view groups, bool version_2) {
  for (absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (version_2 ? parts[0] == "0" && parts[1].empty() : Has(parts[1], "cpu"))
      return std::string(parts[2]);
  }
  return std::nullopt;
}

// The limit that the group in `folder` sets itself, in CPUs.
std::optional<double> LimitOf(const std::string& folder, bool version_2) {
  const std::string text =
      version_2 ? Contents(folder + "/cpu.max")
                : absl::StrCat(Contents(folder + "/cpu.cfs_quota_us"), " ",
                               Contents(folder + "/cpu.cfs_period_us"));
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  double quota = 0, period = 0;  // microseconds
  if (words.size() != 2 || !absl::SimpleAtod(words[0], &quota) ||
      !absl::SimpleAtod(words[1], &period) || !(quota > 0) || !(period > 0))
    return std::nullopt;
  return quota / period;
}

std::optional<double> Least(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

std::optional<double> CpuQuota(const std::string& root) {
  const std::string mounts = Contents(root + "/proc/self/mountinfo");
  const std::string groups = Contents(root + "/proc/self/cgroup");
  std::optional<double> least;
  for (bool version_2 : {true, false}) {
    const std::optional<Mount> mount = FindMount(mounts, version_2);
    std::optional<std::string> group = FindGroup(groups, version_2);
    if (!mount || !group) continue;
    // Within a container the mount may show a group deeper than the top.
    absl::string_view below = *group;
    if (mount->group != "/" && !absl::ConsumePrefix(&below, mount->group))
      below = "";
    std::string path(absl::StripSuffix(below, "/"));
    for (;;) {
      least = Least(least, LimitOf(root + mount->folder + path, version_2));
      const size_t slash = path.rfind('/');
      if (slash == std::string::npos) break;
      path.erase(slash);
    }
  }
  return least;
}

int ThreadsFor(int cores, std::optional<double> quota) {
  if (!quota || *quota >= cores) return std::max(cores, 1);
  // What is written as 2 CPUs may be read as a little more.
  return std::max(1, static_cast<int>(std::ceil(*quota - 0.01)));
}

}  // namespace aitune
