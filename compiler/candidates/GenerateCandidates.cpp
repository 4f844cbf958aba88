#include "compiler/candidates/GenerateCandidates.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "compiler/candidates/SpoilForTesting.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/fusion/KernelFunction.h"
#include "compiler/fusion/KernelGraph.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/plan/Provenance.h"

using namespace mlir;

namespace aitune {
namespace {

/// A way to run a kernel: the jobs that generate its code, and the library call
/// or the cut that it consists of.
struct CandidateRequest {
  Kernel *kernel;
  /// Positions among the jobs: one job, two for a cut, none if a library runs
  /// the whole kernel.
  SmallVector<size_t, 2> jobs;
  const LibraryRules *library = nullptr; ///< null: code alone
  LibraryMatch match = {}; ///< the call of `library`, if that is set
  /// Position among the kernel's parts; -1: it is not cut.
  int part = -1;
  /// The name of an algorithm that is not the default; empty: the default.
  std::string algorithm = {};
};

class CandidateGenerator {
public:
  CandidateGenerator(MutableArrayRef<Kernel> kernels, ModuleOp module,
                     CompilationTarget &target, CompileResult &result)
      : kernels(kernels), module(module), target(target), result(result) {}

  void request(size_t number);
  void generate();
  void assemble();
  size_t generated() const { return jobs.size(); }

private:
  using Purpose = CodeJob::Purpose;

  size_t add(Purpose purpose, size_t kernel, func::FuncOp function);
  void requestLibraries(size_t number);
  void requestCuts(size_t number);
  void retryWithDefaultSchedules();
  void addGenerated(const CandidateRequest &request);
  void addLibrary(const CandidateRequest &request);
  void addCut(const CandidateRequest &request);
  /// The most promising code of a job; null if it has none, and the failure is
  /// then recorded in `kernel`.
  const KernelImplementation *codeOf(size_t job, Kernel &kernel);
  std::string textOf(func::FuncOp function) const {
    return moduleText(function, ait::getModuleSymbols(module));
  }
  static std::string nameOf(const Kernel &kernel) {
    return func::FuncOp(kernel.function).getSymName().str();
  }

  MutableArrayRef<Kernel> kernels;
  ModuleOp module;
  CompilationTarget &target;
  CompileResult &result;
  std::vector<CodeJob> jobs;
  std::vector<GeneratedCode> outcomes; ///< what each job gave
  std::vector<CandidateRequest> requests;
  /// Libraries that have candidates, each once.
  SmallVector<const LibraryRules *> libraries;
};

size_t CandidateGenerator::add(Purpose purpose, size_t kernel,
                               func::FuncOp function) {
  jobs.push_back({purpose, kernel, function, textOf(function)});
  return jobs.size() - 1;
}

void CandidateGenerator::request(size_t number) {
  Kernel &kernel = kernels[number];
  requests.push_back(
      {&kernel, {add(Purpose::Kernel, number, kernel.function)}});
  if (!kernel.defaultConfig.empty()) {
    // Under the same name: the two are never in one plan.
    OwningOpRef<func::FuncOp> copy(kernel.function.clone());
    ait::removeScheduleConfig(*copy);
    jobs.push_back(
        {Purpose::DefaultSchedule, number, kernel.function, textOf(*copy)});
    requests.push_back({&kernel, {jobs.size() - 1}});
  }
  for (const OtherAlgorithm &other : target.otherAlgorithms(kernel.function)) {
    OwningOpRef<func::FuncOp> copy(kernel.function.clone());
    copy->setSymName((copy->getSymName() + "." + other.name).str());
    ait::setScheduleConfig(*copy, other.config);
    jobs.push_back(
        {Purpose::OtherAlgorithm, number, kernel.function, textOf(*copy)});
    requests.push_back({&kernel, {jobs.size() - 1}});
    requests.back().algorithm = other.name;
  }
  requestLibraries(number);
  requestCuts(number);
}

void CandidateGenerator::requestLibraries(size_t number) {
  Kernel &kernel = kernels[number];
  for (const LibraryRules *library : target.libraries(kernel.function)) {
    absl::StatusOr<LibraryMatch> match =
        matchLibraryCall(kernel.function, *library);
    if (!match.ok()) {
      result.rejections.push_back(
          {"library", nameOf(kernel), std::string(match.status().message())});
      continue;
    }
    CandidateRequest request{&kernel, {}};
    if (match->rest)
      request.jobs.push_back(add(Purpose::LibraryRest, number, match->rest));
    request.library = library;
    request.match = *std::move(match);
    requests.push_back(std::move(request));
    if (!llvm::is_contained(libraries, library))
      libraries.push_back(library);
  }
}

void CandidateGenerator::requestCuts(size_t number) {
  Kernel &kernel = kernels[number];
  for (int cut : kernel.cuts) {
    FailureOr<CutKernel> parts = cutKernel(kernel.function, cut);
    if (failed(parts))
      continue;
    CandidateRequest request{&kernel, {}};
    for (const CutKernel::Part *part : {&parts->first, &parts->second})
      request.jobs.push_back(add(Purpose::CutPart, number, part->function));
    request.part = static_cast<int>(kernel.parts.size());
    requests.push_back(std::move(request));
    kernel.parts.push_back(*std::move(parts));
  }
}

void CandidateGenerator::generate() {
  if (spoilTextForTesting)
    for (CodeJob &job : jobs)
      if (job.purpose == Purpose::Kernel)
        spoilTextForTesting(job.text);
  outcomes = target.generate(jobs, libraries);
  retryWithDefaultSchedules();
}

/// A schedule from the database that the generator no longer takes costs the
/// default one's speed, not the kernel.
void CandidateGenerator::retryWithDefaultSchedules() {
  std::vector<CodeJob> again;
  std::vector<size_t> positions;
  for (auto [position, job] : llvm::enumerate(jobs)) {
    const DictionaryAttr config = ait::getScheduleConfig(job.function);
    if (job.purpose != Purpose::Kernel || !config || config.empty() ||
        llvm::any_of(outcomes[position],
                     [](const auto &code) { return code.ok(); }))
      continue;
    result.rejections.push_back(
        {"tuning", job.function.getSymName().str(),
         std::string(outcomes[position].front().status().message())});
    ait::setScheduleConfig(job.function,
                           DictionaryAttr::get(module.getContext()));
    job.text = textOf(job.function);
    again.push_back(job);
    positions.push_back(position);
  }
  if (again.empty())
    return;
  std::vector<GeneratedCode> replacements = target.generate(again, {});
  for (auto [position, replacement] : llvm::zip_equal(positions, replacements))
    outcomes[position] = std::move(replacement);
}

const KernelImplementation *CandidateGenerator::codeOf(size_t job,
                                                       Kernel &kernel) {
  for (const absl::StatusOr<KernelImplementation> &code : outcomes[job])
    if (code.ok())
      return &*code;
  kernel.failure.Update(outcomes[job].front().status());
  return nullptr;
}

void CandidateGenerator::addGenerated(const CandidateRequest &request) {
  Kernel &kernel = *request.kernel;
  const Purpose purpose = jobs[request.jobs.front()].purpose;
  for (absl::StatusOr<KernelImplementation> &code :
       outcomes[request.jobs.front()]) {
    if (!code.ok()) {
      if (purpose != Purpose::OtherAlgorithm)
        kernel.failure.Update(code.status());
      result.rejections.push_back({"code generation", nameOf(kernel),
                                   std::string(code.status().message())});
      continue;
    }
    kernel.candidates.push_back(*std::move(code));
    KernelImplementation &candidate = kernel.candidates.back();
    // Others say themselves what they are, such as a GPU's tiles.
    if (!request.algorithm.empty())
      candidate.description = request.algorithm;
    if (purpose == Purpose::DefaultSchedule)
      candidate.name = "generated, default schedule";
    else if (purpose == Purpose::Kernel)
      candidate.isSearched = !kernel.defaultConfig.empty();
  }
}

void CandidateGenerator::addLibrary(const CandidateRequest &request) {
  Kernel &kernel = *request.kernel;
  const LibraryMatch &match = request.match;
  const int inputs = kernel.function.getNumArguments();
  const int operandCount = inputs + kernel.function.getNumResults();
  KernelImplementation implementation;
  ImplementationStep call;
  call.call = match.call;
  call.inputs = match.arguments;
  call.outputs = {match.rest ? operandCount : inputs};
  implementation.steps.push_back(std::move(call));
  if (match.rest) {
    const KernelImplementation *rest = codeOf(request.jobs.front(), kernel);
    if (!rest) {
      result.rejections.push_back(
          {"library", nameOf(kernel),
           std::string(
               outcomes[request.jobs.front()].front().status().message())});
      return;
    }
    implementation.temporaries.push_back(toProto(match.resultType));
    std::vector<int> operands;
    for (int argument : match.restArguments)
      operands.push_back(argument < 0 ? operandCount : argument);
    for (int result = inputs; result < operandCount; ++result)
      operands.push_back(result);
    appendSteps(*rest, operands, operandCount, implementation);
    for (ImplementationStep &step : llvm::drop_begin(implementation.steps))
      step.call.set_kind("loop");
  }
  llvm::append_range(
      kernel.candidates,
      request.library->listCandidates(implementation, match, kernel.function));
}

void CandidateGenerator::addCut(const CandidateRequest &request) {
  Kernel &kernel = *request.kernel;
  const CutKernel &parts = kernel.parts[request.part];
  const KernelImplementation *first = codeOf(request.jobs[0], kernel),
                             *second = codeOf(request.jobs[1], kernel);
  if (!first || !second)
    return;
  const int operandCount =
      kernel.function.getNumArguments() + kernel.function.getNumResults();
  KernelImplementation implementation;
  Operation *next =
      &*llvm::find_if(func::FuncOp(parts.second.function).getBody().front(),
                      [](Operation &op) { return !isRecomputed(&op); });
  implementation.name = ("cut before " + next->getName().stripDialect()).str();
  implementation.cut = parts.cut;
  implementation.isSearched = true;
  for (RankedTensorType type : parts.temporaries)
    implementation.temporaries.push_back(toProto(type));
  auto append = [&](const KernelImplementation &code,
                    const CutKernel::Part &part) {
    SmallVector<int> operands(part.inputs);
    llvm::append_range(operands, part.outputs);
    appendSteps(code, operands, operandCount, implementation);
  };
  append(*first, parts.first);
  const size_t firstSteps = implementation.steps.size();
  append(*second, parts.second);
  for (ImplementationStep &step :
       llvm::drop_begin(implementation.steps, firstSteps))
    step.call.set_kind("loop");
  kernel.candidates.push_back(std::move(implementation));
}

void CandidateGenerator::assemble() {
  for (const CandidateRequest &request : requests) {
    if (request.library)
      addLibrary(request);
    else if (request.part >= 0)
      addCut(request);
    else
      addGenerated(request);
  }
  for (Kernel &kernel : kernels)
    if (kernel.candidates.empty() && !kernel.launches.empty())
      result.failures.push_back({nameOf(kernel),
                                 std::string(kernel.failure.message()),
                                 traceOps(kernel.function, kernel.launches)});
}

} // namespace

size_t generateCandidates(MutableArrayRef<Kernel> kernels, ModuleOp module,
                          CompilationTarget &target, CompileResult &result) {
  CandidateGenerator generator(kernels, module, target, result);
  for (size_t number = 0; number < kernels.size(); ++number)
    generator.request(number);
  generator.generate();
  generator.assemble();
  if (spoilCandidatesForTesting)
    spoilCandidatesForTesting(kernels, module);
  return generator.generated();
}

std::function<void(std::string &)> spoilTextForTesting;
std::function<void(MutableArrayRef<Kernel>, ModuleOp)>
    spoilCandidatesForTesting;

} // namespace aitune
