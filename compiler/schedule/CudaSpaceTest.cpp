// The spaces of kernels on a GPU: each schedule that is listed is generated,
// alone, from its ait.config.
#include "compiler/schedule/CudaSpace.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/gpu/Generate.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::HasSubstr;

namespace aitune {
namespace {

class CudaSpaceTest : public testing::Test {
protected:
  CudaSpaceTest() {
    DialectRegistry dialects;
    registerCompilerDialects(dialects);
    context.appendDialectRegistry(dialects);
  }

  func::FuncOp lower(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    PassManager passes(&context);
    buildKernelToLinalgPipeline(passes, /*emulateEagerCasts=*/false);
    EXPECT_TRUE(succeeded(passes.run(*module)));
    return *module->getOps<func::FuncOp>().begin();
  }

  absl::StatusOr<std::vector<GeneratedCandidate>>
  generate(func::FuncOp kernel, const std::string &config) {
    ait::setScheduleConfig(
        kernel, cast<DictionaryAttr>(parseAttribute(config, &context)));
    return generateCuda(kernel, {}, target);
  }

  /// Every schedule of the kernel's space gives one candidate; returns the
  /// candidates' descriptions.
  std::set<std::string> generateAll(func::FuncOp kernel) {
    std::set<std::string> descriptions;
    absl::StatusOr<KernelSpace> space = listCudaSpace(kernel, {}, target);
    EXPECT_TRUE(space.ok()) << space.status();
    if (!space.ok())
      return descriptions;
    EXPECT_EQ(space->schedules.front().config, "{}");
    for (const Schedule &schedule :
         llvm::ArrayRef(space->schedules).drop_front()) {
      EXPECT_EQ(schedule.features.size(),
                space->schedules.front().features.size());
      auto candidates = generate(kernel, schedule.config);
      EXPECT_TRUE(candidates.ok())
          << schedule.config << ": " << candidates.status();
      if (!candidates.ok())
        continue;
      EXPECT_EQ(candidates->size(), 1u) << schedule.config;
      EXPECT_TRUE(descriptions.insert(candidates->front().description).second)
          << "twice: " << candidates->front().description;
    }
    return descriptions;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  GpuTarget target = *GpuTarget::named("sm_90");
};

std::string matmul(int rows, int columns, int reduced) {
  const std::string lhs = absl::StrCat("tensor<", rows, "x", reduced, "xf16>"),
                    rhs =
                        absl::StrCat("tensor<", columns, "x", reduced, "xf16>"),
                    result =
                        absl::StrCat("tensor<", rows, "x", columns, "xf16>");
  return absl::StrCat(
      "func.func private @k(%x: ", lhs, ", %w: ", rhs, " {ait.constant}) -> ",
      result,
      " attributes {ait.kind = #ait.kind<matmul>, ait.config = {}} {\n"
      "  %0 = ait.matmul %x, %w {transpose_rhs} : (",
      lhs, ", ", rhs, ") -> ", result, "\n  return %0 : ", result, "\n}");
}

TEST_F(CudaSpaceTest, MatmulHasMoreThanABuildWithoutASearchMeasures) {
  func::FuncOp kernel = lower(matmul(256, 512, 1024));
  auto usual = generate(kernel, "{}");
  ASSERT_TRUE(usual.ok()) << usual.status();
  const std::set<std::string> all = generateAll(kernel);
  EXPECT_GT(all.size(), 2 * usual->size());
  for (const GeneratedCandidate &candidate : *usual)
    EXPECT_EQ(all.count(candidate.description), 1u) << candidate.description;
}

TEST_F(CudaSpaceTest, MatmulOfFewRowsHasStreamsAndLoops) {
  const std::set<std::string> all = generateAll(lower(matmul(1, 4096, 1024)));
  auto has = [&](const std::string &start) {
    return llvm::any_of(all, [&](const std::string &description) {
      return StringRef(description).starts_with(start);
    });
  };
  EXPECT_TRUE(has("stream "));
  EXPECT_TRUE(has("dots: "));
  EXPECT_TRUE(has("mma "));
}

TEST_F(CudaSpaceTest, AttentionHasWarpsAlongQueriesAndKeysAndWarpgroups) {
  const std::set<std::string> names = generateAll(lower(R"(
func.func private @k(%q: tensor<8x128x64xf16>, %k: tensor<8x128x64xf16>, %v: tensor<8x128x64xf16>) -> tensor<8x128x64xf16> attributes {ait.kind = #ait.kind<attention>, ait.config = {}} {
  %0 = ait.attention %q, %k, %v {scale = 1.250000e-01 : f64} : (tensor<8x128x64xf16>, tensor<8x128x64xf16>, tensor<8x128x64xf16>) -> tensor<8x128x64xf16>
  return %0 : tensor<8x128x64xf16>
})"));
  auto count = [&](const char *algorithm) {
    return llvm::count_if(names, [&](const std::string &name) {
      return StringRef(name).contains(algorithm);
    });
  };
  EXPECT_EQ(count("attention mma, "), 4);
  EXPECT_GE(count("attention wgmma, "), 10);
}

TEST_F(CudaSpaceTest, LoopsHaveNoParameters) {
  absl::StatusOr<KernelSpace> space = listCudaSpace(lower(R"(
func.func private @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {ait.kind = #ait.kind<loop>, ait.config = {}} {
  %0 = ait.relu %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
})"),
                                                    {}, target);
  EXPECT_EQ(space.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(space.status().message()), HasSubstr("loop"));
}

TEST_F(CudaSpaceTest, AConfigThatFitsNoTileIsRefused) {
  func::FuncOp kernel = lower(matmul(256, 512, 1024));
  for (const char *config :
       {"{algorithm = \"mma\", m = 64 : i64, n = 64 : i64, slices = 2 : i64, "
        "stages = 1000 : i64}",
        "{algorithm = \"mma\", m = 63 : i64, n = 64 : i64}",
        "{algorithm = \"magic\", m = 64 : i64, n = 64 : i64}",
        "{mr = 8 : i64}"}) {
    const auto refused = generate(kernel, config);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument)
        << config;
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("ait.config"));
  }
}

} // namespace
} // namespace aitune
