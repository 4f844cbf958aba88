#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/cli/report.h"
#include "frontend/cli/table.h"

namespace aitune::cli {
namespace {

// The left column of the summary.
constexpr int kIndent = 11;

std::string Line(const std::string& label, const std::string& text) {
  return absl::StrFormat("%-*s%s\n", kIndent, label, text);
}

std::string Megabytes(int64_t bytes) {
  return absl::StrFormat("%.*f MB", bytes < (10 << 20) ? 1 : 0,
                         bytes / 1048576.0);
}

// "8.18 GFLOP", "512 FLOP".
std::string FlopText(double flops) {
  const char* units[] = {"", "K", "M", "G", "T", "P"};
  int unit = 0;
  while (flops >= 1000 && unit < 5) {
    flops /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.3g %sFLOP", flops, units[unit]);
}

std::string ErrorText(double error) {
  return error == 0 ? "0" : absl::StrFormat("%.1e", error);
}

// Also of what a call leaves of an argument ("[argument 1 after the call][0]").
std::string OutputName(const std::string& path) {
  const size_t end = path.find(']');
  if (absl::StartsWith(path, "[argument "))
    return absl::StrCat(path.substr(1, end - 1), path.substr(end + 1));
  return path.empty() ? "output" : "output" + path;
}

std::string CoverageText(const frontend::Coverage& coverage,
                         const std::optional<double>& time_share) {
  std::string shares;
  if (coverage.flops > 0) {
    shares = absl::StrCat(", ", Percent(coverage.FlopShare()), " of ",
                          FlopText(coverage.flops), " of contractions");
    if (coverage.uncounted > 0)
      absl::StrAppend(&shares, " whose sizes are known");
  }
  if (coverage.uncounted > 0)
    absl::StrAppend(&shares, ", none of ", coverage.uncounted,
                    " contractions of unknown sizes");
  if (time_share)
    absl::StrAppend(&shares, ", ", Percent(*time_share), " of the time");
  std::string text = Line(
      "compiled", absl::StrFormat("%d of %d operators%s", coverage.compiled_ops,
                                  coverage.ops, shares));
  if (coverage.fallbacks.empty()) return text;
  Table table({">calls", ">FLOP", "LibTorch runs", "why", "first at"});
  for (const frontend::FallbackGroup& group : coverage.fallbacks) {
    table.AddRow({absl::StrCat(group.count),
                  group.flops > 0       ? Percent(group.flops / coverage.flops)
                  : group.uncounted > 0 ? "?"
                                        : "-",
                  group.op, group.reason, group.location});
  }
  return text + table.ToString(kIndent);
}

// Empty where LibTorch runs no control flow.
std::string OutlinedText(const std::vector<frontend::OutlinedReport>& outlined,
                         int64_t eager_parts) {
  if (outlined.empty()) return "";
  int compiled = 0, ops = 0, compiled_ops = 0;
  Table table({"not compiled", "why"});
  for (const frontend::OutlinedReport& part : outlined) {
    compiled += part.versions > 0;
    ops += part.ops;
    compiled_ops += part.compiled_ops;
    if (part.versions == 0) table.AddRow({part.place, part.why_not});
  }
  std::string text = Line(
      "parts", absl::StrFormat("of this, %d of %d parts are compiled, with %d "
                               "of their %d operators",
                               compiled, static_cast<int>(outlined.size()),
                               compiled_ops, ops));
  if (eager_parts > 0)
    text += Line("", absl::StrFormat("%d runs of these were LibTorch's, for "
                                     "inputs that no version is right for",
                                     eager_parts));
  return text + (table.empty() ? "" : table.ToString(kIndent));
}

std::string CompileText(const CompileInfo& compile) {
  // Phases by their order of appearance; a phase may come back.
  std::vector<std::pair<std::string, double>> phases;
  for (const auto& [name, seconds] : compile.phase_seconds) {
    const std::string& wanted = name;
    auto found = std::find_if(
        phases.begin(), phases.end(),
        [&wanted](const auto& phase) { return phase.first == wanted; });
    if (found == phases.end()) found = phases.insert(found, {name, 0});
    found->second += seconds;
  }
  return Line(
      "kernels",
      absl::StrFormat(
          "%d, of which %d distinct; built in %.1f s (%s)", compile.kernels,
          compile.unique_kernels, compile.TotalSeconds(),
          absl::StrJoin(phases, ", ", [](std::string* out, const auto& phase) {
            absl::StrAppendFormat(out, "%s %.1f", phase.first, phase.second);
          })));
}

// Empty when no quantisation was asked for.
std::string QuantizationText(const std::vector<QuantizedLayer>& layers) {
  int quantized = 0;
  double least = INFINITY, elements = 0;
  std::set<std::string> schemes;
  for (const QuantizedLayer& layer : layers) {
    if (!layer.refusal.empty()) continue;
    ++quantized;
    schemes.insert(layer.scheme);
    least = std::min(least, layer.weightSqnr);
    elements += static_cast<double>(layer.k) * layer.n;
  }
  if (layers.empty()) return "";
  std::string text =
      Line("quantised",
           absl::StrFormat(
               "%d of %d linear layers, %.1f million weights%s", quantized,
               layers.size(), elements / 1e6,
               quantized == 0
                   ? ""
                   : absl::StrFormat(", %s, at least %.1f dB",
                                     absl::StrJoin(schemes, " and "), least)));
  Table table({"left alone", "K x N", "why"});
  for (const QuantizedLayer& layer : layers) {
    if (!layer.refusal.empty())
      table.AddRow(
          {layer.layer, absl::StrCat(layer.k, "x", layer.n), layer.refusal});
  }
  return text + (table.empty() ? "" : table.ToString(kIndent));
}

// What kernels were judged by, and what was wrong and is replaced. Empty when
// nothing was judged.
std::string JudgementText(const CompileInfo& compile) {
  const ReferenceReport& reference = compile.reference;
  std::string text;
  if (reference.judged + reference.withoutReference > 0) {
    text += Line(
        "judged",
        absl::StrFormat("%d distinct kernels by the reference in %.1f s%s",
                        reference.judged, reference.seconds,
                        reference.withoutReference == 0
                            ? ""
                            : absl::StrFormat(", %d have none",
                                              reference.withoutReference)));
  }
  Table table({"wrong", "of kernel", "replaced by", "how"});
  for (const WrongCandidate& wrong : compile.wrong) {
    table.AddRow(
        {wrong.candidate, wrong.kernel, wrong.replacement, wrong.reason});
  }
  return text + (table.empty() ? "" : table.ToString(kIndent));
}

// Empty when LibTorch was faster nowhere.
std::string LibTorchText(const std::vector<LibTorchWin>& wins) {
  if (wins.empty()) return "";
  double share = 0;
  for (const LibTorchWin& win : wins) share += win.share;
  return Line("LibTorch",
              absl::StrFormat("was faster for %d distinct kernel%s, which took "
                              "%.0f %% of the kernels' time",
                              static_cast<int>(wins.size()),
                              wins.size() == 1 ? "" : "s", 100 * share));
}

// A text about the use of the on-disk cache, and the numbers of compilations
// and measurements in this process.
std::string CacheText(const CompileInfo& compile) {
  const frontend::CacheReport& cache = compile.cache;
  std::string text = frontend::Name(cache.outcome);
  if (!cache.detail.empty()) absl::StrAppend(&text, " (", cache.detail, ")");
  if (cache.stored) absl::StrAppend(&text, ", stored");
  const CompileCounts& counts = compile.counts;
  absl::StrAppend(&text, "; this process compiled ", counts.kernels,
                  " kernels and measured candidates of ", counts.measurements);
  if (!cache.key.empty())
    absl::StrAppend(&text, "; key ", cache.key.substr(0, 12));
  return Line("cache", text);
}

// Empty when no schedule was searched or taken from a database.
std::string TuningText(const TuningResult& tuning) {
  std::string text;
  if (tuning.reused > 0) {
    text += Line("tuning", absl::StrFormat("%d schedules from the database",
                                           tuning.reused));
  }
  double before = 0, after = 0;
  int measured = 0, known = 0, failed = 0;
  for (const TunedKernel& kernel : tuning.kernels) {
    measured += kernel.measured;
    known += kernel.known;
    failed += kernel.failed;
    if (kernel.microseconds < 0 || kernel.defaultMicroseconds < 0) continue;
    before += kernel.launches * kernel.defaultMicroseconds / 1e3;
    after += kernel.launches * kernel.microseconds / 1e3;
  }
  if (!tuning.kernels.empty()) {
    text += Line(
        "tuning",
        absl::StrFormat(
            "%d measurements of %d kernels in %.1f s (%d known before, %d "
            "failed); their time %.3f -> %.3f ms (%.2fx)",
            measured, static_cast<int>(tuning.kernels.size()), tuning.seconds,
            known, failed, before, after, before / std::max(after, 1e-9)));
  }
  if (!tuning.note.empty()) {
    text += Line("", absl::StrCat("search ended: ", tuning.note));
  }
  return text;
}

std::string CheckText(const frontend::CheckReport& check) {
  int failed = 0;
  std::vector<std::string> compared;  // names of cases
  std::string notes;
  for (const frontend::CaseResult& result : check.cases) {
    if (!result.skipped && result.both_raise.empty())
      compared.push_back(result.name);
    failed += !result.agrees();
    if (!result.both_raise.empty()) {
      notes += Line("", absl::StrCat(result.name, ": eager raises, and ours: ",
                                     result.both_raise));
    }
    if (!result.note.empty()) {
      notes += Line(
          "", absl::StrCat(
                  result.name,
                  result.skipped ? " skipped, " : " failed: ", result.note));
    }
    if (result.own_nans_of_eager > 0) {
      notes += Line(
          "", absl::StrFormat(
                  "%s: eager spreads NaN to %d elements that do not depend on "
                  "it (a weight 0 times NaN or an infinity); ours were "
                  "compared with eager "
                  "without NaN",
                  result.name, result.own_nans_of_eager));
    }
    if (result.plain_attention) {
      notes += Line("", absl::StrCat(result.name,
                                     ": eager's fused attention and its plain "
                                     "one differ; compared with the latter"));
    }
    if (result.in_bfloat16) {
      notes += Line("", absl::StrCat(result.name,
                                     ": float16 overflows in eager; compared "
                                     "with eager in bfloat16"));
    }
    if (result.in_tf32) {
      notes += Line("", absl::StrCat(result.name,
                                     ": as near to the reference as eager with "
                                     "operands rounded to tf32 (--tf32)"));
    }
    if (result.as_on_cpu) {
      notes += Line("", absl::StrCat(result.name,
                                     ": eager gives something else on a CPU; "
                                     "compared with that"));
    }
    if (result.ill_conditioned) {
      notes += Line("", absl::StrCat(result.name,
                                     ": ill-conditioned: eager itself differs "
                                     "about as much with other roundings"));
    }
    for (const frontend::Comparison& output : result.outputs) {
      if (output.excused > 0)
        notes += Line(
            "", absl::StrFormat("%s: %s differs in %d integers, which eager "
                                "changes itself when it rounds otherwise",
                                result.name, OutputName(output.output),
                                output.excused));
      if (output.agrees) continue;
      notes +=
          Line("", absl::StrCat(result.name, ": ", OutputName(output.output),
                                " ", output.problem));
    }
  }
  std::string repairs;
  for (const frontend::RepairAttempt& repair : check.repairs) {
    repairs += Line(
        repairs.empty() ? "repaired" : "",
        absl::StrCat(repair.problem, "; built again with ", repair.failed, ": ",
                     !repair.error.empty() ? repair.error
                     : repair.replaced ? "what was wrong is replaced (see the "
                                         "tables of kernels and layers)"
                                       : "no kernel was found wrong"));
  }
  std::string text =
      repairs +
      Line("checked",
           failed > 0 ? absl::StrFormat("DIFFERS from eager on %d of %d inputs",
                                        failed, check.cases.size())
           : compared.empty() ? "no input could be compared with eager"
           : !check.compared()
               ? "no input of finite numbers could be compared with eager"
               : absl::StrFormat("agrees with eager on %d inputs (%s)",
                                 compared.size(),
                                 absl::StrJoin(compared, ", ")));
  Table table({"output", "type", ">max error", ">allowed", "worst input",
               "to float32/64: ours, eager's"});
  for (const frontend::OutputSummary& output : check.outputs) {
    const frontend::Comparison& worst = output.worst;
    std::string reference;
    if (worst.our_reference_error) {
      reference =
          absl::StrCat(ErrorText(*worst.our_reference_error), ", ",
                       ErrorText(*worst.eager_reference_error), " (rms ",
                       ErrorText(*worst.our_reference_rms), ", ",
                       ErrorText(*worst.eager_reference_rms), ")");
    }
    table.AddRow({OutputName(output.output), output.type,
                  ErrorText(worst.max_error),
                  worst.cosine ? absl::StrFormat("cosine %.6f", *worst.cosine)
                               : ErrorText(worst.limits.relative),
                  output.worst_case, reference});
  }
  if (!table.empty()) text += table.ToString(kIndent);
  text += notes;
  if (!check.no_reference.empty()) {
    text +=
        Line("", absl::StrCat("no run in higher precision to compare with: ",
                              check.no_reference));
  }
  return text;
}

std::string TimingText(const std::vector<TimingRow>& rows,
                       const ModelInfo& model) {
  std::string text = Line(
      "speed", absl::StrFormat(
                   "%d calls in turn, %d thread%s%s", rows.front().time.rounds,
                   model.threads, model.threads == 1 ? "" : "s",
                   !model.cpu_quota ? ""
                                    : absl::StrFormat(", a quota of %.4g CPUs",
                                                      *model.cpu_quota)));
  Table table({"", ">median ms", ">p99 ms", "95 % interval", ">ours is"});
  const TimingSummary& ours = rows.front().time;
  for (const TimingRow& row : rows) {
    if (!row.failure.empty()) continue;
    std::string ratio;
    if (&row != &rows.front() && ours.median > 0) {
      ratio = absl::StrFormat("%.2fx", row.time.median / ours.median);
    }
    table.AddRow({row.name, absl::StrFormat("%.3f", row.time.median),
                  absl::StrFormat("%.3f", row.time.p99),
                  absl::StrFormat("%.3f .. %.3f", row.time.median_low,
                                  row.time.median_high),
                  ratio});
  }
  text += table.ToString(kIndent);
  for (const TimingRow& row : rows) {
    if (row.failure.empty()) continue;
    text +=
        Line("", absl::StrCat(row.name, " failed: ",
                              row.failure.substr(0, row.failure.find('\n'))));
  }
  return text;
}

std::string GpuText(const GpuInfo& gpu) {
  return Line("gpu", absl::StrCat("cuda:", gpu.ordinal, ", ",
                                  Megabytes(gpu.memory), " of its memory, ",
                                  gpu.graph_reason.empty()
                                      ? "each call is one CUDA graph"
                                      : gpu.graph_reason));
}

// On a GPU the executable's memory is not this machine's.
std::string MemoryText(const MemoryInfo& memory, int64_t weight_bytes,
                       bool on_gpu) {
  const int64_t added = memory.peak_compiling - memory.before_model;
  std::string ratio;
  // Beside a few weights it says nothing: everything else is more.
  if (weight_bytes >= 1'000'000) {
    ratio = absl::StrFormat(" (%.1fx the weights)",
                            static_cast<double>(added) / weight_bytes);
  }
  return Line(
      "memory",
      absl::StrCat("weights ", Megabytes(weight_bytes),
                   on_gpu ? ""
                          : absl::StrCat(", arena and packed weights ",
                                         Megabytes(memory.executable)),
                   ", peak ", Megabytes(added), ratio, " beside LibTorch's ",
                   Megabytes(memory.before_model)));
}

}  // namespace

std::string SummaryText(const Report& report) {
  std::string text = Line(
      "model", absl::StrCat(report.model.file, ": ", report.model.signature));
  if (!report.model.inputs.empty()) {
    text +=
        Line("inputs", absl::StrCat(absl::StrJoin(report.model.inputs, ", "),
                                    " (", report.model.inputs_source, ")"));
  }
  return text + BuildText(report);
}

std::string BuildText(const Report& report) {
  std::string text;
  if (report.coverage)
    text += CoverageText(*report.coverage, report.compiled_time_share) +
            OutlinedText(report.outlined, report.eager_parts);
  if (report.compile) {
    text += CompileText(*report.compile) +
            LibTorchText(report.compile->libtorch_wins) +
            JudgementText(*report.compile) +
            QuantizationText(report.compile->quantized_layers) +
            TuningText(report.compile->tuning) + CacheText(*report.compile);
  }
  if (report.check) text += CheckText(*report.check);
  if (!report.timing.empty()) {
    text += TimingText(report.timing, report.model);
  }
  if (!report.timed_sizes.empty())
    text += Line("timed", absl::StrCat(report.timed_sizes,
                                       ", as eager refuses the largest sizes"));
  if (report.memory) {
    text += MemoryText(*report.memory, report.model.weight_bytes,
                       report.gpu.has_value());
  }
  if (report.gpu) text += GpuText(*report.gpu);
  return text;
}

}  // namespace aitune::cli
