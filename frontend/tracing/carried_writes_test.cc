// Programs that begin a list, dict or tensor anew in a loop and write to it in
// the next iteration: LibTorch's passes take what is begun for a constant,
// which the calls would fill.
#include <ATen/Functions.h>

#include <string>

#include "frontend/torchscript/model_internal.h"
#include "frontend/tracing/trace_test_util.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

struct Program {
  const char* name;
  const char* source;
};

const Program kPrograms[] = {
    {"list_where_data_says", R"(
def forward(self, x: Tensor):
  parts: List[Tensor] = []
  cur: List[Tensor] = []
  for i in range(x.size(0)):
    cur.append(x[i])
    if bool(x[i, 0] > 0.5):
      parts.append(torch.stack(cur).sum(0))
      cur = []
  parts.append(x[0])
  return torch.stack(parts), torch.tensor(len(cur))
)"},
    {"list_where_sizes_say", R"(
def forward(self, x: Tensor):
  out: List[Tensor] = []
  buf: List[Tensor] = []
  for i in range(x.size(0)):
    buf.append(x[i])
    if len(buf) == 2:
      out.append(torch.stack(buf).sum(0))
      buf = []
  out.append(x[0] * len(buf))
  return torch.stack(out)
)"},
    {"list_of_numbers", R"(
def forward(self, x: Tensor):
  n = 0
  cur: List[int] = []
  for i in range(5):
    cur.append(i)
    n += len(cur)
    cur = []
  return x * n
)"},
    {"list_with_elements", R"(
def forward(self, x: Tensor):
  w = [1, 2]
  for i in range(4):
    x = x * w[0] + len(w)
    w.append(i)
    if i % 2 == 1:
      w = [1, 2]
  return x
)"},
    {"dict", R"(
def forward(self, x: Tensor):
  d: Dict[str, Tensor] = {}
  for i in range(x.size(0)):
    d[str(i % 3)] = x[i]
    if len(d) == 3:
      x = x + d["1"]
      d = {}
  return x, len(d)
)"},
    {"tensor_of_zeros", R"(
def forward(self, x: Tensor):
  h = torch.zeros(3)
  out: List[Tensor] = []
  for i in range(x.size(0)):
    h.add_(x[i])
    out.append(h.tanh())
    if bool(x[i, 0] > 0.5):
      h = torch.zeros(3)
  return torch.stack(out)
)"},
    {"tensors_that_swap", R"(
def forward(self, x: Tensor):
  a = torch.zeros(3)
  b = torch.ones(3)
  for i in range(x.size(0)):
    a[i % 3] += x[i].sum()
    a, b = b, a
  return a, b
)"},
    {"tensors_in_a_list", R"(
def forward(self, x: Tensor):
  hs = [torch.zeros(3), torch.zeros(3)]
  for i in range(x.size(0)):
    hs[i % 2].add_(x[i])
    if i % 3 == 2:
      x = x + hs[0]
      hs = [torch.zeros(3), torch.zeros(3)]
  return x, hs[0], hs[1]
)"},
    {"loops_in_loops", R"(
def forward(self, x: Tensor):
  h = torch.ones(3)
  total = torch.zeros(3)
  for i in range(x.size(0)):
    for j in range(2):
      h.mul_(0.5).add_(x[i])
      if bool(h.sum() > 1):
        h = torch.ones(3)
    total = total + h
    h = torch.full([3], 2.0)
  return total, h
)"},
    {"views_of_it", R"(
def forward(self, x: Tensor):
  h = torch.zeros([2, 3])
  for i in range(x.size(0)):
    h[i % 2].copy_(x[i])
    x = x + h.sum(0)
    h = torch.eye(3)[:2]
  return x
)"},
    {"an_argument", R"(
def forward(self, x: Tensor):
  h = torch.zeros_like(x)
  for i in range(3):
    h.add_(1)
    if i == 0:
      h = x
  return h * 1
)"},
};

class CarriedWrites : public testing::TestWithParam<Program> {};

TEST_P(CarriedWrites, AreThoseOfEager) {
  for (const char* spec : {"float32[7,3]", "float32[1..9,3]"}) {
    const auto trace = TraceAndCompare(GetParam().source, {spec});
    ASSERT_TRUE(trace.ok()) << spec << trace.status();
    // The same trace again.
    const auto again = TraceAndCompare(GetParam().source, {spec});
    ASSERT_TRUE(again.ok()) << spec << again.status();
  }
}

TEST_P(CarriedWrites, AreKeptByLibTorchsOptimiser) {
  const auto model = Model::FromSource(GetParam().source);
  ASSERT_TRUE(model.ok()) << model.status();
  for (int call = 0; call < 4; ++call) {
    at::manual_seed(static_cast<uint64_t>(call));
    const at::Tensor x = at::randn({7, 3});
    const auto expected = model->RunEager(ValueList({x.clone()}));
    const auto actual = model->RunOptimized(ValueList({x.clone()}));
    ASSERT_TRUE(expected.ok() && actual.ok())
        << expected.status() << actual.status();
    EXPECT_EQ(Difference(*actual, *expected), "") << "call " << call;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CarriedWrites, testing::ValuesIn(kPrograms),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// A copy of a weight is one of its own, though it is equal to the weight.
TEST(CarriedWritesTest, LeaveTheModelAsItIs) {
  torch::jit::Module module("Restarted");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_buffer("start", at::ones({3}));
  module.define(R"(
def forward(self, x: Tensor):
  h = self.start.clone()
  for i in range(x.size(0)):
    h.mul_(0.5).add_(x[i])
    if bool(h.norm() > 1):
      h = self.start.clone()
  return h * 1
)");
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trace = TraceAndCompare(*model, {"float32[1..9,3]"});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_TRUE(module.attr("start").toTensor().equal(at::ones({3})));
}

}  // namespace
}  // namespace aitune::frontend
