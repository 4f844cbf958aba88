// The expected texts were printed by Python 3.11.
#include "runtime/backend/config_value.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "runtime/backend/config_proto.h"

namespace aitune {
namespace {

TEST(ToPythonJsonTest, Separators) {
  const ConfigDict dict = {{"a", ConfigValue()},
                           {"b", ConfigList{true, 1, 0.5}},
                           {"c", ConfigDict{}},
                           {"d", ConfigList{}}};
  EXPECT_EQ(ToPythonJson(dict),
            R"({"a": null, "b": [true, 1, 0.5], "c": {}, "d": []})");
}

TEST(ToPythonJsonTest, Indent) {
  const ConfigDict dict = {
      {"a", ConfigValue()}, {"b", ConfigList{1, 2}}, {"c", ConfigDict{}}};
  EXPECT_EQ(
      ToPythonJson(dict, 2),
      "{\n  \"a\": null,\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}");
}

TEST(ToPythonJsonTest, AsciiEscapes) {
  EXPECT_EQ(ToPythonJson("q\"b\\s/\n\r\t\b\f\x01\x7f"),
            "\"q\\\"b\\\\s/\\n\\r\\t\\b\\f\\u0001\\u007f\"");
  EXPECT_EQ(ToPythonJson("\u00e9\u20ac\U0001f600"),
            R"("\u00e9\u20ac\ud83d\ude00")");
}

TEST(ToPythonJsonTest, BytesThatAreNotUtf8StayDifferent) {
  EXPECT_EQ(ToPythonJson("\xff"), R"("\udcff")");
  EXPECT_EQ(ToPythonJson("\xc3"), R"("\udcc3")");
  EXPECT_EQ(ToPythonJson("\xc0\xaf"), R"("\udcc0\udcaf")");  // overlong
  EXPECT_EQ(ToPythonJson("\xed\xa0\x80"),
            R"("\udced\udca0\udc80")");  // surrogate
  EXPECT_EQ(ToPythonJson("\xf4\x90\x80\x80"),
            R"("\udcf4\udc90\udc80\udc80")");  // no character of Unicode
}

// As Python 3.11 prints them.
TEST(ToPythonStrTest, WhatIsNotPrintableIsEscaped) {
  EXPECT_EQ(ToPythonStr(ConfigList{
                "a\u00a0\u00ad\u00e9 \u200b\u2028\u3042\U0001f600\U000e0001"}),
            "['a\\xa0\\xad\u00e9 \\u200b\\u2028\u3042\U0001f600\\U000e0001']");
}

TEST(ToPythonJsonTest, Floats) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-2.5, "-2.5"},
      {0.1, "0.1"},
      {1.0 / 3, "0.3333333333333333"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {1e22, "1e+22"},
      {1e100, "1e+100"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {12345.678, "12345.678"},
      {std::numeric_limits<double>::infinity(), "Infinity"},
      {-std::numeric_limits<double>::infinity(), "-Infinity"},
      {std::numeric_limits<double>::quiet_NaN(), "NaN"}};
  for (const auto& [number, text] : cases)
    EXPECT_EQ(ToPythonJson(number), text);
}

TEST(ToPythonJsonTest, IntegersAndDtypes) {
  EXPECT_EQ(ToPythonJson(std::numeric_limits<int64_t>::min()),
            "-9223372036854775808");
  EXPECT_EQ(ToPythonJson(DataType::kFloat16), R"("torch.float16")");
}

TEST(ToPythonJsonTest, ReadBackByAnotherParser) {
  const ConfigDict dict = {{"text", "\u00e9\x01\U0001f600\\\""},
                           {"number", 1.0 / 3},
                           {"list", ConfigList{ConfigDict{{"x", false}}}}};
  const nlohmann::json json = nlohmann::json::parse(ToPythonJson(dict));
  EXPECT_EQ(json["text"], "\u00e9\x01\U0001f600\\\"");
  EXPECT_EQ(json["number"], 1.0 / 3);
  EXPECT_EQ(json["list"][0]["x"], false);
}

TEST(ToPythonStrTest, PlainValues) {
  EXPECT_EQ(ToPythonStr(ConfigValue()), "None");
  EXPECT_EQ(ToPythonStr(true), "True");
  EXPECT_EQ(ToPythonStr(false), "False");
  EXPECT_EQ(ToPythonStr(-3), "-3");
  EXPECT_EQ(ToPythonStr(1e-5), "1e-05");
  EXPECT_EQ(ToPythonStr(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(ToPythonStr(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(ToPythonStr("max-autotune"), "max-autotune");
  EXPECT_EQ(ToPythonStr(DataType::kBFloat16), "torch.bfloat16");
}

TEST(ToPythonStrTest, NestedStringsAreQuoted) {
  const ConfigDict dict = {
      {"max_autotune", true},
      {"it's", ConfigList{"a", "b'c", "d\"'e", ConfigValue(), 1.0}},
      {"x", "\n\x01\u00e9\\\xff"}};
  EXPECT_EQ(ToPythonStr(dict),
            "{'max_autotune': True, \"it's\": ['a', \"b'c\", 'd\"\\'e', None, "
            "1.0], 'x': '\\n\\x01\u00e9\\\\\\udcff'}");
}

TEST(ConfigProtoTest, RoundTrip) {
  const ConfigDict dict = {
      {"none", ConfigValue()},
      {"false", false},
      {"zero", 0},
      {"number", -0.5},
      {"text", std::string("\xff\0x", 3)},
      {"dtype", DataType::kBool},
      {"list", ConfigList{1, "two", ConfigList{}}},
      {"dict", ConfigDict{{"b", true}, {"a", ConfigDict{}}}}};
  const std::string bytes = ToProto(dict).SerializeAsString();
  ConfigDictProto proto;
  ASSERT_TRUE(proto.ParseFromString(bytes));
  const absl::StatusOr<ConfigDict> read = FromProto(proto);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(ConfigValue(*read) == ConfigValue(dict));
}

TEST(ConfigProtoTest, RefusesWhatNobodyWrote) {
  ConfigDictProto proto;
  proto.add_fields()->set_name("a");
  proto.add_fields()->set_name("a");
  EXPECT_EQ(FromProto(proto).status().message(),
            "the stored configuration has 'a' twice");

  proto.mutable_fields()->RemoveLast();
  proto.mutable_fields(0)->mutable_value()->set_dtype(99);
  EXPECT_EQ(FromProto(proto).status().message(),
            "the stored configuration has the unknown dtype 99");

  ConfigValueProto* value = proto.mutable_fields(0)->mutable_value();
  for (int i = 0; i < 80; ++i) value = value->mutable_list()->add_values();
  EXPECT_EQ(FromProto(proto).status().message(),
            "the stored configuration is nested deeper than 50 values");
}

}  // namespace
}  // namespace aitune
