#include "frontend/torchscript/record_check.h"

#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/source_range_serialization.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

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

// Whether each line that begins with `import` ends with the name after it, and
// the next one is not indented, as otherwise it does not end for LibTorch.
bool ImportsEnd(std::string_view code) {
  constexpr std::string_view kImport = "import";
  while (!code.empty()) {
    const size_t end = code.find('\n');
    std::string_view line = code.substr(0, end);
    code.remove_prefix(end == code.npos ? code.size() : end + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.substr(0, kImport.size()) != kImport) continue;
    line.remove_prefix(kImport.size());
    // A name such as `important`.
    if (!line.empty() && (absl::ascii_isalnum(line[0]) || line[0] == '_'))
      continue;
    if (code.empty() || !absl::ascii_isalpha(code[0]) ||
        !std::all_of(line.begin(), line.end(), [](char c) {
          return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == ' ';
        }))
      return false;
  }
  return true;
}

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

}  // namespace

RecordCheck CheckRecords(const std::string& path) {
  RecordCheck check;
  try {
    caffe2::serialize::PyTorchStreamReader reader(path);
    bool sound = true;
    for (const std::string& name : reader.getAllRecords()) {
      // Other records, such as those of the caller, LibTorch does not parse.
      if (!absl::StartsWith(name, "code/")) continue;
      if (absl::EndsWith(name, ".debug_pkl"))
        sound = sound && IsSoundDebugFile(reader, name);
      if (!absl::EndsWith(name, ".py")) continue;
      const auto [data, size] = reader.getRecord(name);
      if (!ImportsEnd({static_cast<const char*>(data.get()), size}))
        check.code = absl::InvalidArgumentError(
            absl::StrCat("the record ", name,
                         " has an import without an end: it is damaged; save "
                         "the model again with torch.jit.save"));
    }
    check.debug_files_are_sound = sound;
  } catch (const std::exception&) {
    // Loading says what is wrong.
  }
  return check;
}

}  // namespace aitune::frontend
