// What the results of backends are made of: their memory and their nesting.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/testing/backends.h"
#include "runtime/control/host_allocator.h"

namespace aitune::frontend {
namespace {

// What LibTorch computes may be a view of an input, or be kept by the model.
TEST(Results, DoNotNeedTheMemoryOfTheInputs) {
  const ConfigDict one_version = {
      {"dynamic", false}, {"options", ConfigDict{{"recompile_limit", 1}}}};
  const std::pair<const char*, ConfigDict> backends[] = {
      {"TorchEagerBackend", {}},
      {"TorchInductorBackend", one_version},
      {"TorchScriptBackend", {}}};
  for (const auto& [name, config] : backends) {
    torch::jit::Module module("net");
    module.register_attribute("last", c10::TensorType::get(), at::zeros({1, 3}),
                              /*is_param=*/false, /*is_buffer=*/true);
    module.define(R"(
def forward(self, x: Tensor):
    before = self.last
    self.last = x
    return x[1:], x.view([-1]), before
)");
    auto model = Model::FromModule(std::move(module));
    ASSERT_TRUE(model.ok()) << model.status();
    auto source = std::make_shared<TorchScriptSource>(
        std::make_shared<const Model>(*std::move(model)), "net");
    auto backend = BackendOf(name, config);
    ASSERT_TRUE(backend->Build(RequestOf(source, {at::randn({2, 3})})).ok());
    std::vector<c10::IValue> results;
    for (int call = 0; call < 2; ++call) {
      at::Tensor x = at::full({4, 3}, call + 1.);
      const auto result = Call(*source, *backend, x);
      ASSERT_TRUE(result.ok()) << name << ": " << result.status();
      results.push_back(*result);
      x.fill_(99);
    }
    for (int call = 0; call < 2; ++call) {
      const auto& elements = results[call].toTupleRef().elements();
      EXPECT_TRUE(elements[0].toTensor().eq(call + 1).all().item<bool>())
          << name;
      EXPECT_TRUE(elements[1].toTensor().eq(call + 1).all().item<bool>())
          << name;
    }
    const at::Tensor kept = results[1].toTupleRef().elements()[2].toTensor();
    EXPECT_TRUE(kept.eq(1).all().item<bool>()) << name;
  }
}

TEST(Results, MayBeNestedByTheSizes) {
  for (const char* name : {"TorchCudaGraphsBackend", "TorchEagerBackend",
                           "TorchInductorBackend", "TorchScriptBackend"}) {
    auto source = SourceOf(R"(
def forward(self, x: Tensor) -> Dict[str, List[Tensor]]:
    rows: Dict[str, List[Tensor]] = {}
    for i in range(x.size(0)):
        rows[str(i)] = [x[i] * 2]
    return rows
)");
    auto backend = BackendOf(name);
    ASSERT_TRUE(backend->Build(RequestOf(source, {at::randn({2, 3})})).ok());
    for (const int64_t rows : {2, 5, 1, 2})
      ExpectAgrees(*source, *backend, at::randn({rows, 3}));
  }
}

TEST(Results, HaveTheLeavesThatLibTorchNests) {
  auto model = Model::FromSource(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, List[Tensor], int]:
    return torch.relu(x), x.nonzero().unbind(1), 7
)");
  ASSERT_TRUE(model.ok()) << model.status();
  auto source = std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(*std::move(model)), "nests");
  const std::unique_ptr<Backend> backend = BackendOf("TorchInductorBackend");
  const at::Tensor x = at::ones({2, 3});
  ASSERT_TRUE(backend->Build(RequestOf(source, {x})).ok());
  auto outputs = backend->Infer(Values(*source->Flatten(ValueList({x}))));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->size(), 4u);
  ExpectAgrees(*source, *backend, x);
}

std::vector<std::string> KeysOf(const c10::IValue& dict) {
  std::vector<std::string> keys;
  for (const auto& entry : dict.toGenericDict())
    keys.push_back(entry.key().toStringRef());
  return keys;
}

TEST(Results, HaveTheKeysOfADictInItsOwnOrder) {
  for (const char* name : {"TorchCudaGraphsBackend", "TorchEagerBackend",
                           "TorchInductorBackend", "TorchScriptBackend"}) {
    auto source = SourceOf(R"(
def forward(self, x: Tensor) -> Dict[str, Tensor]:
    if x.size(0) > 5:
        return {"a": x * 2, "b": x * 3}
    return {"b": x * 3, "a": x * 2}
)");
    auto backend = BackendOf(name);
    ASSERT_TRUE(backend->Build(RequestOf(source, {at::randn({3, 4})})).ok());
    for (const int64_t rows : {7, 3, 6}) {
      const at::Tensor x = at::randn({rows, 4});
      ExpectAgrees(*source, *backend, x);
      const auto result = Call(*source, *backend, x);
      ASSERT_TRUE(result.ok()) << name << result.status();
      EXPECT_EQ(KeysOf(*result), rows > 5
                                     ? (std::vector<std::string>{"a", "b"})
                                     : (std::vector<std::string>{"b", "a"}))
          << name << " " << rows;
    }
  }
}

// What a call with these arguments gives, and what eager does.
void ExpectCallAgrees(const TorchScriptSource& source, const Backend& backend,
                      const ValueList& arguments) {
  const auto leaves = source.FlattenCall(arguments);
  ASSERT_TRUE(leaves.ok()) << leaves.status();
  const auto outputs = backend.Infer(Values(*leaves));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const auto result = source.UnflattenResult(*outputs);
  ASSERT_TRUE(result.ok()) << result.status();
  const auto eager = source.model().RunEager(arguments);
  ASSERT_TRUE(eager.ok()) << eager.status();
  EXPECT_TRUE(at::allclose(result->toTensor(), eager->toTensor()))
      << result->toTensor() << " is not " << eager->toTensor();
}

BuildRequest RequestOfCall(const std::shared_ptr<TorchScriptSource>& source,
                           const ValueList& arguments) {
  BuildRequest request = RequestOf(source, {});
  request.samples = {*source->FlattenCall(arguments)};
  return request;
}

TEST(Arguments, HaveTheTypesOfTheCall) {
  const char* const program = R"(
def forward(self, x: Tensor, a: Any):
    if isinstance(a, List[int]):
        return x + a[0]
    if isinstance(a, List[float]):
        return x - a[0]
    if isinstance(a, Dict[str, int]):
        return x + 5 * a["k"]
    if isinstance(a, Dict[str, float]):
        return x - 5 * a["k"]
    return x
)";
  const at::Tensor x = at::randn({3, 4});
  for (const char* name : {"TorchEagerBackend", "TorchInductorBackend"}) {
    c10::Dict<std::string, int64_t> counts;
    counts.insert("k", 2);
    c10::Dict<std::string, double> numbers;
    numbers.insert("k", 2.5);
    for (const auto& [first, other] :
         {std::pair<c10::IValue, c10::IValue>(c10::List<int64_t>({1, 2}),
                                              c10::List<double>({1.5, 2.5})),
          std::pair<c10::IValue, c10::IValue>(counts, numbers)}) {
      auto source = SourceOf(program);
      auto backend = BackendOf(name);
      const absl::Status built =
          backend->Build(RequestOfCall(source, ValueList({x, first})));
      ASSERT_TRUE(built.ok()) << built;
      for (const c10::IValue& value : {other, first, other})
        ExpectCallAgrees(*source, *backend, ValueList({x, value}));
    }
  }
}

TEST(Arguments, TellZerosApart) {
  auto source = SourceOf(R"(
def forward(self, x: Tensor, f: float):
    return torch.atan2(torch.full([x.size(0)], f), x)
)");
  auto backend = BackendOf("TorchInductorBackend");
  const at::Tensor x = at::rand({3}) + 1;
  const absl::Status built =
      backend->Build(RequestOfCall(source, ValueList({x, 0.0})));
  ASSERT_TRUE(built.ok()) << built;
  ExpectCallAgrees(*source, *backend, ValueList({x, -0.0}));
  ExpectCallAgrees(*source, *backend, ValueList({-x, -0.0}));
}

// A repair loads the version anew.
TEST(Results, AreAnAllocatorsAlsoAfterARepair) {
  int live = 0;
  auto allocator = std::make_shared<HostAllocator>();
  allocator->allocate = [&](int64_t bytes, int64_t alignment) {
    ++live;
    return std::aligned_alloc(static_cast<size_t>(alignment),
                              static_cast<size_t>(bytes));
  };
  allocator->release = [&](void* memory, int64_t, int64_t) {
    --live;
    std::free(memory);
  };
  {
    const auto source = SourceOf(kNet);
    const auto backend = BackendOf("TorchInductorBackend");
    const at::Tensor x = at::randn({2, 3});
    ASSERT_TRUE(backend->Build(RequestOf(source, {x})).ok());
    backend->SetAllocator(allocator);
    ExpectAgrees(*source, *backend, x);
    EXPECT_GT(live, 0);
    const Sample call = *source->Flatten(ValueList({x}));
    const auto repaired = backend->Repair(Values(call));
    ASSERT_TRUE(repaired.ok()) << repaired.status();
    EXPECT_FALSE(*repaired) << "nothing was wrong";
    EXPECT_EQ(live, 0) << "the version before has gone";
    ExpectAgrees(*source, *backend, x);
    EXPECT_GT(live, 0);
    backend->SetAllocator(nullptr);
    EXPECT_EQ(live, 0);
    ExpectAgrees(*source, *backend, x);
    EXPECT_EQ(live, 0);
  }
}

}  // namespace
}  // namespace aitune::frontend
