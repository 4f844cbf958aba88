// Programs that write their inputs in place: traced, they leave the caller's
// tensors as eager does.
#include <ATen/Functions.h>

#include <string>
#include <vector>

#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::Not;

struct Program {
  const char* forward;
  std::vector<std::string> specs;
};

const Program kPrograms[] = {
    {R"(
def forward(self, x: Tensor, c: Tensor):
  c.add_(x)
  return (c * 2).relu().sum(-1)
)",
     {"float32[1..9,6]", "float32[1..9,6]"}},
    // A cache of keys, by its position.
    {R"(
def forward(self, x: Tensor, cache: Tensor, place: Tensor):
  cache.index_copy_(1, place, x)
  scores = x @ cache.transpose(1, 2)
  return scores.softmax(-1) @ cache
)",
     {"float32[1..3,1,8]", "float32[1..3,16,8]", "int64[1]{0..15}"}},
    // Through views, whose places depend on sizes, and read before and after.
    {R"(
def forward(self, x: Tensor, c: Tensor):
  before = c.sum(0)
  n = x.size(0)
  c[n // 2:].mul_(2).add_(1)
  c.t()[0].sub_(x.sum())
  c.view(-1)[::3].zero_()
  return before, c * 1, c[:n // 2].sum()
)",
     {"float32[2..9,6]", "float32[2..9,6]"}},
    // With itself.
    {R"(
def forward(self, x: Tensor):
  x.add_(x)
  x[:, 1:].copy_(x[:, :-1].clone())
  return x.exp()
)",
     {"float32[1..5,6]"}},
    // Normalised where it is, as preprocessing does.
    {R"(
def forward(self, x: Tensor):
  x.sub_(0.5).div_(0.25)
  return torch.relu(x @ x.t()).mean()
)",
     {"float32[1..5,6]"}},
    // In lists and tuples, one for each layer.
    {R"(
def forward(self, x: Tensor, caches: List[Tuple[Tensor, Tensor]]):
  for keys, values in caches:
    keys[:, -1].copy_(x)
    values[:, -1].copy_(x * 2)
    x = (keys * values).sum(1)
  return x
)",
     {"float32[1..3,4]",
      "[(float32[1..3,5,4],float32[1..3,5,4]),(float32[1..3,5,4],"
      "float32[1..3,5,4])]"}},
    // One of two, and what is written is returned.
    {R"(
def forward(self, x: Tensor, c: Tensor):
  c.mul_(0.9).add_(x, alpha=0.1)
  return x - c, c, c[0]
)",
     {"float32[1..5,6]", "float32[1..5,6]"}},
    // At places that data decides.
    {R"(
def forward(self, x: Tensor, c: Tensor):
  c[x > 0] = 1.0
  c.masked_fill_(x < -1, 2.0)
  return c + x
)",
     {"float32[1..5,6]", "float32[1..5,6]"}},
    // In a loop.
    {R"(
def forward(self, x: Tensor, c: Tensor):
  for i in range(x.size(0)):
    c[i].add_(x[i] * c[i - 1])
  return c.sum()
)",
     {"float32[4,6]", "float32[4,6]"}},
    // Through operators that give their tensor itself.
    {R"(
def forward(self, x: Tensor):
  a = torch.dropout(x, 0.5, False).mul_(2)
  b = torch.type_as(x, x * 1).add_(1)
  c = torch.atleast_2d(x)[:, 1:].neg_()
  return x + 1, a * 1, b * 2, c * 3
)",
     {"float32[1..5,6]"}},
    // Integers, whose elements are sizes of nothing.
    {R"(
def forward(self, n: Tensor, x: Tensor):
  n.add_(1)
  return x * n
)",
     {"int64[]", "float32[1..5,6]"}},
};

class InputWrites : public testing::TestWithParam<Program> {};

TEST_P(InputWrites, AreThoseOfEager) {
  const auto trace = TraceAndCompare(GetParam().forward, GetParam().specs);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Not(Contains(kWholeModel)));
  EXPECT_THAT(OpNames(*trace), Contains(kWrittenInput));
  EXPECT_FALSE(trace->written_inputs.empty());
}

INSTANTIATE_TEST_SUITE_P(Programs, InputWrites, testing::ValuesIn(kPrograms));

TEST(InputWritesTest, OnlyWhatIsWrittenIsShared) {
  const auto trace = TraceSource(kPrograms[1].forward, kPrograms[1].specs);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->written_inputs, std::vector<int>({1}));
}

// What is known of neither the tensor's sizes nor its place is LibTorch's.
TEST(InputWritesTest, OfOtherSizesLibTorchRuns) {
  for (const char* write :
       {"c.resize_([1])", "c.t_()", "torch.add(x, 1, out=c)",
        "c[int(x.sum()) % 2:].add_(1)",
        "if bool(x.sum() > 0):\n    c.add_(1)"}) {
    const auto trace = TraceAndCompare(
        std::string("def forward(self, x: Tensor, c: Tensor):\n  ") + write +
            "\n  return x.sum() + c.sum()\n",
        {"float32[4,6]", "float32[4,6]"});
    ASSERT_TRUE(trace.ok()) << write << trace.status();
    EXPECT_THAT(OpNames(*trace), Contains(kWholeModel)) << write;
  }
}

// Regions that are only tried leave their inputs as they are.
TEST(InputWritesTest, ATrialWritesCopies) {
  const auto trace =
      TraceSource(kPrograms[0].forward, {"float32[4,6]", "float32[4,6]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  std::vector<int> all;
  for (size_t op = 0; op < trace->ops.size(); ++op)
    all.push_back(static_cast<int>(op));
  EXPECT_TRUE(trace->region_place->is_trial);
  const auto region =
      trace->make_fallback_region(all, trace->inputs, trace->outputs);
  const at::Tensor x = at::ones({4, 6}), c = at::ones({4, 6});
  const at::Tensor y = at::empty({4});
  std::vector<RegionValue> outputs = {
      TensorView{y.data_ptr(), DataType::kFloat32, {4}}};
  const std::vector<RegionValue> inputs = {
      TensorView{x.data_ptr(), DataType::kFloat32, {4, 6}},
      TensorView{c.data_ptr(), DataType::kFloat32, {4, 6}}};
  EXPECT_FALSE(region->WritesInput(1));
  const absl::Status run = region->Run(inputs, {}, absl::MakeSpan(outputs));
  ASSERT_TRUE(run.ok()) << run;
  EXPECT_TRUE(y.equal(at::full({4}, 24.0f)));
  EXPECT_TRUE(c.equal(at::ones({4, 6})));
}

}  // namespace
}  // namespace aitune::frontend
