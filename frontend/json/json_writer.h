// JSON text, written from front to back.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Member("name", "net");
//   json.Key("sizes");
//   json.BeginArray();
//   json.Value(3);
//   json.EndArray();
//   json.EndObject();
//   std::string text = json.Take();
//
// Where programs embed AITune a failed allocation must be an error. A tree of
// nlohmann's allocates when it goes, where an exception ends the process; so
// the library writes text, and has nlohmann's write the scalars alone.
#ifndef AITUNE_FRONTEND_JSON_JSON_WRITER_H_
#define AITUNE_FRONTEND_JSON_JSON_WRITER_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace aitune::frontend {

// Not thread-safe. The caller begins and ends objects and arrays in pairs.
class JsonWriter {
 public:
  // With `indented`, each element has a line of its own.
  explicit JsonWriter(bool indented = false) : indented_(indented) {}

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }

  // The name of the member of an object that follows.
  void Key(std::string_view name) {
    Value(std::string(name));
    text_ += indented_ ? ": " : ":";
    after_key_ = true;
  }

  // A number, a bool or a text. Numbers that are not finite are null; what is
  // no UTF-8 becomes U+FFFD.
  template <typename T>
  void Value(const T& value) {
    Separate();
    text_ += nlohmann::json(value).dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  template <typename T>
  void Member(std::string_view name, const T& value) {
    Key(name);
    Value(value);
  }

  // The text so far; the writer is then as new.
  std::string Take() {
    depth_ = 0;
    is_first_ = true;
    return std::exchange(text_, {});
  }

 private:
  void NewLine() {
    if (indented_) text_.append(1, '\n').append(depth_, ' ');
  }

  void Separate() {
    if (std::exchange(after_key_, false)) return;
    if (depth_ == 0) return;
    if (!std::exchange(is_first_, false)) text_ += ',';
    NewLine();
  }

  void Begin(char bracket) {
    Separate();
    text_ += bracket;
    ++depth_;
    is_first_ = true;
  }

  void End(char bracket) {
    --depth_;
    if (!std::exchange(is_first_, false)) NewLine();
    text_ += bracket;
  }

  const bool indented_;
  std::string text_;
  int depth_ = 0;           // of objects and arrays that have not ended
  bool is_first_ = true;    // nothing is in the innermost of them yet
  bool after_key_ = false;  // what comes next is a member's value
};

// `text` with what is no UTF-8 in it, as a path may be, as U+FFFD. Thread-safe.
inline std::string ToUtf8(std::string text) {
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return static_cast<signed char>(c) >= 0; }))
    return text;
  JsonWriter json;
  json.Value(text);
  return nlohmann::json::parse(json.Take()).get<std::string>();
}

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_JSON_JSON_WRITER_H_
