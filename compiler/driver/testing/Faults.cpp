#include "compiler/driver/testing/Faults.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/candidates/GenerateCandidates.h"
#include "compiler/candidates/KernelCompiler.h"
#include "compiler/codegen/cpu/llvm/EmitObject.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/Parser/Parser.h"
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

/// Gives kernels of one negation of `count` floats the code `text`.
void plantNegation(const std::string &text, int64_t count) {
  spoilCandidatesForTesting = [=](MutableArrayRef<Kernel> kernels, ModuleOp) {
    for (Kernel &kernel : kernels) {
      auto negations = func::FuncOp(kernel.function).getOps<ait::NegOp>();
      if (negations.empty() ||
          cast<RankedTensorType>((*negations.begin()).getType())
                  .getNumElements() != count)
        continue;
      KernelObject &code = kernel.candidates[0].objects[0];
      DialectRegistry dialects;
      registerCompilerDialects(dialects);
      registerTranslations(dialects);
      MLIRContext context(dialects);
      auto module = parseSourceString<ModuleOp>(
          absl::StrReplaceAll(
              text, {{"SYMBOL", code.symbol}, {"COUNT", absl::StrCat(count)}}),
          &context);
      ASSERT_TRUE(module);
      FailureOr<std::string> object = emitObject(*module, *findTarget(""));
      ASSERT_TRUE(succeeded(object));
      code.object = *object;
    }
  };
}

} // namespace

void plantWrongCode(const std::string &from, const std::string &to) {
  spoilCandidatesForTesting = [=](MutableArrayRef<Kernel> kernels,
                                  ModuleOp module) {
    for (Kernel &kernel : kernels) {
      const std::string text =
          moduleText(kernel.function, ait::getModuleSymbols(module));
      const std::string spoilt = absl::StrReplaceAll(text, {{from, to}});
      if (spoilt == text)
        continue;
      absl::StatusOr<KernelImplementation> code = compileKernel(spoilt, {});
      ASSERT_TRUE(code.ok()) << code.status();
      for (KernelImplementation &candidate : kernel.candidates)
        if (candidate.name == "generated") {
          code->description = candidate.description;
          candidate = *code;
        }
    }
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

void plantLaterCalls(int64_t count) { plantNegation(kCounting, count); }

void plantStrayWrite(int64_t count) { plantNegation(kStraying, count); }

void removeFaults() { spoilCandidatesForTesting = nullptr; }

} // namespace aitune
