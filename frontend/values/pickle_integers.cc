#include "frontend/values/pickle_integers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace aitune::frontend {
namespace {

// Python's pickletools lists the opcodes.
constexpr char kLong1 = '\x8a';
constexpr size_t kWidest = 8;

// The number in the `bytes` bytes at `at`, the lowest first; not set if the
// pickle ends before.
std::optional<size_t> NumberAt(std::string_view pickle, size_t at,
                               size_t bytes) {
  if (at + bytes > pickle.size()) return std::nullopt;
  size_t number = 0;
  for (size_t i = bytes; i-- > 0;)
    number = number << 8 | static_cast<uint8_t>(pickle[at + i]);
  return number;
}

// The number of bytes of the opcode at `at` and what belongs to it; not set if
// it is not known.
std::optional<size_t> LengthAt(std::string_view pickle, size_t at) {
  const auto counted = [&](size_t bytes) -> std::optional<size_t> {
    const std::optional<size_t> count = NumberAt(pickle, at + 1, bytes);
    if (!count) return std::nullopt;
    return 1 + bytes + *count;
  };
  switch (pickle[at]) {
    case '(':     // a mark
    case ')':     // ()
    case ']':     // []
    case '}':     // {}
    case '.':     // the end
    case '0':     // pop
    case '1':     // pop to the mark
    case '2':     // duplicate
    case 'N':     // None
    case 'Q':     // a persistent value
    case 'R':     // call
    case 'a':     // append
    case 'b':     // build
    case 'e':     // append all
    case 's':     // set an item
    case 't':     // a tuple
    case 'u':     // set all items
    case '\x81':  // a new object
    case '\x85':  // tuples of one, two, three
    case '\x86':
    case '\x87':
    case '\x88':  // True
    case '\x89':  // False
      return 1;
    case 'K':     // an integer of one byte
    case 'h':     // get
    case 'q':     // put
    case '\x80':  // the protocol
      return 2;
    case 'M':  // an integer of two bytes
      return 3;
    case 'J':  // an integer of four bytes
    case 'j':  // get
    case 'r':  // put
      return 5;
    case 'G':  // a float
      return 9;
    case kLong1:
    case 'U':     // a string
    case '\x8c':  // a string of Unicode
      return counted(1);
    case 'T':
    case 'X':
      return counted(4);
    case 'c': {  // the lines of a module and a name
      const size_t first = pickle.find('\n', at);
      if (first == std::string_view::npos) return std::nullopt;
      const size_t second = pickle.find('\n', first + 1);
      if (second == std::string_view::npos) return std::nullopt;
      return second + 1 - at;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

absl::StatusOr<std::string> WithWideIntegers(std::string_view pickle) {
  std::string made;
  size_t at = 0;
  while (at < pickle.size()) {
    const std::optional<size_t> length = LengthAt(pickle, at);
    if (!length || *length > pickle.size() - at) break;
    const std::string_view opcode = pickle.substr(at, *length);
    at += *length;
    if (opcode[0] != kLong1) {
      made.append(opcode);
      continue;
    }
    const std::string_view bytes = opcode.substr(2);
    if (bytes.size() > kWidest)
      return absl::InvalidArgumentError(
          "it has an integer that does not fit into 64 bits");
    const bool is_negative =
        !bytes.empty() && static_cast<uint8_t>(bytes.back()) >= 0x80;
    made.push_back(kLong1);
    made.push_back(static_cast<char>(kWidest));
    made.append(bytes);
    made.append(kWidest - bytes.size(), is_negative ? '\xff' : '\0');
  }
  made.append(pickle.substr(at));
  return made;
}

}  // namespace aitune::frontend
