// Regions of several operators, their memory and their errors.
#include <ATen/Dispatch.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/library.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/trace_test_util.h"
#include "frontend/values/torch_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Fallback : public ::testing::Test {
 protected:
  void SetUp() override {
    auto traced = TraceSource(R"(
def forward(self, x: Tensor):
  y = torch.relu(x) + torch.ones([3])
  z = y.t()
  return y, z, y.nonzero()
)",
                              {"float32[2..8,3]"});
    ASSERT_TRUE(traced.ok()) << traced.status();
    trace = *std::move(traced);
    for (size_t i = 0; i < trace.ops.size(); ++i)
      all.push_back(static_cast<int>(i));
  }

  Trace trace;
  std::vector<int> all;
};

TEST_F(Fallback, RunsSeveralOperatorsIntoThePlansMemory) {
  const auto region =
      trace.make_fallback_region(all, trace.inputs, trace.outputs);
  const at::Tensor x = at::randn({2, 3});
  at::Tensor y = at::empty({2, 3}), z = at::empty({3, 2});
  const std::vector<RegionValue> inputs = {ViewOf(x)};
  std::vector<RegionValue> outputs = {ViewOf(y), ViewOf(z), OpaqueValue()};
  const absl::Status status = region->Run(inputs, {2}, absl::MakeSpan(outputs));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(y.equal(at::relu(x) + 1));
  EXPECT_TRUE(z.equal(y.t())) << "a strided result is made dense";
  ASSERT_NE(std::get<OpaqueValue>(outputs[2]), nullptr);
  EXPECT_TRUE(static_cast<c10::IValue*>(std::get<OpaqueValue>(outputs[2]).get())
                  ->toTensor()
                  .equal(y.nonzero()));
}

TEST_F(Fallback, ChecksWhatItGives) {
  const auto region =
      trace.make_fallback_region(all, trace.inputs, {trace.outputs[0]});
  const at::Tensor x = at::randn({2, 3});
  at::Tensor wrong_size = at::empty({3, 3}),
             wrong_type = at::empty({2, 3}, at::kDouble);
  for (at::Tensor* wrong : {&wrong_size, &wrong_type}) {
    std::vector<RegionValue> outputs = {ViewOf(*wrong)};
    const absl::Status status =
        region->Run({ViewOf(x)}, {2}, absl::MakeSpan(outputs));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("gave float32[2,3], the plan expects"));
  }
}

TEST_F(Fallback, ReportsLibTorchsErrors) {
  const auto region =
      trace.make_fallback_region(all, trace.inputs, {trace.outputs[0]});
  const at::Tensor x = at::randn({2, 5});
  at::Tensor y = at::empty({2, 3});
  std::vector<RegionValue> outputs = {ViewOf(y)};
  const absl::Status status =
      region->Run({ViewOf(x)}, {2}, absl::MakeSpan(outputs));
  EXPECT_THAT(std::string(status.message()), HasSubstr("aten::add.Tensor"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("must match the size of tensor"));
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
}

TEST_F(Fallback, ValuesFromOutsideAreErrors) {
  const auto region =
      trace.make_fallback_region({all.back()}, {}, {trace.outputs[2]});
  std::vector<RegionValue> outputs = {OpaqueValue()};
  EXPECT_FALSE(region->Run({}, {2}, absl::MakeSpan(outputs)).ok());
  EXPECT_FALSE(region->Run({OpaqueValue()}, {2}, absl::MakeSpan(outputs)).ok())
      << "wrong count";
}

TEST_F(Fallback, OpaqueResultsDoNotKeepThePlansMemory) {
  auto identity = TraceSource(R"(
def forward(self, x: Tensor):
  y = x
  if bool(x.sum() > 0):
    y = x[0]
  return y
)",
                              {"float32[2,3]"});
  ASSERT_TRUE(identity.ok()) << identity.status();
  at::Tensor x = at::ones({2, 3});
  std::vector<int> ops;
  for (size_t i = 0; i < identity->ops.size(); ++i)
    ops.push_back(static_cast<int>(i));
  std::vector<RegionValue> outputs = {OpaqueValue()};
  const auto region =
      identity->make_fallback_region(ops, identity->inputs, identity->outputs);
  ASSERT_TRUE(region->Run({ViewOf(x)}, {}, absl::MakeSpan(outputs)).ok());
  x.zero_();
  const at::Tensor& y =
      static_cast<c10::IValue*>(std::get<OpaqueValue>(outputs[0]).get())
          ->toTensor();
  EXPECT_TRUE(y.equal(at::ones({3})));
}

TEST_F(Fallback, GivesTheTensorsThatItWouldCopy) {
  auto given = TraceSource(R"(
def forward(self, x: Tensor):
  y = torch.softmax(x, -1)
  return y, y.t(), torch.cumsum(x, 1), torch.ones([8, 3])[:x.size(0)]
)",
                           {"float32[2..8,3]"});
  ASSERT_TRUE(given.ok()) << given.status();
  std::vector<int> ops;
  for (size_t i = 0; i < given->ops.size(); ++i)
    ops.push_back(static_cast<int>(i));
  const auto region =
      given->make_fallback_region(ops, given->inputs, given->outputs);
  EXPECT_TRUE(region->CheckCounts(1, given->outputs.size()).ok());
  EXPECT_THAT(std::string(region->CheckCounts(0, 3).message()),
              AllOf(HasSubstr("LibTorch's aten::softmax"),
                    HasSubstr("takes 1 values and gives 4, but the plan has 0 "
                              "and 3")));
  EXPECT_TRUE(region->OwnsOutput(1));
  EXPECT_FALSE(region->OwnsOutput(2)) << "cumsum writes to the plan's memory";
  const at::Tensor x = at::randn({2, 3});
  const at::Tensor y = x.softmax(-1);
  std::vector<at::Tensor> results;
  for (int call = 0; call < 2; ++call) {
    std::vector<RegionValue> outputs(given->outputs.size(), OpaqueValue());
    const absl::Status status =
        region->Run({ViewOf(x)}, {2}, absl::MakeSpan(outputs));
    ASSERT_TRUE(status.ok()) << status;
    for (const RegionValue& output : outputs) {
      results.push_back(
          static_cast<c10::IValue*>(std::get<OpaqueValue>(output).get())
              ->toTensor());
      EXPECT_TRUE(results.back().is_contiguous());
    }
    EXPECT_TRUE(results[call * 4].equal(y));
    EXPECT_TRUE(results[call * 4 + 1].equal(y.t()));
    EXPECT_TRUE(results[call * 4 + 3].equal(at::ones({2, 3})));
    // Who has a result may change it: no other result, no later call and no
    // constant sees that.
    const c10::InferenceMode inference;
    for (int i = 0; i < 4; ++i) results[call * 4 + i].fill_(call + 10);
    for (int i = 0; i < static_cast<int>(results.size()); ++i)
      EXPECT_TRUE(results[i].eq(i / 4 + 10).all().item<bool>()) << i;
  }
  std::vector<RegionValue> outputs(given->outputs.size(), OpaqueValue());
  EXPECT_THAT(
      std::string(
          region->Run({ViewOf(x)}, {7}, absl::MakeSpan(outputs)).message()),
      HasSubstr("gave float32[2,3], the plan expects float32[7,3]"));
}

TEST_F(Fallback, WritesToConstantsStayInTheirCall) {
  auto written = TraceSource(R"(
def forward(self, x: Tensor):
  c = torch.ones([3])
  if bool(x.sum() > 0):
    c.add_(1)
  return c + x
)",
                             {"float32[3]"});
  ASSERT_TRUE(written.ok()) << written.status();
  std::vector<int> ops;
  for (size_t i = 0; i < written->ops.size(); ++i)
    ops.push_back(static_cast<int>(i));
  const auto region =
      written->make_fallback_region(ops, written->inputs, written->outputs);
  for (int call = 0; call < 3; ++call) {
    const at::Tensor x = at::ones({3});
    at::Tensor y = at::empty({3});
    std::vector<RegionValue> outputs = {ViewOf(y)};
    const absl::Status status =
        region->Run({ViewOf(x)}, {}, absl::MakeSpan(outputs));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(y.equal(at::full({3}, 3.0))) << y;
  }
}

// Between operators of a region, where no copy is needed for that.
TEST_F(Fallback, WritesToTensorsThatOnlyLibTorchKnows) {
  const auto model = Model::FromSource(R"(
def forward(self, x: Tensor):
  y = x[x > 0]
  y.add_(1)
  z = y * 2
  y.mul_(3)
  w = x[0].nonzero().flatten()
  w.add_(w)
  return y, z, w
)");
  ASSERT_TRUE(model.ok()) << model.status();
  const ValueList samples({at::randn({4, 6})});
  const auto written = BuildTrace(*model, samples, {});
  ASSERT_TRUE(written.ok()) << written.status();
  std::vector<int> ops;
  for (size_t i = 0; i < written->ops.size(); ++i)
    ops.push_back(static_cast<int>(i));
  const auto region =
      written->make_fallback_region(ops, written->inputs, written->outputs);
  for (int call = 0; call < 3; ++call) {
    const at::Tensor x = at::randn({4, 6});
    std::vector<RegionValue> outputs(3, OpaqueValue());
    const absl::Status status =
        region->Run({ViewOf(x)}, {}, absl::MakeSpan(outputs));
    ASSERT_TRUE(status.ok()) << status;
    const auto expected = model->RunEager(ValueList({x}));
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(Difference(*static_cast<c10::IValue*>(
                               std::get<OpaqueValue>(outputs[i]).get()),
                           expected->toTupleRef().elements()[i]),
                "")
          << i;
    }
  }
}

TEST_F(Fallback, ConcurrentCalls) {
  const auto region =
      trace.make_fallback_region(all, trace.inputs, {trace.outputs[0]});
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const at::Tensor x = at::full({4, 3}, static_cast<double>(t));
        at::Tensor y = at::empty({4, 3});
        std::vector<RegionValue> outputs = {ViewOf(y)};
        good[t] +=
            region->Run({ViewOf(x)}, {4}, absl::MakeSpan(outputs)).ok() &&
            y.equal(x + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(good, ::testing::Each(50));
}

// LibTorch's CPU has no Fourier transform in half precision, its GPU has.
TEST(Probes, OperatorsThatACpuHasNotInHalfPrecisionAreTraced) {
  const auto trace = TraceSource(
      "def forward(self, x: Tensor):\n"
      "  y = torch.fft_rfft(x)\n"
      "  return torch.relu(torch.abs(y)) + 1\n",
      {"float16[4,8]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->outputs.size(), 1u);
  const TraceValue& output =
      trace->values[static_cast<size_t>(trace->outputs[0])];
  EXPECT_EQ(output.type.dtype, DataType::kFloat16);
  EXPECT_EQ(output.type.sizes.size(), 2u);
}

// Histograms of integers, by which models choose experts, too.
TEST(Probes, OperatorsThatACpuHasNotForIntegersAreTraced) {
  const auto trace = TraceSource(
      "def forward(self, x: Tensor):\n"
      "  return torch.histc(x, 4, 0, 3) + 1\n",
      {"int32[64]{0..3}"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  const TraceValue& output =
      trace->values[static_cast<size_t>(trace->outputs[0])];
  EXPECT_EQ(output.type.dtype, DataType::kInt32);
  EXPECT_EQ(output.type.sizes.size(), 1u);
}

// As nms, which detection models call in a branch that depends on data: of a
// library of operators, and in half precision for GPUs alone.
TEST(Probes, OperatorsThatACpuHasNotInHalfPrecisionAreTracedInBranches) {
  torch::Library library(torch::Library::DEF, "aitune_test", std::nullopt,
                         __FILE__, __LINE__);
  int calls = 0;
  library.def("scores(Tensor x) -> Tensor", [&calls](const at::Tensor& x) {
    ++calls;
    return AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scores_kernel",
                                      [&] { return x.relu() + 1; });
  });
  torch::jit::Module module("Branch");
  module.define(R"(
def forward(self, x: Tensor):
  wide = x.to(dtype=6)
  if bool(x.sum() > 0):
    y = torch.relu(x)
    wide = wide + 1
  else:
    y = x * 2
  return y, wide
)");
  // Source has no names for operators outside of LibTorch; graphs have.
  const std::shared_ptr<torch::jit::Graph> graph =
      module.get_method("forward").graph();
  for (torch::jit::Node* node :
       torch::jit::findAllNodes(*graph, c10::aten::relu, /*recurse=*/true)) {
    node->replaceWithNewSymbol(
        c10::Symbol::fromQualString("aitune_test::scores"));
    node->destroy();
  }
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  for (const char* dtype : {"float16", "bfloat16"}) {
    const auto spec = ParseInputSpec(absl::StrCat(dtype, "[2..8,4]"));
    ASSERT_TRUE(spec.ok());
    calls = 0;
    const auto trace = BuildTrace(*model, {*spec}, {});
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_GT(calls, 0);
    ASSERT_EQ(trace->outputs.size(), 2u);
    // In the types that a GPU gives: only what was widened is rounded again.
    const TensorType& y =
        trace->values[static_cast<size_t>(trace->outputs[0])].type;
    const TensorType& wide =
        trace->values[static_cast<size_t>(trace->outputs[1])].type;
    EXPECT_EQ(std::string(Name(y.dtype)), dtype);
    EXPECT_EQ(y.sizes.size(), 2u);
    EXPECT_EQ(wide.dtype, DataType::kFloat32);
  }
}

// What a program draws after it set the seed is the same in each call.
TEST(RandomNumbers, ASeedIsSetInEachCall) {
  const auto trace = TraceSource(
      "def forward(self, x: Tensor):\n"
      "  torch.manual_seed(3)\n"
      "  return x + torch.rand([3])\n",
      {"float32[3]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->ops.size(), 1u);
  EXPECT_THAT(trace->ops[0].must_fall_back, HasSubstr("sets the seed"));
  const ValueList inputs({at::ones({3})});
  const auto first = RunTrace(*trace, inputs),
             second = RunTrace(*trace, inputs);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(Difference(*second, *first), "");
}

// A probe's divisors are made up; the compiled program tests those of a call.
TEST(Probes, MadeUpDivisorsAreNotZero) {
  const auto model = Model::FromSource(
      "def forward(self, x: Tensor, y: Tensor):\n"
      "  z = torch.fmod(x, y)\n"
      "  return z.floor_divide_(y)\n");
  ASSERT_TRUE(model.ok());
  const ValueList zeros({at::ones({3}, at::kLong), at::zeros({3}, at::kLong)});
  const auto trace = BuildTrace(*model, zeros, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->ops.size(), 2u);
  // By the program's own zero it raises whatever the inputs are.
  EXPECT_FALSE(TraceSource("def forward(self, x: Tensor):\n"
                           "  return x + torch.fmod(torch.ones([2], dtype=4), "
                           "torch.zeros([2], dtype=4))\n",
                           {"int64[2]"})
                   .ok());
}

}  // namespace
}  // namespace aitune::frontend
