// Costs of the runtime itself, and library calls beside LibTorch's eager ones:
//   ./bazelw run //runtime/executable:executable_benchmark
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>

#include <string>

#include "runtime/cpu/thread_pool.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/executable/test_plan.h"

namespace aitune {
namespace {

void LaunchEmpty(benchmark::State& state) {
  const int64_t grid = state.range(0);
  for (auto _ : state) {
    ParallelFor(grid, 1, [](int64_t, int64_t) {});
  }
}
BENCHMARK(LaunchEmpty)->ArgName("grid")->Arg(1)->Arg(2)->Arg(1000);

void EmptySteps(benchmark::State& state) {
  TestPlan t;
  int at = t.Input({16});
  for (int i = 0; i < 100; ++i) {
    const int next = t.Arena({16});
    t.Kernel("nothing", {at}, {next}, state.range(0));
    at = next;
  }
  t.Kernel("nothing", {at}, {t.Output({16})}, 1);
  auto executable = *CpuExecutable::Load(
      t.plan,
      std::make_shared<FakeKernels>(std::map<std::string, KernelFunction>{
          {"nothing", [](void* const*, const int64_t*, int64_t, int64_t) {}}}),
      {}, {});
  std::vector<float> data(16), out(16);
  const std::vector<TensorView> inputs = {View(data, {16})};
  std::vector<RegionValue> outputs = {View(out, {16})};
  for (auto _ : state) {
    if (!executable->Run(inputs, absl::MakeSpan(outputs)).ok()) std::abort();
  }
}
BENCHMARK(EmptySteps)->ArgName("grid")->Arg(1)->Arg(2);

TensorView ViewOf(const at::Tensor& tensor) {
  return {tensor.data_ptr(),
          tensor.scalar_type() == at::kFloat ? DataType::kFloat32
                                             : DataType::kBFloat16,
          tensor.sizes().vec()};
}

// One library step, with constant operands after the first input, except that
// a residual operand is a second input.
struct Step1 {
  std::unique_ptr<Executable> executable;
  std::vector<TensorView> inputs;
  std::vector<RegionValue> outputs;

  void Run(benchmark::State& state) {
    for (auto _ : state) {
      const absl::Status status =
          executable->Run(inputs, absl::MakeSpan(outputs));
      if (!status.ok())
        state.SkipWithError(std::string(status.message()).c_str());
    }
  }
};

TestPlan::Sizes SizesOf(const at::Tensor& tensor) {
  TestPlan::Sizes sizes;
  for (int64_t size : tensor.sizes()) sizes.push_back(size);
  return sizes;
}

void Fill(Step1& step, TestPlan& t, std::vector<at::Tensor> constants,
          benchmark::State& state) {
  std::vector<ConstantTensor> pool;
  for (at::Tensor& constant : constants) {
    pool.push_back(
        {ViewOf(constant), std::make_shared<at::Tensor>(constant), "constant"});
  }
  auto loaded = CpuExecutable::Load(t.plan, nullptr, std::move(pool), {});
  if (!loaded.ok()) {
    state.SkipWithError(std::string(loaded.status().message()).c_str());
    return;
  }
  step.executable = *std::move(loaded);
}

// Arguments: size, channels in, channels out, window, stride, residual, eager,
// bfloat16.
void Convolution(benchmark::State& state) {
  const int64_t size = state.range(0), in = state.range(1),
                out = state.range(2), k = state.range(3),
                stride = state.range(4), pad = k / 2;
  const bool residual = state.range(5), eager = state.range(6);
  const auto dtype = state.range(7) ? at::kBFloat16 : at::kFloat;
  const DataType own =
      state.range(7) ? DataType::kBFloat16 : DataType::kFloat32;
  const c10::InferenceMode no_grad;
  const int64_t out_size = (size + 2 * pad - k) / stride + 1;
  at::Tensor x = at::randn({1, size, size, in}).to(dtype);
  at::Tensor w = at::randn({out, in, k, k}).to(dtype);
  at::Tensor b = at::randn({out}).to(dtype);
  at::Tensor y = at::empty({1, out_size, out_size, out}, dtype);
  at::Tensor r = at::randn({1, out_size, out_size, out}).to(dtype);
  state.counters["GFLOPS"] =
      benchmark::Counter(2e-9 * out_size * out_size * out * in * k * k,
                         benchmark::Counter::kIsIterationInvariantRate);
  if (eager) {
    at::Tensor nchw = x.permute({0, 3, 1, 2}).contiguous();
    at::Tensor skip = r.permute({0, 3, 1, 2}).contiguous();
    for (auto _ : state) {
      at::Tensor result = at::conv2d(nchw, w, b, stride, pad);
      if (residual) result.add_(skip);
      result.relu_();
    }
    return;
  }
  TestPlan t;
  std::vector<int> operands = {t.Input(SizesOf(x), own),
                               t.Constant(0, SizesOf(w), own),
                               t.Constant(1, SizesOf(b), own)};
  Step1 step;
  step.inputs = {ViewOf(x)};
  if (residual) {
    operands.push_back(t.Input(SizesOf(r), own));
    step.inputs.push_back(ViewOf(r));
  }
  ConvolutionCall* call =
      t.AddStep(operands, {t.Output(SizesOf(y), own)})->mutable_convolution();
  for (int axis = 0; axis < 2; ++axis) {
    call->add_stride(stride);
    call->add_padding_low(pad);
    call->add_padding_high(pad);
    call->add_dilation(1);
  }
  call->set_groups(1);
  call->add_post_ops()->set_operand(2);
  if (residual) {
    PostOp* add = call->add_post_ops();
    add->set_kind(PostOp::ADD);
    add->set_operand(3);
  }
  call->add_post_ops()->set_kind(PostOp::RELU);
  step.outputs = {ViewOf(y)};
  Fill(step, t, {w, b}, state);
  if (step.executable != nullptr) step.Run(state);
}
void ConvolutionArguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames(
      {"hw", "in", "out", "k", "stride", "add", "eager", "bf16"});
  for (int bf16 : {0, 1}) {
    for (const std::vector<int64_t>& layer :
         std::vector<std::vector<int64_t>>{{224, 3, 64, 7, 2, 0},
                                           {56, 64, 64, 3, 1, 0},
                                           {56, 64, 256, 1, 1, 1},
                                           {28, 128, 128, 3, 1, 0},
                                           {28, 128, 512, 1, 1, 1},
                                           {14, 1024, 256, 1, 1, 0},
                                           {14, 256, 256, 3, 1, 0},
                                           {7, 512, 2048, 1, 1, 1}}) {
      for (int eager : {1, 0}) {
        std::vector<int64_t> arguments = layer;
        arguments.push_back(eager);
        arguments.push_back(bf16);
        benchmark->Args(arguments);
      }
    }
  }
}
BENCHMARK(Convolution)->Apply(ConvolutionArguments)->UseRealTime();

// Arguments: rows, K, N, gelu, eager, bfloat16.
void Linear(benchmark::State& state) {
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  const bool gelu = state.range(3), eager = state.range(4);
  const auto dtype = state.range(5) ? at::kBFloat16 : at::kFloat;
  const DataType own =
      state.range(5) ? DataType::kBFloat16 : DataType::kFloat32;
  const c10::InferenceMode no_grad;
  at::Tensor x = at::randn({m, k}).to(dtype), w = at::randn({n, k}).to(dtype),
             b = at::randn({n}).to(dtype), y = at::empty({m, n}, dtype);
  state.counters["GFLOPS"] = benchmark::Counter(
      2e-9 * m * k * n, benchmark::Counter::kIsIterationInvariantRate);
  if (eager) {
    for (auto _ : state) {
      at::Tensor result = at::linear(x, w, b);
      if (gelu) result = at::gelu(result);
    }
    return;
  }
  TestPlan t;
  MatmulCall* call =
      t.AddStep({t.Input({m, k}, own), t.Constant(0, {n, k}, own),
                 t.Constant(1, {n}, own)},
                {t.Output({m, n}, own)})
          ->mutable_matmul();
  call->set_transpose_rhs(true);
  call->add_post_ops()->set_operand(2);
  if (gelu) call->add_post_ops()->set_kind(PostOp::GELU_ERF);
  Step1 step;
  step.inputs = {ViewOf(x)};
  step.outputs = {ViewOf(y)};
  Fill(step, t, {w, b}, state);
  if (step.executable != nullptr) step.Run(state);
}
void LinearArguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"m", "k", "n", "gelu", "eager", "bf16"});
  for (int bf16 : {0, 1}) {
    for (const std::vector<int64_t>& layer :
         std::vector<std::vector<int64_t>>{{128, 768, 768, 0},
                                           {128, 768, 3072, 1},
                                           {128, 3072, 768, 0},
                                           {1, 4096, 1024, 0}}) {
      for (int eager : {1, 0}) {
        std::vector<int64_t> arguments = layer;
        arguments.push_back(eager);
        arguments.push_back(bf16);
        benchmark->Args(arguments);
      }
    }
  }
}
BENCHMARK(Linear)->Apply(LinearArguments)->UseRealTime();

}  // namespace
}  // namespace aitune

BENCHMARK_MAIN();
