#include "frontend/torchscript/input_spec.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <complex>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/status/status_macros.h"
#include "runtime/tensor/data_type_facts.h"

namespace aitune::frontend {
namespace {

bool IsNan(const InputSpec::Key& key) {
  if (const auto* number = std::get_if<std::complex<double>>(&key))
    return std::isnan(number->real()) || std::isnan(number->imag());
  const auto* number = std::get_if<double>(&key);
  return number != nullptr && std::isnan(*number);
}

absl::string_view View(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

// Of a tensor that LibTorch's operators take.
constexpr size_t kMostAxes = 64;

// A recursive descent over one specification.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<InputSpec> Parse() {
    AITUNE_ASSIGN_OR_RETURN(InputSpec spec, ParseSpec(/*depth=*/0));
    SkipSpace();
    if (position_ != text_.size())
      return Error("unexpected text after the specification");
    return spec;
  }

 private:
  absl::Status Error(std::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("input \"", View(text_), "\": ", View(what),
                     " at position ", position_ + 1,
                     "; write for example float32[1,3,224,224], "
                     "int64[1..8,128]{0..30000} or int64=5"));
  }

  void SkipSpace() {
    while (position_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[position_])) != 0)
      ++position_;
  }

  bool Consume(std::string_view token) {
    SkipSpace();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }

  std::string_view Word() {
    SkipSpace();
    const size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) != 0 ||
            text_[position_] == '_')) {
      ++position_;
    }
    return text_.substr(start, position_ - start);
  }

  // The characters of a number; a following ".." is not part of it.
  std::string_view Number() {
    SkipSpace();
    const size_t start = position_;
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '.' && text_.substr(position_, 2) == "..") break;
      const bool sign = (c == '-' || c == '+') &&
                        (position_ == start || text_[position_ - 1] == 'e' ||
                         text_[position_ - 1] == 'E');
      if (!sign && std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.')
        break;
      ++position_;
    }
    return text_.substr(start, position_ - start);
  }

  absl::StatusOr<int64_t> ParseSize() {
    int64_t value = 0;
    if (!absl::SimpleAtoi(View(Number()), &value))
      return Error("expected a size");
    if (value < 0) return Error("a size must not be negative");
    constexpr int64_t kLargest = int64_t{1} << 40;
    if (value > kLargest) return Error("a size is too large");
    return value;
  }

  absl::StatusOr<AxisSpec> ParseAxis() {
    AxisSpec axis;
    SkipSpace();
    const bool named =
        position_ < text_.size() &&
        (std::isalpha(static_cast<unsigned char>(text_[position_])) != 0 ||
         text_[position_] == '_');
    if (named) {
      axis.name = std::string(Word());
      if (!Consume("=")) {
        axis.min = axis.max = -1;  // bounds of the axis that defines the name
        return axis;
      }
    }
    AITUNE_ASSIGN_OR_RETURN(int64_t min, ParseSize());
    axis.min = axis.max = min;
    if (Consume("..")) {
      AITUNE_ASSIGN_OR_RETURN(int64_t max, ParseSize());
      axis.max = max;
      if (axis.max < axis.min) return Error("the range of an axis is empty");
    } else if (named) {
      return Error("a named axis needs a range, such as batch=1..8");
    }
    return axis;
  }

  absl::StatusOr<InputSpec> ParseTensor(DataType dtype) {
    InputSpec spec;
    spec.dtype = dtype;
    if (!Consume("]")) {
      do {
        AITUNE_ASSIGN_OR_RETURN(AxisSpec axis, ParseAxis());
        spec.axes.push_back(std::move(axis));
        if (spec.axes.size() > kMostAxes)
          return Error(
              absl::StrCat("a tensor has at most ", kMostAxes, " axes"));
      } while (Consume(","));
      if (!Consume("]")) return Error("expected ',' or ']'");
    }
    if (Consume("{")) {
      double low = 0, high = 0;
      if (!absl::SimpleAtod(View(Number()), &low))
        return Error("expected the least value");
      if (!Consume("..")) return Error("expected '..'");
      if (!absl::SimpleAtod(View(Number()), &high))
        return Error("expected the greatest value");
      if (!Consume("}")) return Error("expected '}'");
      if (!(low <= high)) return Error("the range of values is empty");
      spec.values = {low, high};
    }
    return spec;
  }

  absl::StatusOr<InputSpec> ParseScalar(std::string_view type) {
    InputSpec spec;
    if (type == "str") {
      spec.kind = InputSpec::Kind::kString;
      if (text_.substr(position_, 1) == "\"") {
        ++position_;
        AITUNE_ASSIGN_OR_RETURN(spec.text, ParseQuoted());
        return spec;
      }
      while (position_ < text_.size() &&
             std::string_view(",)]}").find(text_[position_]) ==
                 std::string_view::npos) {
        spec.text += text_[position_++];
      }
      return spec;
    }
    const std::string_view value = Number();
    if (type == "bool") {
      spec.kind = InputSpec::Kind::kBool;
      if (value != "true" && value != "false" && value != "True" &&
          value != "False") {
        return Error("expected true or false");
      }
      spec.int_value = value == "true" || value == "True";
      return spec;
    }
    const std::optional<DataType> dtype = ParseDataType(type);
    if (dtype && IsFloatingPoint(*dtype)) {
      spec.kind = InputSpec::Kind::kFloat;
      if (!absl::SimpleAtod(View(value), &spec.float_value))
        return Error("expected a number");
      return spec;
    }
    spec.kind = InputSpec::Kind::kInt;
    if (!absl::SimpleAtoi(View(value), &spec.int_value))
      return Error("expected an integer");
    return spec;
  }

  // Up to and with the closing quote, with the escapes of C.
  absl::StatusOr<std::string> ParseQuoted() {
    const size_t start = position_;
    while (position_ < text_.size() && text_[position_] != '"')
      position_ += text_[position_] == '\\' ? 2 : 1;
    if (position_ >= text_.size()) return Error("the text in \"\" has no end");
    std::string text;
    if (!absl::CUnescape(View(text_.substr(start, position_ - start)), &text))
      return Error("unknown escape");
    ++position_;
    return text;
  }

  absl::StatusOr<std::complex<double>> ParseComplex() {
    double real = 0, imaginary = 0;
    if (!Consume("(") || !absl::SimpleAtod(View(Number()), &real) ||
        !Consume(",") || !absl::SimpleAtod(View(Number()), &imaginary) ||
        !Consume(")"))
      return Error("expected (real,imaginary)");
    return std::complex<double>(real, imaginary);
  }

  absl::StatusOr<InputSpec::Key> ParseKey() {
    if (Consume("\"")) {
      AITUNE_ASSIGN_OR_RETURN(std::string key, ParseQuoted());
      return InputSpec::Key(std::move(key));
    }
    const size_t start = position_;
    const std::string_view word = Word();
    if (Consume("=")) {
      if (word == "complex128") {
        AITUNE_ASSIGN_OR_RETURN(const std::complex<double> key, ParseComplex());
        return InputSpec::Key(key);
      }
      if (word == "float64" || word == "bool") {
        AITUNE_ASSIGN_OR_RETURN(const InputSpec key, ParseScalar(word));
        if (key.kind == InputSpec::Kind::kBool)
          return InputSpec::Key(key.int_value != 0);
        return InputSpec::Key(key.float_value);
      }
    }
    position_ = start;
    int64_t number = 0;
    if (!absl::SimpleAtoi(View(Number()), &number))
      return Error(
          "expected a key: an integer, a text in \"\", float64=0.5, bool=true "
          "or complex128=(0.5,1)");
    return InputSpec::Key(number);
  }

  absl::StatusOr<InputSpec> ParseDict(int depth) {
    InputSpec spec;
    spec.kind = InputSpec::Kind::kDict;
    if (Consume("}")) return spec;
    do {
      AITUNE_ASSIGN_OR_RETURN(InputSpec::Key key, ParseKey());
      if (std::find(spec.keys.begin(), spec.keys.end(), key) != spec.keys.end())
        return Error("a key is there twice");
      // LibTorch's dicts take all memory for some of those, which equal none.
      if (IsNan(key)) return Error("a key is not a number");
      if (!Consume(":")) return Error("expected ':'");
      AITUNE_ASSIGN_OR_RETURN(InputSpec child, ParseSpec(depth + 1));
      spec.keys.push_back(std::move(key));
      spec.children.push_back(std::move(child));
    } while (Consume(","));
    if (!Consume("}")) return Error("expected ',' or '}'");
    return spec;
  }

  absl::StatusOr<InputSpec> ParseSpec(int depth) {
    if (depth > 16) return Error("nesting is too deep");
    if (Consume("{")) return ParseDict(depth);
    InputSpec spec;
    const bool tuple = Consume("(");
    if (tuple || Consume("[")) {
      const std::string_view close = tuple ? ")" : "]";
      spec.kind = tuple ? InputSpec::Kind::kTuple : InputSpec::Kind::kList;
      if (Consume(close)) return spec;
      do {
        AITUNE_ASSIGN_OR_RETURN(InputSpec child, ParseSpec(depth + 1));
        spec.children.push_back(std::move(child));
      } while (Consume(","));
      if (!Consume(close)) return Error("expected ',' or a closing bracket");
      return spec;
    }
    const size_t start = position_;
    const std::string_view word = Word();
    if (word == "none" || word == "None") {
      spec.kind = InputSpec::Kind::kNone;
      return spec;
    }
    const std::optional<DataType> dtype = ParseDataType(word);
    // Codes of quantised tensors are no model's inputs.
    const bool is_code =
        dtype && FindFacts(*dtype)->kind == DataTypeFacts::Kind::kFloatCode;
    if ((!dtype && word != "str") || is_code) {
      position_ = start;
      return Error("unknown element type");
    }
    if (Consume("=")) return ParseScalar(word);
    if (dtype && Consume("[")) return ParseTensor(*dtype);
    return Error("expected '[' or '='");
  }

  std::string_view text_;
  size_t position_ = 0;
};

void CollectTensors(const InputSpec& spec,
                    std::vector<const InputSpec*>& tensors) {
  if (spec.kind == InputSpec::Kind::kTensor) tensors.push_back(&spec);
  for (const InputSpec& child : spec.children) CollectTensors(child, tensors);
}

std::string AxisToString(const AxisSpec& axis) {
  if (axis.max < 0) return axis.name;
  const std::string name = axis.name.empty() ? "" : axis.name + "=";
  if (!axis.dynamic() && name.empty()) return absl::StrCat(axis.min);
  return absl::StrCat(name, axis.min, "..", axis.max);
}

// Whether a text needs no quotes.
bool IsPlain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  });
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

// The text of a key, by its type. Numbers have all digits.
struct KeyText {
  std::string operator()(int64_t key) const { return absl::StrCat(key); }
  std::string operator()(const std::string& key) const { return Quoted(key); }
  std::string operator()(double key) const {
    return absl::StrFormat("float64=%.17g", key);
  }
  std::string operator()(bool key) const {
    return key ? "bool=true" : "bool=false";
  }
  std::string operator()(const std::complex<double>& key) const {
    return absl::StrFormat("complex128=(%.17g,%.17g)", key.real(), key.imag());
  }
};

std::string KeyToString(const InputSpec::Key& key) {
  return std::visit(KeyText(), key);
}

}  // namespace

absl::StatusOr<InputSpec> ParseInputSpec(std::string_view text) {
  return Parser(text).Parse();
}

std::string ToString(const InputSpec& spec) {
  const auto children = [&] {
    return absl::StrJoin(spec.children, ",",
                         [](std::string* out, const InputSpec& child) {
                           absl::StrAppend(out, ToString(child));
                         });
  };
  switch (spec.kind) {
    case InputSpec::Kind::kTensor: {
      std::string text = absl::StrCat(
          View(Name(spec.dtype)), "[",
          absl::StrJoin(spec.axes, ",",
                        [](std::string* out, const AxisSpec& axis) {
                          absl::StrAppend(out, AxisToString(axis));
                        }),
          "]");
      if (spec.values)
        absl::StrAppend(&text, "{", spec.values->first, "..",
                        spec.values->second, "}");
      return text;
    }
    case InputSpec::Kind::kInt:
      return absl::StrCat("int64=", spec.int_value);
    case InputSpec::Kind::kFloat:
      // All digits, so that it is read as the same number.
      return absl::StrFormat("float64=%.17g", spec.float_value);
    case InputSpec::Kind::kBool:
      return spec.int_value != 0 ? "bool=true" : "bool=false";
    case InputSpec::Kind::kString:
      return absl::StrCat("str=",
                          IsPlain(spec.text) ? spec.text : Quoted(spec.text));
    case InputSpec::Kind::kNone:
      return "none";
    case InputSpec::Kind::kTuple:
      return absl::StrCat("(", children(), ")");
    case InputSpec::Kind::kList:
      return absl::StrCat("[", children(), "]");
    case InputSpec::Kind::kDict: {
      std::vector<std::string> entries;
      for (size_t i = 0; i < spec.keys.size(); ++i)
        entries.push_back(absl::StrCat(KeyToString(spec.keys[i]), ":",
                                       ToString(spec.children[i])));
      return absl::StrCat("{", absl::StrJoin(entries, ","), "}");
    }
  }
  return "";
}

absl::StatusOr<SymbolAssignment> AssignSymbols(
    absl::Span<const InputSpec> specs) {
  std::vector<const InputSpec*> tensors;
  for (const InputSpec& spec : specs) CollectTensors(spec, tensors);

  // Names first: "int64[n]" may come before "int64[n=1..8]".
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
  for (const InputSpec* tensor : tensors) {
    for (const AxisSpec& axis : tensor->axes) {
      if (axis.name.empty() || axis.max < 0) continue;
      const auto [found, added] =
          ranges.try_emplace(axis.name, axis.min, axis.max);
      if (found->second != std::make_pair(axis.min, axis.max)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "axis \"", axis.name, "\" has two ranges: ", found->second.first,
            "..", found->second.second, " and ", axis.min, "..", axis.max));
      }
    }
  }

  SymbolAssignment result;
  std::map<std::string, int> named;
  // Unnamed ranges: (axis, min, max) to the symbol and the last input with it.
  std::map<std::vector<int64_t>, std::pair<int, size_t>> unnamed;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<int>& of = result.of.emplace_back();
    for (size_t a = 0; a < tensors[i]->axes.size(); ++a) {
      const AxisSpec& axis = tensors[i]->axes[a];
      if (axis.name.empty() && !axis.dynamic()) {
        of.push_back(-1);
        continue;
      }
      const int next = static_cast<int>(result.symbols.size());
      SymbolSpec symbol = {axis.name, axis.min, axis.max,
                           static_cast<int32_t>(i), static_cast<int32_t>(a)};
      if (!axis.name.empty()) {
        const auto range = ranges.find(axis.name);
        if (range == ranges.end()) {
          return absl::InvalidArgumentError(
              absl::StrCat("axis \"", axis.name, "\" has no range; write ",
                           axis.name, "=1..8 once"));
        }
        std::tie(symbol.min, symbol.max) = range->second;
        of.push_back(named.try_emplace(axis.name, next).first->second);
      } else {
        symbol.name = absl::StrCat("s", next);
        const auto [found, added] =
            unnamed.try_emplace({static_cast<int64_t>(a), axis.min, axis.max},
                                std::make_pair(next, i));
        if (!added && found->second.second == i) found->second.first = next;
        found->second.second = i;
        of.push_back(found->second.first);
      }
      if (of.back() == next) result.symbols.push_back(std::move(symbol));
    }
  }
  return result;
}

}  // namespace aitune::frontend
