#include "frontend/torchscript/record_check.h"

#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/source_range_serialization.h>
#include <torch/csrc/jit/serialization/storage_context.h>
#include <torch/csrc/jit/serialization/unpickler.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/torchscript/code_check.h"
#include "frontend/values/record_bounds.h"

namespace aitune::frontend {
namespace {

// The elements of a tuple; null if it is none, or has fewer than `least`.
const std::vector<c10::IValue>* ElementsOf(const c10::IValue& value,
                                           size_t least,
                                           std::vector<c10::IValue>& memory) {
  if (!value.isTuple()) return nullptr;
  memory = value.toTupleRef().elements().vec();
  return memory.size() < least ? nullptr : &memory;
}

// One record: the source texts with the ranges in them, by their places in the
// code.
class DebugFile {
 public:
  bool IsSound(const c10::IValue& file) {
    std::vector<c10::IValue> parts;
    if (!ElementsOf(file, 1, parts)) return false;
    c10::IValue ranges = file;
    if (parts[0].isString() &&
        parts[0].toStringRef() == torch::jit::kFormatWithStringTable) {
      std::vector<c10::IValue> texts;
      if (parts.size() < 3 || !ElementsOf(parts[1], 0, texts)) return false;
      for (const c10::IValue& text : texts) {
        if (!text.isString()) return false;
        text_sizes_.push_back(text.toStringRef().size());
      }
      ranges = parts[2];
    }
    std::vector<c10::IValue> list, entry;
    if (!ElementsOf(ranges, 0, list)) return false;
    for (const c10::IValue& element : list) {
      if (!ElementsOf(element, 2, entry) || !entry[0].isInt() ||
          !IsRange(entry[1]))
        return false;
    }
    return true;
  }

 private:
  // A source, and where the range begins and ends in its text.
  bool IsRange(const c10::IValue& range) {
    std::vector<c10::IValue> parts;
    if (!ElementsOf(range, 3, parts) || !parts[1].isInt() || !parts[2].isInt())
      return false;
    if (!parts[0].isTuple()) return false;
    const void* const source = parts[0].toTuple().get();
    const auto found = source_sizes_.find(source);
    const std::optional<int64_t> size =
        found == source_sizes_.end() ? SizeOf(parts[0]) : found->second;
    if (!size) return false;
    source_sizes_[source] = *size;
    const int64_t begin = parts[1].toInt(), end = parts[2].toInt();
    return 0 <= begin && begin <= end && end <= *size;
  }

  // The size of a source's text; none if it is no source.
  std::optional<int64_t> SizeOf(const c10::IValue& source) const {
    std::vector<c10::IValue> parts;
    if (!ElementsOf(source, 3, parts) || !parts[2].isInt()) return std::nullopt;
    if (text_sizes_.empty()) {
      if (!parts[0].isString() || !(parts[1].isString() || parts[1].isNone()))
        return std::nullopt;
      return parts[0].toStringRef().size();
    }
    if (!parts[0].isIntList() || !parts[1].isInt() || !IsText(parts[1].toInt()))
      return std::nullopt;
    int64_t size = 0;
    for (const int64_t text : parts[0].toIntVector()) {
      if (!IsText(text)) return std::nullopt;
      size += text_sizes_[text];
    }
    return size;
  }

  bool IsText(int64_t index) const {
    return index >= 0 && index < static_cast<int64_t>(text_sizes_.size());
  }

  std::vector<int64_t> text_sizes_;  // of the texts that sources consist of
  std::map<const void*, int64_t> source_sizes_;
};

bool IsSoundDebugFile(caffe2::serialize::PyTorchStreamReader& reader,
                      const std::string& name) {
  try {
    const auto [data, size] = reader.getRecord(name);
    return DebugFile().IsSound(
        torch::jit::unpickle(static_cast<const char*>(data.get()), size));
  } catch (const std::exception&) {
    return false;
  }
}

// Objects of any class with what they were saved as, their only attribute.
class AnyObject {
 public:
  c10::StrongTypePtr Type() const { return {unit_, type_}; }
  c10::intrusive_ptr<c10::ivalue::Object> Make(c10::IValue saved) const {
    auto object = c10::ivalue::Object::create(Type(), /*numSlots=*/1);
    object->setSlot(0, std::move(saved));
    return object;
  }

 private:
  static c10::ClassTypePtr MakeType(
      const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
    auto type = c10::ClassType::create("__torch__.Any", unit);
    type->addAttribute("saved", c10::AnyType::get());
    return type;
  }

  const std::shared_ptr<torch::jit::CompilationUnit> unit_ =
      std::make_shared<torch::jit::CompilationUnit>();
  const c10::ClassTypePtr type_ = MakeType(unit_);
};

// A type of the same kind of container. Those of the elements may be of the
// program's, which is not read here.
c10::TypePtr AnyContainer(const std::string& type) {
  if (absl::StartsWith(type, "Dict["))
    return c10::DictType::create(c10::AnyType::get(), c10::AnyType::get());
  if (absl::StartsWith(type, "List["))
    return c10::ListType::create(c10::AnyType::get());
  return c10::AnyType::get();
}

// As many bytes as the record has, all 0, which cost nothing unless they are
// read. LibTorch reads the scales of quantized weights.
at::DataPtr Zeros(size_t bytes) {
  void* const zeros = std::calloc(std::max<size_t>(bytes, 1), 1);
  if (zeros == nullptr) throw std::bad_alloc();
  return {zeros, zeros, &std::free, at::kCPU};
}

// Whether the tensors of ARCHIVE.pkl lie in its records. OK for what cannot be
// read so: loading says what is wrong then.
absl::Status CheckTensors(caffe2::serialize::PyTorchStreamReader& reader,
                          const std::string& archive) {
  const auto [pickle, pickle_size] = reader.getRecord(archive + ".pkl");
  const std::string_view text(static_cast<const char*>(pickle.get()),
                              pickle_size);
  size_t position = 0;
  const auto read = [&](char* buffer, size_t count) {
    const size_t copied = text.copy(buffer, count, position);
    position += copied;
    return copied;
  };
  const AnyObject objects;
  RecordBounds bounds;
  torch::jit::Unpickler unpickler(
      read, [&](const c10::QualifiedName&) { return objects.Type(); },
      [&](const c10::StrongTypePtr&, c10::IValue saved) {
        return objects.Make(std::move(saved));
      },
      [&](const std::string& name) {
        const size_t size =
            reader.getRecordSize(absl::StrCat(archive, "/", name));
        return bounds.Keep(Zeros(size), size);
      },
      at::kCPU, /*use_storage_device=*/false, &AnyContainer,
      std::make_shared<torch::jit::DeserializationStorageContext>());
  unpickler.set_version(reader.version());
  return bounds.Check(unpickler.parse_ivalue());
}

// Of what a reader of `file` reads.
template <typename File>
RecordCheck CheckRecordsOf(const File& file) {
  RecordCheck check;
  try {
    caffe2::serialize::PyTorchStreamReader reader(file);
    bool sound = true;
    for (const std::string& name : reader.getAllRecords()) {
      // Other records, such as those of the caller, LibTorch does not parse.
      if (!absl::StartsWith(name, "code/")) continue;
      if (absl::EndsWith(name, ".debug_pkl"))
        sound = sound && IsSoundDebugFile(reader, name);
      if (!absl::EndsWith(name, ".py")) continue;
      const auto [data, size] = reader.getRecord(name);
      const absl::Status code =
          CheckCode(absl::StrCat("the record ", name),
                    {static_cast<const char*>(data.get()), size});
      if (!code.ok()) {
        check.content = absl::Status(
            code.code(),
            absl::StrCat(code.message(),
                         "; if it is damaged, save the model again with "
                         "torch.jit.save"));
      }
    }
    check.debug_files_are_sound = sound;
    for (const char* archive : {"constants", "data"})
      if (check.content.ok()) check.content = CheckTensors(reader, archive);
  } catch (const std::exception&) {
    // Loading says what is wrong.
  }
  return check;
}

}  // namespace

RecordCheck CheckRecords(const std::string& path) {
  return CheckRecordsOf(path);
}

RecordCheck CheckRecords(
    std::shared_ptr<caffe2::serialize::ReadAdapterInterface> file) {
  return CheckRecordsOf(file);
}

}  // namespace aitune::frontend
