// Which layers of a graph are quantised, and what becomes of them.
#include "quant/transforms/quantize_layers.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "compiler/dialect/Ait.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

namespace aitune::quant {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A graph and its weights, before and after the pass.
class QuantizeLayersTest : public ::testing::Test {
 protected:
  int64_t AddWeight(std::vector<int64_t> sizes, float value = 1) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    auto owner = std::make_shared<std::vector<float>>(count);
    for (int64_t i = 0; i < count; ++i)
      (*owner)[i] = value * static_cast<float>(std::sin(0.7 * (i + 1)));
    ConstantTensor constant;
    constant.view = {owner->data(), DataType::kFloat32, std::move(sizes)};
    constant.owner = owner;
    pool_.push_back(std::move(constant));
    return static_cast<int64_t>(pool_.size()) - 1;
  }

  void AddBFloat16Weight(std::vector<int64_t> sizes) {
    const ConstantTensor& floats = pool_[AddWeight(std::move(sizes))];
    const auto* values = static_cast<const float*>(floats.view.data);
    auto owner = std::make_shared<std::vector<uint16_t>>();
    for (int64_t i = 0; i < floats.view.sizes[0] * floats.view.sizes[1]; ++i)
      owner->push_back(absl::bit_cast<uint32_t>(values[i]) >> 16);
    pool_.back().view.data = owner->data();
    pool_.back().view.dtype = DataType::kBFloat16;
    pool_.back().owner = owner;
  }

  // The graph after the pass with the options of `asked`.
  std::string Run(const std::string& graph, const std::string& asked) {
    mlir::DialectRegistry registry;
    registry.insert<mlir::ait::AitDialect, mlir::func::FuncDialect>();
    mlir::MLIRContext context(registry);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(graph, &context);
    if (!module) return "no module";
    const auto options = ParseQuantizationOptions(asked);
    if (!options.ok()) return std::string(options.status().message());
    QuantizationContext known;
    known.gpu = gpu_;
    known.timer = timer_;
    known.dropped = dropped_;
    known.slow = slow_;
    known.inputs = [this](int64_t number) {
      const auto found = inputs_.find(number);
      return found == inputs_.end() ? nullptr : &found->second;
    };
    known.told = [this](QuantizedLayer layer) {
      layers_.push_back(std::move(layer));
    };
    ConstantPool& pool = known.pool;
    pool.find = [this](int64_t number) { return &pool_.at(number); };
    pool.add = [this](ConstantTensor constant) {
      added_.push_back(std::move(constant));
      return static_cast<int64_t>(pool_.size() + added_.size()) - 1;
    };
    mlir::PassManager passes(&context);
    passes.nest<mlir::func::FuncOp>().addPass(
        CreateQuantizeLayers(*options, std::move(known)));
    if (mlir::failed(passes.run(*module))) return "the pass failed";
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    return text;
  }

  std::string RefusalOf(const std::string& name, std::vector<int64_t> sizes,
                        const std::string& asked, bool transposed = true,
                        float value = 1) {
    const int64_t number = AddWeight(sizes, value);
    const int64_t k = sizes[transposed ? 1 : 0], n = sizes[transposed ? 0 : 1];
    const std::string x = "tensor<2x" + std::to_string(k) + "xf32>",
                      w = "tensor<" + std::to_string(sizes[0]) + "x" +
                          std::to_string(sizes[1]) + "xf32>",
                      y = "tensor<2x" + std::to_string(n) + "xf32>";
    layers_.clear();
    Run("func.func @main(%x: " + x + ") -> " + y + " {\n%w = ait.constant " +
            std::to_string(number) + " {name = \"" + name + "\"} : " + w +
            "\n%y = ait.matmul %x, %w {" + (transposed ? "transpose_rhs" : "") +
            "} : (" + x + ", " + w + ") -> " + y + "\nreturn %y : " + y + "\n}",
        asked);
    return layers_.size() == 1 ? layers_[0].refusal : "not looked at";
  }

  std::vector<ConstantTensor> pool_, added_;
  std::optional<ComputeCapability> gpu_;  // none: a CPU
  LayerTimer timer_;                      // none
  // The inputs of each weight's layers.
  std::map<int64_t, ConstantTensor> inputs_;
  LayersWithSchemes dropped_;
  std::map<std::pair<std::string, std::string>, std::string> slow_;
  std::vector<QuantizedLayer> layers_;
};

constexpr char kTwoLayers[] = R"(
  func.func @main(%x: tensor<2x3x8xbf16>) -> (tensor<2x3x4xbf16>, tensor<2x3x5xbf16>) {
    %q = ait.constant 0 {name = "layer.query.weight"} : tensor<4x8xbf16>
    %k = ait.constant 1 {name = "layer.key.weight"} : tensor<5x8xbf16>
    %0 = ait.matmul %x, %q {transpose_rhs} : (tensor<2x3x8xbf16>, tensor<4x8xbf16>) -> tensor<2x3x4xbf16>
    %1 = ait.matmul %x, %k {transpose_rhs} : (tensor<2x3x8xbf16>, tensor<5x8xbf16>) -> tensor<2x3x5xbf16>
    return %0, %1 : tensor<2x3x4xbf16>, tensor<2x3x5xbf16>
  })";

TEST_F(QuantizeLayersTest, WeightOnlyScalesColumnsOfTheProductWithCodes) {
  AddWeight({4, 8});
  AddWeight({5, 8});
  const std::string graph = Run(kTwoLayers, "int8wo");
  EXPECT_THAT(graph, HasSubstr("(tensor<2x3x8xbf16>, tensor<4x8xi8>) -> "
                               "tensor<2x3x4xf32>"));
  EXPECT_THAT(graph, Not(HasSubstr("tensor<4x8xbf16>, ")));
  ASSERT_EQ(added_.size(), 4u);
  EXPECT_EQ(added_[0].view.dtype, DataType::kInt8);
  EXPECT_EQ(added_[0].view.sizes, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(added_[1].view.dtype, DataType::kFloat32);
  EXPECT_EQ(added_[1].view.sizes, (std::vector<int64_t>{4}));
  ASSERT_EQ(layers_.size(), 2u);
  EXPECT_EQ(layers_[0].layer, "layer.query");
  EXPECT_EQ(layers_[0].refusal, "");
  EXPECT_EQ(layers_[1].n, 5);
  EXPECT_EQ(layers_[1].k, 8);
  EXPECT_GT(layers_[1].weightSqnr, 34);
}

TEST_F(QuantizeLayersTest, DynamicSharesTheCodesOfAnInput) {
  AddWeight({4, 8});
  AddWeight({5, 8});
  const std::string graph = Run(kTwoLayers, "int8dq");
  EXPECT_THAT(graph, HasSubstr("(tensor<2x3x8xui8>, tensor<5x8xi8>) -> "
                               "tensor<2x3x5xi32>"));
  const size_t rounding = graph.find("ait.round ");
  ASSERT_NE(rounding, std::string::npos) << graph;
  EXPECT_EQ(graph.find("ait.round ", rounding + 1), std::string::npos);
  ASSERT_EQ(added_.size(), 6u);
  // 128 times the sums of the codes.
  const auto* codes = static_cast<const int8_t*>(added_[0].view.data);
  const auto* sums = static_cast<const int32_t*>(added_[2].view.data);
  for (int64_t row = 0; row < 4; ++row) {
    int32_t sum = 0;
    for (int64_t k = 0; k < 8; ++k) sum += codes[row * 8 + k];
    EXPECT_EQ(sums[row], 128 * sum);
  }
}

TEST_F(QuantizeLayersTest, LayersThatAreLeftAloneHaveAReason) {
  EXPECT_EQ(RefusalOf("a.weight", {4, 8}, "int8wo"), "");
  EXPECT_THAT(RefusalOf("a.weight", {4, 8}, "int8wo,skip=a"),
              HasSubstr("filtered"));
  EXPECT_THAT(RefusalOf("a.weight", {4, 1}, "int8wo"), HasSubstr("shape"));
  EXPECT_THAT(RefusalOf("a.weight", {4, 8}, "int8wo", true,
                        std::numeric_limits<float>::quiet_NaN()),
              HasSubstr("not finite"));
  EXPECT_THAT(RefusalOf("a.weight", {8, 4}, "int8wo", false),
              HasSubstr("[K, N]"));
  EXPECT_EQ(RefusalOf("a.weight", {8, 4}, "int8wo,extended_layers=on", false),
            "");
  EXPECT_THAT(RefusalOf("a.in_proj_weight", {4, 8}, "int8wo"),
              HasSubstr("no module's parameter"));
}

TEST_F(QuantizeLayersTest, TheVerdictRefusesInaccurateCodes) {
  // Beside its largest element a row's others fall between two codes: half a
  // step of noise in each, and little signal.
  const int64_t number = AddWeight({1, 1024});
  auto* values = static_cast<float*>(pool_[number].view.data);
  for (int64_t i = 0; i < 1024; ++i) values[i] = i % 2 == 0 ? 0.49f : -0.49f;
  values[0] = 127.5f;
  const std::string graph = R"(
    func.func @main(%x: tensor<2x1024xf32>) -> tensor<2x1xf32> {
      %w = ait.constant 0 {name = "a.weight"} : tensor<1x1024xf32>
      %y = ait.matmul %x, %w {transpose_rhs} : (tensor<2x1024xf32>, tensor<1x1024xf32>) -> tensor<2x1xf32>
      return %y : tensor<2x1xf32>
    })";
  Run(graph, "int8wo");
  ASSERT_EQ(layers_.size(), 1u);
  EXPECT_THAT(layers_[0].refusal, HasSubstr("inaccurate"));
  Run(graph, "int8wo,verdict=off");
  EXPECT_EQ(layers_.back().refusal, "");
}

TEST_F(QuantizeLayersTest, ALayerThatIsSlowerIsLeftAlone) {
  AddWeight({4, 8});
  AddWeight({5, 8});
  timer_ = [](llvm::ArrayRef<mlir::ait::MatmulOp> layers, const Way&) {
    return LayerTimes{10.0 * layers.size(), 12.0 * layers.size(), false};
  };
  EXPECT_THAT(Run(kTwoLayers, "int8wo"), Not(HasSubstr("i8")));
  ASSERT_EQ(layers_.size(), 2u);
  // Timed together, since they share an input.
  EXPECT_EQ(layers_[0].refusal,
            "slower: 24 us with int8wo, 20 us as it is, for the 2 layers of "
            "its input");
  EXPECT_EQ(layers_[0].microseconds, 20);
  EXPECT_EQ(layers_[1].quantizedMicroseconds, 24);
  // Whoever wants torchao's choice gets it.
  EXPECT_THAT(Run(kTwoLayers, "int8wo,verdict=off"), HasSubstr("xi8"));
  EXPECT_EQ(layers_.back().refusal, "");
  EXPECT_LT(layers_.back().microseconds, 0);
}

TEST_F(QuantizeLayersTest, AutoTakesTheFastestScheme) {
  AddWeight({4, 8});
  AddWeight({5, 8});
  double dynamic = 5;
  timer_ = [&](llvm::ArrayRef<mlir::ait::MatmulOp>, const Way& way) {
    EXPECT_NE(way.scheme, Scheme::kFloat8Dynamic);  // a CPU has none
    const double time = way.scheme == Scheme::kInt8Dynamic ? dynamic : 7;
    return LayerTimes{10, time, time < 10};
  };
  EXPECT_THAT(Run(kTwoLayers, "auto"), HasSubstr("xui8>"));
  ASSERT_EQ(layers_.size(), 2u);
  EXPECT_EQ(layers_[0].scheme, "int8dq");
  EXPECT_EQ(layers_[0].quantizedMicroseconds, 5);
  dynamic = 20;
  EXPECT_THAT(Run(kTwoLayers, "auto"), Not(HasSubstr("xui8>")));
  EXPECT_EQ(layers_[3].scheme, "int8wo");
  EXPECT_EQ(layers_[3].refusal, "");
  // Untimed, the one that leaves the activations as they are.
  timer_ = nullptr;
  EXPECT_THAT(Run(kTwoLayers, "auto"), Not(HasSubstr("xui8>")));
  EXPECT_EQ(layers_[5].scheme, "int8wo");
}

// One weight, called with one row and with many, and a layer of the first
// input.
constexpr char kTwoUses[] = R"(
  func.func @main(%x: tensor<1x8xf32>, %y: tensor<600x8xf32>) -> (tensor<1x8xf32>, tensor<1x4xf32>, tensor<600x8xf32>) {
    %w = ait.constant 0 {name = "a.weight"} : tensor<8x8xf32>
    %v = ait.constant 1 {name = "b.weight"} : tensor<4x8xf32>
    %0 = ait.matmul %x, %w {transpose_rhs} : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
    %1 = ait.matmul %x, %v {transpose_rhs} : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
    %2 = ait.matmul %y, %w {transpose_rhs} : (tensor<600x8xf32>, tensor<8x8xf32>) -> tensor<600x8xf32>
    return %0, %1, %2 : tensor<1x8xf32>, tensor<1x4xf32>, tensor<600x8xf32>
  })";

TEST_F(QuantizeLayersTest, AllUsesOfAWeightAreQuantizedAlikeOrNone) {
  AddWeight({8, 8});
  AddWeight({4, 8});
  double one_row = 5, dynamic_rows = 120;
  timer_ = [&](llvm::ArrayRef<mlir::ait::MatmulOp> layers, const Way& way) {
    const bool is_one =
        mlir::ait::MatmulOp(layers[0]).getType().getDimSize(0) == 1;
    const double plain = is_one ? 10 : 100;
    const double time = is_one                               ? one_row
                        : way.scheme == Scheme::kInt8Dynamic ? dynamic_rows
                                                             : 120;
    return LayerTimes{plain, time, time < plain};
  };
  // The many rows lose more than the one gains: a.weight stays as it is.
  Run(kTwoUses, "int8wo");
  ASSERT_EQ(layers_.size(), 3u);
  EXPECT_THAT(layers_[0].refusal, HasSubstr("another use of its weight is "
                                            "slower: 120 us with int8wo"));
  EXPECT_EQ(layers_[1].refusal, "");
  EXPECT_THAT(layers_[2].refusal, HasSubstr("slower: 120 us with int8wo"));
  // They lose less: both uses are taken.
  one_row = 0.5;
  dynamic_rows = 101;
  Run(kTwoUses, "int8dq");
  for (size_t i = 3; i < 6; ++i) EXPECT_EQ(layers_[i].refusal, "") << i;
  // One scheme for both, where each use alone would have another.
  dynamic_rows = 50;
  Run(kTwoUses, "auto");
  for (size_t i = 6; i < 9; ++i) {
    EXPECT_EQ(layers_[i].refusal, "") << i;
    EXPECT_EQ(layers_[i].scheme, "int8dq") << i;
  }
  // What spoils one use spoils the other.
  dropped_ = {{"a", "int8dq"}};
  Run(kTwoUses, "int8dq");
  EXPECT_THAT(layers_[9].refusal, HasSubstr("dropped: "));
  EXPECT_EQ(layers_[10].refusal, "");
  EXPECT_THAT(layers_[11].refusal, HasSubstr("dropped: "));
}

// A weight of bfloat16 whose rows have codes of float8.
constexpr char kOneBFloat16Layer[] = R"(
  func.func @main(%x: tensor<2x3x16xbf16>) -> tensor<2x3x16xbf16> {
    %w = ait.constant 0 {name = "a.weight"} : tensor<16x16xbf16>
    %0 = ait.matmul %x, %w {transpose_rhs} : (tensor<2x3x16xbf16>, tensor<16x16xbf16>) -> tensor<2x3x16xbf16>
    return %0 : tensor<2x3x16xbf16>
  })";

TEST_F(QuantizeLayersTest, DynamicFloat8HasAScaleATokenOrOne) {
  gpu_ = ComputeCapability{9, 0};
  AddBFloat16Weight({16, 16});
  std::string graph = Run(kOneBFloat16Layer, "fp8dq,granularity=row");
  EXPECT_THAT(graph, HasSubstr("(tensor<2x3x16xf8E4M3FN>, "
                               "tensor<16x16xf8E4M3FN>) -> "
                               "tensor<2x3x16xf32>"));
  EXPECT_THAT(graph, HasSubstr("ait.maximum %"));
  EXPECT_THAT(graph, HasSubstr("tensor<2x3x1xf32>"));
  EXPECT_THAT(graph, Not(HasSubstr("tensor<1x1x1xf32>")));
  ASSERT_EQ(added_.size(), 2u);
  EXPECT_EQ(added_[0].view.dtype, DataType::kFloat8E4M3Fn);
  const auto* scales = static_cast<const float*>(added_[1].view.data);
  EXPECT_NE(scales[0], scales[1]);
  // torchao's default is one scale for all: equal factors of all columns.
  graph = Run(kOneBFloat16Layer, "fp8dq");
  EXPECT_THAT(graph, HasSubstr("tensor<1x1x1xf32>"));
  ASSERT_EQ(added_.size(), 4u);
  EXPECT_EQ(added_[3].view.sizes, (std::vector<int64_t>{16}));
  scales = static_cast<const float*>(added_[3].view.data);
  for (int row = 1; row < 16; ++row) EXPECT_EQ(scales[row], scales[0]);
  EXPECT_EQ(layers_.back().refusal, "");
}

TEST_F(QuantizeLayersTest, AutoHasDynamicFloat8WhereTheGpuHas) {
  AddBFloat16Weight({16, 16});
  std::optional<Granularity> timed;
  timer_ = [&](llvm::ArrayRef<mlir::ait::MatmulOp>, const Way& way) {
    const bool is_float8 = way.scheme == Scheme::kFloat8Dynamic;
    if (is_float8) timed = way.granularity;
    return LayerTimes{10, is_float8 ? 4. : 7., true};
  };
  gpu_ = ComputeCapability{9, 0};
  Run(kOneBFloat16Layer, "auto");
  EXPECT_EQ(layers_.back().scheme, "fp8dq");
  EXPECT_EQ(timed, Granularity::kPerRow);
  timed.reset();
  gpu_ = ComputeCapability{8, 0};
  Run(kOneBFloat16Layer, "auto");
  EXPECT_EQ(layers_.back().scheme, "int8wo");
  EXPECT_FALSE(timed.has_value());
}

TEST_F(QuantizeLayersTest, DynamicFloat8LeavesWhatTorchaoLeaves) {
  gpu_ = ComputeCapability{9, 0};
  EXPECT_EQ(RefusalOf("a.weight", {16, 32}, "fp8dq"), "");
  EXPECT_EQ(RefusalOf("a.weight", {16, 24}, "fp8dq"),
            "shape: the weight is [16, 24], fp8dq takes multiples of 16 in "
            "both axes");
  EXPECT_EQ(RefusalOf("a.weight", {16, 32}, "fp8dq,granularity=row"),
            "dtype: PerRow quantization only works for bfloat16 precision "
            "input weight");
}

// A layer [256, 1024], which reads Gaussian rows of which six channels are 60
// times as large, as activations after GELU may be.
TEST_F(QuantizeLayersTest, OutlierChannelsSpoilCodesOfActivationsAlone) {
  std::mt19937 generator(0);
  std::normal_distribution<float> normal;
  const int64_t number = AddWeight({256, 1024});
  auto* weight = static_cast<float*>(pool_[number].view.data);
  for (int64_t i = 0; i < 256 * 1024; ++i) weight[i] = normal(generator);
  auto rows = std::make_shared<std::vector<float>>();
  for (int64_t i = 0; i < 64 * 1024; ++i)
    rows->push_back(normal(generator) * (i % 1024 < 6 ? 60 : 1));
  ConstantTensor& inputs = inputs_[number];
  inputs.view = {rows->data(), DataType::kFloat32, {64, 1024}};
  inputs.owner = rows;
  const std::string graph = R"(
    func.func @main(%x: tensor<2x1024xf32>) -> tensor<2x256xf32> {
      %w = ait.constant 0 {name = "a.weight"} : tensor<256x1024xf32>
      %y = ait.matmul %x, %w {transpose_rhs} : (tensor<2x1024xf32>, tensor<256x1024xf32>) -> tensor<2x256xf32>
      return %y : tensor<2x256xf32>
    })";
  Run(graph, "int8wo");
  EXPECT_EQ(layers_.back().refusal, "");
  EXPECT_GT(layers_.back().sqnr, 40);
  Run(graph, "fp8wo");
  EXPECT_EQ(layers_.back().refusal, "");
  Run(graph, "int8dq");
  EXPECT_THAT(layers_.back().refusal,
              ::testing::MatchesRegex(
                  "inaccurate: its results for the model's inputs keep "
                  "2[0-9]\\.[0-9] dB, fewer than 28\\.0"));
  EXPECT_LT(layers_.back().sqnr, 28);
  // Exactly torchao's layers, and the figure all the same.
  Run(graph, "int8dq,verdict=off");
  EXPECT_EQ(layers_.back().refusal, "");
  EXPECT_LT(layers_.back().sqnr, 28);
  // Codes with an exponent of their own keep more of such inputs.
  gpu_ = ComputeCapability{9, 0};
  Run(graph, "fp8dq");
  EXPECT_EQ(layers_.back().refusal, "");
  EXPECT_GT(layers_.back().sqnr, 28);
  // Without the outliers int8dq is the better one.
  for (int64_t i = 0; i < 64 * 1024; ++i)
    if (i % 1024 < 6) (*rows)[i] /= 60;
  Run(graph, "int8dq");
  EXPECT_EQ(layers_.back().refusal, "");
  EXPECT_GT(layers_.back().sqnr, 36);
}

TEST_F(QuantizeLayersTest, AFewBadRowsAreEnoughToRefuse) {
  const int64_t number = AddWeight({4, 64});
  std::mt19937 generator(0);
  std::normal_distribution<float> normal;
  auto rows = std::make_shared<std::vector<float>>();
  for (int64_t i = 0; i < 128 * 64; ++i) rows->push_back(normal(generator));
  // One element of a row hides all others in it, and has a weight of zero.
  auto* weight = static_cast<float*>(pool_[number].view.data);
  for (int64_t n = 0; n < 4; ++n) weight[n * 64] = 0;
  for (int64_t row : {5, 77}) (*rows)[row * 64] = 100;
  inputs_[number].view = {rows->data(), DataType::kFloat32, {128, 64}};
  inputs_[number].owner = rows;
  const std::string graph = R"(
    func.func @main(%x: tensor<2x64xf32>) -> tensor<2x4xf32> {
      %w = ait.constant 0 {name = "a.weight"} : tensor<4x64xf32>
      %y = ait.matmul %x, %w {transpose_rhs} : (tensor<2x64xf32>, tensor<4x64xf32>) -> tensor<2x4xf32>
      return %y : tensor<2x4xf32>
    })";
  Run(graph, "int8dq");
  EXPECT_THAT(layers_.back().refusal, HasSubstr("a row of 100"));
  Run(graph, "int8wo");
  EXPECT_EQ(layers_.back().refusal, "");
}

TEST_F(QuantizeLayersTest, ALayerThatSpoiledTheModelIsDropped) {
  AddWeight({4, 8});
  AddWeight({5, 8});
  dropped_ = {{"layer.key", "int8wo"}};
  Run(kTwoLayers, "int8wo,min_cosine=0.9995");
  ASSERT_EQ(layers_.size(), 2u);
  EXPECT_EQ(layers_[0].refusal, "");
  EXPECT_EQ(layers_[1].refusal,
            "dropped: with it the model was further from eager than its bound, "
            "min_cosine=0.9995");
  // With another scheme it may be near enough.
  Run(kTwoLayers, "int8dq,min_cosine=0.9995");
  EXPECT_EQ(layers_.back().refusal, "");
}

TEST_F(QuantizeLayersTest, ALayerThatMadeTheModelNoFasterIsLeftAlone) {
  AddWeight({4, 8});
  AddWeight({5, 8});
  slow_ = {{{"layer.key", "int8wo"}, "the whole model takes 9 us with it"}};
  Run(kTwoLayers, "int8wo");
  ASSERT_EQ(layers_.size(), 2u);
  EXPECT_EQ(layers_[0].refusal, "");
  EXPECT_EQ(layers_[1].refusal, "slower: the whole model takes 9 us with it");
  // Without a verdict times don't count.
  Run(kTwoLayers, "int8wo,verdict=off");
  EXPECT_EQ(layers_.back().refusal, "");
}

TEST(CheckSupportedTest, SaysWhatThereAreNoKernelsFor) {
  auto error = [](const char* asked,
                  std::optional<ComputeCapability> gpu = std::nullopt) {
    return std::string(
        CheckSupported(*ParseQuantizationOptions(asked), gpu).message());
  };
  const ComputeCapability hopper{9, 0};
  EXPECT_EQ(error("int8wo"), "");
  EXPECT_EQ(error("int8dq"), "");
  EXPECT_EQ(error("fp8dq"),
            "Float8 dynamic quantization requires CUDA compute capability ≥8.9 "
            "or MI300+ or XPU.");
  EXPECT_EQ(error("fp8wo"), "");
  EXPECT_EQ(error("auto"), "");
  EXPECT_THAT(error("int8wo,granularity=tensor"),
              HasSubstr("one scale a tensor"));
  EXPECT_THAT(error("int8dq,arithmetic=eager"), HasSubstr("eager arithmetic"));
  for (const char* scheme :
       {"int8wo", "int8dq", "fp8wo", "fp8dq", "fp8dq,granularity=row", "auto"})
    EXPECT_EQ(error(scheme, hopper), "");
  EXPECT_EQ(error("fp8dq", ComputeCapability{8, 0}),
            "Float8 dynamic quantization requires CUDA compute capability ≥8.9 "
            "or MI300+ or XPU.");
  EXPECT_THAT(error("int8wo,granularity=tensor", hopper),
              HasSubstr("one scale a tensor on a GPU"));
  EXPECT_EQ(error("fp8dq,fast_accumulation=off", hopper),
            "the compiler has no kernels for float32 sums of float8 products "
            "on a GPU; leave fast_accumulation out");
}

}  // namespace
}  // namespace aitune::quant
