#include <filesystem>
#include <iostream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "compiler/tune/TuningDatabase.h"
#include "frontend/cli/commands.h"
#include "runtime/cache/default_folder.h"

namespace aitune::cli {

absl::StatusOr<int> ManageTuning(const Options& options) {
  std::string file = options.compile.tuning.database;
  if (file.empty()) {
    const absl::StatusOr<std::filesystem::path> usual = DefaultTuningDatabase();
    if (!usual.ok()) return usual.status();
    file = usual->string();
  }
  if (options.tuning_action != TuningAction::kImport &&
      !std::filesystem::exists(file)) {
    return absl::NotFoundError(absl::StrCat(
        "there is no tuning database '", file,
        "': tune --tune-budget makes one, --tuning-database names another"));
  }
  absl::StatusOr<std::unique_ptr<TuningDatabase>> database =
      TuningDatabase::open(file);
  if (!database.ok()) return database.status();
  switch (options.tuning_action) {
    case TuningAction::kStats: {
      absl::StatusOr<TuningDatabase::Summary> summary =
          (*database)->summarize();
      if (!summary.ok()) return summary.status();
      std::cout << summary->kernels << " kernels, " << summary->records
                << " measurements, " << summary->failed
                << " of them of schedules that failed\n";
      return kSuccess;
    }
    case TuningAction::kExport: {
      std::error_code error;
      if (std::filesystem::equivalent(file, options.tuning_file, error))
        return absl::InvalidArgumentError(
            absl::StrCat(options.tuning_file,
                         " is the tuning database itself, which would be "
                         "replaced; give another file"));
      absl::StatusOr<int64_t> count =
          (*database)->exportTo(options.tuning_file);
      if (!count.ok()) return count.status();
      std::cout << *count << " measurements written\n";
      return kSuccess;
    }
    case TuningAction::kImport: {
      absl::StatusOr<int64_t> count =
          (*database)->importFrom(options.tuning_file);
      if (!count.ok()) return count.status();
      std::cout << *count << " measurements read\n";
      return kSuccess;
    }
  }
  return absl::InternalError("no such action");
}

}  // namespace aitune::cli
