// What a command may not write to: the files that it reads, and twice one file.
// A user who names the model where its report goes has lost the model.
#ifndef AITUNE_FRONTEND_CLI_OUTPUT_PATHS_H_
#define AITUNE_FRONTEND_CLI_OUTPUT_PATHS_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/cli/options.h"

namespace aitune::cli {

// kInvalidArgument if `path`, where `option` writes, is a file that a command
// with these options reads; the text names both. Links are followed.
absl::Status CheckIsNotRead(const Options& options, const std::string& option,
                            const std::string& path);

// The same for all that --json, --html, --output, --save and --sign write; and
// kInvalidArgument if two of them are one file.
absl::Status CheckOutputPaths(const Options& options);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_OUTPUT_PATHS_H_
