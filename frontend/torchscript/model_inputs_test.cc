#include "frontend/torchscript/model_inputs.h"

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <fstream>
#include <set>

#include "frontend/values/torch_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using testing::HasSubstr;

Model TwoInputs() {
  auto model = Model::FromSource(
      "def forward(self, x: Tensor, mask: Tensor):\n    return x * mask\n");
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

InputChoice Specs(std::vector<std::string> specs) {
  InputChoice choice;
  choice.specs = std::move(specs);
  return choice;
}

std::string Error(const Model& model, const InputChoice& choice) {
  return std::string(ChooseInputs(model, choice).status().message());
}

TEST(ChooseInputs, AsksForInputsWithTheSignature) {
  const std::string error = Error(TwoInputs(), {});
  EXPECT_THAT(error, HasSubstr("no inputs given for forward(x: Tensor"));
  EXPECT_THAT(error, HasSubstr("--input"));
}

TEST(ChooseInputs, CountMustFit) {
  EXPECT_THAT(Error(TwoInputs(), Specs({"float32[2]"})),
              HasSubstr("gives 1 input, but the model takes 2"));
}

TEST(ChooseInputs, MissingFile) {
  InputChoice choice;
  choice.samples_file = "/nowhere/x.pt";
  EXPECT_THAT(Error(TwoInputs(), choice), HasSubstr("/nowhere/x.pt"));
}

TEST(ChooseInputs, ADictOfParametersGivesThemByName) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor, y: Tensor, k: int = 3):\n"
      "  return x - y * k\n");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string path = testing::TempDir() + "/by_name.pt";
  const auto choose = [&](const char* first, const char* second) {
    c10::Dict<std::string, at::Tensor> dict;
    dict.insert(first, at::zeros({2}));
    dict.insert(second, at::ones({2}));
    const std::vector<char> bytes = torch::jit::pickle_save(dict);
    std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
    InputChoice choice;
    choice.samples_file = path;
    return ChooseInputs(*model, choice);
  };
  const auto x_of = [&](const char* first, const char* second) {
    auto inputs = choose(first, second);
    EXPECT_TRUE(inputs.ok()) << inputs.status();
    return inputs->samples->values()[0].toTensor().sum().item<float>();
  };
  EXPECT_EQ(x_of("x", "y"), 0);
  EXPECT_EQ(x_of("y", "x"), 2);
  EXPECT_EQ(x_of("b", "a"), 0);  // not the names of parameters: in order
  EXPECT_THAT(std::string(choose("y", "z").status().message()),
              HasSubstr("names the argument 'z', which there is not"));
}

// A file has lists of anything, and Python's numbers.
TEST(ChooseInputs, SamplesTakeTheTypesOfForwardsParameters) {
  const auto model = Model::FromSource(
      "def forward(self, x: Union[Tensor, List[Tensor]], scale: float) -> "
      "float:\n"
      "    if isinstance(x, List[Tensor]):\n"
      "        return len(x) * scale\n"
      "    return scale\n");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string path = testing::TempDir() + "/typed.pt";
  c10::impl::GenericList tensors(c10::AnyType::get());
  tensors.push_back(at::zeros({2}));
  tensors.push_back(at::zeros({3}));
  const std::vector<char> bytes =
      torch::jit::pickle_save(c10::ivalue::Tuple::create({tensors, 3}));
  std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
  InputChoice choice;
  choice.samples_file = path;
  const auto inputs = ChooseInputs(*model, choice);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(inputs->samples->Describe(), "[float32[2], float32[3]], float64=3");
  EXPECT_TRUE(inputs->samples->values()[0].isTensorList());
  const auto result = model->RunEager(*inputs->samples);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->toDouble(), 6);
}

// Found before anything is compiled.
TEST(ChooseInputs, SamplesAndSpecificationsMustGoTogether) {
  const std::string path = testing::TempDir() + "/sized.pt";
  const std::vector<char> bytes = torch::jit::pickle_save(
      std::vector<at::Tensor>{at::zeros({4, 3}), at::zeros({1, 3})});
  std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
  const auto error = [&](std::vector<std::string> specs) {
    InputChoice choice = Specs(std::move(specs));
    choice.samples_file = path;
    return Error(TwoInputs(), choice);
  };
  EXPECT_EQ(error({"float32[1..8,3]", "float32[1,3]"}), "");
  EXPECT_EQ(error({"float32[n=1..8,3]", "float32[m=1..8,3]"}), "");
  EXPECT_THAT(error({"float32[n=1..8,3]", "float32[n,3]"}),
              HasSubstr("axis 0 is 4 in a tensor before"));
  for (const char* first : {"float32[5,3]", "float32[5..8,3]", "float32[4]"})
    EXPECT_THAT(error({first, "float32[1,3]"}),
                HasSubstr("is not one of --input"))
        << first;
}

// Of every dtype: a language model's samples are integers.
TEST(ChooseInputs, SamplesAndSpecificationsMayBeOfAnyDtype) {
  const std::string path = testing::TempDir() + "/typed.pt";
  for (const at::ScalarType dtype :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong,
        at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const at::Tensor sample = at::ones({4, 3}, dtype);
    const std::vector<char> bytes =
        torch::jit::pickle_save(std::vector<at::Tensor>{sample, sample});
    std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
    const std::string name(Name(*FromScalarType(dtype)));
    InputChoice choice = Specs({name + "[n=1..8,3]", name + "[n,3]"});
    choice.samples_file = path;
    EXPECT_EQ(Error(TwoInputs(), choice), "") << name;
    choice.specs[1] = name == "int32" ? "int64[n,3]" : "int32[n,3]";
    EXPECT_THAT(Error(TwoInputs(), choice), HasSubstr("is not one of --input"))
        << name;
  }
}

TEST(ChooseInputs, ConvertsFloatsToTheDtype) {
  InputChoice choice = Specs({"float32[2]", "int64[2]"});
  choice.dtype = DataType::kBFloat16;
  auto inputs = ChooseInputs(TwoInputs(), choice);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(inputs->specs[0].dtype, DataType::kBFloat16);
  EXPECT_EQ(inputs->specs[1].dtype, DataType::kInt64);
}

std::set<std::string> Names(const std::vector<InputCase>& cases) {
  std::set<std::string> names;
  for (const InputCase& c : cases) names.insert(c.name);
  return names;
}

// Elements do not show it: there are none, or they differ.
TEST(CheckCases, ContainersAreOfTheTypesOfForwardsParameters) {
  const auto model = Model::FromSource(
      "def forward(self, x, a: List[List[Tensor]], b: List[int],\n"
      "            c: List[Optional[Tensor]], d: Dict[int, Tensor],\n"
      "            e: List[Union[int, str]], f: List[Any], g: Any,\n"
      "            h: float):\n"
      "  return x * (len(a) + len(b) + len(c) + len(d) + len(e) + h)\n");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto inputs = ChooseInputs(
      *model,
      Specs({"float32[5]", "[]", "[]", "[None,float32[5]]", "{}",
             "[int=1,str=a]", "[int=1,float32[2]]", "[int=1,str=b]", "int=3"}));
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto cases = CheckCases(*inputs, 0);
  ASSERT_TRUE(cases.ok()) << cases.status();
  for (const InputCase& c : *cases) {
    const auto result = model->RunEager(c.arguments);
    EXPECT_TRUE(result.ok()) << c.name << ": " << result.status();
  }
}

TEST(ChooseInputs, ASpecOfAnotherTypeThanItsParameterIsNamed) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor, ids: List[int]):\n  return x * len(ids)\n");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Error(*model, Specs({"float32[5]", "[str=a]"})),
              HasSubstr("--input [str=a] is List[str], but the parameter ids "
                        "is List[int]; the model is forward("));
  EXPECT_THAT(
      Error(*model, Specs({"int=1", "[int=1]"})),
      HasSubstr("--input int64=1 is int, but the parameter x is Tensor"));
}

TEST(CheckCases, CoverTheRangeOfDynamicAxes) {
  auto inputs =
      ChooseInputs(TwoInputs(), Specs({"float32[2..9,3]", "int64[2..9,3]"}));
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  auto cases = CheckCases(*inputs, 0);
  ASSERT_TRUE(cases.ok()) << cases.status();
  std::set<int64_t> sizes;
  for (const InputCase& c : *cases) {
    const at::Tensor& x = c.arguments.values()[0].toTensor();
    sizes.insert(x.size(0));
    // One batch: the same size in both.
    EXPECT_EQ(c.arguments.values()[1].toTensor().sizes(), x.sizes());
  }
  EXPECT_THAT(sizes, testing::ElementsAre(2, 5, 9));
  EXPECT_THAT(Names(*cases),
              testing::IsSupersetOf({"zeros", "ones", "large", "NaN"}));
}

TEST(CheckCases, ZerosAndOnesStayInTheRangesThatAUserGives) {
  auto inputs = ChooseInputs(TwoInputs(),
                             Specs({"int64[2]{3..7}", "float32[2]{-1..0.5}"}));
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  auto cases = CheckCases(*inputs, 0);
  ASSERT_TRUE(cases.ok()) << cases.status();
  int found = 0;
  for (const InputCase& c : *cases) {
    if (c.name != "zeros" && c.name != "ones") continue;
    ++found;
    EXPECT_EQ(c.arguments.values()[0].toTensor()[1].item<int64_t>(), 3);
    EXPECT_EQ(c.arguments.values()[1].toTensor()[1].item<float>(),
              c.name == "ones" ? 0.5f : 0.0f);
  }
  EXPECT_EQ(found, 2);
}

TEST(RandomCases, AreOfTheCombinationsThatAreAskedFor) {
  ModelInputs inputs;
  inputs.specs = {*ParseInputSpec("float32[1..9,3]")};
  auto cases = RandomCases(inputs, {{"one", {1}}, {"seven", {7}}}, 0);
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ((*cases)[1].name, "seven");
  EXPECT_EQ((*cases)[0].arguments.values()[0].toTensor().size(0), 1);
  EXPECT_EQ((*cases)[1].arguments.values()[0].toTensor().size(0), 7);
}

TEST(CheckCases, NanCaseHasNanAndKeepsTheSample) {
  ModelInputs inputs;
  inputs.samples = ValueList({at::ones({4}), at::ones({4})});
  auto cases = CheckCases(inputs, 0);
  ASSERT_TRUE(cases.ok()) << cases.status();
  bool found = false;
  for (const InputCase& c : *cases) {
    if (c.name != "NaN") continue;
    found = true;
    EXPECT_EQ(c.arguments.values()[0].toTensor().isnan().sum().item<int>(), 1);
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(
      inputs.samples->values()[0].toTensor().isnan().any().item<bool>());
}

TEST(CheckCases, IntegersWithoutSpecsKeepTheirValues) {
  ModelInputs inputs;
  inputs.samples = ValueList({at::arange(100, at::kLong)});
  auto cases = CheckCases(inputs, 0);
  ASSERT_TRUE(cases.ok()) << cases.status();
  for (const InputCase& c : *cases) {
    const at::Tensor& x = c.arguments.values()[0].toTensor();
    EXPECT_LT(x.max().item<int64_t>(), 100) << c.name;
    EXPECT_GE(x.min().item<int64_t>(), 0) << c.name;
  }
  EXPECT_EQ(Names(*cases).count("NaN"), 0u);
}

}  // namespace
}  // namespace aitune::frontend
