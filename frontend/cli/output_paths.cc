#include "frontend/cli/output_paths.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/bundle/bundle_signature.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

// An option and the path that it names.
using NamedPath = std::pair<std::string, std::string>;

std::vector<NamedPath> FilesRead(const Options& options) {
  std::vector<NamedPath> files = {{"the model", options.model},
                                  {"--inputs", options.inputs_file},
                                  {"--sign", options.sign},
                                  {"--verify", options.verify}};
  if (!options.verify.empty())
    files.emplace_back("--verify", SignaturePath(options.model).string());
  for (const std::string& file : options.libraries)
    files.emplace_back("--library", file);
  for (const std::string& file : options.plugins)
    files.emplace_back("--plugin", file);
  for (const std::string& text : options.substitutes)
    files.emplace_back("--substitute", SplitSubstitute(text).second);
  return files;
}

std::vector<NamedPath> FilesWritten(const Options& options) {
  std::vector<NamedPath> files;
  const auto add = [&](const char* option, const std::string& path) {
    if (!path.empty()) files.emplace_back(option, path);
  };
  add("--json", options.json == "-" ? "" : options.json);
  add("--html", options.html);
  add("--output", options.output_file);
  add("--save", options.save);
  if (!options.sign.empty() && !options.save.empty())
    add("--sign", SignaturePath(options.save).string());
  return files;
}

// Whether both are one file, also one that is not there yet.
bool AreOne(const std::string& a, const std::string& b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto whole = [&](const std::string& path) {
    std::filesystem::path canonical =
        std::filesystem::weakly_canonical(path, error);
    if (!canonical.has_filename()) canonical = canonical.parent_path();
    return error ? std::filesystem::path(path) : canonical;
  };
  return whole(a) == whole(b);
}

}  // namespace

absl::Status CheckIsNotRead(const Options& options, const std::string& option,
                            const std::string& path) {
  for (const auto& [reader, read] : FilesRead(options)) {
    if (!read.empty() && AreOne(path, read))
      return absl::InvalidArgumentError(
          absl::StrCat(option, " ", path, " would replace ", read,
                       ", which is read (", reader, "); give another path"));
  }
  return absl::OkStatus();
}

absl::Status CheckOutputPaths(const Options& options) {
  const std::vector<NamedPath> files = FilesWritten(options);
  for (auto file = files.begin(); file != files.end(); ++file) {
    const auto& [option, path] = *file;
    AITUNE_RETURN_IF_ERROR(CheckIsNotRead(options, option, path));
    for (auto other = files.begin(); other != file; ++other) {
      if (AreOne(path, other->second))
        return absl::InvalidArgumentError(
            absl::StrCat(other->first, " and ", option, " would both write ",
                         path, "; give each a path of its own"));
    }
  }
  return absl::OkStatus();
}

}  // namespace aitune::cli
