#include "compiler/candidates/CubinStore.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/hash/sha256.h"

namespace aitune {
namespace {

/// What stands for the name: no character of a CUDA text.
constexpr char kNameless[] = "\x01";
/// The hexadecimal digits of a digest in a name: 64 bits.
constexpr size_t kDigits = 16;

} // namespace

std::pair<CubinStore::Entry *, bool>
CubinStore::find(const std::string &text, const std::string &symbol) {
  const std::string digest =
      Sha256Hex(absl::StrReplaceAll(text, {{symbol, kNameless}}));
  const auto [found, isNew] = entries.try_emplace(digest);
  Entry &entry = found->second;
  if (isNew) {
    entry.symbol = absl::StrCat(symbol, "_", digest.substr(0, kDigits));
    entry.text = absl::StrReplaceAll(text, {{symbol, entry.symbol}});
  }
  return {&entry, isNew};
}

std::string renameSymbol(absl::string_view name, absl::string_view symbol,
                         absl::string_view renamed) {
  return absl::StartsWith(name, symbol)
             ? absl::StrCat(renamed, name.substr(symbol.size()))
             : std::string(name);
}

} // namespace aitune
