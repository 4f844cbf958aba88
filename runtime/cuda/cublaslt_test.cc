// What cuBLASLt is asked for. The first argument is the library
// testing/libcublasLt.so.13.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_executable.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/prepare_calls.h"
#include "runtime/cuda/testing/fake_cublaslt.h"
#include "runtime/cuda/testing/fake_gpu.h"
#include "runtime/executable/test_plan.h"

namespace aitune::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FakeMatmul* (*last_matmul)() = nullptr;

// Codes of activations [2, 8, 32] and of a weight [48, 32], factors of rows and
// of columns, a bias; the result is bfloat16.
struct OfCodes {
  MatmulCall call;
  std::vector<Operand> inputs = {{DataType::kFloat8E4M3Fn, {2, 8, 32}},
                                 {DataType::kFloat8E4M3Fn, {48, 32}},
                                 {DataType::kFloat32, {2, 8, 1}},
                                 {DataType::kFloat32, {48}},
                                 {DataType::kBFloat16, {48}}};
  Operand output = {DataType::kBFloat16, {2, 8, 48}};

  OfCodes() {
    TheFakeGpu() = FakeGpu();
    call.set_transpose_rhs(true);
    int operand = 2;
    for (PostOp::Kind kind :
         {PostOp::MULTIPLY, PostOp::MULTIPLY, PostOp::BIAS}) {
      PostOp& op = *call.add_post_ops();
      op.set_kind(kind);
      op.set_operand(operand++);
    }
  }

  absl::StatusOr<std::unique_ptr<LibraryCall>> Prepare() const {
    return PrepareMatmul(FakeDevice(), call, inputs, output, 0);
  }
  std::string Error() const {
    return std::string(Prepare().status().message());
  }
};

TEST(CublasLtTest, FactorsOfCodesAreScalesOfTheOtherSides) {
  const OfCodes codes;
  auto prepared = codes.Prepare();
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  char memory[6] = {};
  std::vector<void*> buffers;
  for (char& byte : memory) buffers.push_back(&byte);
  ASSERT_TRUE((*prepared)->Run(buffers.data(), nullptr, nullptr).ok());
  const FakeMatmul& matmul = *last_matmul();
  // The weight is the first operand: matrices are column-major.
  EXPECT_EQ(matmul.a, buffers[1]);
  EXPECT_EQ(matmul.b, buffers[0]);
  EXPECT_EQ(matmul.d, buffers[5]);
  EXPECT_EQ(matmul.type_a, uint64_t{CUDA_R_8F_E4M3});
  EXPECT_EQ(matmul.type_b, uint64_t{CUDA_R_8F_E4M3});
  EXPECT_EQ(matmul.type_d, uint64_t{CUDA_R_16BF});
  auto address = [&](int attribute) {
    return reinterpret_cast<void*>(matmul.attributes[attribute]);
  };
  EXPECT_EQ(address(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), buffers[3]);
  EXPECT_EQ(address(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER), buffers[2]);
  EXPECT_EQ(address(CUBLASLT_MATMUL_DESC_BIAS_POINTER), buffers[4]);
  for (int mode :
       {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE})
    EXPECT_EQ(matmul.attributes[mode],
              uint64_t{CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F});
  EXPECT_EQ(matmul.attributes[CUBLASLT_MATMUL_DESC_FAST_ACCUM], 1u);
  EXPECT_EQ(matmul.attributes[CUBLASLT_MATMUL_DESC_TRANSA],
            uint64_t{CUBLAS_OP_T});
  EXPECT_EQ(matmul.attributes[CUBLASLT_MATMUL_DESC_EPILOGUE],
            uint64_t{CUBLASLT_EPILOGUE_BIAS});
}

TEST(CublasLtTest, OtherOperandsHaveNoScales) {
  OfCodes other;
  other.inputs = {{DataType::kBFloat16, {16, 32}},
                  {DataType::kBFloat16, {48, 32}}};
  other.output = {DataType::kBFloat16, {16, 48}};
  other.call.clear_post_ops();
  auto prepared = other.Prepare();
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  void* buffers[3] = {};
  ASSERT_TRUE((*prepared)->Run(buffers, nullptr, nullptr).ok());
  EXPECT_EQ(last_matmul()->type_a, uint64_t{CUDA_R_16BF});
  EXPECT_EQ(last_matmul()->attributes[CUBLASLT_MATMUL_DESC_A_SCALE_MODE], 0u);
  EXPECT_EQ(last_matmul()->attributes[CUBLASLT_MATMUL_DESC_A_SCALE_POINTER],
            0u);
}

// The library's list, of one algorithm here, depends on sizes.
TEST(CublasLtTest, AnotherAlgorithmComputesWhatTheListLacks) {
  const OfCodes codes;
  std::vector<int> tried;
  auto prepare = [&](int algorithm) {
    tried.push_back(algorithm);
    return PrepareMatmul(FakeDevice(), codes.call, codes.inputs, codes.output,
                         algorithm);
  };
  EXPECT_EQ(PrepareAlgorithm(7, Algorithms::kAsked, prepare).status(),
            absl::NotFoundError("cuBLASLt: there are 1 algorithms, not 8"));
  EXPECT_THAT(tried, ElementsAre(7));
  tried.clear();
  absl::StatusOr<SharedCall> call =
      PrepareAlgorithm(7, Algorithms::kAny, prepare);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_NE(*call, nullptr);
  EXPECT_THAT(tried, ElementsAre(7, 0));
}

// Which an executable does at any size of its plan's range.
TEST(CublasLtTest, AnExecutableTakesAnotherAlgorithmUnlessItIsMeasured) {
  TheFakeGpu() = FakeGpu();
  TestPlan plan;
  const SizeExpression n = plan.Symbol(1, 8, 0, 0);
  const int x = plan.Input({n, 4}), w = plan.Input({4, 4}),
            y = plan.Output({n, 4});
  plan.AddStep({x, w}, {y})->mutable_matmul()->set_algorithm(7);
  plan.plan.add_output_values(y);
  plan.plan.set_device("cuda");
  auto run = [&](Algorithms algorithms) -> absl::Status {
    CudaExecutable::Options options;
    options.algorithms = algorithms;
    auto executable =
        CudaExecutable::Load(FakeDevice(), plan.plan, {}, {}, {}, options);
    if (!executable.ok()) return executable.status();
    std::vector<float> rows(12), square(16), products(12);
    std::vector<RegionValue> outputs{View(products, {3, 4})};
    return (*executable)
        ->Run({View(rows, {3, 4}), View(square, {4, 4})},
              absl::MakeSpan(outputs), nullptr);
  };
  EXPECT_TRUE(run(CudaExecutable::Options().algorithms).ok());
  EXPECT_THAT(std::string(run(Algorithms::kAsked).message()),
              HasSubstr("there are 1 algorithms, not 8"));
}

// The error is that of the algorithm that was asked for.
TEST(CublasLtTest, WithoutAnyAlgorithmThereIsAnError) {
  auto prepare =
      [](int algorithm) -> absl::StatusOr<std::unique_ptr<LibraryCall>> {
    return absl::UnimplementedError(absl::StrCat("not ", algorithm));
  };
  EXPECT_EQ(PrepareAlgorithm(1, Algorithms::kAny, prepare).status(),
            absl::UnimplementedError("not 1"));
}

// Matrices of a batch lie as far apart as they have elements.
TEST(CublasLtTest, AlignmentHoldsForEachMatrixOfABatch) {
  TheFakeGpu() = FakeGpu();
  const auto alignments = [](std::vector<int64_t> lhs, std::vector<int64_t> rhs,
                             std::vector<int64_t> output) {
    auto prepared =
        PrepareMatmul(FakeDevice(), MatmulCall(),
                      {{DataType::kFloat16, lhs}, {DataType::kFloat16, rhs}},
                      {DataType::kFloat16, output}, 0);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    void* buffers[3] = {};
    EXPECT_TRUE((*prepared)->Run(buffers, nullptr, nullptr).ok());
    const auto& found = last_matmul()->alignments;
    return std::vector<uint32_t>(found, found + 4);
  };
  // Of the right sides, the left sides and, twice, the results.
  EXPECT_THAT(alignments({6, 9, 9}, {6, 9, 20}, {6, 9, 20}),
              ElementsAre(8, 2, 8, 8));
  EXPECT_THAT(alignments({6, 16, 32}, {6, 32, 8}, {6, 16, 8}),
              ElementsAre(16, 16, 16, 16));
  EXPECT_THAT(alignments({9, 9}, {9, 20}, {9, 20}),
              ElementsAre(16, 16, 16, 16));
}

TEST(CublasLtTest, CodesThatItCannotScaleAreRefused) {
  OfCodes one_factor;
  one_factor.inputs[2].sizes = {1, 1};
  EXPECT_THAT(one_factor.Error(), HasSubstr("not one factor for each row"));
  OfCodes other_length;
  other_length.inputs[3].sizes = {32};
  EXPECT_THAT(other_length.Error(), HasSubstr("and one for each column"));
  OfCodes other_dtype;
  other_dtype.inputs[3].dtype = DataType::kBFloat16;
  EXPECT_THAT(other_dtype.Error(), HasSubstr("dtypes differ"));
  OfCodes no_factors;
  no_factors.call.clear_post_ops();
  EXPECT_THAT(no_factors.Error(), HasSubstr("without factors"));
  OfCodes columns;
  columns.call.set_transpose_rhs(false);
  columns.inputs[1].sizes = {32, 48};
  EXPECT_THAT(columns.Error(), HasSubstr("whose rows are reduced"));
  OfCodes operand_itself;
  operand_itself.call.mutable_post_ops(0)->set_operand(0);
  EXPECT_THAT(operand_itself.Error(), HasSubstr("dtypes differ"));
}

}  // namespace
}  // namespace aitune::cuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // From here on libcublasLt.so.13 is this one.
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (library == nullptr) return 2;
  using Last = aitune::cuda::FakeMatmul* (*)();
  aitune::cuda::last_matmul =
      reinterpret_cast<Last>(dlsym(library, "FakeCublasLtLastMatmul"));
  return RUN_ALL_TESTS();
}
