// aitune cache: what the on-disk cache holds, and looking after it.
#include "runtime/cache/cache.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/output_files.h"
#include "frontend/cli/table.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

using nlohmann::json;

struct Outcome {
  std::string text;
  json object;
  int code = kSuccess;
};

std::string Megabytes(int64_t bytes) {
  return absl::StrFormat("%.1f MB", bytes / 1048576.0);
}

std::string TimeText(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local = {};
  char text[32] = "";
  if (localtime_r(&seconds, &local) != nullptr)
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

Outcome List(const Cache& cache) {
  std::vector<CacheListing> entries = cache.List();
  std::sort(entries.begin(), entries.end(),
            [](const CacheListing& a, const CacheListing& b) {
              return a.last_used > b.last_used;
            });
  Outcome outcome;
  outcome.object = json::array();
  Table table({"key", ">size", "last used", "what"});
  int64_t bytes = 0;
  for (const CacheListing& entry : entries) {
    bytes += entry.bytes;
    table.AddRow({entry.key.hex().substr(0, 12), Megabytes(entry.bytes),
                  TimeText(entry.last_used), entry.description});
    outcome.object.push_back(
        {{"key", entry.key.hex()},
         {"bytes", entry.bytes},
         {"description", entry.description},
         {"last_used", std::chrono::system_clock::to_time_t(entry.last_used)}});
  }
  if (!entries.empty()) outcome.text = table.ToString();
  absl::StrAppend(&outcome.text, entries.size(), " entries, ", Megabytes(bytes),
                  ", in ", cache.folder().string(), "\n");
  return outcome;
}

Outcome Verify(Cache& cache, bool remove) {
  const CacheVerification verified = cache.Verify(remove);
  Outcome outcome;
  outcome.object = {{"intact", verified.intact}, {"damaged", json::array()}};
  for (const CacheDamage& damage : verified.damaged) {
    const std::string reason(Name(damage.reason));
    absl::StrAppend(&outcome.text, damage.key.hex().substr(0, 12), "  ", reason,
                    damage.detail.empty() ? "" : ": ", damage.detail,
                    damage.removed ? "; removed" : "", "\n");
    outcome.object["damaged"].push_back({{"key", damage.key.hex()},
                                         {"reason", reason},
                                         {"detail", damage.detail},
                                         {"removed", damage.removed}});
    if (!damage.removed) outcome.code = kFailure;
  }
  absl::StrAppend(&outcome.text, verified.intact, " intact, ",
                  verified.damaged.size(), " damaged\n");
  return outcome;
}

absl::StatusOr<Outcome> Prune(Cache& cache, int64_t max_bytes) {
  AITUNE_ASSIGN_OR_RETURN(CachePruning pruned, cache.Prune(max_bytes));
  Outcome outcome;
  outcome.text = absl::StrCat("removed ", pruned.removed_entries, " entries, ",
                              Megabytes(pruned.removed_bytes), "; kept ",
                              pruned.kept_entries, ", ",
                              Megabytes(pruned.kept_bytes), "\n");
  outcome.object = {{"removed_entries", pruned.removed_entries},
                    {"removed_bytes", pruned.removed_bytes},
                    {"kept_entries", pruned.kept_entries},
                    {"kept_bytes", pruned.kept_bytes}};
  return outcome;
}

Outcome Stats(const Cache& cache) {
  const CacheStats stats = cache.Stats();
  const CacheCounts& counts = stats.folder;
  Outcome outcome;
  json misses = json::object();
  std::string reasons;
  for (int i = 0; i < kMissReasons; ++i) {
    if (counts.misses[i] == 0) continue;
    const std::string reason(Name(static_cast<MissReason>(i)));
    misses[reason] = counts.misses[i];
    absl::StrAppend(&reasons, reasons.empty() ? " (" : ", ", reason, " ",
                    counts.misses[i]);
  }
  if (!reasons.empty()) reasons += ")";
  Table table({"", ""});
  table.AddRow({"folder", cache.folder().string()});
  table.AddRow({"entries", absl::StrCat(stats.entries)});
  table.AddRow({"size", absl::StrCat(Megabytes(stats.bytes), " of ",
                                     Megabytes(stats.max_bytes))});
  table.AddRow({"hits", absl::StrCat(counts.hits)});
  table.AddRow({"misses", absl::StrCat(counts.total_misses(), reasons)});
  table.AddRow({"stores", absl::StrCat(counts.stores)});
  table.AddRow({"failed stores", absl::StrCat(counts.failed_stores)});
  table.AddRow({"evictions", absl::StrCat(counts.evictions)});
  outcome.text = table.ToString();
  outcome.object = {{"folder", cache.folder().string()},
                    {"entries", stats.entries},
                    {"bytes", stats.bytes},
                    {"max_bytes", stats.max_bytes},
                    {"hits", counts.hits},
                    {"misses", misses},
                    {"stores", counts.stores},
                    {"failed_stores", counts.failed_stores},
                    {"evictions", counts.evictions}};
  return outcome;
}

absl::StatusOr<Outcome> Act(const Options& options, Cache& cache) {
  switch (options.cache_action) {
    case CacheAction::kList:
      return List(cache);
    case CacheAction::kVerify:
      return Verify(cache, !options.keep_damaged);
    case CacheAction::kPrune:
      return Prune(cache, options.max_bytes);
    case CacheAction::kStats:
      return Stats(cache);
  }
  return absl::InternalError("no such action");
}

// An error for a folder of other files: a cache that is opened writes there.
absl::Status CheckIsCache(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error))
    return absl::NotFoundError(
        absl::StrCat("--cache ", folder.string(), ": there is none"));
  if (std::filesystem::is_directory(folder, error) &&
      !std::filesystem::is_empty(folder, error) && !Cache::IsIn(folder))
    return absl::NotFoundError(absl::StrCat(
        "--cache ", folder.string(), ": the folder has other files, no cache"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> ManageCache(const Options& options) {
  if (!options.cache_folder.empty())
    AITUNE_RETURN_IF_ERROR(CheckIsCache(options.cache_folder));
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<Cache> cache, OpenCache(options));
  AITUNE_ASSIGN_OR_RETURN(Outcome outcome, Act(options, *cache));
  const std::string json = outcome.object.dump(
      1, ' ', false, nlohmann::json::error_handler_t::replace);
  AITUNE_RETURN_IF_ERROR(PublishText(options, outcome.text, json));
  return outcome.code;
}

}  // namespace aitune::cli
