// Code for all kernels, and every other way there is to run each.
#include "absl/strings/str_cat.h"
#include "compiler/candidates/LibraryCalls.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/KernelBenchmark.h"
#include "compiler/plan/Provenance.h"

using namespace mlir;

namespace aitune {
namespace {

/// After a kernel's name, that of its code with the default schedule.
constexpr char kDefault[] = " with the default schedule";

/// Whether `value` is computed from constants alone, so that a plan computes it
/// once.
bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<ait::ConstantOp, ait::ReshapeOp, ait::LaunchOp>(op) ||
      !cast<RankedTensorType>(value.getType()).hasStaticShape())
    return false;
  return llvm::all_of(op->getOperands(),
                      [](Value operand) { return isConstant(operand); });
}

} // namespace

void Compilation::dumpBenchmark(func::FuncOp function,
                                const CompiledKernel &compiled) const {
  const Dump folder(options.dumpDirectory,
                    "kernels/" + function.getSymName().str());
  if (folder.enabled() && options.compileTo == CompilePhase::Executable)
    folder.write("benchmark.cc",
                 writeKernelBenchmark(function, compiled, symbols()));
}

void Compilation::addLibraryCandidate(
    Kernel &kernel, const std::map<std::string, CompiledKernel> &compiled) {
  LibraryMatch &match = *kernel.library;
  const int inputs = kernel.function.getNumArguments();
  KernelImplementation implementation;
  implementation.name = "onednn";
  ImplementationStep call;
  call.call = match.call;
  call.inputs = match.arguments;
  call.outputs = {inputs};
  if (match.rest) {
    auto it = compiled.find(match.rest.getSymName().str());
    if (it == compiled.end())
      return;
    dumpBenchmark(match.rest, it->second);
    const int temporary = inputs + kernel.function.getNumResults();
    implementation.temporaries.push_back(match.resultType);
    call.outputs = {temporary};
    KernelImplementation rest = generatedImplementation(match.rest, it->second);
    ImplementationStep &step = rest.steps.front();
    step.call.set_kind("loop");
    for (int &input : step.inputs)
      input = match.restArguments[input] < 0 ? temporary
                                             : match.restArguments[input];
    for (size_t i = 0; i < step.outputs.size(); ++i)
      step.outputs[i] = inputs + i;
    implementation.steps.push_back(std::move(step));
    implementation.objects = std::move(rest.objects);
  }
  implementation.steps.insert(implementation.steps.begin(), std::move(call));
  kernel.candidates.push_back(std::move(implementation));
}

/// A schedule from the database that the generator no longer takes costs the
/// default one's speed, not the kernel. outcomes[i] may belong to a library's
/// leftover, which has no schedule.
void Compilation::retryWithDefaultSchedules(
    const std::vector<std::string> &names,
    std::vector<absl::StatusOr<CompiledKernel>> &outcomes) {
  for (size_t i = 0; i < names.size(); ++i) {
    auto function = module.lookupSymbol<func::FuncOp>(names[i]);
    if (!function) // compiled with the default schedule
      continue;
    auto config = function->getAttrOfType<DictionaryAttr>("ait.config");
    if (outcomes[i].ok() || !config || config.empty())
      continue;
    result.rejections.push_back(
        {"tuning", names[i], std::string(outcomes[i].status().message())});
    function->setAttr("ait.config", DictionaryAttr::get(module.getContext()));
    outcomes[i] =
        compileKernel(moduleText(function, symbols()), kernelOptions());
  }
}

absl::Status Compilation::generateCode() {
  // The library's leftovers are kernels too, compiled beside the others.
  std::vector<std::string> texts, names;
  auto add = [&](func::FuncOp function) {
    names.push_back(function.getSymName().str());
    texts.push_back(moduleText(function, symbols()));
  };
  for (Kernel &kernel : kernels) {
    add(kernel.function);
    if (!kernel.defaultConfig.empty()) {
      // Under the same name: the two are never in one plan.
      OwningOpRef<func::FuncOp> copy(kernel.function.clone());
      (*copy)->removeAttr("ait.config");
      names.push_back(kernel.function.getSymName().str() + kDefault);
      texts.push_back(moduleText(*copy, symbols()));
    }
    kernel.library = matchLibraryCall(kernel.function, kernel.libraryFailure);
    if (kernel.library && kernel.library->call.has_convolution() &&
        !llvm::all_of(kernel.launches, [&](ait::LaunchOp launch) {
          return isConstant(launch.getInputs()[kernel.library->arguments[1]]);
        })) {
      kernel.libraryFailure =
          "the filter is no constant, which oneDNN has no fast code for";
      if (kernel.library->rest)
        kernel.library->rest.erase();
      kernel.library.reset();
    }
    if (kernel.library && kernel.library->rest)
      add(kernel.library->rest);
    for (int cut : kernel.cuts)
      if (FailureOr<CutKernel> parts = cutKernel(kernel.function, cut);
          succeeded(parts)) {
        add(parts->first.function);
        add(parts->second.function);
        kernel.parts.push_back(*std::move(parts));
      }
  }
  compileCounters().kernels += texts.size();
  std::vector<absl::StatusOr<CompiledKernel>> outcomes;
  {
    const PhaseTimer timer(result, "code generation");
    outcomes = compileKernels(texts, kernelOptions(), threads(), [&](int done) {
      report("generating code", done, static_cast<int>(texts.size()));
    });
  }

  std::map<std::string, CompiledKernel> compiled;
  std::map<std::string, std::string> failures;
  retryWithDefaultSchedules(names, outcomes);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (outcomes[i].ok()) {
      absl::StrAppend(&result.ir, outcomes[i]->ir);
      compiled.emplace(names[i], *std::move(outcomes[i]));
    } else {
      failures.emplace(names[i], std::string(outcomes[i].status().message()));
    }
  }
  for (Kernel &kernel : kernels) {
    const std::string name = kernel.function.getSymName().str();
    if (auto it = compiled.find(name); it != compiled.end()) {
      kernel.candidates.push_back(
          generatedImplementation(kernel.function, it->second));
      kernel.candidates.back().isSearched = !kernel.defaultConfig.empty();
      dumpBenchmark(kernel.function, it->second);
    } else {
      result.rejections.push_back({"code generation", name, failures[name]});
    }
    if (auto it = compiled.find(name + kDefault); it != compiled.end()) {
      kernel.candidates.push_back(
          generatedImplementation(kernel.function, it->second));
      kernel.candidates.back().name = "generated, default schedule";
    }
    if (kernel.library)
      addLibraryCandidate(kernel, compiled);
    else if (kernel.function->getAttrOfType<StringAttr>("ait.kind")
                 .getValue() != "loop")
      result.rejections.push_back({"library", name, kernel.libraryFailure});
    for (CutKernel &parts : kernel.parts) {
      auto first = compiled.find(parts.first.function.getSymName().str());
      auto second = compiled.find(parts.second.function.getSymName().str());
      if (first != compiled.end() && second != compiled.end()) {
        kernel.candidates.push_back(
            cutImplementation(parts, first->second, second->second));
        kernel.candidates.back().isSearched = true;
      }
    }
    if (kernel.candidates.empty())
      result.failures.push_back(
          {name, failures[name], traceOps(kernel.function, kernel.launches)});
  }
  return absl::OkStatus();
}

} // namespace aitune
