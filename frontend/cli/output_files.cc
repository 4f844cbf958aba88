#include "frontend/cli/output_files.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/cli/output_paths.h"
#include "frontend/values/pytree.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

absl::Status CannotWrite(const std::string& option, const std::string& path,
                         const std::string& reason) {
  return absl::PermissionDeniedError(
      absl::StrCat(option, " ", path, ": cannot be written: ", reason));
}

absl::Status CheckFile(const std::string& option, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  std::error_code error;
  const bool was_there = std::filesystem::exists(path, error);
  errno = 0;
  if (!std::ofstream(path, std::ios::app)) {
    return CannotWrite(option, path, std::strerror(errno));
  }
  if (!was_there) std::filesystem::remove(path, error);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOutputFiles(const Options& options) {
  AITUNE_RETURN_IF_ERROR(CheckOutputPaths(options));
  if (options.json != "-")
    AITUNE_RETURN_IF_ERROR(CheckFile("--json", options.json));
  AITUNE_RETURN_IF_ERROR(CheckFile("--output", options.output_file));
  AITUNE_RETURN_IF_ERROR(CheckFile("--html", options.html));
  if (!options.save.empty()) {
    const absl::Status status =
        CheckBundlePath(options.save, SavedFormat(options));
    if (!status.ok())
      return absl::Status(status.code(),
                          absl::StrCat("--save ", status.message()));
  }
  if (options.compile.dumpDirectory.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(options.compile.dumpDirectory, error);
  if (error) {
    return CannotWrite("--dump", options.compile.dumpDirectory,
                       error.message());
  }
  return CheckFile("--dump", options.compile.dumpDirectory + "/.aitune");
}

BundleFormat SavedFormat(const Options& options) {
  return absl::EndsWith(options.save, "/") ? BundleFormat::kFolder
                                           : BundleFormat::kFile;
}

absl::Status WriteOutputFile(const std::string& option, const std::string& path,
                             absl::string_view contents) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (file) return absl::OkStatus();
  return CannotWrite(option, path,
                     errno != 0 ? std::strerror(errno) : "unknown error");
}

absl::Status SaveResult(const std::string& option, const std::string& path,
                        const c10::IValue& result) {
  // LibTorch would write it, but in another form than torch.load reads.
  for (const at::Tensor& tensor : frontend::TensorLeaves(result)) {
    if (!tensor.defined() || tensor.layout() == at::kStrided) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        option, " ", path,
        ": the result cannot be saved: it has a sparse tensor, and LibTorch "
        "writes these in a form that torch.load does not read; have the model "
        "return to_dense() of it, or its parts"));
  }
  std::vector<char> bytes;
  try {
    // As for those that wait to be conjugated or negated.
    bytes = torch::jit::pickle_save(frontend::MapTensors(
        result, [](const at::Tensor& tensor, int /*index*/) {
          return tensor.defined() ? tensor.resolve_conj().resolve_neg()
                                  : tensor;
        }));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        option, " ", path, ": the result cannot be saved: ", error.what()));
  }
  return WriteOutputFile(option, path,
                         absl::string_view(bytes.data(), bytes.size()));
}

absl::Status PublishText(const Options& options, absl::string_view text,
                         absl::string_view json) {
  const bool json_on_stdout = options.json == "-";
  (json_on_stdout ? std::cerr : std::cout) << text << std::flush;
  if (json_on_stdout) {
    std::cout << json << std::endl;
    return absl::OkStatus();
  }
  if (options.json.empty()) return absl::OkStatus();
  return WriteOutputFile("--json", options.json, absl::StrCat(json, "\n"));
}

}  // namespace aitune::cli
