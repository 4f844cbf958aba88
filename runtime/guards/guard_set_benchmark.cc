// What a guard check costs: the goal is under 1 microsecond for ten inputs.
#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "runtime/guards/dispatch_table.h"
#include "runtime/guards/guard_set.h"

namespace aitune {
namespace {

struct Call {
  explicit Call(int count) {
    for (int i = 0; i < count; ++i) sizes.push_back({8, 12, 128, 64});
    for (const std::array<int64_t, 4>& s : sizes) {
      CallInput input;
      input.sizes = s;
      input.device = "cuda:0";
      inputs.push_back(input);
    }
  }
  std::vector<InputDescription> Descriptions() const {
    std::vector<InputDescription> descriptions;
    for (const CallInput& input : inputs) {
      descriptions.push_back(InputDescription::Of(input));
      descriptions.back().axes[0] = {2, AxisRange::kUnbounded, 0};
    }
    return descriptions;
  }

  std::vector<std::array<int64_t, 4>> sizes;
  std::vector<CallInput> inputs;
};

// All guards of `inputs` tensors of rank 4 that share a batch axis.
void BM_Check(benchmark::State& state) {
  const Call call(static_cast<int>(state.range(0)));
  const GuardSet guards(call.Descriptions());
  for (auto _ : state) {
    bool holds = guards.Check(call.inputs);
    benchmark::DoNotOptimize(holds);
  }
  state.counters["guards"] = guards.size();
}
BENCHMARK(BM_Check)->Arg(1)->Arg(10)->Arg(100);

// With the lock and the reference of a dispatch, behind 0 or 7 versions that
// don't fit, from several threads.
void BM_Find(benchmark::State& state) {
  static DispatchTable<int>* table = nullptr;
  static const Call call(10);
  const auto compile = [](const CompileRequest& request)
      -> absl::StatusOr<DispatchTable<int>::Version> {
    return DispatchTable<int>::Version{std::make_shared<int>(0),
                                       request.inputs};
  };
  if (state.thread_index() == 0) {
    table = new DispatchTable<int>(DispatchOptions());
    for (int i = 0; i < state.range(0); ++i) {
      Call other(10);
      for (CallInput& input : other.inputs) input.dtype = DataType::kFloat64;
      for (auto& s : other.sizes) s[3] = 1;
      other.sizes.back()[3] = 0;
      other.sizes[0][1] = 100 + i;
      other.inputs[0].layout = MemoryLayout(i % 3);
      (void)table->Find(other.inputs, compile);
    }
    (void)table->Find(call.inputs, compile);
  }
  for (auto _ : state) {
    absl::StatusOr<std::shared_ptr<int>> found =
        table->Find(call.inputs, compile);
    benchmark::DoNotOptimize(found);
  }
  if (state.thread_index() == 0) {
    state.counters["versions"] = table->version_count();
    delete table;
  }
}
BENCHMARK(BM_Find)->Arg(0)->Arg(7)->ThreadRange(1, 2);

}  // namespace
}  // namespace aitune

BENCHMARK_MAIN();
