// Prints the trace of a TorchScript file: print_trace MODEL.pt [INPUT...] with
// inputs as in input_spec.h, or one .pt file of sample inputs; the model's
// recorded inputs if there are none.
#include <cstdlib>
#include <iostream>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/build_trace.h"

namespace {

using aitune::frontend::BuildTrace;

absl::StatusOr<aitune::frontend::Trace> TraceFile(int argc, char** argv) {
  auto model = aitune::frontend::Model::Load(argv[1]);
  if (!model.ok()) return model.status();
  std::cout << model->Signature() << "\n";
  const aitune::frontend::TraceOptions options;
  if (argc == 3 && absl::EndsWith(argv[2], ".pt")) {
    auto samples = aitune::frontend::LoadSamples(argv[2]);
    if (!samples.ok()) return samples.status();
    return BuildTrace(*model, *samples, options);
  }
  if (argc == 2) {
    const auto samples = model->RecordedInputs();
    if (!samples)
      return absl::InvalidArgumentError("the file has no recorded inputs");
    return BuildTrace(*model, *samples, options);
  }
  std::vector<aitune::frontend::InputSpec> specs;
  for (int i = 2; i < argc; ++i) {
    auto spec = aitune::frontend::ParseInputSpec(argv[i]);
    if (!spec.ok()) return spec.status();
    specs.push_back(*std::move(spec));
  }
  return BuildTrace(*model, specs, options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: print_trace MODEL.pt [INPUT...]\n";
    return 2;
  }
  const absl::Time start = absl::Now();
  const auto trace = TraceFile(argc, argv);
  if (!trace.ok()) {
    std::cerr << trace.status() << "\n";
    return 1;
  }
  std::cout << aitune::frontend::PrintTrace(*trace);
  std::map<std::string, int> histogram;
  for (const auto& op : trace->ops) {
    ++histogram[absl::StrCat(
        op.name, op.overload.empty() ? "" : ".", op.overload,
        op.must_fall_back.empty() ? ""
                                  : " (LibTorch: " + op.must_fall_back + ")")];
  }
  for (const auto& [name, count] : histogram)
    std::cout << count << " " << name << "\n";
  for (const std::string& note : trace->notes)
    std::cout << "note: " << note << "\n";
  std::cout << trace->ops.size() << " operators, " << trace->constants.size()
            << " constants in " << absl::FormatDuration(absl::Now() - start)
            << "\n";
  return 0;
}
