// The tables of `--explain` and of `inspect`.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/cli/report.h"
#include "frontend/cli/table.h"

namespace aitune::cli {
namespace {

// Empty for what was not measured.
std::string Microseconds(double time) {
  return time < 0 ? "" : absl::StrFormat("%.1f", time);
}

std::string Milliseconds(double microseconds) {
  return absl::StrFormat("%.3f", microseconds / 1e3);
}

std::string GigaflopRate(const StepTime& step) {
  if (step.flops <= 0 || step.microseconds <= 0) return "";
  return absl::StrFormat("%.1f", step.flops / step.microseconds / 1e3);
}

}  // namespace

std::string ExplainText(const Report& report) {
  std::string text;
  if (!report.compile) return text;
  if (!report.compile->notes.empty()) {
    text += "\nTrace\n";
    for (const std::string& note : report.compile->notes) {
      absl::StrAppend(&text, "  ", note, "\n");
    }
  }
  if (!report.compile->rejections.empty()) {
    text += "\nNot done, and why\n";
    // Equal rejections are printed once, with their number.
    std::map<std::tuple<std::string, std::string, std::string>, int> counts;
    for (const Rejection& r : report.compile->rejections) {
      ++counts[{r.phase, r.subject, r.reason}];
    }
    Table table({"phase", ">times", "what", "why"});
    for (const auto& [key, count] : counts) {
      table.AddRow({std::get<0>(key), absl::StrCat(count), std::get<1>(key),
                    std::get<2>(key)});
    }
    text += table.ToString();
  }
  if (!report.compile->quantized_layers.empty()) {
    text += "\nQuantised layers\n";
    Table table({"layer", ">K x N", "scheme", ">us", ">quantised us", ">ratio",
                 ">weight dB", ">result dB", "why not"});
    for (const QuantizedLayer& layer : report.compile->quantized_layers) {
      table.AddRow(
          {layer.layer, absl::StrCat(layer.k, "x", layer.n),
           layer.refusal.empty() ? layer.scheme : "-",
           Microseconds(layer.microseconds),
           Microseconds(layer.quantizedMicroseconds),
           layer.microseconds < 0
               ? ""
               : absl::StrFormat(
                     "%.2f", layer.microseconds / layer.quantizedMicroseconds),
           layer.weightSqnr == 0 ? ""
                                 : absl::StrFormat("%.1f", layer.weightSqnr),
           std::isnan(layer.sqnr) ? "" : absl::StrFormat("%.1f", layer.sqnr),
           layer.refusal});
    }
    text += table.ToString();
  }
  if (!report.compile->libtorch_wins.empty()) {
    text += "\nFaster in LibTorch\n";
    Table table({"kernels", ">times", ">us", ">LibTorch's us", ">share"});
    for (const LibTorchWin& win : report.compile->libtorch_wins) {
      table.AddRow(
          {win.kernels, absl::StrCat(win.times), Microseconds(win.microseconds),
           Microseconds(win.libtorchMicroseconds), Percent(win.share)});
    }
    text += table.ToString();
  }
  if (!report.compile->candidates.empty()) {
    text += "\nKernel candidates\n";
    Table table({"kernel", "candidate", ">us", "", "note"});
    for (const CandidateResult& c : report.compile->candidates) {
      table.AddRow({c.kernel, c.candidate,
                    c.microseconds < 0
                        ? "failed"
                        : absl::StrFormat("%.1f", c.microseconds),
                    c.chosen ? "chosen" : "", c.note});
    }
    text += table.ToString();
  }
  return text;
}

std::string StepsText(const Report& report, int top) {
  std::vector<const StepTime*> steps;
  double total = 0;
  struct Kind {
    int count = 0;
    double microseconds = 0, flops = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const StepTime& step : report.steps) {
    steps.push_back(&step);
    total += step.microseconds;
    Kind& kind = kinds[absl::StrCat(step.kind, " (", step.implementation, ")")];
    ++kind.count;
    kind.microseconds += step.microseconds;
    kind.flops += step.flops;
  }
  std::sort(steps.begin(), steps.end(),
            [](const StepTime* a, const StepTime* b) {
              return a->microseconds > b->microseconds;
            });
  const size_t shown =
      top > 0 ? std::min<size_t>(top, steps.size()) : steps.size();
  auto share = [total](double microseconds) {
    return total > 0 ? absl::StrFormat("%.1f %%", 100 * microseconds / total)
                     : "";
  };
  Table table({">ms", ">share", ">GFLOP/s", "kind", "by", "step", "from"});
  for (size_t i = 0; i < shown; ++i) {
    const StepTime& step = *steps[i];
    table.AddRow({Milliseconds(step.microseconds), share(step.microseconds),
                  GigaflopRate(step), step.kind, step.implementation, step.name,
                  step.location});
  }
  std::string text =
      absl::StrFormat("\nSteps by time (%d of %d, %.3f ms in all)\n", shown,
                      steps.size(), total / 1e3) +
      table.ToString();
  Table by_kind({">ms", ">share", ">GFLOP/s", ">steps", "kind"});
  for (const auto& [name, kind] : kinds) {
    StepTime row;
    row.microseconds = kind.microseconds;
    row.flops = kind.flops;
    by_kind.AddRow({Milliseconds(kind.microseconds), share(kind.microseconds),
                    GigaflopRate(row), absl::StrCat(kind.count), name});
  }
  return text + "\nBy kind\n" + by_kind.ToString();
}

}  // namespace aitune::cli
