#include "frontend/cli/output_files.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <caffe2/serialize/inline_container.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <torch/csrc/jit/serialization/pickler.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/cli/output_paths.h"
#include "frontend/values/pytree.h"
#include "runtime/bundle/staged_file.h"
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

std::string ReasonOf(int error) {
  return error != 0 ? std::strerror(error) : "unknown error";
}

absl::Status WriteInPlace(const std::string& option, const std::string& path,
                          absl::string_view contents) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (file) return absl::OkStatus();
  return CannotWrite(option, path, ReasonOf(errno));
}

bool WriteAll(int file, absl::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = write(file, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    contents.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// As torch.save writes lists and dicts, without their types: torch.load refuses
// those of TorchScript unless it is told that the file is trusted. Undefined
// tensors are None, as in Python.
c10::IValue WithoutTypes(const c10::IValue& value) {
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : value.toTupleRef().elements())
      elements.push_back(WithoutTypes(element));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isList()) {
    c10::impl::GenericList list(c10::AnyType::get());
    for (const c10::IValue& element : value.toListRef())
      list.push_back(WithoutTypes(element));
    return list;
  }
  if (value.isGenericDict()) {
    c10::impl::GenericDict dict(c10::AnyType::get(), c10::AnyType::get());
    for (const auto& entry : value.toGenericDict())
      dict.insert(entry.key(), WithoutTypes(entry.value()));
    return dict;
  }
  if (value.isTensor() && !value.toTensor().defined()) return {};
  return value;
}

// What torch::jit::pickle_save does, without types of lists and dicts.
std::string Pickled(const c10::IValue& value) {
  std::string pickle, archive;
  torch::jit::Pickler pickler(
      [&](const char* bytes, size_t count) { pickle.append(bytes, count); },
      /*tensor_table=*/nullptr, /*type_renamer=*/nullptr,
      /*memoized_class_types=*/nullptr, /*get_tensor_id=*/nullptr,
      /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(value);
  pickler.stop();
  caffe2::serialize::PyTorchStreamWriter writer(
      [&](const void* bytes, size_t count) {
        archive.append(static_cast<const char*>(bytes), count);
        return count;
      });
  writer.writeRecord("data.pkl", pickle.data(), pickle.size());
  size_t record = 0;
  for (const at::Tensor& tensor : pickler.tensorData()) {
    const auto data = torch::jit::getWriteableTensorData(tensor);
    writer.writeRecord(absl::StrCat("data/", record++), data.data(),
                       data.sizeInBytes());
  }
  writer.writeEndOfFile();
  return archive;
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
  // A link stays one; a device or a pipe can't be replaced.
  std::error_code error;
  const std::filesystem::path target =
      std::filesystem::weakly_canonical(path, error);
  struct stat before = {};
  const bool was_there = stat(path.c_str(), &before) == 0;
  if (error || (was_there && !S_ISREG(before.st_mode)))
    return WriteInPlace(option, path, contents);
  RemoveDeadStagedFiles(target);
  std::filesystem::path staged;
  const int file = OpenStagedFile(target, &staged);
  if (file < 0) return WriteInPlace(option, path, contents);
  const bool written =
      WriteAll(file, contents) &&
      (!was_there || fchmod(file, before.st_mode & 07777) == 0) &&
      rename(staged.c_str(), target.c_str()) == 0;
  const int reason = errno;
  if (!written) unlink(staged.c_str());
  close(file);
  return written ? absl::OkStatus()
                 : CannotWrite(option, path, ReasonOf(reason));
}

absl::Status SaveResult(const std::string& option, const std::string& path,
                        const c10::IValue& result) {
  // LibTorch would write it, but in another form than torch.load reads.
  for (const at::Tensor& tensor : frontend::TensorLeaves(result)) {
    if (tensor.layout() == at::kStrided) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        option, " ", path,
        ": the result cannot be saved: it has a sparse tensor, and LibTorch "
        "writes these in a form that torch.load does not read; have the model "
        "return to_dense() of it, or its parts"));
  }
  std::string bytes;
  try {
    // As for those that wait to be conjugated or negated.
    bytes = Pickled(WithoutTypes(frontend::MapTensors(
        result, [](const at::Tensor& tensor, int /*index*/) {
          return tensor.resolve_conj().resolve_neg();
        })));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        option, " ", path, ": the result cannot be saved: ", error.what()));
  }
  return WriteOutputFile(option, path, bytes);
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
