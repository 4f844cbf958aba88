// The files that a command writes. What cannot be written is found before a
// model is compiled, not minutes later.
#ifndef AITUNE_FRONTEND_CLI_OUTPUT_FILES_H_
#define AITUNE_FRONTEND_CLI_OUTPUT_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "frontend/cli/options.h"

namespace aitune::cli {

// Whether the files of --json, --output and --dump can be written. Leaves files
// as they are and makes the folder of --dump.
absl::Status CheckOutputFiles(const Options& options);

// Writes `contents` to `path`, whole or with an error that names `option`.
absl::Status WriteOutputFile(const std::string& option, const std::string& path,
                             absl::string_view contents);

// What a command says: prints `text`, and writes `json`, without the last
// newline, where options.json says. With --json - that alone is on stdout and
// the text on stderr.
absl::Status PublishText(const Options& options, absl::string_view text,
                         absl::string_view json);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_OUTPUT_FILES_H_
