// The files that a command writes. They are checked before a model is compiled,
// so that a path that cannot be written is an error at once and not minutes
// later.
#ifndef AITUNE_FRONTEND_CLI_OUTPUT_FILES_H_
#define AITUNE_FRONTEND_CLI_OUTPUT_FILES_H_

#include <ATen/core/ivalue.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "frontend/cli/options.h"
#include "runtime/bundle/bundle.h"

namespace aitune::cli {

// Checks that the files of --json, --html, --output, --save and --dump can be
// written, and would replace none that is read (output_paths.h). Does not
// change files, but makes the folder of --dump.
absl::Status CheckOutputFiles(const Options& options);

// The form of the checkpoint that --save names: a folder if that ends with '/'.
BundleFormat SavedFormat(const Options& options);

// Writes all of `contents` to `path`; an error names `option`.
absl::Status WriteOutputFile(const std::string& option, const std::string& path,
                             absl::string_view contents);

// Writes the result of a model to `path`, as torch.save would; torch.load and
// --inputs read it. An error names `option`, and says so of a result that holds
// what torch.save has no form for.
absl::Status SaveResult(const std::string& option, const std::string& path,
                        const c10::IValue& result);

// Publishes the results of a command: prints `text` to stdout, and writes
// `json` and a newline to the file options.json if one was given. With "--json
// -", the JSON is printed to stdout and the text to stderr.
absl::Status PublishText(const Options& options, absl::string_view text,
                         absl::string_view json);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_OUTPUT_FILES_H_
