#include "frontend/torchscript/input_spec.h"

#include <ATen/ATen.h>

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

TEST(InputSpec, RoundTrips) {
  for (const char* text :
       {"float32[1,3,224,224]", "bfloat16[]", "int64[1..8,128]{0..30000}",
        "int64=5", "float64=0.5", "bool=true", "str=abc", "none",
        "(float32[2],int64=3)", "[float32[2],float32[3]]",
        "float32[batch=1..8,n]", "{5:float32[2],-1:int64=3}",
        "{float64=0.5:none,float64=-inf:none}", "{bool=true:none}",
        "{complex128=(0.5,-1):none,complex128=(0,-2.5):none}",
        "{\"mask\":int64[1..4]{0..1},\"parts\":[(str=a,none)]}", "{}"}) {
    const auto spec = ParseInputSpec(text);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(ToString(*spec), text);
  }
}

TEST(InputSpec, AcceptsSpaces) {
  const auto spec = ParseInputSpec(" float32 [ 1 .. 4 , 3 ] ");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(ToString(*spec), "float32[1..4,3]");
}

TEST(InputSpec, ErrorsSayWhere) {
  std::string axes = "float32[1";
  for (int axis = 1; axis < 64; ++axis) axes += ",1";
  EXPECT_TRUE(ParseInputSpec(axes + "]").ok());
  const std::string too_many = axes + ",1..4]";
  const std::pair<const char*, const char*> kCases[] = {
      {"", "unknown element type at position 1"},
      {"complex64[2]", "unknown element type at position 1"},
      {"float8_e4m3fn[2]", "unknown element type at position 1"},
      {"float32", "expected '[' or '='"},
      {"float32[1,", "expected a size at position 11"},
      {"float32[1,2", "expected ',' or ']'"},
      {"float32[-1]", "a size must not be negative"},
      {"float32[99999999999999999999]", "expected a size"},
      {"float32[9999999999999999]", "too large"},
      {too_many.c_str(), "a tensor has at most 64 axes at position"},
      {"float32[4..2]", "the range of an axis is empty"},
      {"float32[n=4]", "needs a range"},
      {"int64=x", "expected an integer"},
      {"bool=2", "expected true or false"},
      {"int64[2]{3..1}", "the range of values is empty"},
      {"float32[1] float32[2]", "unexpected text"},
      {"{x:float32[1]}", "expected a key: an integer, a text in \"\""},
      {"{float64=x:none}", "expected a number at position 11"},
      {"{bool=1:none}", "expected true or false"},
      {"{complex128=1:none}", "expected (real,imaginary)"},
      {"{complex128=(1,x):none}", "expected (real,imaginary)"},
      {"{float32=1:none}", "expected a key"},
      {"{float64=1:none,float64=1.0:none}", "a key is there twice"},
      {"{float64=nan:none,float64=nan:none}", "a key is not a number"},
      {"{complex128=(1,nan):none}", "a key is not a number"},
      {"{\"x:float32[1]}", "the text in \"\" has no end"},
      {"{\"x\" float32[1]}", "expected ':'"},
      {"{1:float32[1],1:float32[2]}", "a key is there twice"},
      {"{1:float32[1]", "expected ',' or '}'"},
      {"((((((((((((((((((((float32[1]", "nesting is too deep"},
  };
  for (const auto& [text, expected] : kCases) {
    const auto spec = ParseInputSpec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_THAT(std::string(spec.status().message()), HasSubstr(expected))
        << text;
  }
}

std::vector<InputSpec> Parse(const std::vector<std::string>& texts) {
  std::vector<InputSpec> specs;
  for (const std::string& text : texts) specs.push_back(*ParseInputSpec(text));
  return specs;
}

TEST(InputSpec, RangesBeyondIntegersAreCut) {
  for (const char* text : {"int64[4]{8..3.1e29}", "int64[4]{-1e300..8}",
                           "int64[4]{0..9223372036854775807}"}) {
    const auto made = MakeInputs(Parse({text}), {}, 1);
    EXPECT_TRUE(made.ok()) << text << ": " << made.status();
  }
}

TEST(InputSpec, EqualRangesOfDifferentInputsAreOneSymbol) {
  const auto symbols = AssignSymbols(
      Parse({"int64[1..8,1..8]", "int64[1..8,128]", "float32[1..4]"}));
  ASSERT_TRUE(symbols.ok());
  EXPECT_EQ(symbols->of, (std::vector<std::vector<int>>{{0, 1}, {0, -1}, {2}}));
  EXPECT_EQ(symbols->symbols[2].input, 2);
}

TEST(InputSpec, NamesTieAxes) {
  const auto symbols =
      AssignSymbols(Parse({"int64[b,n=2..64]", "float32[b=1..8,1,1,n]"}));
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  EXPECT_EQ(symbols->of,
            (std::vector<std::vector<int>>{{0, 1}, {0, -1, -1, 1}}));
  EXPECT_EQ(symbols->symbols[0].max, 8);
  EXPECT_FALSE(AssignSymbols(Parse({"int64[b]"})).ok());
  EXPECT_FALSE(AssignSymbols(Parse({"int64[b=1..8]", "int64[b=1..9]"})).ok());
}

TEST(InputSpec, MakesInputs) {
  const std::vector<InputSpec> specs =
      Parse({"int64[n=1..9,100]{3..5}", "float32[n]", "bool[200]",
             "(float16[2],int64=4)", "none"});
  const auto inputs = MakeInputs(specs, {7}, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const at::Tensor ids = inputs->values()[0].toTensor();
  EXPECT_EQ(ids.sizes(), at::IntArrayRef({7, 100}));
  EXPECT_EQ(ids.min().item<int64_t>(), 3);
  EXPECT_EQ(ids.max().item<int64_t>(), 5);
  EXPECT_EQ(inputs->values()[1].toTensor().size(0), 7);
  EXPECT_GT(inputs->values()[2].toTensor().sum().item<int64_t>(), 0);
  EXPECT_EQ(inputs->Describe(),
            "int64[7,100], float32[7], bool[200], (float16[2], int64=4), None");
  const auto again = MakeInputs(specs, {7}, 1);
  EXPECT_TRUE(
      again->values()[1].toTensor().equal(inputs->values()[1].toTensor()));
  EXPECT_FALSE(MakeInputs(specs, {}, 1).ok());
}

TEST(InputSpec, DescribesAndMakesDicts) {
  const std::string texts[] = {"{\"b\":float32[2],\"a\":float32[1..3]}",
                               "{7:int64[2]{4..4}}"};
  const std::vector<InputSpec> specs = Parse({texts[0], texts[1]});
  const auto made = MakeInputs(specs, {3}, 1);
  ASSERT_TRUE(made.ok()) << made.status();
  const auto by_name = made->values()[0].toGenericDict();
  EXPECT_EQ(by_name.at("a").toTensor().size(0), 3);
  EXPECT_EQ(by_name.at("b").toTensor().size(0), 2);
  EXPECT_EQ(made->values()[1].toGenericDict().at(7).toTensor().size(0), 2);
  const auto described = SpecsOf(*made);
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(ToString((*described)[0]), "{\"b\":float32[2],\"a\":float32[3]}");
  EXPECT_EQ(ToString((*described)[1]), texts[1]);
}

TEST(InputSpec, KeysOfAllTypesComeBackAsTheyWere) {
  const std::vector<c10::IValue> kKeys = {
      0.1,
      -1e300,
      std::numeric_limits<double>::infinity(),
      true,
      false,
      c10::complex<double>(0.1, -2),
      int64_t{1} << 62,
      std::string("1")};
  for (const c10::IValue& key : kKeys) {
    c10::impl::GenericDict dict(key.type(), c10::IntType::get());
    dict.insert(key, 7);
    const auto specs = SpecsOf(ValueList({dict}));
    ASSERT_TRUE(specs.ok()) << specs.status();
    const std::string text = ToString((*specs)[0]);
    const auto made = MakeInputs(Parse({text}), {}, 1);
    ASSERT_TRUE(made.ok()) << text << ": " << made.status();
    const c10::impl::GenericDict read = made->values()[0].toGenericDict();
    EXPECT_EQ(*read.keyType(), *key.type()) << text;
    ASSERT_EQ(read.size(), 1u) << text;
    EXPECT_EQ(read.begin()->key(), key) << text;
  }
  c10::impl::GenericDict nan(c10::FloatType::get(), c10::IntType::get());
  nan.insert(std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_THAT(std::string(SpecsOf(ValueList({nan})).status().message()),
              HasSubstr("float64=nan; keys must be numbers or strings"));
  // A tensor is equal to nothing but itself.
  c10::impl::GenericDict tensors(c10::TensorType::get(), c10::IntType::get());
  tensors.insert(at::ones({2}), 1);
  EXPECT_THAT(std::string(SpecsOf(ValueList({tensors})).status().message()),
              HasSubstr("no input specification describes a dict with the key "
                        "float32[2]; keys must be numbers or strings"));
}

// What a checkpoint keeps of the arguments it was made with.
TEST(InputSpec, TextsAndNumbersComeBackAsTheyWere) {
  c10::impl::GenericDict names(c10::StringType::get(), c10::StringType::get());
  names.insert("a \"quoted\", name\n", "b]");
  const ValueList values({std::string("a,b"), std::string(""),
                          std::string(" \\\" "), 0.1, 1e300,
                          std::numeric_limits<double>::infinity(), names});
  const auto specs = SpecsOf(values);
  ASSERT_TRUE(specs.ok()) << specs.status();
  std::vector<std::string> texts;
  for (const InputSpec& spec : *specs) texts.push_back(ToString(spec));
  const auto made = MakeInputs(Parse(texts), {}, 1);
  ASSERT_TRUE(made.ok()) << made.status();
  for (int i = 0; i + 1 < values.size(); ++i)
    EXPECT_EQ(made->values()[i], values.values()[i]) << texts[i];
  EXPECT_EQ(made->values().back().toGenericDict().at("a \"quoted\", name\n"),
            c10::IValue("b]"));
}

TEST(InputSpec, DescribesValues) {
  const ValueList values(
      {at::tensor({4, 9}, at::kLong), 5, at::zeros({2, 3}), true});
  const auto specs = SpecsOf(values);
  ASSERT_TRUE(specs.ok());
  EXPECT_EQ(ToString((*specs)[0]), "int64[2]{4..9}");
  EXPECT_EQ(ToString((*specs)[1]), "int64=5");
  EXPECT_EQ(ToString((*specs)[2]), "float32[2,3]");
  EXPECT_EQ(ToString((*specs)[3]), "bool=true");
  EXPECT_FALSE(SpecsOf(ValueList({at::zeros({2}, at::kComplexFloat)})).ok());
}

}  // namespace
}  // namespace aitune::frontend
