// Candidates of smaller sizes, of a target that has one for each size.
#include "compiler/driver/SizeAlternatives.h"

#include "compiler/dialect/KernelAttributes.h"
#include "compiler/driver/CollectKernels.h"
#include "compiler/driver/testing/RunningTarget.h"
#include "compiler/plan/PlanBuilder.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "runtime/plan/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::ElementsAre;
using testing::IsEmpty;

namespace aitune {
namespace {

/// As fusion leaves it: a kernel whose work depends on the batch, and one whose
/// work does not.
constexpr char kModel[] = R"(
#n = affine_map<()[s0] -> (s0, 8)>
module attributes {ait.symbols = [{name = "s0", min = 1 : i64, max = 16 : i64, input = 0 : i64, axis = 0 : i64}]} {
func.func @main(%x: tensor<?x8xf32, #n>, %c: tensor<8xf32>) -> (tensor<?x8xf32, #n>, tensor<8xf32>) {
  %0 = ait.launch @neg_0(%x) : (tensor<?x8xf32, #n>) -> tensor<?x8xf32, #n>
  %1 = ait.launch @abs_0(%c) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<?x8xf32, #n>, tensor<8xf32>
}
func.func private @neg_0(%x: tensor<?x8xf32, #n>) -> tensor<?x8xf32, #n> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.neg %x : tensor<?x8xf32, #n>
  return %0 : tensor<?x8xf32, #n>
}
func.func private @abs_0(%x: tensor<8xf32>) -> tensor<8xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.abs %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
})";

/// Has one tile for sizes up to 4 and another for larger ones.
class TargetOfTiles : public RunningTarget {
public:
  std::string device() const override { return "cuda"; }
  std::vector<GeneratedCode> generate(ArrayRef<CodeJob> jobs,
                                      ArrayRef<const LibraryRules *>) override {
    std::vector<GeneratedCode> code;
    for (const CodeJob &job : jobs) {
      func::FuncOp function = job.function;
      const int most = std::stoi(job.text.substr(job.text.find("max = ") + 6));
      code.push_back({cudaCandidate(function.getSymName().str(),
                                    most <= 4 ? "small tile" : "large tile")});
    }
    return code;
  }
  absl::Status runModel(ModelCalls,
                        absl::Span<const ConstantTensor>) const override {
    return absl::UnimplementedError("nothing runs here");
  }
};

class SizeAlternativesTest : public testing::Test {
protected:
  SizeAlternativesTest() {
    context.loadDialect<ait::AitDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(kModel, &context);
    kernels = collectKernels(*module);
    chosen.best["neg_0"] = cudaCandidate("neg_0", "large tile");
    chosen.best["abs_0"] = cudaCandidate("abs_0", "one tile");
  }
  absl::Status choose() {
    CompileOptions options;
    options.measureCandidates = false;
    return chooseForSmallerSizes(*module, kernels, target, {}, options, chosen,
                                 result);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<Kernel> kernels;
  TargetOfTiles target;
  ChosenKernels chosen;
  CompileResult result;
};

TEST_F(SizeAlternativesTest, SizesGrowByAFactor) {
  const auto sizes = [&](const char *symbols) {
    return sizesToChooseAt(cast<ArrayAttr>(parseAttribute(symbols, &context)));
  };
  EXPECT_THAT(sizes("[{min = 1 : i64, max = 16 : i64}]"),
              ElementsAre(ElementsAre(4), ElementsAre(1)));
  EXPECT_THAT(sizes("[{min = 9 : i64, max = 16 : i64}]"), IsEmpty());
  EXPECT_THAT(sizes("[{min = 0 : i64, max = 2 : i64}]"),
              ElementsAre(ElementsAre(1)));
  EXPECT_THAT(sizes("[{min = 1 : i64, max = 4 : i64}, {min = 32 : i64, max = "
                    "2048 : i64}]"),
              ElementsAre(ElementsAre(3, 512), ElementsAre(2, 128),
                          ElementsAre(1, 32)));
  EXPECT_THAT(sizesToChooseAt(nullptr), IsEmpty());
}

TEST_F(SizeAlternativesTest, AKernelHasAWayForAllSizesThatTakeTheSame) {
  ASSERT_EQ(choose(), absl::OkStatus());
  EXPECT_EQ(labelOf(chosen.best["neg_0"]),
            "by size: 4: generated: small tile; above: generated: large tile");
  EXPECT_EQ(labelOf(chosen.best["abs_0"]), "generated: one tile");
  // The module is as it was.
  const ArrayAttr symbols = ait::getModuleSymbols(*module);
  EXPECT_THAT(largestSizes(symbols), ElementsAre(16));
  auto main = module->lookupSymbol<func::FuncOp>("main");
  absl::StatusOr<ExecutablePlan> plan = buildPlan(main, symbols, chosen.best);
  ASSERT_TRUE(plan.ok()) << plan.status();
  plan->set_device("cuda");
  EXPECT_EQ(ValidatePlan(*plan), absl::OkStatus());
  ASSERT_EQ(plan->steps_size(), 3);
  EXPECT_EQ(plan->steps(0).cuda_kernel().symbol(), "neg_0_to_4");
  EXPECT_THAT(plan->steps(0).alternative().most(), ElementsAre(4));
  EXPECT_EQ(plan->steps(1).cuda_kernel().symbol(), "neg_0");
  EXPECT_THAT(plan->steps(1).alternative().most(), IsEmpty());
  EXPECT_FALSE(plan->steps(2).has_alternative());
  for (const Step &step : plan->steps())
    EXPECT_EQ(step.implementation(), "generated");
}

TEST_F(SizeAlternativesTest, WhatIsChosenForAllSizesNeedsNoOther) {
  chosen.best["neg_0"] = cudaCandidate("neg_0", "small tile");
  ASSERT_EQ(choose(), absl::OkStatus());
  EXPECT_EQ(labelOf(chosen.best["neg_0"]), "generated: small tile");
}

} // namespace
} // namespace aitune
