// What a call costs around the kernels: a model that does next to nothing,
// called through the API, with flat and with nested arguments.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "frontend/api/module.h"
#include "runtime/strategy/strategy.h"

namespace aitune::frontend {
namespace {

constexpr char kFlat[] = R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
    return x + y
)";

constexpr char kNested[] = R"(
def forward(self, x: Dict[str, Tensor], y: List[Tensor]) -> Tuple[Tensor, List[Tensor]]:
    return x["a"] + y[0], [x["b"] * 2, y[1] - 1]
)";

// Ends the program where `status` is an error.
void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

ValueList Arguments(bool nested) {
  const at::Tensor tensor = at::ones({4});
  if (!nested) return ValueList({tensor, tensor});
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("a", tensor);
  dict.insert("b", tensor);
  return ValueList({dict, c10::List<at::Tensor>({tensor, tensor})});
}

// Module::Run in `backend`, which is built for the arguments.
void BM_Call(benchmark::State& state, const char* backend, bool nested) {
  absl::StatusOr<Model> model = Model::FromSource(nested ? kNested : kFlat);
  Check(model.status());
  const auto module = ait::Module::Wrap(
      std::make_shared<const Model>(*std::move(model)), {"tiny", ""});
  const ValueList arguments = Arguments(nested);
  Check(module->Record(arguments));
  ait::TuneOptions options;
  options.backends = {{backend, {}}};
  Check(module->Tune(*OneBackend(), options));
  for (auto _ : state) {
    absl::StatusOr<c10::IValue> result = module->Run(arguments);
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK_CAPTURE(BM_Call, flat_compiled, "TorchInductorBackend", false);
BENCHMARK_CAPTURE(BM_Call, nested_compiled, "TorchInductorBackend", true);
BENCHMARK_CAPTURE(BM_Call, flat_eager, "TorchEagerBackend", false);
BENCHMARK_CAPTURE(BM_Call, nested_eager, "TorchEagerBackend", true);

}  // namespace
}  // namespace aitune::frontend

BENCHMARK_MAIN();
