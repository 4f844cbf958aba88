#include "compiler/candidates/MeasurementWorker.h"

#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "compiler/candidates/BuildStamp.h"
#include "compiler/candidates/CpuTarget.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/candidates/KernelCompiler.h"
#include "compiler/candidates/LaunchModel.h"
#include "compiler/candidates/LimitMemory.h"
#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/measure/HostTensor.h"
#include "compiler/measure/KernelJudge.h"
#include "compiler/measure/Measure.h"
#include "compiler/measure/TestData.h"
#include "compiler/measure/worker.pb.h"
#include "compiler/pipelines/Pipelines.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "runtime/cpu/kernel_loader.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// Calls read or write until all bytes are through; false if they end before.
template <typename Data>
bool transferAll(ssize_t (*transfer)(int, Data *, size_t), int descriptor,
                 void *bytes, size_t size) {
  char *data = static_cast<char *>(bytes);
  while (size > 0) {
    const ssize_t count = transfer(descriptor, data, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    data += count;
    size -= count;
  }
  return true;
}

/// One kernel: its module with a launch of it, random constants, and the
/// schedules that were prepared.
class Subject {
public:
  absl::Status load(const WorkerKernel &request);
  absl::StatusOr<WorkerReply> prepare(const WorkerPrepare &request);
  absl::StatusOr<WorkerReply> measure(const WorkerMeasure &request);

private:
  void addConstant(RankedTensorType type);
  void addOtherWeights(int64_t bytes);
  std::string judgeLast();
  absl::StatusOr<std::unique_ptr<CpuExecutable>>
  loadAlone(const KernelImplementation &candidate);

  WorkerKernel description;
  std::optional<ScopedThreadCount> threads;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp kernel, wrapper;
  std::vector<ConstantTensor> constants;
  std::vector<ConstantTensor> otherWeights; ///< read between runs
  std::unique_ptr<KernelJudge> judge;
  std::vector<std::unique_ptr<CpuExecutable>> candidates; ///< null: failed
};

void Subject::addConstant(RankedTensorType type) {
  auto memory = std::make_shared<HostTensor>(TensorView{
      nullptr, *ait::toDataType(type.getElementType()), type.getShape().vec()});
  ConstantTensor constant;
  constant.view = memory->view();
  constant.owner = memory;
  std::mt19937 generator(constants.size() + 2);
  fillRandom(constant.view, generator);
  constants.push_back(std::move(constant));
}

void Subject::addOtherWeights(int64_t bytes) {
  auto memory = std::make_shared<HostTensor>(
      TensorView{nullptr, DataType::kUInt8, {bytes}});
  // Untouched pages would all be the one page of zeros.
  memory->fill(1);
  otherWeights.push_back({memory->view(), memory, /*name=*/""});
}

absl::Status Subject::load(const WorkerKernel &request) {
  description = request;
  if (request.memory_limit() > 0)
    limitMemory(request.memory_limit());
  if (request.threads() > 0)
    threads.emplace(request.threads());
  DialectRegistry dialects;
  registerCompilerDialects(dialects);
  context =
      std::make_unique<MLIRContext>(dialects, MLIRContext::Threading::DISABLED);
  module = parseSourceString<ModuleOp>(request.module(), context.get());
  if (!module)
    return absl::InvalidArgumentError("the kernel's text is no module");
  for (auto function : module->getOps<func::FuncOp>())
    if (ait::isKernel(function))
      kernel = function;
  if (!kernel)
    return absl::InvalidArgumentError(
        "the kernel's text has no function with the attribute ait.kind");

  OpBuilder builder(context.get());
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> inputs;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    if (ait::getKnownAt(kernel, i) != ait::KnownAt::Load)
      inputs.push_back(kernel.getArgumentTypes()[i]);
  wrapper = func::FuncOp::create(
      builder, kernel.getLoc(), "measured_launch",
      builder.getFunctionType(inputs, kernel.getResultTypes()));
  Block *body = wrapper.addEntryBlock();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> operands;
  unsigned argument = 0;
  std::vector<JudgedArgument> judged;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    if (ait::getKnownAt(kernel, i) != ait::KnownAt::Load) {
      judged.push_back({static_cast<int>(argument), {}});
      operands.push_back(body->getArgument(argument++));
      continue;
    }
    auto type = cast<RankedTensorType>(kernel.getArgumentTypes()[i]);
    operands.push_back(ait::ConstantOp::create(builder, kernel.getLoc(), type,
                                               constants.size(), ""));
    addConstant(type);
    judged.push_back({-1, constants.back().view});
  }
  if (request.evicted_bytes() > 0)
    addOtherWeights(request.evicted_bytes());
  judge = std::make_unique<KernelJudge>(kernel, std::move(judged),
                                        ReferenceOptions());
  auto launch =
      ait::LaunchOp::create(builder, kernel.getLoc(), kernel.getResultTypes(),
                            kernel.getSymName(), operands,
                            /*check_locations=*/ArrayAttr());
  func::ReturnOp::create(builder, kernel.getLoc(), launch->getResults());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CpuExecutable>>
Subject::loadAlone(const KernelImplementation &candidate) {
  AITUNE_ASSIGN_OR_RETURN(ExecutablePlan plan,
                          buildCandidatePlan(wrapper,
                                             ait::getModuleSymbols(*module),
                                             kernel.getSymName(), candidate));
  return loadOnCpu(plan, candidate.objects, constants);
}

absl::StatusOr<WorkerReply> Subject::prepare(const WorkerPrepare &request) {
  if (!module)
    return absl::FailedPreconditionError("no kernel was given");
  std::vector<std::string> texts;
  for (const std::string &config : request.configs()) {
    auto parsed =
        dyn_cast_or_null<DictionaryAttr>(parseAttribute(config, context.get()));
    if (!parsed)
      return absl::InvalidArgumentError(
          absl::StrCat("'", config, "' is no dictionary of parameters"));
    ait::setScheduleConfig(kernel, parsed);
    texts.push_back(moduleText(kernel, ait::getModuleSymbols(*module)));
  }
  KernelCompilerOptions options;
  options.emulateEagerCasts = description.emulate_eager_casts();
  options.target = description.target();
  const std::vector<absl::StatusOr<KernelImplementation>> outcomes =
      compileKernels(texts, options,
                     description.threads() > 0 ? description.threads()
                                               : ThreadCount(),
                     nullptr);
  WorkerReply reply;
  for (const absl::StatusOr<KernelImplementation> &compiled : outcomes) {
    absl::StatusOr<std::unique_ptr<CpuExecutable>> executable =
        compiled.ok() ? loadAlone(*compiled) : compiled.status();
    WorkerResult &result = *reply.add_results();
    result.set_microseconds(-1);
    if (!executable.ok())
      result.set_note(std::string(executable.status().message()));
    candidates.push_back(executable.ok() ? *std::move(executable) : nullptr);
    if (candidates.back())
      result.set_note(judgeLast());
    if (!result.note().empty())
      candidates.back() = nullptr;
  }
  return reply;
}

/// Why the last candidate is wrong; empty if it is right. Without a reference
/// the first one ever prepared stands for what is right.
std::string Subject::judgeLast() {
  std::vector<const CpuExecutable *> compared;
  if (candidates.front() && candidates.size() > 1 && !judge->status().ok())
    compared.push_back(candidates.front().get());
  compared.push_back(candidates.back().get());
  return measureCandidates(compared, {/*seconds=*/0}, judge.get()).back().note;
}

absl::StatusOr<WorkerReply> Subject::measure(const WorkerMeasure &request) {
  std::vector<const CpuExecutable *> measured;
  for (int candidate : request.candidates()) {
    if (candidate < 0 || static_cast<size_t>(candidate) >= candidates.size() ||
        !candidates[candidate])
      return absl::InvalidArgumentError(
          absl::StrCat("candidate ", candidate, " was not prepared"));
    measured.push_back(candidates[candidate].get());
  }
  WorkerReply reply;
  MeasureOptions options;
  options.seconds = request.seconds();
  options.evicting = otherWeights;
  for (const Measurement &measurement : measureCandidates(measured, options)) {
    WorkerResult &result = *reply.add_results();
    result.set_microseconds(measurement.microseconds);
    result.set_low(measurement.low);
    result.set_high(measurement.high);
    result.set_note(measurement.note);
  }
  return reply;
}

absl::StatusOr<WorkerReply> answer(const WorkerRequest &request,
                                   std::unique_ptr<Subject> &subject) {
  switch (request.what_case()) {
  case WorkerRequest::kKernel: {
    subject = std::make_unique<Subject>();
    if (request.kernel().build() != buildStamp())
      return absl::FailedPreconditionError(
          "the library or program that asks to measure is of another build "
          "than this program, which it started; install both together");
    AITUNE_RETURN_IF_ERROR(subject->load(request.kernel()));
    WorkerReply reply;
    reply.set_build(buildStamp());
    return reply;
  }
  case WorkerRequest::kPrepare:
  case WorkerRequest::kMeasure:
    if (!subject)
      return absl::FailedPreconditionError("no kernel was given");
    return request.has_prepare() ? subject->prepare(request.prepare())
                                 : subject->measure(request.measure());
  default:
    break;
  }
  return absl::InvalidArgumentError("no request to measure");
}

} // namespace

int serveMeasurements(int input, int output) {
  // A candidate that crashes is a result, not something to look into.
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::unique_ptr<Subject> subject;
  uint64_t size = 0;
  while (transferAll(read, input, &size, sizeof size)) {
    std::string bytes(size, '\0');
    WorkerRequest request;
    if (!transferAll(read, input, bytes.data(), size) ||
        !request.ParseFromString(bytes))
      return 1;
    absl::StatusOr<WorkerReply> reply = answer(request, subject);
    WorkerReply message;
    if (reply.ok())
      message = *std::move(reply);
    else
      message.set_error(std::string(reply.status().message()));
    bytes = message.SerializeAsString();
    size = bytes.size();
    if (!transferAll(write, output, &size, sizeof size) ||
        !transferAll(write, output, bytes.data(), bytes.size()))
      return 1;
  }
  return 0;
}

} // namespace aitune
