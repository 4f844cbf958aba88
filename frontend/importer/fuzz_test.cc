// Damaged traces: the importer gives a module that verifies, or an error; it
// never crashes. Seeds are fixed, so a failure comes back.
#include <random>

#include "frontend/importer/importer.h"
#include "frontend/importer/trace_maker.h"
#include "frontend/importer/trace_mutator.h"
#include "gtest/gtest.h"
#include "mlir/IR/Verifier.h"

namespace aitune::frontend {
namespace {

constexpr DataType kF32 = DataType::kFloat32;

Argument Int(int64_t value) { return SizeExpression(value); }

// A small network with an operator of most families, over a dynamic batch.
Trace MakeNetwork() {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 16);
  ValueId image = maker.Input(kF32, {n, 4, 8, 8}),
          tokens = maker.Input(DataType::kInt64, {n, 6});
  ValueId filter = maker.Weight(kF32, {8, 4, 3, 3}),
          table = maker.Weight(kF32, {20, 16});
  ValueId weight = maker.Weight(kF32, {16, 16}),
          gamma = maker.Weight(kF32, {16});
  ValueId x = maker.Call("aten::conv2d",
                         {{"input", image},
                          {"weight", filter},
                          {"bias", NoneArgument()},
                          {"stride", IntList({1, 1})},
                          {"padding", IntList({1, 1})},
                          {"dilation", IntList({1, 1})},
                          {"groups", Int(1)}},
                         kF32, {n, 8, 8, 8});
  x = maker.Call("aten::max_pool2d",
                 {{"self", x},
                  {"kernel_size", IntList({2, 2})},
                  {"stride", IntList({})},
                  {"padding", IntList({0, 0})},
                  {"dilation", IntList({1, 1})},
                  {"ceil_mode", false}},
                 kF32, {n, 8, 4, 4});
  x = maker.Call("aten::adaptive_avg_pool2d",
                 {{"self", x}, {"output_size", IntList({1, 2})}}, kF32,
                 {n, 8, 1, 2});
  x = maker.Call("aten::flatten.using_ints",
                 {{"self", x}, {"start_dim", Int(1)}, {"end_dim", Int(-1)}},
                 kF32, {n, 16});
  x = maker.Call("aten::unsqueeze", {{"self", x}, {"dim", Int(1)}}, kF32,
                 {n, 1, 16});
  ValueId y = maker.Call("aten::embedding",
                         {{"weight", table},
                          {"indices", tokens},
                          {"padding_idx", Int(-1)},
                          {"scale_grad_by_freq", false},
                          {"sparse", false}},
                         kF32, {n, 6, 16});
  y = maker.Call("aten::add.Tensor",
                 {{"self", y}, {"other", x}, {"alpha", Int(1)}}, kF32,
                 {n, 6, 16});
  y = maker.Call("aten::layer_norm",
                 {{"input", y},
                  {"normalized_shape", IntList({16})},
                  {"weight", gamma},
                  {"bias", gamma},
                  {"eps", 1e-5},
                  {"cudnn_enable", false}},
                 kF32, {n, 6, 16});
  y = maker.Call("aten::linear",
                 {{"input", y}, {"weight", weight}, {"bias", gamma}}, kF32,
                 {n, 6, 16});
  ValueId heads = maker.Call(
      "aten::view",
      {{"self", y}, {"size", std::vector<SizeExpression>{n, 6, 2, 8}}}, kF32,
      {n, 6, 2, 8});
  heads = maker.Call("aten::transpose.int",
                     {{"self", heads}, {"dim0", Int(1)}, {"dim1", Int(2)}},
                     kF32, {n, 2, 6, 8});
  heads = maker.Call("aten::scaled_dot_product_attention",
                     {{"query", heads},
                      {"key", heads},
                      {"value", heads},
                      {"attn_mask", NoneArgument()},
                      {"dropout_p", 0.0},
                      {"is_causal", true},
                      {"scale", NoneArgument()},
                      {"enable_gqa", false}},
                     kF32, {n, 2, 6, 8});
  ValueId scores = maker.Call("aten::einsum",
                              {{"equation", std::string("bhqd,bhkd->bhqk")},
                               {"tensors", std::vector<ValueId>{heads, heads}},
                               {"path", NoneArgument()}},
                              kF32, {n, 2, 6, 6});
  scores = maker.Call("aten::tril", {{"self", scores}, {"diagonal", Int(0)}},
                      kF32, {n, 2, 6, 6});
  scores = maker.Call(
      "aten::softmax.int",
      {{"self", scores}, {"dim", Int(-1)}, {"dtype", NoneArgument()}}, kF32,
      {n, 2, 6, 6});
  ValueId last = maker.Call("aten::select.int",
                            {{"self", y}, {"dim", Int(1)}, {"index", Int(-1)}},
                            kF32, {n, 16});
  std::vector<ValueId> parts = maker.Call(
      "aten::chunk", {{"self", last}, {"chunks", Int(2)}, {"dim", Int(1)}},
      {{kF32, {n, 8}}, {kF32, {n, 8}}});
  last = maker.Call(
      "aten::cat",
      {{"tensors", std::vector<ValueId>{parts[1], parts[0]}}, {"dim", Int(1)}},
      kF32, {n, 16});
  last = maker.Call("aten::pad",
                    {{"self", last},
                     {"pad", IntList({1, 2})},
                     {"mode", std::string("constant")},
                     {"value", 0.5}},
                    kF32, {n, 19});
  std::vector<ValueId> best = maker.Call(
      "aten::max.dim", {{"self", last}, {"dim", Int(1)}, {"keepdim", false}},
      {{kF32, {n}}, {DataType::kInt64, {n}}});
  ValueId variance = maker.Call("aten::var.correction",
                                {{"self", scores},
                                 {"dim", IntList({1, 2})},
                                 {"correction", Int(1)},
                                 {"keepdim", true}},
                                kF32, {n, 1, 1, 6});
  for (ValueId id : {best[0], best[1], variance}) maker.Output(id);
  return maker.trace();
}

TEST(Fuzz, TheUndamagedNetworkImportsWhole) {
  mlir::MLIRContext context;
  ImportReport report;
  const Trace trace = MakeNetwork();
  auto module = ImportTrace(trace, context, &report);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(mlir::succeeded(mlir::verify(**module)));
  for (const auto& fallback : report.fallbacks)
    ADD_FAILURE() << fallback.op << ": " << fallback.reason;
}

TEST(Fuzz, DamagedTracesGiveModulesThatVerifyOrErrors) {
  const Trace network = MakeNetwork();
  mlir::MLIRContext context;
  int imported = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Trace trace = network;
    for (unsigned times = 1 + random() % 4; times > 0; --times)
      Mutate(trace, random);
    auto module = ImportTrace(trace, context, nullptr);
    if (!module.ok()) {
      EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument)
          << module.status();
      continue;
    }
    ++imported;
    EXPECT_TRUE(mlir::succeeded(mlir::verify(**module)));
  }
  // Most damage costs a call, not the model.
  EXPECT_GT(imported, 500);
}

}  // namespace
}  // namespace aitune::frontend
