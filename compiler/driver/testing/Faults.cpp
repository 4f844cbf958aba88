#include "compiler/driver/testing/Faults.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/candidates/FindGpu.h"
#include "compiler/candidates/KernelCompiler.h"
#include "compiler/candidates/SpoilForTesting.h"
#include "compiler/codegen/cpu/llvm/EmitObject.h"
#include "compiler/codegen/gpu/target/Nvrtc.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/Parser/Parser.h"
#include "runtime/cuda/device.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace aitune {
namespace {

/// A kernel that gives -x of COUNT floats at its first call, and more by the
/// number of calls later; SYMBOL is its name.
constexpr char kCounting[] = R"(
llvm.mlir.global internal @calls(0 : i64) : i64
llvm.func @SYMBOL(%buffers: !llvm.ptr, %symbols: !llvm.ptr, %begin: i64, %end: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %count = llvm.mlir.constant(COUNT : i64) : i64
  %first = llvm.icmp "eq" %begin, %zero : i64
  llvm.cond_br %first, ^work, ^done
^work:
  %place = llvm.mlir.addressof @calls : !llvm.ptr
  %calls = llvm.load volatile %place : !llvm.ptr -> i64
  %more = llvm.add %calls, %one : i64
  llvm.store volatile %more, %place : i64, !llvm.ptr
  %added = llvm.sitofp %calls : i64 to f32
  %from = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
  %slot = llvm.getelementptr %buffers[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %to = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %source = llvm.getelementptr %from[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %source : !llvm.ptr -> f32
  %negated = llvm.fneg %x : f32
  %result = llvm.fadd %negated, %added : f32
  %target = llvm.getelementptr %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %result, %target : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  %again = llvm.icmp "ult" %next, %count : i64
  llvm.cond_br %again, ^loop(%next : i64), ^done
^done:
  llvm.return
})";

/// A kernel that gives -x of COUNT floats, and writes four floats behind them;
/// SYMBOL is its name.
constexpr char kStraying[] = R"(
llvm.func @SYMBOL(%buffers: !llvm.ptr, %symbols: !llvm.ptr, %begin: i64, %end: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %count = llvm.mlir.constant(COUNT : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  %all = llvm.add %count, %four : i64
  %stray = llvm.mlir.constant(1.0e6 : f32) : f32
  %first = llvm.icmp "eq" %begin, %zero : i64
  llvm.cond_br %first, ^work, ^done
^work:
  %from = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
  %slot = llvm.getelementptr %buffers[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %to = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %source = llvm.getelementptr %from[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %source : !llvm.ptr -> f32
  %negated = llvm.fneg %x : f32
  %target = llvm.getelementptr %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %negated, %target : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  %again = llvm.icmp "ult" %next, %count : i64
  llvm.cond_br %again, ^loop(%next : i64), ^behind(%count : i64)
^behind(%j: i64):
  %place = llvm.getelementptr %to[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %stray, %place : f32, !llvm.ptr
  %following = llvm.add %j, %one : i64
  %more = llvm.icmp "ult" %following, %all : i64
  llvm.cond_br %more, ^behind(%following : i64), ^done
^done:
  llvm.return
})";

/// The same in CUDA, by one thread.
constexpr char kCountingCuda[] = R"(
__device__ unsigned long long calls;
extern "C" __global__ void SYMBOL(const float *from, float *to) {
  if (blockIdx.x != 0 || threadIdx.x != 0)
    return;
  const float added = calls++;
  for (int i = 0; i < COUNT; ++i)
    to[i] = -from[i] + added;
})";
constexpr char kStrayingCuda[] = R"(
extern "C" __global__ void SYMBOL(const float *from, float *to) {
  if (blockIdx.x != 0 || threadIdx.x != 0)
    return;
  for (int i = 0; i < COUNT; ++i)
    to[i] = -from[i];
  for (int i = COUNT; i < COUNT + 4; ++i)
    to[i] = 1.0e6f;
})";

absl::StatusOr<std::string> compileCuda(const std::string &text) {
  const absl::StatusOr<const cuda::Device *> gpu = cuda::Device::Open(0);
  return gpu.ok() ? compileToCubin(text, toGpuTarget(**gpu)) : gpu.status();
}

absl::StatusOr<std::string> compileLlvm(const std::string &text) {
  DialectRegistry dialects;
  registerCompilerDialects(dialects);
  registerTranslations(dialects);
  MLIRContext context(dialects);
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return absl::InternalError("the text of the fault");
  FailureOr<std::string> object = emitObject(*module, *findTarget(""));
  if (failed(object))
    return absl::InternalError("the code of the fault");
  return *object;
}

/// Gives kernels of one negation of `count` floats the code `text`, on a GPU
/// `cudaText`.
void plantNegation(const std::string &text, const std::string &cudaText,
                   int64_t count) {
  spoilCandidatesForTesting = [=](MutableArrayRef<Kernel> kernels, ModuleOp) {
    for (Kernel &kernel : kernels) {
      auto negations = func::FuncOp(kernel.function).getOps<ait::NegOp>();
      if (negations.empty() ||
          cast<RankedTensorType>((*negations.begin()).getType())
                  .getNumElements() != count)
        continue;
      KernelImplementation &candidate = kernel.candidates[0];
      KernelObject &code = candidate.objects[0];
      const bool isCuda = candidate.steps[0].call.has_cuda_kernel();
      const std::string full = absl::StrReplaceAll(
          isCuda ? cudaText : text,
          {{"SYMBOL", code.symbol}, {"COUNT", absl::StrCat(count)}});
      const absl::StatusOr<std::string> object =
          isCuda ? compileCuda(full) : compileLlvm(full);
      ASSERT_TRUE(object.ok()) << object.status();
      kernel.candidates.resize(1);
      code.object = *object;
    }
  };
}

} // namespace

void plantWrongCode(const std::string &from, const std::string &to) {
  spoilTextForTesting = [=](std::string &text) {
    absl::StrReplaceAll({{from, to}}, &text);
  };
}

void plantTransposedLibraries() {
  spoilCandidatesForTesting = [](MutableArrayRef<Kernel> kernels, ModuleOp) {
    for (Kernel &kernel : kernels)
      for (KernelImplementation &candidate : kernel.candidates)
        for (ImplementationStep &step : candidate.steps)
          if (step.call.has_matmul())
            step.call.mutable_matmul()->set_transpose_rhs(
                !step.call.matmul().transpose_rhs());
  };
}

void plantLaterCalls(int64_t count) {
  plantNegation(kCounting, kCountingCuda, count);
}

void plantStrayWrite(int64_t count) {
  plantNegation(kStraying, kStrayingCuda, count);
}

void removeFaults() {
  spoilTextForTesting = nullptr;
  spoilCandidatesForTesting = nullptr;
}

} // namespace aitune
