// What goes wrong, and the text that the user gets for it.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <memory>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

using frontend::CompiledModel;
using frontend::ValueList;
using testing::AllOf;
using testing::HasSubstr;

// x [2..8, 4] + y [4], compiled once for all tests.
class CallErrors : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto model = frontend::Model::FromSource(
        "def forward(self, x: Tensor, y: Tensor):\n    return x + y\n");
    ASSERT_TRUE(model.ok()) << model.status();
    auto compiled =
        CompileUnmeasured(*model, {"float32[2..8,4]", "float32[4]"});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    compiled_ = compiled->release();
  }
  static void TearDownTestSuite() {
    delete compiled_;
    compiled_ = nullptr;
  }

  void SetUp() override { ASSERT_NE(compiled_, nullptr); }

  static std::string Error(std::vector<c10::IValue> arguments) {
    auto result = compiled_->Run(ValueList(std::move(arguments)));
    EXPECT_FALSE(result.ok()) << "there is no error";
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  }

  static CompiledModel* compiled_;
};
CompiledModel* CallErrors::compiled_ = nullptr;

TEST_F(CallErrors, NoneForTheRange) {
  for (int64_t n : {2, 3, 8}) {
    auto result =
        compiled_->Run(ValueList({at::ones({n, 4}), at::arange(4.0f)}));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->toTensor().equal(at::ones({n, 4}) + at::arange(4.0f)));
  }
}

TEST_F(CallErrors, Count) {
  EXPECT_THAT(Error({at::ones({2, 4})}), AllOf(HasSubstr("1"), HasSubstr("2")));
  Error({at::ones({2, 4}), at::ones({4}), at::ones({4})});
  Error({});
}

TEST_F(CallErrors, Dtype) {
  EXPECT_THAT(Error({at::ones({2, 4}, at::kDouble), at::ones({4})}),
              AllOf(HasSubstr("float32"), HasSubstr("float64")));
}

TEST_F(CallErrors, Rank) {
  EXPECT_THAT(Error({at::ones({2, 4, 1}), at::ones({4})}),
              AllOf(HasSubstr("rank"), HasSubstr("3")));
}

TEST_F(CallErrors, FixedSize) {
  EXPECT_THAT(Error({at::ones({2, 5}), at::ones({4})}),
              AllOf(HasSubstr("5"), HasSubstr("4")));
}

TEST_F(CallErrors, SizeOutOfRange) {
  EXPECT_THAT(Error({at::ones({9, 4}), at::ones({4})}),
              AllOf(HasSubstr("9"), HasSubstr("8")));
  EXPECT_THAT(Error({at::ones({1, 4}), at::ones({4})}),
              AllOf(HasSubstr("1"), HasSubstr("2")));
}

TEST_F(CallErrors, NotATensor) { Error({int64_t{5}, at::ones({4})}); }

TEST_F(CallErrors, ComplexTensor) {
  Error({at::ones({2, 4}, at::kComplexFloat), at::ones({4})});
}

TEST_F(CallErrors, NonContiguousInputsAreNoError) {
  at::Tensor x = at::randn({4, 5}).t();
  auto result = compiled_->Run(ValueList({x, at::ones({4})}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->toTensor().equal(x + 1.0));
}

TEST_F(CallErrors, WorksAfterAnError) {
  Error({at::ones({9, 4}), at::ones({4})});
  auto result = compiled_->Run(ValueList({at::ones({2, 4}), at::ones({4})}));
  ASSERT_TRUE(result.ok()) << result.status();
}

TEST(BuildErrors, ModelThatRaises) {
  EXPECT_THAT(ErrorOf({"raises",
                       "def forward(self, x: Tensor):\n"
                       "    assert x.size(0) <= 2, \"too many rows\"\n"
                       "    return x\n",
                       {"float32[3,4]"}}),
              HasSubstr("too many rows"));
}

TEST(BuildErrors, ShapesThatDoNotFitEachOther) {
  EXPECT_THAT(ErrorOf({"mismatch",
                       "def forward(self, x: Tensor, y: Tensor):\n"
                       "    return torch.matmul(x, y)\n",
                       {"float32[3,4]", "float32[5,6]"}}),
              HasSubstr("3x4"));
}

TEST(BuildErrors, WrongKindOfArgument) {
  EXPECT_NE(ErrorOf({"kind",
                     "def forward(self, x: Tensor):\n    return x\n",
                     {"int64=5"}}),
            "");
}

TEST(BuildErrors, SourceThatDoesNotParse) {
  EXPECT_NE(ErrorOf({"syntax",
                     "def forward(self, x: Tensor)\n    return x\n",
                     {"float32[3]"}}),
            "");
}

// `forward` on x of 2 x 3, given as the transpose of another.
absl::StatusOr<c10::IValue> OnTranspose(const std::string& forward) {
  auto model = frontend::Model::FromSource(forward);
  if (!model.ok()) return model.status();
  frontend::ModelInputs inputs;
  inputs.samples = ValueList({at::ones({2, 3})});
  frontend::BuildOptions options;
  options.compile.measureCandidates = false;
  auto compiled = CompiledModel::Build(*model, inputs, options);
  if (!compiled.ok()) return compiled.status();
  auto contiguous = (*compiled)->Run(*inputs.samples);
  if (!contiguous.ok()) return contiguous.status();
  return (*compiled)->Run(ValueList({at::ones({3, 2}).t()}));
}

TEST(CallsWithStrides, ProgramsThatAskForStrides) {
  for (const char* forward :
       {"def forward(self, x: Tensor):\n    return x + x.stride(0)\n",
        "def forward(self, x: Tensor):\n"
        "    if x.is_contiguous():\n"
        "        x = x + 1\n"
        "    return x * 2\n",
        "def forward(self, x: Tensor):\n"
        "    return torch.as_strided(x, [3], [1]) + 1\n",
        // A copy of such an argument, which the write does not reach.
        "def forward(self, x: Tensor):\n"
        "    a = x.contiguous()\n    a.add_(1.0)\n    return a, x\n",
        "def forward(self, x: Tensor):\n"
        "    a = x.reshape([-1])\n    a[::2] = 0.0\n    return a, x\n"}) {
    auto result = OnTranspose(forward);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(result.status().message()),
                AllOf(HasSubstr("argument 0"), HasSubstr("aten::"),
                      HasSubstr(".contiguous()")));
  }
}

TEST(CallsWithStrides, AllOtherPrograms) {
  auto result =
      OnTranspose("def forward(self, x: Tensor):\n    return x + 1\n");
  EXPECT_TRUE(result.ok()) << result.status();
}

TEST(BuildErrors, IndexOutOfTheTable) {
  // Data, not shapes: known only when the model runs.
  EXPECT_NE(
      ErrorOf({"index",
               "def forward(self, ids: Tensor):\n"
               "    return torch.embedding(self.weight(8, [4, 2]), ids)\n",
               {"int64[3]{9..9}"}}),
      "");
}

}  // namespace
}  // namespace aitune
