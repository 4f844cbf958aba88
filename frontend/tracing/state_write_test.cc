// Programs that write the model's own tensors in place: traced, they read and
// write these as eager does, call after call.
#include <ATen/Functions.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr int kCalls = 3;

torch::jit::Module ModuleOf(const std::string& forward) {
  torch::jit::Module module("Stateful");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_buffer("count", at::ones({}));
  module.register_buffer("cache", at::arange(24, at::kFloat).view({4, 6}));
  module.register_buffer("mean", at::zeros({6}));
  module.register_buffer("place", at::ones({1}, at::kLong));
  module.register_buffer("turned", at::arange(12, at::kFloat).view({3, 4}).t());
  module.define(forward);
  return module;
}

Model ModelOf(const torch::jit::Module& module) {
  auto model = Model::FromModule(module);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

ValueList Argument(int call) {
  at::manual_seed(static_cast<uint64_t>(call));
  return ValueList({at::randn({4, 6})});
}

const char* const kPrograms[] = {
    R"(
def forward(self, x: Tensor):
  self.count.add_(1)
  return x * self.count
)",
    // Through views.
    R"(
def forward(self, x: Tensor):
  self.cache.view([24])[3:7].mul_(2).add_(1)
  self.cache.t()[0].sub_(x.sum())
  return self.cache * 1
)",
    // Read before and after.
    R"(
def forward(self, x: Tensor):
  before = self.cache[1:3].sum(0)
  part = self.cache[1]
  whole = self.cache * 2
  self.cache[:3].copy_(self.cache[1:].clone())
  self.cache[3].copy_(x[0])
  return before + self.cache.sum(0), whole, part + 0
)",
    // With itself.
    R"(
def forward(self, x: Tensor):
  self.cache.add_(self.cache)
  self.mean.add_(self.cache[0])
  self.cache.mul_(0.25).add_(x)
  return self.mean + self.cache
)",
    // Views of what is written, which is read while it is.
    R"(
def forward(self, x: Tensor):
  self.cache[:, 2:].copy_(self.cache[:, :-2])
  self.cache[:, :2].copy_(x[:, :2])
  self.mean[1:].mul_(self.mean[:-1] + 1)
  return self.cache + self.mean
)",
    // At places that depend on data.
    R"(
def forward(self, x: Tensor):
  self.cache.index_copy_(0, self.place % 4, x[:1])
  self.cache[x[:, 0] > 0] = 1.0
  n = int(self.place.item())
  self.place.add_(1)
  return self.cache[:n % 3 + 1].sum(0), x * self.place
)",
    // In a loop.
    R"(
def forward(self, x: Tensor):
  for i in range(3):
    self.mean[i].add_(i)
    x = x * self.mean
  return x
)",
    // Read where data decides.
    R"(
def forward(self, x: Tensor):
  if bool(x.sum() > 0):
    y = x + self.mean
  else:
    y = x - self.mean
  self.mean.copy_(x[0])
  return y
)",
    // Parts, which are then overwritten.
    R"(
def forward(self, x: Tensor):
  for i in range(4):
    part = self.cache[i]
    y = x[0] * part + part.t()
    self.cache[i].copy_(y)
    x = x + y
  column = self.cache[:, 1:2].t()
  self.cache[:, 1].add_(column[0])
  return x + column.sum(), self.cache * 1
)",
    // Rows that indices name, which are then overwritten.
    R"(
def forward(self, x: Tensor):
  i = self.place % 4
  rows = self.cache.index_select(0, i) + torch.embedding(self.cache, i)
  other = self.cache[:, 2:][i] + self.cache[1:].gather(0, (x[:1, :3] > 0).long()).sum()
  self.cache.index_add_(0, i, rows * 0.5)
  self.place.add_(1)
  return rows, other * 2, self.cache[i]
)",
    // Dense, and not contiguous.
    R"(
def forward(self, x: Tensor):
  before = self.turned[1] * 2
  self.turned[:, 1].copy_(x[:, 0])
  self.turned.t().mul_(0.5)
  return before, self.turned + x[:, :3], self.turned.stride(0)
)",
    // Nobody reads.
    R"(
def forward(self, x: Tensor):
  part = self.cache[0]
  part.copy_(x[0])
  self.mean.mul_(0.9).add_(x.mean(0) * 0.1)
  return x * 2
)",
};

class StateWrites : public testing::TestWithParam<const char*> {};

TEST_P(StateWrites, AreThoseOfEager) {
  const Model ours = ModelOf(ModuleOf(GetParam()));
  const Model eager = ModelOf(ModuleOf(GetParam()));
  const auto trace = BuildTrace(ours, Argument(0), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Not(Contains(kWholeModel)));
  EXPECT_THAT(OpNames(*trace), Contains("aitune::state"));
  for (int call = 0; call < kCalls; ++call) {
    const auto result = RunTrace(*trace, Argument(call));
    const auto expected = eager.RunEager(Argument(call));
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(Difference(*result, *expected), "") << call;
    for (const auto& buffer : eager.impl().module().named_buffers()) {
      EXPECT_TRUE(
          ours.impl().module().attr(buffer.name).toTensor().equal(buffer.value))
          << buffer.name << " after call " << call;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, StateWrites, testing::ValuesIn(kPrograms));

// What later calls write is the model's, not the caller's.
TEST(StateWritesTest, OfWhatIsReturnedLibTorchRuns) {
  for (const char* result : {"self.mean", "self.mean[1:]", "[x, self.mean]",
                             "self.mean[:int(self.place.item())]"}) {
    const auto trace = BuildTrace(
        ModelOf(ModuleOf(std::string("def forward(self, x: Tensor):\n"
                                     "  self.mean.add_(1)\n  return ") +
                         result + "\n")),
        Argument(0), {});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace), Contains(kWholeModel)) << result;
  }
}

// What schemas don't tell of is followed, but LibTorch's freezing doesn't.
TEST(StateWritesTest, ThroughHiddenViewsLibTorchRuns) {
  for (const char* view :
       {"self.mean.type_as(x)", "torch.atleast_2d(self.mean)",
        "torch.einsum('i', [self.mean])", "self.mean.sum_to_size([6])",
        "torch.dropout(self.mean, 0.5, False)",
        "torch.meshgrid([self.mean, self.count.view([1])])[0][:, 0]",
        "torch.unsafe_chunk(self.mean, 2)[1]"}) {
    const std::string program =
        std::string("def forward(self, x: Tensor):\n  y = ") + view +
        "\n  y.add_(1)\n  return x + self.mean, y + 0\n";
    const Model ours = ModelOf(ModuleOf(program));
    EXPECT_TRUE(ModelState(ours).exists()) << view;
    EXPECT_EQ(ModelState(ours).live(), nullptr) << view;
    const Model eager = ModelOf(ModuleOf(program));
    const auto trace = BuildTrace(ours, Argument(0), {});
    ASSERT_TRUE(trace.ok()) << trace.status();
    for (int call = 0; call < kCalls; ++call) {
      const auto result = RunTrace(*trace, Argument(call));
      const auto expected = eager.RunEager(Argument(call));
      ASSERT_TRUE(result.ok() && expected.ok()) << view << result.status();
      EXPECT_EQ(Difference(*result, *expected), "") << view;
    }
  }
}

// An error of what is computed before leaves the tensor as it is.
TEST(StateWritesTest, ReadWhatIsCheckedBefore) {
  const auto trace = BuildTrace(ModelOf(ModuleOf(R"(
def forward(self, x: Tensor):
  y = self.cache[x[0].to(4)] * 2
  self.count.add_(1)
  return y + self.count
)")),
                                ValueList({at::zeros({4, 6})}), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ValueId indexed = -1;
  bool read = false;
  for (const TraceOp& op : trace->ops) {
    if (op.name == "aten::index") indexed = op.results[0];
    if (op.name != "aten::add_") continue;
    const auto& values = std::get<std::vector<ValueId>>(op.arguments[0]);
    read = std::find(values.begin(), values.end(), indexed) != values.end();
  }
  EXPECT_GE(indexed, 0);
  EXPECT_TRUE(read);
}

TEST(StateWritesTest, WhereDataDecidesLibTorchRuns) {
  for (const char* write : {"if bool(x.sum() > 0):\n    self.mean.add_(1)",
                            "self.mean[int(x.abs().sum()) % 3:].add_(1)"}) {
    const auto trace = BuildTrace(
        ModelOf(ModuleOf(std::string("def forward(self, x: Tensor):\n  ") +
                         write + "\n  return x + self.mean\n")),
        Argument(0), {});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace), Contains(kWholeModel)) << write;
  }
}

// A second name of the memory would not be told.
TEST(StateWritesTest, OfSharedMemoryLibTorchRuns) {
  torch::jit::Module module = ModuleOf(R"(
def forward(self, x: Tensor):
  self.mean.add_(1)
  return x + self.mean + self.cache[0]
)");
  module.setattr("mean", module.attr("cache").toTensor()[0]);
  const auto trace = BuildTrace(ModelOf(module), Argument(0), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), Contains(kWholeModel));
}

// Regions that are only tried leave the model as it is.
TEST(StateWritesTest, ATrialWritesCopies) {
  const Model model = ModelOf(ModuleOf(R"(
def forward(self, x: Tensor):
  self.count.add_(1)
  return x * self.count
)"));
  const auto trace = BuildTrace(model, Argument(0), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  std::vector<int> all;
  for (size_t op = 0; op < trace->ops.size(); ++op)
    all.push_back(static_cast<int>(op));
  EXPECT_TRUE(trace->region_place->is_trial);
  const auto region =
      trace->make_fallback_region(all, trace->inputs, trace->outputs);
  const at::Tensor x = at::ones({4, 6});
  const at::Tensor y = at::empty({4, 6});
  for (int call = 0; call < 2; ++call) {
    std::vector<RegionValue> outputs = {
        TensorView{y.data_ptr(), DataType::kFloat32, {4, 6}}};
    const std::vector<RegionValue> inputs = {
        TensorView{x.data_ptr(), DataType::kFloat32, {4, 6}}};
    const absl::Status run = region->Run(inputs, {}, absl::MakeSpan(outputs));
    ASSERT_TRUE(run.ok()) << run;
    EXPECT_TRUE(y.equal(at::full({4, 6}, 2.0f)));
  }
  EXPECT_EQ(model.impl().module().attr("count").toTensor().item<float>(), 1);
}

}  // namespace
}  // namespace aitune::frontend
