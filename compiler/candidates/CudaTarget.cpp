#include "compiler/candidates/CudaCandidates.h"

#include <atomic>
#include <map>
#include <mutex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/gpu/Generate.h"
#include "compiler/codegen/gpu/target/Nvrtc.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/support/Dump.h"
#include "compiler/support/Parallel.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/cuda/library_call.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr int kConvolutionAlgorithms = 4;
/// Of a convolution alone. Beyond the first none was seen to win.
constexpr int kBareConvolutionAlgorithms = 1;

/// A generated candidate without types of the context it was made in.
struct TextCandidate {
  std::string description, text;
  std::vector<GeneratedStep> steps;
  std::vector<std::string> temporaries;
};

using TextCandidates = absl::StatusOr<std::vector<TextCandidate>>;

bool isConvolution(func::FuncOp function) {
  return !function.getOps<ait::ConvolutionOp>().empty();
}

TextCandidates generateText(const std::string &module, GpuTarget target,
                            const CudaCandidateOptions &options) {
  DialectRegistry dialects;
  registerCompilerDialects(dialects);
  MLIRContext context(dialects, MLIRContext::Threading::DISABLED);
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      absl::StrAppend(&errors, errors.empty() ? "" : "; ", diagnostic.str());
    return success();
  });
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(module, &context);
  if (!parsed)
    return absl::InternalError(absl::StrCat("reading the kernel: ", errors));
  const Dump dump(
      options.dumpDirectory,
      "kernels/" +
          (*parsed->getOps<func::FuncOp>().begin()).getSymName().str());
  dump.write("0-ait.mlir", *parsed);
  target.allowTf32 = llvm::any_of(parsed->getOps<func::FuncOp>(), isConvolution)
                         ? options.tf32Convolution
                         : options.tf32Matmul;
  PassManager passes(&context);
  buildKernelToLinalgPipeline(passes, options.emulateEagerCasts);
  if (failed(passes.run(*parsed)))
    return absl::InternalError(absl::StrCat("lowering to linalg: ", errors));
  dump.write("1-linalg.mlir", *parsed);
  func::FuncOp kernel;
  for (auto function : parsed->getOps<func::FuncOp>())
    if (function->hasAttr("ait.kind"))
      kernel = function;
  if (!kernel)
    return absl::InternalError("lowering to linalg left no kernel");
  auto generated = generateCuda(
      kernel, (*parsed)->getAttrOfType<ArrayAttr>("ait.symbols"), target);
  if (!generated.ok())
    return generated.status();
  std::vector<TextCandidate> candidates;
  for (GeneratedCandidate &candidate : *generated) {
    dump.write(
        absl::StrCat("2-candidate-", candidates.size(), ".cu"),
        absl::StrCat("// ", candidate.description, "\n", candidate.text));
    TextCandidate text{std::move(candidate.description),
                       std::move(candidate.text),
                       std::move(candidate.steps),
                       {}};
    for (RankedTensorType type : candidate.temporaries) {
      std::string printed;
      llvm::raw_string_ostream(printed) << type;
      text.temporaries.push_back(std::move(printed));
    }
    candidates.push_back(std::move(text));
  }
  return candidates;
}

class Generator {
public:
  Generator(ModuleOp module, const GpuTarget &target,
            const CudaCandidateOptions &options)
      : module(module), context(module.getContext()), target(target),
        options(options) {}

  void add(func::FuncOp function) {
    names.push_back(function.getSymName().str());
    texts.push_back(
        moduleText(function, module->getAttrOfType<ArrayAttr>("ait.symbols")));
  }

  /// `hasMatmulCalls`: of a library, which options.meanwhile loads.
  void run(bool hasMatmulCalls);
  const TextCandidates &candidates(func::FuncOp function) const {
    return generated.at(function.getSymName().str());
  }
  const absl::StatusOr<std::string> &
  cubin(const TextCandidate &candidate) const {
    return cubins.at(candidate.text);
  }

  /// A candidate's steps; its temporaries are appended to those of
  /// `implementation`. Operand i < operands.size() is operands[i].
  absl::Status append(const TextCandidate &candidate,
                      const std::vector<int> &operands, int firstTemporary,
                      KernelImplementation &implementation) const;

private:
  void report(const char *phase, std::atomic<int> &done, size_t total) {
    std::lock_guard<std::mutex> lock(progressMutex);
    if (options.progress)
      options.progress(phase, ++done, static_cast<int>(total));
  }

  ModuleOp module;
  MLIRContext *context;
  const GpuTarget &target;
  const CudaCandidateOptions &options;
  std::vector<std::string> names, texts;
  std::map<std::string, TextCandidates> generated;
  std::map<std::string, absl::StatusOr<std::string>> cubins; // by text
  std::mutex progressMutex;
};

void Generator::run(bool hasMatmulCalls) {
  std::vector<TextCandidates> outcomes(texts.size(),
                                       absl::UnknownError("not generated"));
  std::atomic<int> done{0};
  inParallel(texts.size(), options.threads, [&](size_t i) {
    outcomes[i] = generateText(texts[i], target, options);
    report("generating code", done, texts.size());
  });
  std::vector<std::pair<const std::string, absl::StatusOr<std::string>> *> work;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (outcomes[i].ok())
      for (const TextCandidate &candidate : *outcomes[i])
        if (auto [it, inserted] = cubins.try_emplace(
                candidate.text, absl::UnknownError("not compiled"));
            inserted)
          work.push_back(&*it);
    generated.emplace(names[i], std::move(outcomes[i]));
  }
  done = 0;
  const size_t calls = options.meanwhile && hasMatmulCalls ? 1 : 0;
  inParallel(calls + work.size(), options.threads, [&](size_t i) {
    if (i < calls)
      return options.meanwhile();
    auto &[text, cubin] = *work[i - calls];
    cubin = compileToCubin(text, target);
    report("compiling kernels", done, work.size());
  });
}

absl::Status Generator::append(const TextCandidate &candidate,
                               const std::vector<int> &operands,
                               int firstTemporary,
                               KernelImplementation &implementation) const {
  const absl::StatusOr<std::string> &code = cubin(candidate);
  if (!code.ok())
    return code.status();
  for (const std::string &text : candidate.temporaries) {
    auto type = dyn_cast_or_null<RankedTensorType>(parseType(text, context));
    if (!type)
      return absl::InternalError(
          absl::StrCat("a temporary's type cannot be read: ", text));
    implementation.temporaries.push_back(type);
  }
  auto number = [&](int operand) {
    const int known = static_cast<int>(operands.size());
    return operand < known ? operands[operand]
                           : firstTemporary + operand - known;
  };
  for (const GeneratedStep &step : candidate.steps) {
    ImplementationStep result;
    for (int input : step.inputs)
      result.inputs.push_back(number(input));
    for (int output : step.outputs)
      result.outputs.push_back(number(output));
    *result.call.mutable_cuda_kernel() = step.launch;
    result.call.mutable_checks()->Add(step.checks.begin(), step.checks.end());
    result.packings = step.packings;
    implementation.steps.push_back(std::move(result));
  }
  implementation.objects.push_back({candidate.steps.back().symbol, *code});
  return absl::OkStatus();
}

/// What a library computes of a kernel, and how much of it.
struct CudaLibraryMatch {
  Kernel *kernel;
  LibraryMatch match;
};

/// The library with as many post-operations as it takes and, since cuDNN has
/// its fastest algorithms for the bare convolution, with none. The bare one is
/// first: what follows it is ours, which the others are compared with.
void matchLibraries(Kernel &kernel, const CudaCandidateOptions &options,
                    std::vector<CudaLibraryMatch> &matches) {
  const bool convolution = isConvolution(kernel.function);
  LibraryRules rules;
  if (convolution) {
    rules.rejectPostOps = [](absl::Span<const PostOp *const>) {
      return std::string("none wanted");
    };
    rules.restSuffix = "_epilogue";
    if (auto bare =
            matchLibraryCall(kernel.function, kernel.libraryFailure, rules))
      matches.push_back({&kernel, std::move(*bare)});
    rules = LibraryRules();
  }
  rules.rejectPostOps =
      convolution ? cuda::RejectConvolutionPostOps : cuda::RejectMatmulPostOps;
  rules.wideColumnFactors = convolution && !options.emulateEagerCasts;
  rules.clampsKeepNan = convolution;
  auto most = matchLibraryCall(kernel.function, kernel.libraryFailure, rules);
  if (most && (!convolution || most->call.convolution().post_ops_size() > 0))
    matches.push_back({&kernel, std::move(*most)});
}

absl::Status addLibraryCandidates(const CudaLibraryMatch &found,
                                  const CudaCandidateOptions &options,
                                  const Generator &generator) {
  Kernel &kernel = *found.kernel;
  const LibraryMatch &match = found.match;
  const int inputs = kernel.function.getNumArguments();
  const int temporary = inputs + kernel.function.getNumResults();
  KernelImplementation implementation;
  ImplementationStep call;
  call.call = match.call;
  call.inputs = match.arguments;
  call.outputs = {inputs};
  const bool convolution = match.call.has_convolution();
  implementation.name = convolution ? "cudnn" : "cublaslt";
  if (convolution)
    call.call.mutable_convolution()->set_allow_tf32(options.tf32Convolution);
  else
    call.call.mutable_matmul()->set_allow_tf32(options.tf32Matmul);
  const int postOps = convolution ? match.call.convolution().post_ops_size()
                                  : match.call.matmul().post_ops_size();
  if (convolution &&
      kernel.function.getArgAttr(match.arguments[1], "ait.constant")) {
    // Panels of one output channel: the order of a channels-last filter.
    call.packings.resize(2);
    call.packings[1].set_kind(PackingProto::CONVOLUTION_PANELS);
    call.packings[1].set_block_n(1);
  }
  implementation.steps.push_back(call);
  if (func::FuncOp rest = match.rest) {
    const TextCandidates &candidates = generator.candidates(rest);
    if (!candidates.ok())
      return candidates.status();
    implementation.steps.front().outputs = {temporary};
    implementation.temporaries.push_back(match.resultType);
    std::vector<int> operands;
    for (int argument : match.restArguments)
      operands.push_back(argument < 0 ? temporary : argument);
    for (unsigned i = 0; i < kernel.function.getNumResults(); ++i)
      operands.push_back(inputs + i);
    if (absl::Status status = generator.append(candidates->front(), operands,
                                               temporary + 1, implementation);
        !status.ok())
      return status;
    for (size_t i = 1; i < implementation.steps.size(); ++i)
      implementation.steps[i].call.set_kind("loop");
  }
  // Each algorithm is a candidate; the library says which there are.
  // cuDNN compiles some of them, and its list starts with the best.
  const int algorithms = !convolution  ? cuda::kMostAlgorithms
                         : postOps > 0 ? kConvolutionAlgorithms
                                       : kBareConvolutionAlgorithms;
  for (int algorithm = 0; algorithm < algorithms; ++algorithm) {
    KernelImplementation candidate = implementation;
    Step &step = candidate.steps.front().call;
    if (convolution)
      step.mutable_convolution()->set_algorithm(algorithm);
    else
      step.mutable_matmul()->set_algorithm(algorithm);
    candidate.description =
        absl::StrCat("algorithm ", algorithm, ", ", postOps, " fused");
    kernel.candidates.push_back(std::move(candidate));
  }
  return absl::OkStatus();
}

void addGeneratedCandidates(Kernel &kernel, const Generator &generator,
                            CompileResult &result) {
  const std::string name = kernel.function.getSymName().str();
  const TextCandidates &candidates = generator.candidates(kernel.function);
  if (!candidates.ok()) {
    kernel.generatedFailure = std::string(candidates.status().message());
    result.rejections.push_back(
        {"code generation", name, kernel.generatedFailure});
    return;
  }
  const int operandCount =
      kernel.function.getNumArguments() + kernel.function.getNumResults();
  std::vector<int> operands(operandCount);
  for (int i = 0; i < operandCount; ++i)
    operands[i] = i;
  for (const TextCandidate &text : *candidates) {
    KernelImplementation implementation;
    implementation.name = "generated";
    implementation.description = text.description;
    if (absl::Status status =
            generator.append(text, operands, operandCount, implementation);
        !status.ok()) {
      kernel.generatedFailure = std::string(status.message());
      result.rejections.push_back(
          {"code generation", absl::StrCat(name, " (", text.description, ")"),
           kernel.generatedFailure});
      continue;
    }
    kernel.candidates.push_back(std::move(implementation));
  }
}

} // namespace

absl::StatusOr<int> cudaOrdinal(const std::string &device) {
  int ordinal = 0;
  if (device == "cuda" || (device.rfind("cuda:", 0) == 0 &&
                           absl::SimpleAtoi(device.substr(5), &ordinal)))
    return ordinal;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown device '", device,
                   "'; known are cpu, cuda and cuda:N for the GPU number N"));
}

void addCudaCandidates(MutableArrayRef<Kernel> kernels, ModuleOp module,
                       const GpuTarget &target,
                       const CudaCandidateOptions &options,
                       CompileResult &result) {
  Generator generator(module, target, options);
  std::vector<CudaLibraryMatch> matches;
  for (Kernel &kernel : kernels) {
    generator.add(kernel.function);
    matchLibraries(kernel, options, matches);
  }
  for (CudaLibraryMatch &match : matches)
    if (match.match.rest)
      generator.add(match.match.rest);
  generator.run(llvm::any_of(matches, [](const CudaLibraryMatch &match) {
    return match.match.call.has_matmul();
  }));
  for (Kernel &kernel : kernels)
    addGeneratedCandidates(kernel, generator, result);
  for (const CudaLibraryMatch &match : matches)
    if (absl::Status status = addLibraryCandidates(match, options, generator);
        !status.ok())
      result.rejections.push_back({"library",
                                   match.kernel->function.getSymName().str(),
                                   std::string(status.message())});
  for (Kernel &kernel : kernels)
    if (!kernel.libraryFailure.empty() &&
        kernel.function->getAttrOfType<StringAttr>("ait.kind").getValue() !=
            "loop")
      result.rejections.push_back({"library",
                                   kernel.function.getSymName().str(),
                                   kernel.libraryFailure});
}

} // namespace aitune
