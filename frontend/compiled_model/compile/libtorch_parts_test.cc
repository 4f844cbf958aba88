#include "frontend/compiled_model/compile/libtorch_parts.h"

#include <optional>
#include <string>
#include <vector>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::optional<Trace> TraceOf(const std::string& body,
                             const std::vector<std::string>& specs) {
  auto model = Model::FromSource(body);
  EXPECT_TRUE(model.ok()) << model.status();
  InputChoice choice;
  choice.specs = specs;
  auto inputs = ChooseInputs(*model, choice);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  auto trace = MakeTrace(*model, *inputs, TraceOptions());
  EXPECT_TRUE(trace.ok()) << trace.status();
  return trace.ok() ? std::optional<Trace>(*std::move(trace)) : std::nullopt;
}

// The position of the call of this operator.
int64_t Find(const Trace& trace, const std::string& name) {
  for (size_t op = 0; op < trace.ops.size(); ++op)
    if (trace.ops[op].name == name) return static_cast<int64_t>(op);
  ADD_FAILURE() << "the trace has no " << name;
  return -1;
}

class Parts : public testing::Test {
 protected:
  Parts()
      : trace_(TraceOf("def forward(self, x: Tensor):\n"
                       "    y = torch.relu(x)\n"
                       "    z = torch.matmul(y.transpose(0, 1), y)\n"
                       "    return torch.softmax(torch.sigmoid(z), 1)\n",
                       {"float32[2..64,32]"})),
        relu_(Find(*trace_, "aten::relu")),
        transpose_(Find(*trace_, "aten::transpose")),
        matmul_(Find(*trace_, "aten::matmul")),
        sigmoid_(Find(*trace_, "aten::sigmoid")),
        softmax_(Find(*trace_, "aten::softmax")) {}

  const std::optional<Trace> trace_;
  const int64_t relu_, transpose_, matmul_, sigmoid_, softmax_;
};

TEST_F(Parts, ViewsThatOnlyTheyReadBelongToThem) {
  const LibTorchParts parts(*trace_, /*on_gpu=*/false);
  auto part = parts.Make({matmul_}, {relu_, sigmoid_, softmax_});
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(part->traceOps, ElementsAre(transpose_, matmul_));
  EXPECT_EQ(part->plan.inputs_size(), 1);
  EXPECT_EQ(part->plan.outputs_size(), 1);
  EXPECT_EQ(part->plan.symbols_size(), 1);
  EXPECT_NE(part->makeRegion(), nullptr);
  // Unless another kernel is made of it.
  part = parts.Make({matmul_}, {transpose_});
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(part->traceOps, ElementsAre(matmul_));
  EXPECT_EQ(part->plan.inputs_size(), 2);
}

TEST_F(Parts, WhatIsBetweenThemBelongsToThem) {
  const LibTorchParts parts(*trace_, /*on_gpu=*/false);
  auto part = parts.Make({matmul_, softmax_}, {relu_});
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(part->traceOps, IsSupersetOf({matmul_, sigmoid_, softmax_}));
  EXPECT_EQ(part->plan.outputs_size(), 1);
  part = parts.Make({matmul_, softmax_}, {sigmoid_});
  EXPECT_THAT(std::string(part.status().message()),
              HasSubstr("aten::sigmoid is between its operators"));
}

TEST(PartsOnAGpu, IndicesAreNotMadeUp) {
  const auto trace = TraceOf(
      "def forward(self, x: Tensor, at: Tensor):\n"
      "    return torch.gather(x, 1, at)\n",
      {"float32[4,8]", "int64[4,2]{0..7}"});
  ASSERT_TRUE(trace);
  const int64_t gather = Find(*trace, "aten::gather");
  EXPECT_TRUE(LibTorchParts(*trace, false).Make({gather}, {}).ok());
  EXPECT_THAT(
      std::string(
          LibTorchParts(*trace, true).Make({gather}, {}).status().message()),
      HasSubstr("reads integers"));
}

}  // namespace
}  // namespace aitune::frontend
