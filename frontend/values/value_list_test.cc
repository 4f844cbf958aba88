#include "frontend/values/value_list.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/testing/records.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ValueList, AClonesTensorsHaveTheStridesAndMemoryOfTheirOwn) {
  const at::Tensor base = at::arange(48).reshape({6, 8}).to(at::kFloat);
  for (const at::Tensor& given :
       {base, base.t(), base.slice(0, 1, 6, 2), base.slice(1, 3, 8, 2).t(),
        base.select(1, 2).unsqueeze(0).expand({5, 6}), base.slice(0, 6),
        base.select(0, 0).select(0, 5), base.unfold(1, 4, 2)}) {
    const ValueList clone = ValueList({given}).Clone();
    const at::Tensor made = clone.values()[0].toTensor();
    EXPECT_EQ(made.strides(), given.strides());
    EXPECT_TRUE(made.equal(given));
    EXPECT_FALSE(made.is_alias_of(given));
  }
}

// Python makes such files.
TEST(LoadSamples, SayOfAPythonComplexNumberWhatToGiveInstead) {
  // In pickle's words: c is a class, K an integer, 86 makes a tuple of two, R
  // calls the class with it.
  const std::string pickled = "\x80\2c__builtin__\ncomplex\nK\1K\2\x86R.";
  const std::string path = testing::TempDir() + "/complex.pt";
  {
    caffe2::serialize::PyTorchStreamWriter writer(path);
    writer.writeRecord("data.pkl", pickled.data(), pickled.size());
    writer.writeEndOfFile();
  }
  EXPECT_EQ(LoadSamples(path).status().message(),
            path +
                ": it has a Python complex number, which LibTorch does not "
                "read; save a tensor, such as torch.tensor(1+2j), and have "
                "forward take that");
}

TEST(LoadSamples, SayOfSizesThatAListHasThem) {
  const std::string pickled = "\x80\2ctorch\nSize\nK\1K\2\x86\x85R.";
  const std::string path = testing::TempDir() + "/sizes.pt";
  {
    caffe2::serialize::PyTorchStreamWriter writer(path);
    writer.writeRecord("data.pkl", pickled.data(), pickled.size());
    writer.writeEndOfFile();
  }
  EXPECT_EQ(LoadSamples(path).status().message(),
            path +
                ": it has a torch.Size, which LibTorch does not read; save a "
                "list of its numbers, such as list(x.shape)");
}

// What Module.state_dict gives: an OrderedDict with an attribute.
TEST(LoadSamples, SayOfAStateDictThatItIsNone) {
  using namespace std::string_literals;  // with zeros inside
  const std::string pickled =
      "\x80\2ccollections\nOrderedDict\n)RX\1\0\0\0aK\1s"
      "}X\x09\0\0\0_metadata}sb."s;
  const std::string path = testing::TempDir() + "/state_dict.pt";
  {
    caffe2::serialize::PyTorchStreamWriter writer(path);
    writer.writeRecord("data.pkl", pickled.data(), pickled.size());
    writer.writeEndOfFile();
  }
  EXPECT_THAT(std::string(LoadSamples(path).status().message()),
              AllOf(HasSubstr(path), HasSubstr("a state_dict")));
}

// A list of a tensor, and a dict of a tuple of another one.
void SaveSamples(const std::string& path) {
  c10::Dict<std::string, std::tuple<at::Tensor, int64_t>> dict;
  dict.insert("a", std::tuple(at::ones({2, 7}), int64_t{4}));
  const std::vector<char> bytes = torch::jit::pickle_save(
      c10::ivalue::Tuple::create(at::ones({3, 5}), std::move(dict)));
  std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
}

// As a program does that is given one for its result.
TEST(LoadSamples, TensorsMayBeMadeLarger) {
  const std::string path = testing::TempDir() + "/larger.pt";
  SaveSamples(path);
  const auto samples = LoadSamples(path);
  ASSERT_TRUE(samples.ok()) << samples.status();
  at::Tensor tensor = samples->values()[0].toTensor();
  tensor.resize_({4, 5});
  EXPECT_TRUE(tensor.slice(0, 0, 3).equal(at::ones({3, 5})));
}

TEST(LoadSamples, RefuseTensorsBeyondTheirRecords) {
  const std::string path = testing::TempDir() + "/beyond.pt";
  SaveSamples(path);
  EXPECT_TRUE(LoadSamples(path).ok()) << LoadSamples(path).status();
  for (const char* record : {"data/0", "data/1"}) {
    SaveSamples(path);
    ChangeRecords(path, [&](const std::string& name, std::string bytes) {
      return name == record ? bytes.substr(0, 12) : bytes;
    });
    EXPECT_THAT(std::string(LoadSamples(path).status().message()),
                AllOf(HasSubstr(path), HasSubstr("12 bytes in the file")));
  }
  // In pickle's words: an offset of 0, the sizes, then their strides.
  for (const auto& change :
       {std::pair("K\3K\5", "K\4K\5"), std::pair("K\2K\7", "K\2K\xf0"),
        std::pair("K\5K\1", "K\6K\1"), std::pair("K\7K\1", "K\7K\2")}) {
    SaveSamples(path);
    EXPECT_TRUE(ReplaceInPickle(path, change.first, change.second));
    EXPECT_THAT(std::string(LoadSamples(path).status().message()),
                AllOf(HasSubstr(path), HasSubstr("elements outside of its")));
  }
}

}  // namespace
}  // namespace aitune::frontend
