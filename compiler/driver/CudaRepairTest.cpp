// Wrong kernels of a GPU that is made of functions: found in the finished
// model, and replaced.
#include <cstdlib>
#include <functional>
#include <random>

#include "compiler/Compiler.h"
#include "compiler/candidates/CudaRace.h"
#include "compiler/driver/CollectKernels.h"
#include "compiler/driver/Repair.h"
#include "compiler/driver/testing/RunningTarget.h"
#include "compiler/measure/TestData.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/plan/PlanBuilder.h"
#include "mlir/Parser/Parser.h"
#include "runtime/cuda/testing/fake_gpu.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::HasSubstr;
using testing::IsEmpty;

namespace aitune {
namespace {

using cuda::FakeGpu;

constexpr int64_t kCount = 64 * 96;

/// As fusion leaves it: y = |-x|, in two kernels.
constexpr char kModel[] = R"(
func.func @main(%x: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %0 = ait.launch @neg_0(%x) : (tensor<64x96xf32>) -> tensor<64x96xf32>
  %1 = ait.launch @abs_0(%0) : (tensor<64x96xf32>) -> tensor<64x96xf32>
  return %1 : tensor<64x96xf32>
}
func.func private @neg_0(%x: tensor<64x96xf32>) -> tensor<64x96xf32> attributes {ait.config = {}, ait.kind = #ait.kind<loop>} {
  %0 = ait.neg %x : tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
}
func.func private @abs_0(%x: tensor<64x96xf32>) -> tensor<64x96xf32> attributes {ait.config = {}, ait.kind = #ait.kind<loop>} {
  %0 = ait.abs %x : tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
})";

/// What kernels do that do not run at once.
std::vector<FakeGpu::Work> &pending() {
  static auto *const work = new std::vector<FakeGpu::Work>();
  return *work;
}

/// What "faulty" leaves behind: the GPU refuses all calls.
bool isLost = false;

CUresult synchronize(CUstream) {
  if (isLost)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (const FakeGpu::Work &work : pending())
    work();
  pending().clear();
  return CUDA_SUCCESS;
}

const cuda::Device &device() {
  static const cuda::Device &made = cuda::NewFakeDevice(
      {{"cuStreamSynchronize", reinterpret_cast<void *>(synchronize)},
       {"cuCtxSynchronize", reinterpret_cast<void *>(+[]() -> CUresult {
          return synchronize(nullptr);
        })}});
  return made;
}

/// A kernel of one input and one result, element by element.
FakeGpu::Kernel elementwise(std::function<float(float)> compute,
                            bool isLate = false) {
  return [=](void **parameters) -> FakeGpu::Work {
    const float *from = *static_cast<float **>(parameters[0]);
    float *to = *static_cast<float **>(parameters[1]);
    FakeGpu::Work work = [=] {
      for (int64_t i = 0; i < kCount; ++i)
        to[i] = compute(from[i]);
    };
    if (!isLate)
      return work;
    return [=] { pending().push_back(work); };
  };
}

/// Runs models on the made-up GPU.
class FakeCudaTarget : public RunningTarget {
public:
  std::string device() const override { return "cuda"; }
  absl::Status
  runModel(ModelCalls calls,
           absl::Span<const ConstantTensor> constants) const override {
    return runModelOnCuda(aitune::device(), std::move(calls), constants);
  }
};

class CudaRepairTest : public testing::Test {
protected:
  CudaRepairTest() {
    FakeGpu &gpu = cuda::TheFakeGpu() = FakeGpu();
    pending().clear();
    isLost = false;
    gpu.kernels["faulty"] = [](void **) -> FakeGpu::Work {
      return [] { isLost = true; };
    };
    gpu.kernels["neg"] = elementwise([](float x) { return -x; });
    gpu.kernels["abs"] = elementwise([](float x) { return std::abs(x); });
    gpu.kernels["wrong"] = elementwise([](float x) { return x + 1; });
    gpu.kernels["late"] =
        elementwise([](float x) { return -x; }, /*isLate=*/true);
    gpu.kernels["counting"] = elementwise([this](float x) {
      return -x + static_cast<float>(elements++ / kCount);
    });
  }

  /// The result of a repair, with these candidates of the two kernels.
  CompileResult repair(const std::vector<std::string> &negations,
                       const std::vector<std::string> &absolutes) {
    DialectRegistry dialects;
    registerCompilerDialects(dialects);
    MLIRContext context(dialects);
    auto module = parseSourceString<ModuleOp>(kModel, &context);
    EXPECT_TRUE(module);
    std::unique_ptr<void, decltype(&std::free)> memory(
        std::aligned_alloc(64, kCount * 4), &std::free);
    TensorView input{memory.get(), DataType::kFloat32, {64, 96}};
    std::mt19937 generator(7);
    fillRandom(input, generator);
    CompileOptions options;
    options.measureCandidates = false;
    options.audit.inputs = {input};
    std::vector<Kernel> kernels = collectKernels(*module);
    for (Kernel &kernel : kernels)
      for (const std::string &symbol :
           kernel.function.getSymName() == "neg_0" ? negations : absolutes)
        kernel.candidates.push_back(cudaCandidate(symbol, symbol));
    const FakeCudaTarget target;
    CompileResult result;
    Repair repair(*module, kernels, target, {}, options, result);
    ChosenKernels chosen = *repair.choose();
    auto build = [&]() -> absl::Status {
      absl::StatusOr<ExecutablePlan> plan = buildPlan(
          module->lookupSymbol<func::FuncOp>("main"), nullptr, chosen.best);
      if (!plan.ok())
        return plan.status();
      result.plan = *std::move(plan);
      result.plan.set_device("cuda");
      result.objects.clear();
      for (const auto &entry : chosen.best)
        llvm::append_range(result.objects, entry.getValue().objects);
      return absl::OkStatus();
    };
    EXPECT_TRUE(build().ok());
    const absl::Status repaired = repair.run(chosen, build);
    EXPECT_TRUE(repaired.ok()) << repaired;
    for (const Rejection &rejection : result.rejections)
      ADD_FAILURE() << rejection.subject << ": " << rejection.reason;
    return result;
  }

  int64_t elements = 0; ///< that "counting" computed
};

/// Measures candidates on the made-up GPU.
class MeasuringTarget : public FakeCudaTarget {
public:
  absl::Status usable() const override {
    return aitune::device().Synchronize();
  }
  std::unique_ptr<CandidateRace>
  race(std::vector<RaceEntry> entries, const Kernel *kernel,
       absl::Span<const ConstantTensor> constants) const override {
    return raceOnCuda(aitune::device(), std::move(entries), kernel, constants,
                      {}, planner);
  }

private:
  mutable ConvolutionPlanner planner{aitune::device(), {}};
};

/// What comes first fails, and others are not run.
TEST_F(CudaRepairTest, TheCandidateAfterWhichTheGpuIsLostIsNamedAndKept) {
  DialectRegistry dialects;
  registerCompilerDialects(dialects);
  MLIRContext context(dialects);
  auto module = parseSourceString<ModuleOp>(kModel, &context);
  ASSERT_TRUE(module);
  std::vector<Kernel> kernels = collectKernels(*module);
  for (Kernel &kernel : kernels)
    for (const char *symbol : {"neg", "faulty", "abs", "wrong"})
      kernel.candidates.push_back(cudaCandidate(symbol, symbol));
  CompileResult result;
  const absl::Status chosen =
      chooseCandidates(kernels, *module, MeasuringTarget(), {},
                       CompileOptions(), result)
          .status();
  EXPECT_EQ(chosen.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(chosen.message()),
              HasSubstr("generated: faulty of kernel neg_0 made cuda unusable "
                        "for this process: "));
  ASSERT_EQ(result.wrong.size(), 1u);
  EXPECT_EQ(result.wrong[0].kernel, "neg_0");
  EXPECT_EQ(result.wrong[0].candidate, "generated: faulty");
  EXPECT_THAT(result.failures, IsEmpty());
}

TEST_F(CudaRepairTest, NothingIsWrong) {
  EXPECT_THAT(repair({"neg", "wrong"}, {"abs"}).wrong, IsEmpty());
}

TEST_F(CudaRepairTest, AWrongKernelIsReplaced) {
  const CompileResult result = repair({"wrong", "neg"}, {"abs"});
  ASSERT_EQ(result.wrong.size(), 1u);
  EXPECT_EQ(result.wrong[0].candidate, "generated: wrong");
  EXPECT_EQ(result.wrong[0].replacement, "generated: neg");
  EXPECT_EQ(result.plan.steps(0).cuda_kernel().symbol(), "neg");
}

TEST_F(CudaRepairTest, OneThatIsWrongFromTheSecondCallOnIsReplaced) {
  const CompileResult result = repair({"counting", "neg"}, {"abs"});
  ASSERT_EQ(result.wrong.size(), 1u);
  EXPECT_EQ(result.wrong[0].candidate, "generated: counting");
  EXPECT_EQ(result.plan.steps(0).cuda_kernel().symbol(), "neg");
}

TEST_F(CudaRepairTest, WhereNothingIsLeftLibTorchIsToRunIt) {
  const CompileResult result = repair({"neg"}, {"wrong"});
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].kernel, "abs_0");
}

TEST_F(CudaRepairTest, OneThatTheNextDoesNotWaitForIsReplaced) {
  const CompileResult result = repair({"late", "neg"}, {"abs"});
  ASSERT_EQ(result.wrong.size(), 1u);
  EXPECT_EQ(result.wrong[0].candidate, "generated: late");
  EXPECT_THAT(result.wrong[0].reason, HasSubstr("it is before abs_0#0"));
  EXPECT_EQ(result.plan.steps(0).cuda_kernel().symbol(), "neg");
}

} // namespace
} // namespace aitune
