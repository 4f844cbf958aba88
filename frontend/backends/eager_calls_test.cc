// Calls that LibTorch runs in place of a backend's program: those of another
// nesting than the backend was built for, and those without a version.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/testing/backends.h"
#include "runtime/control/control.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

// One call, with what Flatten refuses left to LibTorch.
absl::StatusOr<c10::IValue> CallWith(const TorchScriptSource& source,
                                     const Backend& backend,
                                     const ValueList& arguments) {
  const auto inputs = source.FlattenCall(arguments);
  if (!inputs.ok()) return inputs.status();
  const auto outputs = backend.Infer(Values(*inputs));
  if (!outputs.ok()) return outputs.status();
  return source.UnflattenResult(*outputs);
}

// A backend that is built for calls like this one; null, and the test fails, if
// it can't be.
std::unique_ptr<Backend> BuiltFor(
    const std::string& name, const std::shared_ptr<TorchScriptSource>& source,
    const ValueList& arguments) {
  auto backend = BackendOf(name);
  BuildRequest request = RequestOf(source, {});
  request.samples = {*source->Flatten(arguments)};
  const absl::Status built = backend->Build(request);
  EXPECT_TRUE(built.ok()) << name << built;
  return built.ok() ? std::move(backend) : nullptr;
}

constexpr const char* kBackends[] = {
    "TorchCudaGraphsBackend", "TorchEagerBackend", "TorchInductorBackend",
    "TorchScriptBackend"};

// A decoder's first step has no cache yet.
TEST(EagerCalls, TakeArgumentsOfAnotherNesting) {
  for (const char* name : kBackends) {
    auto model = Model::FromSource(R"(
def forward(self, x: Tensor, cache: Optional[Tuple[Tensor, Tensor]] = None, scale: float = 2.0) -> Tuple[Tensor, Tensor]:
    y = x * scale
    if cache is not None:
        y = torch.cat([cache[0], y]) + cache[1]
    return y, y.sum()
)");
    ASSERT_TRUE(model.ok()) << model.status();
    auto source = std::make_shared<TorchScriptSource>(
        std::make_shared<const Model>(*std::move(model)), "step");
    // Positive: their sum loses no digits, in whatever order.
    const at::Tensor x = at::rand({2, 3}), one = at::ones({3});
    const auto cache = c10::ivalue::Tuple::create({x, one});
    const auto backend =
        BuiltFor(name, source, ValueList({x, c10::IValue(), 2.0}));
    ASSERT_NE(backend, nullptr);
    const std::vector<std::vector<c10::IValue>> calls = {
        {x, c10::IValue(), 2.0},
        {x, cache, 2.0},
        {x, c10::IValue(), 2.0},
        {x, cache, 3.0},
        {x},
        {x, cache}};
    for (const std::vector<c10::IValue>& call : calls) {
      const auto ours = CallWith(*source, *backend, ValueList(call));
      ASSERT_TRUE(ours.ok()) << name << ": " << ours.status();
      const auto eager = source->model().RunEager(ValueList(call));
      for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(at::allclose(ours->toTupleRef().elements()[i].toTensor(),
                                 eager->toTupleRef().elements()[i].toTensor()))
            << name;
    }
    EXPECT_THAT(CallWith(*source, *backend, ValueList({x, x, x, x}))
                    .status()
                    .ToString(),
                HasSubstr("a call gives 4 arguments, but the model takes 3"));
    // What eager refuses, with its text.
    EXPECT_THAT(CallWith(*source, *backend, ValueList({c10::IValue(cache)}))
                    .status()
                    .ToString(),
                HasSubstr("Expected a value of type 'Tensor"))
        << name;
  }
}

TEST(EagerCalls, AreRefusedWhereNothingMayBeCompiled) {
  auto source = SourceOf(
      "def forward(self, x: List[Tensor]):\n    return x[0] + x[-1]\n");
  const auto rows = [](int64_t count) {
    return ValueList({c10::List<at::Tensor>(at::ones({count, 2}).unbind(0))});
  };
  const auto backend = BuiltFor("TorchInductorBackend", source, rows(2));
  ASSERT_NE(backend, nullptr);
  EXPECT_TRUE(CallWith(*source, *backend, rows(3)).ok());
  const ScopedStance stance(Stance::kFailOnRecompile);
  EXPECT_TRUE(CallWith(*source, *backend, rows(2)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      CallWith(*source, *backend, rows(3)).status()));
}

// A program that asks for the layout of its input gets the caller's tensor.
TEST(EagerCalls, TakeInputsThatAreNotContiguous) {
  auto source = SourceOf(R"(
def forward(self, x: Tensor):
    if x.is_contiguous():
        return x + 1
    return x - 1
)");
  auto backend = BackendOf("TorchInductorBackend");
  const at::Tensor x = at::randn({3, 2});
  ASSERT_TRUE(backend->Build(RequestOf(source, {x})).ok());
  for (const at::Tensor& given : {x, x.t().contiguous().t(), x}) {
    const auto ours = CallWith(*source, *backend, ValueList({given}));
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(at::equal(ours->toTensor(),
                          given.is_contiguous() ? given + 1 : given - 1));
  }
}

// It is the caller's tensor that is written, and what shares its memory.
TEST(EagerCalls, WriteToInputsThatAreNotContiguous) {
  auto source = SourceOf(R"(
def forward(self, x: Tensor, y: Tensor):
    y.mul_(2)
    return x + 1
)");
  for (const char* name : kBackends) {
    const auto backend = BuiltFor(
        name, source, ValueList({at::randn({3, 3}), at::randn({3, 3})}));
    ASSERT_NE(backend, nullptr);
    const at::Tensor y = at::randn({3, 3}), before = y.clone();
    for (const at::Tensor& given : {y.t(), y}) {
      y.copy_(before);
      const auto ours = CallWith(*source, *backend, ValueList({y, given}));
      ASSERT_TRUE(ours.ok()) << ours.status();
      EXPECT_TRUE(y.equal(before * 2)) << name;
      EXPECT_TRUE(ours->toTensor().equal(before * 2 + 1)) << name;
    }
  }
}

// So are statistics that a normalisation updates, of which its schema tells
// nothing.
TEST(EagerCalls, UpdateStatisticsThatAreNotContiguous) {
  auto source = SourceOf(R"(
def forward(self, x: Tensor, mean: Tensor, var: Tensor):
    return torch.batch_norm(x, None, None, mean, var, True, 0.5, 1e-5, False)
)");
  const at::Tensor x = at::randn({4, 3}),
                   both = at::ones({3, 2});  // mean and variance
  const auto backend = BuiltFor("TorchInductorBackend", source,
                                ValueList({x, at::ones({3}), at::ones({3})}));
  ASSERT_NE(backend, nullptr);
  const auto ours = CallWith(
      *source, *backend, ValueList({x, both.select(1, 0), both.select(1, 1)}));
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_TRUE(at::allclose(both.select(1, 0), 0.5 + 0.5 * x.mean(0)));
  EXPECT_TRUE(at::allclose(both.select(1, 1), 0.5 + 0.5 * x.var(0)));
}

// Eager refuses to write to a part of what it reads.
TEST(EagerCalls, RefuseToWriteToAPartOfAnotherArgument) {
  auto source = SourceOf(R"(
def forward(self, x: Tensor, y: Tensor):
    x.add_(y)
    return x * 2
)");
  const auto backend =
      BuiltFor("TorchInductorBackend", source,
               ValueList({at::randn({3, 3}), at::randn({3, 3})}));
  ASSERT_NE(backend, nullptr);
  const at::Tensor all = at::arange(13, at::kFloat);
  const auto nine = [&](int64_t first) {
    return all.slice(0, first, first + 9).view({3, 3});
  };
  const auto overlaps =
      CallWith(*source, *backend, ValueList({nine(0), nine(4)}));
  EXPECT_THAT(overlaps.status().message(),
              testing::HasSubstr("refer to a single memory location"));
  EXPECT_TRUE(all.equal(at::arange(13, at::kFloat)));
  const auto same = CallWith(*source, *backend, ValueList({nine(0), nine(0)}));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_TRUE(
      same->toTensor().equal(at::arange(9, at::kFloat).mul(4).view({3, 3})));
}

// It is the caller's tensor that has the result's sizes then, and its memory.
TEST(EagerCalls, ChangeTheSizesOfTheCallersTensors) {
  auto source = SourceOf(R"(
def forward(self, x: Tensor, out: Tensor):
    x.t_()
    return torch.add(x, 1, out=out)
)");
  for (const char* name : kBackends) {
    const auto backend = BuiltFor(
        name, source, ValueList({at::randn({2, 3}), at::randn({3, 2})}));
    ASSERT_NE(backend, nullptr);
    // As backends are timed with it.
    const Sample small =
        *source->Flatten(ValueList({at::randn({2, 3}), at::randn({1})}));
    EXPECT_TRUE(backend->Infer(Values(small)).ok()) << name;
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{0}, {5, 5}, {3, 2}, {2, 1, 2}}) {
      const at::Tensor x = at::randn({2, 3}), before = x.clone();
      const at::Tensor out = at::zeros(sizes);
      const auto ours = CallWith(*source, *backend, ValueList({x, out}));
      ASSERT_TRUE(ours.ok()) << name << ours.status();
      EXPECT_TRUE(x.equal(before.t())) << name;
      EXPECT_TRUE(out.equal(before.t() + 1)) << name;
      EXPECT_TRUE(ours->toTensor().equal(out)) << name;
    }
  }
}

// They are keys for the caller's tensors alone, not for others that are equal.
TEST(EagerCalls, TakeDictsWhoseKeysAreTensors) {
  auto source = SourceOf(R"(
def forward(self, x: Tensor, d: Dict[Tensor, Tensor]):
    for key, value in d.items():
        x = x + key * value
    return x
)");
  const at::Tensor x = at::randn({3});
  const auto dict_of = [](int64_t count) {
    c10::Dict<at::Tensor, at::Tensor> dict;
    for (int64_t i = 0; i < count; ++i)
      dict.insert(at::randn({3}), at::randn({3}));
    return c10::IValue(dict);
  };
  const auto backend =
      BuiltFor("TorchInductorBackend", source, ValueList({x, dict_of(2)}));
  ASSERT_NE(backend, nullptr);
  for (const int64_t count : {2, 2, 1, 0}) {
    const ValueList arguments({x, dict_of(count)});
    const auto ours = CallWith(*source, *backend, arguments);
    ASSERT_TRUE(ours.ok()) << ours.status();
    const auto eager = source->model().RunEager(arguments);
    ASSERT_TRUE(eager.ok()) << eager.status();
    EXPECT_TRUE(at::allclose(ours->toTensor(), eager->toTensor()));
  }
}

// What a compiled version takes for two tensors may be one.
TEST(EagerCalls, TakeATensorThatIsGivenTwice) {
  auto source = SourceOf(R"(
def forward(self, x: Tensor, y: Tensor):
    if x is y:
        return x * 2
    return x + y * 10
)");
  const at::Tensor x = at::randn({3, 2}), y = at::randn({3, 2});
  const auto backend =
      BuiltFor("TorchInductorBackend", source, ValueList({x, y}));
  ASSERT_NE(backend, nullptr);
  for (const at::Tensor& other : {y, x, y}) {
    const auto ours = CallWith(*source, *backend, ValueList({x, other}));
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(at::allclose(ours->toTensor(),
                             other.is_same(x) ? x * 2 : x + other * 10));
  }
}

TEST(EagerCalls, TakeATensorThatRequiresAGradient) {
  auto source = SourceOf(R"(
def forward(self, x: Tensor):
    if x.requires_grad:
        return x * 2
    return x + 1
)");
  auto backend = BackendOf("TorchInductorBackend");
  const at::Tensor x = at::randn({3, 2});
  ASSERT_TRUE(backend->Build(RequestOf(source, {x})).ok());
  const at::Tensor with_gradient = x.clone().set_requires_grad(true);
  for (const at::Tensor& given : {x, with_gradient, x}) {
    const auto ours = CallWith(*source, *backend, ValueList({given}));
    ASSERT_TRUE(ours.ok()) << ours.status();
    EXPECT_TRUE(
        at::allclose(ours->toTensor(), given.requires_grad() ? x * 2 : x + 1));
  }
}

// Versions hold the state as it was; they know when LibTorch has changed it.
TEST(EagerCalls, TellCompiledVersionsOfTheStateThatTheyChange) {
  torch::jit::Module module("net");
  module.register_attribute("k", c10::TensorType::get(), at::ones({1}),
                            /*is_param=*/false, /*is_buffer=*/true);
  module.define(R"(
def forward(self, x: Tensor):
    if x.size(0) > 4:
        self.k = self.k * 0.5
    return x * self.k
)");
  auto model = Model::FromModule(std::move(module));
  ASSERT_TRUE(model.ok()) << model.status();
  auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*std::move(model)), "net");
  auto backend = BackendOf(
      "TorchInductorBackend",
      {{"dynamic", false}, {"options", ConfigDict{{"recompile_limit", 1}}}});
  ASSERT_TRUE(backend->Build(RequestOf(source, {at::ones({3, 2})})).ok());
  const auto first = [&](int64_t rows) {
    const auto result = Call(*source, *backend, at::ones({rows, 2}));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->toTensor()[0][0].item<float>() : -1;
  };
  EXPECT_EQ(first(3), 1);
  EXPECT_EQ(first(2), 1);  // in eager, which changes nothing
  const int64_t eager = backend->Usage().eager_calls;
  EXPECT_EQ(first(3), 1);
  EXPECT_EQ(backend->Usage().eager_calls, eager);
  EXPECT_EQ(first(5), 0.5);
  EXPECT_EQ(first(3), 0.5);
}

}  // namespace
}  // namespace aitune::frontend
