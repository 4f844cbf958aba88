#include <filesystem>
#include <iostream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "compiler/tune/TuningDatabase.h"
#include "frontend/cli/commands.h"
#include "runtime/cache/default_folder.h"
#include "runtime/status/regular_file.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {

absl::StatusOr<int> ManageTuning(const Options& options) {
  std::string file = options.compile.tuning.database;
  if (file.empty()) {
    AITUNE_ASSIGN_OR_RETURN(const std::filesystem::path usual,
                            DefaultTuningDatabase());
    file = usual.string();
  }
  std::error_code failure;
  if (options.tuning_action != TuningAction::kImport &&
      !std::filesystem::exists(file, failure)) {
    return absl::NotFoundError(absl::StrCat(
        "there is no tuning database '", file, "'",
        failure ? absl::StrCat(" (", failure.message(), ")") : "",
        ": tune --tune-budget makes one, --tuning-database names another"));
  }
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<TuningDatabase> database,
                          TuningDatabase::open(file));
  switch (options.tuning_action) {
    case TuningAction::kStats: {
      AITUNE_ASSIGN_OR_RETURN(TuningDatabase::Summary summary,
                              database->summarize());
      std::cout << summary.kernels << " kernels, " << summary.records
                << " measurements, " << summary.failed
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
      AITUNE_ASSIGN_OR_RETURN(int64_t count,
                              database->exportTo(options.tuning_file));
      std::cout << count << " measurements written\n";
      return kSuccess;
    }
    case TuningAction::kImport: {
      AITUNE_RETURN_IF_ERROR(CheckRegularFile(options.tuning_file));
      AITUNE_ASSIGN_OR_RETURN(int64_t count,
                              database->importFrom(options.tuning_file));
      std::cout << count << " measurements read\n";
      return kSuccess;
    }
  }
  return absl::InternalError("no such action");
}

}  // namespace aitune::cli
