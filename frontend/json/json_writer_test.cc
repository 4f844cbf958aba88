#include "frontend/json/json_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <new>

namespace {

bool fail = false;  // each allocation

TEST(ToUtf8Test, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(aitune::frontend::ToUtf8("a \"b\"\n"), "a \"b\"\n");
  EXPECT_EQ(aitune::frontend::ToUtf8("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(aitune::frontend::ToUtf8("bad\xff.pt"), "bad\xef\xbf\xbd.pt");
}

}  // namespace

void* operator new(size_t bytes) {
  void* const memory = fail ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace aitune::frontend {
namespace {

void Write(JsonWriter& json) {
  json.BeginObject();
  json.Member("name", "a \"net\"\n");
  json.Key("sizes");
  json.BeginArray();
  json.Value(3);
  json.Value(0.5);
  json.BeginObject();
  json.EndObject();
  json.EndArray();
  json.Key("none");
  json.BeginArray();
  json.EndArray();
  json.Member("odd", std::numeric_limits<double>::quiet_NaN());
  json.Member("bytes", std::string("\xff"));
  json.Member("yes", true);
  json.EndObject();
}

TEST(JsonWriterTest, WritesWhatNlohmannReads) {
  for (const bool indented : {false, true}) {
    JsonWriter json(indented);
    Write(json);
    const nlohmann::json expected = {
        {"name", "a \"net\"\n"},
        {"sizes", {3, 0.5, nlohmann::json::object()}},
        {"none", nlohmann::json::array()},
        {"odd", nullptr},
        {"bytes", "\xEF\xBF\xBD"},
        {"yes", true}};
    EXPECT_EQ(nlohmann::json::parse(json.Take()), expected);
  }
}

TEST(JsonWriterTest, LooksAsNlohmannsDoes) {
  for (const bool indented : {false, true}) {
    JsonWriter json(indented);
    json.BeginObject();
    json.Key("a");
    json.BeginArray();
    json.Value(1);
    json.Value(2);
    json.EndArray();
    json.Key("b");
    json.BeginObject();
    json.EndObject();
    json.EndObject();
    const nlohmann::json same = {{"a", {1, 2}},
                                 {"b", nlohmann::json::object()}};
    EXPECT_EQ(json.Take(), same.dump(indented ? 1 : -1));
  }
}

TEST(JsonWriterTest, NeedsNoMemoryToGo) {
  {
    JsonWriter json;
    Write(json);
    fail = true;
  }
  fail = false;
}

}  // namespace
}  // namespace aitune::frontend
