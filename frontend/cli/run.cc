#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/api/module.h"
#include "frontend/backends/compiled/version_check.h"
#include "frontend/check/dense_numbers.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/output_files.h"
#include "frontend/cli/thread_choice.h"
#include "frontend/torchscript/input_queries.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/bundle_signature.h"
#include "runtime/cpu/cpu_quota.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

// The first elements of each output, one line each.
constexpr int kShownElements = 6;

std::string DtypeText(const at::Tensor& tensor) {
  const std::optional<DataType> dtype =
      frontend::FromScalarType(tensor.scalar_type());
  return dtype ? std::string(Name(*dtype))
               : c10::toString(tensor.scalar_type());
}

std::string ValueText(const c10::IValue& value) {
  if (!value.isTensor()) {
    std::ostringstream text;
    text << value;
    return text.str();
  }
  const at::Tensor& tensor = value.toTensor();
  const at::Tensor numbers = frontend::DenseNumbers(tensor);
  const at::Tensor first =
      numbers.flatten().slice(0, 0, kShownElements).to(at::kDouble);
  std::vector<std::string> elements;
  for (int64_t i = 0; i < first.numel(); ++i) {
    elements.push_back(absl::StrFormat("%.6g", first[i].item<double>()));
  }
  if (numbers.numel() > first.numel()) elements.push_back("...");
  return absl::StrCat(tensor.layout() == at::kStrided
                          ? ""
                          : absl::StrCat(frontend::StorageText(tensor), " "),
                      DtypeText(tensor), frontend::SizesText(tensor), " ",
                      absl::StrJoin(elements, " "));
}

std::string OutputsText(const c10::IValue& result) {
  std::string text;
  for (const frontend::Leaf& leaf : frontend::Leaves(result)) {
    absl::StrAppend(&text, "output", leaf.path, " ", ValueText(*leaf.value),
                    "\n");
  }
  return text;
}

// All numbers of a tensor, without those that only fill a nested one up.
at::Tensor NumbersOf(const at::Tensor& tensor) {
  if (!tensor.is_nested())
    return frontend::DenseNumbers(tensor).flatten().to(at::kDouble);
  std::vector<at::Tensor> parts = {at::empty({0}, at::kDouble)};
  for (const at::Tensor& part : tensor.unbind())
    parts.push_back(NumbersOf(part));
  return at::cat(parts);
}

OutputInfo SummaryOf(const frontend::Leaf& leaf) {
  OutputInfo output;
  output.path = leaf.path;
  if (!leaf.value->isTensor()) {
    output.text = ValueText(*leaf.value);
    return output;
  }
  const at::Tensor& tensor = leaf.value->toTensor();
  output.dtype = DtypeText(tensor);
  output.layout = frontend::StorageText(tensor);
  output.sizes = frontend::SizesText(tensor);
  const at::Tensor numbers = NumbersOf(tensor);
  output.elements = numbers.numel();
  const at::Tensor finite = numbers.masked_select(numbers.isfinite());
  output.is_finite = finite.numel() == numbers.numel();
  if (finite.numel() == 0) return output;
  output.minimum = finite.min().item<double>();
  output.maximum = finite.max().item<double>();
  output.mean = finite.mean().item<double>();
  return output;
}

std::vector<OutputInfo> SummariesOf(const c10::IValue& result) {
  std::vector<OutputInfo> outputs;
  for (const frontend::Leaf& leaf : frontend::Leaves(result))
    outputs.push_back(SummaryOf(leaf));
  return outputs;
}

// One call of what `aitune deploy` saved.
absl::StatusOr<c10::IValue> RunCheckpoint(const Options& options,
                                          Progress& progress) {
  const std::string compiled =
      absl::StrCat(options.model, " was compiled before");
  AITUNE_RETURN_IF_ERROR(RefuseOptions(options, kCompilerOptions, compiled));
  AITUNE_RETURN_IF_ERROR(RefuseOptions(
      options,
      {"--dtype", "--tf32", "--disable", "--cache", "--no-cache", "--json"},
      compiled));
  AITUNE_RETURN_IF_ERROR(CheckOutputFiles(options));
  SetThreadCount(options.compile.threads, CpuQuota());
  AITUNE_RETURN_IF_ERROR(SubstituteOperators(options));
  std::optional<std::string> digest = options.digest;
  if (!options.verify.empty()) {
    AITUNE_ASSIGN_OR_RETURN(const std::string signed_digest,
                            VerifiedDigest(options.model, options.verify));
    if (digest && absl::AsciiStrToLower(*digest) != signed_digest)
      return absl::InvalidArgumentError(absl::StrCat(
          SignaturePath(options.model).string(), " is of the digest ",
          signed_digest, ", not of --digest ", *digest));
    digest = signed_digest;
  }
  progress.Update("load", 0, 0);
  AITUNE_ASSIGN_OR_RETURN(
      const std::unique_ptr<ait::Module> module,
      ait::Module::LoadCheckpoint(
          options.model, digest,
          options.given.count("--device") > 0 ? options.compile.device : ""));
  frontend::InputChoice choice;
  choice.specs = options.inputs;
  choice.samples_file = options.inputs_file;
  choice.model_file = options.model;
  AITUNE_ASSIGN_OR_RETURN(const frontend::ModelInputs inputs,
                          frontend::ChooseInputs(module->model(), choice));
  AITUNE_ASSIGN_OR_RETURN(const frontend::ValueList arguments,
                          frontend::TypicalArguments(inputs, options.seed));
  progress.Update("run", 0, 0);
  AITUNE_ASSIGN_OR_RETURN(c10::IValue result, module->Run(arguments));
  // The copy waits for what a GPU may have found.
  result = frontend::ToCpu(result);
  AITUNE_RETURN_IF_ERROR(module->TakeFailedCheck());
  progress.Finish();
  return result;
}

// Whether `compiled` gives what eager gives for this call; if not, it is built
// again without what is wrong. A warning says what is left.
bool IsRight(const Options& options, Subject& subject,
             const frontend::ValueList& arguments,
             frontend::CompiledModel& compiled) {
  frontend::VersionCheck check{
      subject.model,
      [&]() -> absl::StatusOr<std::shared_ptr<const frontend::Model>> {
        AITUNE_RETURN_IF_ERROR(LoadPeer(options, subject));
        return std::shared_ptr<const frontend::Model>(
            std::shared_ptr<const frontend::Model>(), &subject.peer());
      },
      subject.device};
  check.unchecked_indices = options.compile.uncheckedIndices;
  check.bound = options.accuracy_bound;
  std::string problem;
  const absl::Status compared = frontend::CatchExceptions(
      absl::StatusCode::kInternal, "comparing with eager",
      [&]() -> absl::Status {
        AITUNE_ASSIGN_OR_RETURN(
            problem, frontend::CheckVersion(check,
                                            subject.device.is_gpu()
                                                ? frontend::ToCpu(arguments)
                                                : arguments,
                                            compiled));
        return absl::OkStatus();
      });
  if (!compared.ok())
    Log(LogChannel::kWarning,
        absl::StrCat(options.model,
                     ": this call can't be compared with eager: ",
                     std::string(compared.message())));
  if (!problem.empty())
    Log(LogChannel::kWarning,
        absl::StrCat(options.model,
                     ": LibTorch runs this call, as the compiled model differs "
                     "from eager: ",
                     problem));
  return problem.empty();
}

// One call of the model of `subject`: compiled, or where that is not right by
// LibTorch.
absl::StatusOr<c10::IValue> RunOnce(const Options& options, Subject& subject,
                                    frontend::CompiledModel& compiled,
                                    Progress& progress) {
  AITUNE_ASSIGN_OR_RETURN(const frontend::ValueList arguments,
                          TypicalCall(options, subject));
  progress.Update("compare with eager", 0, 0);
  const bool is_shared = compiled.WritesSharedMemory(arguments);
  if (is_shared)
    Log(LogChannel::kWarning,
        absl::StrCat(options.model,
                     ": LibTorch runs this call, as arguments share memory and "
                     "the program writes to one of them"));
  const bool is_right =
      !is_shared && IsRight(options, subject, arguments, compiled);
  progress.Update("run", 0, 0);
  absl::StatusOr<c10::IValue> result =
      is_right ? compiled.Run(arguments) : subject.peer().RunEager(arguments);
  progress.Finish();
  if (!result.ok() || !subject.device.is_gpu()) return result;
  // The copy waits for what the GPU may have found.
  result = frontend::ToCpu(*result);
  AITUNE_RETURN_IF_ERROR(compiled.TakeFailedCheck());
  return result;
}

// kInvalidArgument if the program would see of the samples what compiled code
// does not know, such as their strides.
absl::Status CheckSamples(const Subject& subject) {
  if (!subject.inputs.samples) return absl::OkStatus();
  return frontend::CheckQueries(frontend::FindInputQueries(subject.model),
                                *subject.inputs.samples);
}

absl::StatusOr<c10::IValue> RunByLibTorch(const Options& options,
                                          Subject& subject,
                                          Progress& progress) {
  AITUNE_RETURN_IF_ERROR(LoadPeer(options, subject));
  AITUNE_ASSIGN_OR_RETURN(const frontend::ValueList arguments,
                          TypicalCall(options, subject));
  progress.Update("run", 0, 0);
  AITUNE_ASSIGN_OR_RETURN(const c10::IValue result,
                          subject.peer().RunEager(arguments));
  progress.Finish();
  return frontend::ToCpu(result);
}

// Saves or prints a result; with --json as a part of `report`.
absl::Status GiveOut(const Options& options, const c10::IValue& result,
                     const std::function<Report()>& report) {
  if (!options.output_file.empty())
    AITUNE_RETURN_IF_ERROR(SaveResult("--output", options.output_file, result));
  if (!options.json.empty()) {
    Report whole = report();
    whole.outputs = SummariesOf(result);
    return Publish(options, whole, OutputsText(result));
  }
  if (options.output_file.empty())
    std::cout << OutputsText(result) << std::flush;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> Run(const Options& options, Progress& progress) {
  if (IsBundle(options.model)) {
    AITUNE_ASSIGN_OR_RETURN(const c10::IValue result,
                            RunCheckpoint(options, progress));
    if (options.output_file.empty()) {
      std::cout << OutputsText(result) << std::flush;
      return kSuccess;
    }
    AITUNE_RETURN_IF_ERROR(SaveResult("--output", options.output_file, result));
    return kSuccess;
  }
  if (options.digest)
    return absl::InvalidArgumentError(absl::StrCat(
        options.model,
        " is not what deploy saved, and has no digest; leave --digest out"));
  if (!options.verify.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        options.model,
        " is not what deploy saved, and is not signed; leave --verify out"));
  AITUNE_ASSIGN_OR_RETURN(Subject subject, LoadSubject(options, progress));
  if (const absl::Status seen = CheckSamples(subject); !seen.ok()) {
    Log(LogChannel::kWarning,
        absl::StrCat(options.model, ": LibTorch runs this call: ",
                     std::string(seen.message())));
    AITUNE_ASSIGN_OR_RETURN(const c10::IValue result,
                            RunByLibTorch(options, subject, progress));
    AITUNE_RETURN_IF_ERROR(GiveOut(options, result, [&] {
      Report report = StartReport(options, subject);
      report.memory.reset();  // nothing was compiled
      return report;
    }));
    return kSuccess;
  }
  AITUNE_ASSIGN_OR_RETURN(auto compiled,
                          BuildSubject(options, subject, progress));
  AITUNE_ASSIGN_OR_RETURN(const c10::IValue result,
                          RunOnce(options, subject, *compiled, progress));
  AITUNE_RETURN_IF_ERROR(GiveOut(options, result, [&] {
    return StartReport(options, subject, *compiled);
  }));
  return kSuccess;
}

}  // namespace aitune::cli
