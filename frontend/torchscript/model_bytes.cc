#include "frontend/torchscript/model_bytes.h"

#include <caffe2/serialize/read_adapter_interface.h>
#include <sys/mman.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/json/json_writer.h"
#include "frontend/torchscript/conversion.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/record_check.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// The bytes of a model, as LibTorch reads them.
class BytesReader : public caffe2::serialize::ReadAdapterInterface {
 public:
  // `bytes` must outlive this.
  explicit BytesReader(std::string_view bytes) : bytes_(bytes) {}
  size_t size() const override { return bytes_.size(); }
  size_t read(uint64_t position, void* to, size_t size,
              const char* /*what*/) const override {
    if (position >= bytes_.size()) return 0;
    size = std::min<size_t>(size, bytes_.size() - position);
    std::memcpy(to, bytes_.data() + position, size);
    return size;
  }

 private:
  const std::string_view bytes_;
};

// Gives the pages of large reads, which are tensors, back to the system.
class FreeingReader : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit FreeingReader(std::string bytes)
      : bytes_(std::move(bytes)), reader_(bytes_) {}

  // Whether something was to be read that is no longer there.
  bool missed() const { return missed_; }

  size_t size() const override { return bytes_.size(); }
  size_t read(uint64_t position, void* to, size_t size,
              const char* what) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto after = freed_.lower_bound(position + size);
    if (after != freed_.begin() && std::prev(after)->second > position) {
      missed_ = true;
      return 0;  // which LibTorch makes an error
    }
    if (size < kLeast) return reader_.read(position, to, size, what);
    size_t done = 0;
    while (done < size) {
      const size_t got =
          reader_.read(position + done, static_cast<char*>(to) + done,
                       std::min(kStep, size - done), what);
      if (got == 0) break;
      Free(position + done, got);
      done += got;
    }
    return done;
  }

 private:
  static constexpr size_t kLeast = size_t{1} << 20;  // bytes of a read
  static constexpr size_t kStep = size_t{4} << 20;   // bytes, at once

  void Free(uint64_t position, size_t size) const {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<uint64_t>(bytes_.data());
    const uint64_t begin = (start + position + page - 1) / page * page;
    const uint64_t end = (start + position + size) / page * page;
    if (begin >= end) return;
    // Exceptions are not to go through miniz, which is C.
    try {
      freed_[begin - start] = end - start;
    } catch (const std::bad_alloc&) {
      return;
    }
    if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) !=
        0)
      freed_.erase(begin - start);
  }

  const std::string bytes_;
  const BytesReader reader_;
  mutable std::mutex mutex_;
  mutable std::map<uint64_t, uint64_t> freed_;  // ends by begins, in bytes
  mutable bool missed_ = false;
};

// JSON: {"disabled": [path, ...], "substitutes": {path: source, ...}}.
constexpr char kChangesFile[] = "aitune_submodules";

std::string ChangesJson(const SubmoduleChanges& changes) {
  JsonWriter json;
  json.BeginObject();
  json.Key("disabled");
  json.BeginArray();
  for (const std::string& path : changes.disabled) json.Value(path);
  json.EndArray();
  json.Key("substitutes");
  json.BeginObject();
  for (const auto& [path, source] : changes.substitutes)
    json.Member(path, source);
  json.EndObject();
  json.EndObject();
  return json.Take();
}

// Throws nlohmann's exceptions. Nothing is kept in the tree, which would
// allocate when it goes.
SubmoduleChanges ParseChanges(const std::string& text) {
  using Event = nlohmann::json::parse_event_t;
  SubmoduleChanges changes;
  std::string list, path;
  const auto take = [&](int depth, Event event, nlohmann::json& parsed) {
    if (event == Event::key)
      (depth == 1 ? list : path) = parsed.get<std::string>();
    else if (event == Event::value && list == "disabled")
      changes.disabled.insert(parsed.get<std::string>());
    else if (event == Event::value && list == "substitutes")
      changes.substitutes[path] = parsed.get<std::string>();
    return event != Event::key && event != Event::value;
  };
  const auto rest = nlohmann::json::parse(text, take);
  if (!rest.is_object())
    throw std::invalid_argument("the changes of submodules are no object");
  return changes;
}

}  // namespace

absl::StatusOr<std::string> ModelBytes(const Model& model) {
  std::string bytes;
  // A writer that fails makes the destructor of LibTorch's archive throw, which
  // ends the process: this one fails once LibTorch is done.
  bool no_memory = false;
  const auto write = [&](const void* data, size_t size) {
    try {
      if (!no_memory) bytes.append(static_cast<const char*>(data), size);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
    return size;
  };
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kUnimplemented, "saving the model", [&] {
        torch::jit::ExportModule(
            model.impl().module(), write,
            {{kChangesFile, ChangesJson(model.impl().changes)}});
        if (no_memory) throw std::bad_alloc();
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return bytes;
}

namespace {

absl::StatusOr<Model> ModelFrom(
    const std::shared_ptr<caffe2::serialize::ReadAdapterInterface>& bytes,
    bool has_sound_debug_files, const LoadOptions& options) {
  std::optional<torch::jit::Module> module;
  torch::jit::ExtraFilesMap files = {{kChangesFile, ""}};
  SubmoduleChanges changes;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInvalidArgument, "loading the model", [&] {
        module =
            torch::jit::load(bytes, at::kCPU, files, has_sound_debug_files);
        MoveTo(*module, at::kCPU);
        if (!files[kChangesFile].empty())
          changes = ParseChanges(files[kChangesFile]);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  AITUNE_ASSIGN_OR_RETURN(Model model,
                          Model::FromModule(*std::move(module), options));
  for (const std::string& name : changes.disabled)
    AITUNE_RETURN_IF_ERROR(model.Disable(name));
  for (const auto& [name, source] : changes.substitutes)
    AITUNE_RETURN_IF_ERROR(model.Substitute(name, source));
  return model;
}

}  // namespace

absl::StatusOr<Model> ModelFromBytes(const std::string& bytes,
                                     const LoadOptions& options) {
  const auto reader = std::make_shared<BytesReader>(bytes);
  const RecordCheck records = CheckRecords(reader);
  AITUNE_RETURN_IF_ERROR(records.content);
  return ModelFrom(reader, records.debug_files_are_sound, options);
}

absl::StatusOr<Model> ModelFromOwnBytes(std::string bytes,
                                        const LoadOptions& options) {
  const auto reader = std::make_shared<FreeingReader>(std::move(bytes));
  absl::StatusOr<Model> model =
      ModelFrom(reader, /*has_sound_debug_files=*/true, options);
  if (reader->missed())
    return absl::AbortedError("the model's parts have to be read twice");
  return model;
}

}  // namespace aitune::frontend
