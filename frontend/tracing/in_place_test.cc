// In-place operators and views become functional, aliases included.
#include <ATen/Functions.h>

#include <algorithm>

#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// What shares memory with a tensor that is written, though no schema says so.
TEST(InPlaceOpaque, AgreesWithEager) {
  for (const char* const body :
       {"  v = x[:, 0] * 2\n"
        "  s = torch.sparse_coo_tensor(i, v, [4])\n"
        "  v.add_(1)\n  return s.to_dense(), v",
        "  v = x[:, 0] * 2\n"
        "  s = torch.sparse_coo_tensor(i, v, [4])\n"
        "  w = s._values()\n  w.mul_(3)\n  return s.to_dense(), v",
        "  v = x * 2\n  c = torch.view_as_complex(v)\n  v.add_(1)\n"
        "  return torch.view_as_real(c) * 1, v"}) {
    const auto trace =
        TraceAndCompare(absl::StrCat("def forward(self, x: Tensor):\n"
                                     "  i = torch.zeros([1, 3], dtype=4)\n",
                                     body),
                        {"float32[3,2]"});
    EXPECT_TRUE(trace.ok()) << trace.status() << body;
  }
}

// Each program is compared with eager; no operator of the trace may write.
class InPlace : public ::testing::TestWithParam<const char*> {};

TEST_P(InPlace, AgreesWithEager) {
  for (const std::string spec : {"float32[4,6]", "float32[2..5,6]"}) {
    const auto trace = TraceAndCompare(
        absl::StrCat("def forward(self, x: Tensor):\n", GetParam()), {spec});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_EQ(FallbackCount(*trace), 0) << PrintTrace(*trace);
    for (const std::string& name : OpNames(*trace)) {
      EXPECT_NE(name.substr(0, name.find('.')).back(), '_') << name;
    }
    EXPECT_THAT(trace->notes, Each(Not(HasSubstr("fixed"))));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, InPlace,
    ::testing::Values(
        "  y = x + 1\n  y.relu_()\n  return y",
        // A write through a view is seen in the base, and the other way round.
        "  y = x + 1\n  y[0].mul_(2)\n  return y",
        // Elements between those that are read.
        "  y = x + 1\n  y[:, :3].add_(y[:, 3:])\n  y[:, ::2] *= y[:, 1::2]\n"
        "  return y",
        // A view with the sizes of an input of what is the same for all.
        "  y = torch.ones([6])\n  z = y.expand([x.size(0), -1])\n  y.mul_(3)\n"
        "  return z, x + z",
        "  y = x + 1\n  z = y[1]\n  y.add_(5)\n  return z, y",
        "  y = x + 1\n  y[:, 1:3] = x[:, 3:5]\n  return y * 2",
        "  y = x + 1\n  y[:, ::2].fill_(3.0)\n  return y",
        "  y = x + 1\n  y.narrow(1, 2, 3).mul_(3.0)\n  return y",
        "  y = x + 1\n  y.narrow(-1, -2, 2).copy_(x[:, :2])\n  return y",
        "  y = x + 1\n  y.t()[0].zero_()\n  return y",
        "  y = x + 1\n  y.view(-1)[3:7] += 1\n  return y",
        "  y = x + 1\n  z = y.transpose(0, 1)[2:4]\n  z *= 3\n  return y, z",
        "  y = x + 1\n  a, b = y.chunk(2, 1)\n  a.mul_(b)\n  return y, a, b",
        "  y = x + 1\n  for row in y.unbind(1):\n    row.clamp_(min=0.5)\n  "
        "return y",
        "  y = x + 1\n  z = y.unsqueeze(0).permute(2, 0, 1)\n  z.sub_(1)\n  "
        "return y, z",
        "  y = x.clone()\n  y.masked_fill_(y > 0, -1.0)\n  return y",
        "  y = torch.zeros_like(x)\n  y[1] = x[0]\n  return y",
        "  y = torch.zeros([3, 6])\n  y[1].copy_(x[0])\n  y[2] = 7\n  return y",
        "  y = torch.ones([6])\n  y += 1\n  return x * y",
        "  y = torch.ones([6])\n  z = y[2:]\n  y += 1\n  w = x[:, :4] * z\n  "
        "y.add_(x[0])\n  return w, z, y",
        "  y = x + 1\n  y.squeeze_().t_()\n  y.add_(1)\n  return y",
        "  y = x.double() + 1\n  z = x + 1\n  z.add_(y)\n  return z",
        "  y = x + 1\n  z = torch.empty_like(x)\n  torch.add(y, x, out=z)\n  "
        "return z",
        "  y = torch.dropout(x, 0.5, False)\n  return y + 1",
        "  y = x + 1\n  y.diagonal(0, 0, 1).fill_(9.0)\n  return y",
        "  y = x + 1\n  y.index_put_([torch.tensor([0, 1])], x[0])\n  return y",
        "  y = x * 0 + 3\n  z = y.detach()\n  z.add_(1)\n  return y",
        "  y = x.sum() + torch.arange(x.size(0))\n  y[0] = 1.0\n  return y"));

TEST(InPlaceRejections, GivingAnInputOtherSizesIsLibTorchs) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  x.unsqueeze_(0)\n  return x * 2",
      {"float32[4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
  EXPECT_THAT(trace->notes.back(),
              HasSubstr("may change the sizes of an argument"));
}

TEST(InPlaceRejections, WritesBesideAStridedViewAreLibTorchs) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  y = x + 1\n"
      "  z = torch.as_strided(y, [4], [2])\n  y.add_(1)\n  return z",
      {"float32[3,4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
  EXPECT_THAT(trace->ops[0].must_fall_back, HasSubstr("unknown origin"));
}

// Its strides count: of a transposed tensor it takes other elements than a
// reshape, and with the strides of one it is one.
// Eager refuses some, and others it reads while it writes.
TEST(InPlaceRejections, WritesToWhatIsReadAreLibTorchs) {
  const auto refused = TraceSource(
      "def forward(self, x: Tensor):\n"
      "  y = x + 1\n  y[1:].add_(y[:-1])\n  return y",
      {"float32[2..5,6]"});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("single memory location"));
  for (const char* body : {"  y = (x + 1)[:, :5]\n"
                           "  y[:, 1:].add_(y[:, :-1])\n  return y * 2",
                           "  y = x + 1\n  y.sub_(y[:, :1])\n  return y * 2",
                           "  y = x + 1\n  y.masked_scatter_(y > 1, y)\n"
                           "  return y * 2"}) {
    const auto whole =
        TraceAndCompare(absl::StrCat("def forward(self, x: Tensor):\n", body),
                        {"float32[2..5,6]"});
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_THAT(PrintTrace(*whole), HasSubstr("elements that it also reads"));
  }
}

TEST(StridedViews, AReshapeAliasHasTheStridesThatItIsGiven) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  y = (x + 1).t()\n"
      "  return torch._reshape_alias(y, [2, 6], [6, 1]) * 2",
      {"float32[3,4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(FallbackCount(*trace), 0) << PrintTrace(*trace);
  EXPECT_THAT(PrintTrace(*trace), HasSubstr("aten::take"));
  const auto reshaped = TraceAndCompare(
      "def forward(self, x: Tensor):\n  y = x + 1\n"
      "  return torch._reshape_alias(y, [x.size(0) * 4], [1]) * 2",
      {"float32[2..5,4]"});
  ASSERT_TRUE(reshaped.ok()) << reshaped.status();
  EXPECT_THAT(PrintTrace(*reshaped), Not(HasSubstr("aten::take")));
}

TEST(InPlaceRejections, MemoryBeyondATensorIsLibTorchs) {
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n  y = x + 1\n"
      "  return torch.as_strided(y[:, :2], [6], [2]) * 2",
      {"float32[3,4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
  EXPECT_THAT(trace->ops[0].must_fall_back, HasSubstr("reaches memory"));
}

TEST(InPlaceRejections, RandomNumbersAreLibTorchs) {
  const auto trace = TraceSource(
      "def forward(self, x: Tensor):\n  y = x + 1\n  y.bernoulli_(0.5)\n  "
      "return y * torch.rand([4])",
      {"float32[4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(FallbackCount(*trace), 2) << PrintTrace(*trace);
  EXPECT_THAT(PrintTrace(*trace), HasSubstr("it draws random numbers"));
  const auto result = RunTrace(*trace, ValueList({at::ones({4})}));
  EXPECT_TRUE(result.ok()) << result.status();
}

// The interpreter runs the program on copies.
TEST(InPlaceRejections, SamplesStayAsTheyAre) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor):\n  x.add_(1)\n  return x");
  ASSERT_TRUE(model.ok());
  const at::Tensor sample = at::zeros({4});
  ASSERT_TRUE(BuildTrace(*model, ValueList({sample}), {}).ok());
  EXPECT_EQ(sample.sum().item<float>(), 0) << "tracing changed the sample";
}

// Constants are saved: what a program never set is not what the process had in
// that memory.
TEST(InPlaceConstants, WhatAProgramNeverSetIsZeros) {
  for (int i = 0; i < 4; ++i) at::full({64, 4}, 7.0f);  // freed again
  const auto trace = TraceAndCompare(
      "def forward(self, x: Tensor):\n"
      "  y = torch.empty([64, 4])\n"
      "  z = torch.empty_like(y)\n"
      "  y[0] = x\n  z[1] = x\n  return y[0] + z[1]",
      {"float32[4]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_FALSE(trace->constants.empty());
  for (const ConstantTensor& constant : trace->constants) {
    const auto* const bytes = static_cast<const char*>(constant.view.data);
    EXPECT_TRUE(std::all_of(bytes, bytes + BytesOf(constant.view),
                            [](char byte) { return byte == 0; }));
  }
}

}  // namespace
}  // namespace aitune::frontend
