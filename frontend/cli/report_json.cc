#include "frontend/cli/report.h"

namespace aitune::cli {
namespace {

using nlohmann::json;

json ToJson(const frontend::Coverage& coverage) {
  json fallbacks = json::array();
  for (const frontend::FallbackGroup& group : coverage.fallbacks) {
    fallbacks.push_back({{"op", group.op},
                         {"reason", group.reason},
                         {"location", group.location},
                         {"count", group.count},
                         {"flops", group.flops},
                         {"uncounted_contractions", group.uncounted}});
  }
  return {{"ops", coverage.ops},
          {"compiled_ops", coverage.compiled_ops},
          {"op_share", coverage.OpShare()},
          {"flops", coverage.flops},
          {"compiled_flops", coverage.compiled_flops},
          {"flop_share", coverage.FlopShare()},
          {"uncounted_contractions", coverage.uncounted},
          {"fallbacks", fallbacks}};
}

json ToJson(const frontend::Comparison& comparison) {
  json object = {{"output", comparison.output},
                 {"agrees", comparison.agrees},
                 {"max_error", comparison.max_error},
                 {"tolerance", comparison.limits.relative}};
  if (comparison.our_reference_error) {
    object["our_reference_error"] = *comparison.our_reference_error;
    object["eager_reference_error"] = *comparison.eager_reference_error;
    object["our_reference_rms"] = *comparison.our_reference_rms;
    object["eager_reference_rms"] = *comparison.eager_reference_rms;
  }
  if (comparison.cosine) object["cosine"] = *comparison.cosine;
  if (comparison.excused > 0) object["excused"] = comparison.excused;
  if (!comparison.problem.empty()) object["problem"] = comparison.problem;
  return object;
}

json ToJson(const frontend::CheckReport& check) {
  json cases = json::array(), outputs = json::array();
  for (const frontend::CaseResult& result : check.cases) {
    json comparisons = json::array();
    for (const auto& output : result.outputs) {
      comparisons.push_back(ToJson(output));
    }
    json object = {{"name", result.name},
                   {"agrees", result.agrees()},
                   {"skipped", result.skipped},
                   {"outputs", comparisons}};
    if (!result.note.empty()) object["note"] = result.note;
    if (!result.both_raise.empty()) object["both_raise"] = result.both_raise;
    if (result.own_nans_of_eager > 0) {
      object["own_nans_of_eager"] = result.own_nans_of_eager;
    }
    if (result.plain_attention) object["plain_attention"] = true;
    if (result.in_bfloat16) object["in_bfloat16"] = true;
    if (result.in_tf32) object["in_tf32"] = true;
    if (result.as_on_cpu) object["as_on_cpu"] = true;
    if (result.ill_conditioned) object["ill_conditioned"] = true;
    cases.push_back(object);
  }
  for (const frontend::OutputSummary& output : check.outputs) {
    json object = ToJson(output.worst);
    object["type"] = output.type;
    object["worst_case"] = output.worst_case;
    outputs.push_back(object);
  }
  json object = {
      {"agrees", check.agrees()}, {"cases", cases}, {"outputs", outputs}};
  for (const frontend::RepairAttempt& repair : check.repairs) {
    json attempt = {{"case", repair.failed},
                    {"problem", repair.problem},
                    {"replaced", repair.replaced}};
    if (!repair.error.empty()) attempt["error"] = repair.error;
    object["repairs"].push_back(attempt);
  }
  if (!check.no_reference.empty()) object["no_reference"] = check.no_reference;
  return object;
}

json ToJson(const TimingSummary& time) {
  return {{"median", time.median},
          {"p99", time.p99},
          {"mean", time.mean},
          {"minimum", time.minimum},
          {"rounds", time.rounds},
          {"median_low", time.median_low},
          {"median_high", time.median_high}};
}

json ToJson(const TuningResult& tuning) {
  json kernels = json::array(), curve = json::array();
  for (const TunedKernel& kernel : tuning.kernels) {
    kernels.push_back({{"kernel", kernel.kernel},
                       {"schedule", kernel.schedule},
                       {"launches", kernel.launches},
                       {"measured", kernel.measured},
                       {"known", kernel.known},
                       {"failed", kernel.failed},
                       {"default_microseconds", kernel.defaultMicroseconds},
                       {"microseconds", kernel.microseconds}});
  }
  for (const auto& [seconds, milliseconds] : tuning.curve) {
    curve.push_back({{"seconds", seconds}, {"milliseconds", milliseconds}});
  }
  return {{"kernels", kernels},
          {"curve", curve},
          {"reused", tuning.reused},
          {"seconds", tuning.seconds},
          {"note", tuning.note}};
}

json ToJson(const QuantizedLayer& layer) {
  json object = {{"layer", layer.layer}, {"k", layer.k}, {"n", layer.n}};
  if (layer.weightSqnr != 0) object["weight_sqnr_db"] = layer.weightSqnr;
  if (!std::isnan(layer.sqnr)) {
    object["sqnr_db"] = layer.sqnr;
    object["low_sqnr_db"] = layer.lowSqnr;
  }
  if (layer.microseconds >= 0) {
    object["microseconds"] = layer.microseconds;
    object["quantized_microseconds"] = layer.quantizedMicroseconds;
  }
  if (layer.refusal.empty()) {
    object["scheme"] = layer.scheme;
  } else {
    object["refusal"] = layer.refusal;
  }
  return object;
}

json ToJson(const CompileInfo& compile) {
  json phases = json::array(), candidates = json::array(),
       rejections = json::array();
  for (const auto& [name, seconds] : compile.phase_seconds) {
    phases.push_back({{"name", name}, {"seconds", seconds}});
  }
  for (const CandidateResult& candidate : compile.candidates) {
    candidates.push_back({{"kernel", candidate.kernel},
                          {"candidate", candidate.candidate},
                          {"microseconds", candidate.microseconds},
                          {"chosen", candidate.chosen},
                          {"note", candidate.note}});
  }
  for (const Rejection& rejection : compile.rejections) {
    rejections.push_back({{"phase", rejection.phase},
                          {"subject", rejection.subject},
                          {"reason", rejection.reason}});
  }
  json wrong = json::array();
  for (const WrongCandidate& candidate : compile.wrong) {
    wrong.push_back({{"kernel", candidate.kernel},
                     {"candidate", candidate.candidate},
                     {"reason", candidate.reason},
                     {"replacement", candidate.replacement}});
  }
  json wins = json::array();
  for (const LibTorchWin& win : compile.libtorch_wins) {
    wins.push_back({{"kernels", win.kernels},
                    {"operators", win.traceOps},
                    {"times", win.times},
                    {"microseconds", win.microseconds},
                    {"libtorch_microseconds", win.libtorchMicroseconds},
                    {"share", win.share}});
  }
  const ReferenceReport& reference = compile.reference;
  json layers = json::array();
  for (const QuantizedLayer& layer : compile.quantized_layers)
    layers.push_back(ToJson(layer));
  return {{"seconds", compile.TotalSeconds()},
          {"phases", phases},
          {"quantized_layers", layers},
          {"kernels", compile.kernels},
          {"unique_kernels", compile.unique_kernels},
          {"candidates", candidates},
          {"rejections", rejections},
          {"wrong", wrong},
          {"libtorch_faster", wins},
          {"reference",
           {{"judged", reference.judged},
            {"without_reference", reference.withoutReference},
            {"sampled", reference.sampled},
            {"known", reference.known},
            {"seconds", reference.seconds}}},
          {"notes", compile.notes},
          {"cache",
           {{"outcome", frontend::Name(compile.cache.outcome)},
            {"key", compile.cache.key},
            {"detail", compile.cache.detail},
            {"stored", compile.cache.stored}}},
          {"this_process",
           {{"graphs_compiled", compile.counts.graphs},
            {"kernels_compiled", compile.counts.kernels},
            {"kernels_measured", compile.counts.measurements}}},
          {"tuning", ToJson(compile.tuning)}};
}

json ToJson(const OutputInfo& output) {
  if (output.text) return {{"output", output.path}, {"value", *output.text}};
  const auto number = [](const std::optional<double>& value) {
    return value ? json(*value) : json();
  };
  return {{"output", output.path},
          {"dtype", output.dtype},
          {"layout", output.layout},
          {"sizes", json::parse(output.sizes)},
          {"elements", output.elements},
          {"finite", output.is_finite},
          {"minimum", number(output.minimum)},
          {"maximum", number(output.maximum)},
          {"mean", number(output.mean)}};
}

}  // namespace

double CompileInfo::TotalSeconds() const {
  double total = 0;
  for (const auto& [name, seconds] : phase_seconds) total += seconds;
  return total;
}

json ToJson(const Report& report) {
  json object = {{"schema", 1},
                 {"command", report.command},
                 {"model",
                  {{"file", report.model.file},
                   {"signature", report.model.signature},
                   {"weight_bytes", report.model.weight_bytes}}},
                 {"inputs", report.model.inputs},
                 {"inputs_source", report.model.inputs_source},
                 {"threads", report.model.threads}};
  if (report.model.cpu_quota) object["cpu_quota"] = *report.model.cpu_quota;
  if (report.coverage) object["coverage"] = ToJson(*report.coverage);
  if (report.compiled_time_share)
    object["coverage"]["time_share"] = *report.compiled_time_share;
  if (report.coverage && !report.outlined.empty()) {
    json parts = json::array();
    for (const frontend::OutlinedReport& part : report.outlined)
      parts.push_back({{"location", part.place},
                       {"versions", part.versions},
                       {"ops", part.ops},
                       {"compiled_ops", part.compiled_ops},
                       {"kernels", part.kernels},
                       {"why_not", part.why_not}});
    object["coverage"]["control_flow"] = parts;
    object["coverage"]["eager_parts"] = report.eager_parts;
  }
  if (report.check) object["check"] = ToJson(*report.check);
  for (const TimingRow& row : report.timing) {
    if (row.failure.empty())
      object["timing"][row.name] = ToJson(row.time);
    else
      object["timing"][row.name] = {{"error", row.failure}};
  }
  if (!report.timed_sizes.empty()) object["timed_sizes"] = report.timed_sizes;
  if (report.compile) object["compile"] = ToJson(*report.compile);
  if (report.memory) {
    object["memory"] = {{"before_model", report.memory->before_model},
                        {"with_model", report.memory->with_model},
                        {"peak_compiling", report.memory->peak_compiling},
                        {"executable", report.memory->executable}};
  }
  if (report.gpu) {
    object["gpu"] = {{"ordinal", report.gpu->ordinal},
                     {"cuda_graph", report.gpu->graph_reason.empty()},
                     {"graph_reason", report.gpu->graph_reason},
                     {"memory", report.gpu->memory}};
  }
  for (const StepTime& step : report.steps) {
    object["steps"].push_back({{"name", step.name},
                               {"kind", step.kind},
                               {"implementation", step.implementation},
                               {"location", step.location},
                               {"microseconds", step.microseconds},
                               {"flops", step.flops}});
  }
  for (const OutputInfo& output : report.outputs)
    object["outputs"].push_back(ToJson(output));
  return object;
}

}  // namespace aitune::cli
