#include "runtime/target/host_target.h"

#include <dlfcn.h>
#include <sys/utsname.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace aitune {
namespace {

absl::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

bool ConcernsCode(const std::string& flag) {
  for (const char* prefix : {"sse", "ssse", "avx", "amx", "bmi"}) {
    if (absl::StartsWith(flag, prefix)) return true;
  }
  static const auto* const others =
      new std::set<std::string>{"fma",   "f16c", "popcnt", "abm",       "adx",
                                "movbe", "gfni", "vaes",   "vpclmulqdq"};
  return others->count(flag) > 0;
}

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

std::vector<std::string> Parts(std::string_view target) {
  std::vector<std::string> parts = absl::StrSplit(View(target), "; ");
  parts.resize(3);
  return parts;
}

std::string Missing(const std::set<std::string>& from,
                    const std::set<std::string>& in) {
  std::vector<std::string> missing;
  for (const std::string& word : from) {
    if (in.count(word) == 0) missing.push_back(word);
  }
  return absl::StrJoin(missing, " ");
}

}  // namespace

std::string TargetOf(std::string_view architecture, std::string_view cpuinfo) {
  // The first processor stands for all.
  std::map<std::string, std::string> fields;
  for (absl::string_view line : absl::StrSplit(View(cpuinfo), '\n')) {
    const std::vector<absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (field.size() == 2)
      fields.emplace(absl::StripAsciiWhitespace(field[0]),
                     absl::StripAsciiWhitespace(field[1]));
  }
  std::set<std::string> flags;
  for (const std::string& flag : Words(fields["flags"])) {
    if (ConcernsCode(flag)) flags.insert(flag);
  }
  return absl::StrCat(View(architecture), "; ", fields["vendor_id"], " ",
                      fields["cpu family"], ".", fields["model"], "; ",
                      absl::StrJoin(flags, " "));
}

bool HasVectorMath() {
  // The last functions came together, in glibc 2.35.
  static const bool found = [] {
    void* const libmvec = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    return libmvec != nullptr && dlsym(libmvec, "_ZGVdN8v_tanf") != nullptr;
  }();
  return found;
}

const std::string& HostTarget() {
  static const auto* const target = [] {
    utsname system = {};
    uname(&system);
    std::ifstream file("/proc/cpuinfo");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return new std::string(absl::StrCat(TargetOf(system.machine, text),
                                        HasVectorMath() ? " libmvec" : ""));
  }();
  return *target;
}

std::string TargetDifference(std::string_view wanted, std::string_view given) {
  if (wanted == given) return "";
  const std::vector<std::string> a = Parts(wanted), b = Parts(given);
  std::vector<std::string> texts;
  if (a[0] != b[0])
    texts.push_back(absl::StrCat("the architecture is ", b[0], ", not ", a[0]));
  if (a[1] != b[1])
    texts.push_back(absl::StrCat("the CPU is ", b[1], ", not ", a[1]));
  const std::vector<std::string> want = Words(a[2]), have = Words(b[2]);
  const std::set<std::string> wants(want.begin(), want.end());
  const std::set<std::string> has(have.begin(), have.end());
  if (const std::string missing = Missing(wants, has); !missing.empty())
    texts.push_back(absl::StrCat("missing ", missing));
  if (const std::string more = Missing(has, wants); !more.empty())
    texts.push_back(absl::StrCat("additional ", more));
  return absl::StrJoin(texts, "; ");
}

}  // namespace aitune
