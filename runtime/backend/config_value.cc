#include "runtime/backend/config_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace aitune {
namespace {

// Takes one code point off the front of `text`; a byte that starts no valid
// UTF-8 sequence gives 0xdc00 + the byte.
uint32_t TakeCodePoint(std::string_view* text) {
  const auto byte = [&](size_t i) -> uint32_t {
    return static_cast<unsigned char>((*text)[i]);
  };
  const uint32_t first = byte(0);
  size_t length = 1;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  const bool ascii = first < 0x80;
  bool valid = ascii || (length > 1 && text->size() >= length);
  uint32_t code = ascii ? first : first & (0xff >> (length + 1));
  for (size_t i = 1; valid && i < length; ++i) {
    valid = (byte(i) & 0xc0) == 0x80;
    code = code << 6 | (byte(i) & 0x3f);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && code >= (ascii ? 0 : kSmallest[length]) &&
          code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  if (!valid) {
    text->remove_prefix(1);
    return 0xdc00 + first;
  }
  text->remove_prefix(length);
  return code;
}

// The one-letter escape that JSON and Python share, 0 for none.
char ShortEscape(uint32_t code) {
  switch (code) {
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\\':
      return '\\';
    default:
      return 0;
  }
}

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const uint32_t code = TakeCodePoint(&text);
    if (const char escape = ShortEscape(code)) {
      out += {'\\', escape};
    } else if (code == '"') {
      out += "\\\"";
    } else if (code == '\b') {
      out += "\\b";
    } else if (code == '\f') {
      out += "\\f";
    } else if (code >= 0x20 && code < 0x7f) {
      out.push_back(static_cast<char>(code));
    } else if (code < 0x10000) {
      absl::StrAppendFormat(&out, "\\u%04x", code);
    } else {
      const uint32_t offset = code - 0x10000;
      absl::StrAppendFormat(&out, "\\u%04x\\u%04x", 0xd800 + (offset >> 10),
                            0xdc00 + (offset & 0x3ff));
    }
  }
  out.push_back('"');
  return out;
}

// Whether Python prints a character by its number: str.isprintable is false for
// controls, and for separators, format characters and private ones, of which
// this has those of Unicode 14 (categories Zs, Zl, Zp, Cf and Co). Characters
// that Unicode has not assigned count as printable here.
bool IsEscaped(uint32_t code) {
  static constexpr std::pair<uint32_t, uint32_t> kRanges[] = {
      {0x0000, 0x001f},   {0x007f, 0x00a0},    {0x00ad, 0x00ad},
      {0xd800, 0xdfff},   {0x0600, 0x0605},    {0x061c, 0x061c},
      {0x06dd, 0x06dd},   {0x070f, 0x070f},    {0x0890, 0x0891},
      {0x08e2, 0x08e2},   {0x1680, 0x1680},    {0x180e, 0x180e},
      {0x2000, 0x200f},   {0x2028, 0x202f},    {0x205f, 0x2064},
      {0x2066, 0x206f},   {0x3000, 0x3000},    {0xe000, 0xf8ff},
      {0xfeff, 0xfeff},   {0xfff9, 0xfffb},    {0x110bd, 0x110bd},
      {0x110cd, 0x110cd}, {0x13430, 0x13438},  {0x1bca0, 0x1bca3},
      {0x1d173, 0x1d17a}, {0xe0001, 0xe0001},  {0xe0020, 0xe007f},
      {0xf0000, 0xffffd}, {0x100000, 0x10fffd}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [code](const auto& range) {
                       return range.first <= code && code <= range.second;
                     });
}

std::string PythonRepr(std::string_view text) {
  const bool double_quotes = text.find('\'') != std::string_view::npos &&
                             text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const std::string_view rest = text;
    const uint32_t code = TakeCodePoint(&text);
    if (const char escape = ShortEscape(code)) {
      out += {'\\', escape};
    } else if (code == static_cast<unsigned char>(quote)) {
      out += {'\\', quote};
    } else if (IsEscaped(code)) {
      if (code < 0x100) {
        absl::StrAppendFormat(&out, "\\x%02x", code);
      } else if (code < 0x10000) {
        absl::StrAppendFormat(&out, "\\u%04x", code);
      } else {
        absl::StrAppendFormat(&out, "\\U%08x", code);
      }
    } else {
      const std::string_view same = rest.substr(0, rest.size() - text.size());
      out.append(same.data(), same.size());
    }
  }
  out.push_back(quote);
  return out;
}

// The shortest digits that give the number back, laid out as Python does.
std::string PythonFloat(double number) {
  if (number == 0) return std::signbit(number) ? "-0.0" : "0.0";
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), number,
                                    std::chars_format::scientific);
  std::string_view text(buffer, result.ptr - buffer);
  std::string out;
  if (text.front() == '-') {
    out = "-";
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  std::string digits(1, text[0]);
  if (e > 2) digits.append(text.substr(2, e - 2));
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    absl::StrAppend(&out, digits.substr(0, 1), count > 1 ? "." : "",
                    digits.substr(1));
    return out + absl::StrFormat("e%+03d", exponent);
  }
  if (exponent < 0)
    return absl::StrCat(out, "0.", std::string(-exponent - 1, '0'), digits);
  if (count <= exponent + 1)
    return absl::StrCat(out, digits, std::string(exponent + 1 - count, '0'),
                        ".0");
  return absl::StrCat(out, digits.substr(0, exponent + 1), ".",
                      digits.substr(exponent + 1));
}

std::string TorchName(DataType dtype) {
  const std::string_view name = Name(dtype);
  return absl::StrCat("torch.", absl::string_view(name.data(), name.size()));
}

class JsonPrinter {
 public:
  explicit JsonPrinter(int indent) : indent_(indent) {}

  std::string Take() { return std::move(out_); }

  void Print(const ConfigValue& value) {
    std::visit([this](const auto& v) { PrintValue(v); }, value.variant());
  }

 private:
  void PrintValue(None) { out_ += "null"; }
  void PrintValue(bool value) { out_ += value ? "true" : "false"; }
  void PrintValue(int64_t value) { absl::StrAppend(&out_, value); }
  void PrintValue(double value) {
    if (std::isnan(value)) {
      out_ += "NaN";
    } else if (std::isinf(value)) {
      out_ += value > 0 ? "Infinity" : "-Infinity";
    } else {
      out_ += PythonFloat(value);
    }
  }
  void PrintValue(const std::string& value) { out_ += JsonString(value); }
  void PrintValue(DataType value) { out_ += JsonString(TorchName(value)); }
  void PrintValue(const ConfigList& list) {
    PrintAll(list, '[', ']', [this](const ConfigValue& item) { Print(item); });
  }
  void PrintValue(const ConfigDict& dict) {
    PrintAll(dict, '{', '}', [this](const auto& item) {
      out_ += JsonString(item.first) + ": ";
      Print(item.second);
    });
  }

  template <typename Items, typename PrintItem>
  void PrintAll(const Items& items, char open, char close, PrintItem print) {
    out_.push_back(open);
    if (!items.empty()) {
      ++depth_;
      bool first = true;
      for (const auto& item : items) {
        if (!first) out_ += indent_ < 0 ? ", " : ",";
        first = false;
        NewLine();
        print(item);
      }
      --depth_;
      NewLine();
    }
    out_.push_back(close);
  }

  void NewLine() {
    if (indent_ < 0) return;
    out_.push_back('\n');
    out_.append(indent_ * depth_, ' ');
  }

  const int indent_;
  int depth_ = 0;
  std::string out_;
};

struct StrPrinter {
  bool nested;

  std::string operator()(None) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return PythonFloat(value);
  }
  std::string operator()(const std::string& value) const {
    return nested ? PythonRepr(value) : value;
  }
  std::string operator()(DataType value) const { return TorchName(value); }
  std::string operator()(const ConfigList& list) const {
    std::string out = "[";
    for (const ConfigValue& item : list) {
      absl::StrAppend(&out, out.size() > 1 ? ", " : "", Nested(item));
    }
    return out + "]";
  }
  std::string operator()(const ConfigDict& dict) const {
    std::string out = "{";
    for (const auto& [name, value] : dict) {
      absl::StrAppend(&out, out.size() > 1 ? ", " : "", PythonRepr(name), ": ",
                      Nested(value));
    }
    return out + "}";
  }

  static std::string Nested(const ConfigValue& value) {
    return std::visit(StrPrinter{true}, value.variant());
  }
};

}  // namespace

const ConfigValue* Find(const ConfigDict& dict, std::string_view name) {
  for (const auto& [key, value] : dict) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string_view PythonTypeName(const ConfigValue& value) {
  static constexpr std::string_view kNames[] = {
      "NoneType", "bool", "int", "float", "str", "torch.dtype", "list", "dict"};
  static_assert(std::size(kNames) == std::variant_size_v<ConfigValue::Variant>);
  return kNames[value.variant().index()];
}

std::string ToPythonJson(const ConfigValue& value, int indent) {
  JsonPrinter printer(indent);
  printer.Print(value);
  return printer.Take();
}

std::string ToPythonStr(const ConfigValue& value) {
  return std::visit(StrPrinter{false}, value.variant());
}

}  // namespace aitune
