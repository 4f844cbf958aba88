#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <iostream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/output_files.h"
#include "frontend/session/gpu.h"
#include "frontend/session/pytree.h"

namespace aitune::cli {
namespace {

// The first elements of each output, one line each.
constexpr int kShownElements = 6;

std::string ValueText(const c10::IValue& value) {
  if (!value.isTensor()) {
    std::ostringstream text;
    text << value;
    return text.str();
  }
  const at::Tensor& tensor = value.toTensor();
  at::Tensor first =
      tensor.flatten().slice(0, 0, kShownElements).to(at::kDouble);
  std::vector<std::string> elements;
  for (int64_t i = 0; i < first.numel(); ++i) {
    elements.push_back(absl::StrFormat("%.6g", first[i].item<double>()));
  }
  if (tensor.numel() > first.numel()) elements.push_back("...");
  return absl::StrCat(c10::toString(tensor.scalar_type()), "[",
                      absl::StrJoin(tensor.sizes(), ","), "] ",
                      absl::StrJoin(elements, " "));
}

absl::Status Save(const std::string& path, const c10::IValue& value) {
  std::vector<char> bytes;
  try {
    bytes = torch::jit::pickle_save(value);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--output ", path, ": the result cannot be saved: ", error.what()));
  }
  return WriteOutputFile("--output", path,
                         absl::string_view(bytes.data(), bytes.size()));
}

}  // namespace

absl::StatusOr<int> Run(const Options& options, Progress& progress) {
  absl::StatusOr<Subject> subject = LoadSubject(options, progress);
  if (!subject.ok()) return subject.status();
  auto compiled = BuildSubject(options, *subject, progress);
  if (!compiled.ok()) return compiled.status();
  absl::StatusOr<frontend::ValueList> arguments =
      TypicalCall(options, *subject);
  if (!arguments.ok()) return arguments.status();
  progress.Update("run", 0, 0);
  absl::StatusOr<c10::IValue> result = (*compiled)->Run(*arguments);
  progress.Finish();
  if (!result.ok()) return result.status();
  if (subject->gpu >= 0) result = frontend::ToCpu(*result);

  if (!options.output_file.empty()) {
    absl::Status saved = Save(options.output_file, *result);
    if (!saved.ok()) return saved;
  }
  std::string outputs;
  for (const frontend::Leaf& leaf : frontend::Leaves(*result)) {
    absl::StrAppend(&outputs, "output", leaf.path, " ", ValueText(*leaf.value),
                    "\n");
  }
  if (!options.json.empty()) {
    absl::StatusOr<Report> report = StartReport(options, *subject, **compiled);
    if (!report.ok()) return report.status();
    absl::Status published = Publish(options, *report, outputs);
    if (!published.ok()) return published;
  } else if (options.output_file.empty()) {
    std::cout << outputs << std::flush;
  }
  return kSuccess;
}

}  // namespace aitune::cli
