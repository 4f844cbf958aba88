#include "frontend/values/value_list.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>

#include <string>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

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

}  // namespace
}  // namespace aitune::frontend
