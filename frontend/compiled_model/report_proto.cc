#include "frontend/compiled_model/report_proto.h"

namespace aitune::frontend {

BuildReportProto ToProto(const BuildReport& report) {
  BuildReportProto proto;
  proto.set_kernels(report.kernels);
  proto.set_unique_kernels(report.unique_kernels);
  for (const CandidateResult& candidate : report.candidates) {
    CandidateProto& stored = *proto.add_candidates();
    stored.set_kernel(candidate.kernel);
    stored.set_candidate(candidate.candidate);
    stored.set_microseconds(candidate.microseconds);
    stored.set_chosen(candidate.chosen);
    stored.set_note(candidate.note);
  }
  for (const Rejection& rejection : report.rejections) {
    RejectionProto& stored = *proto.add_rejections();
    stored.set_phase(rejection.phase);
    stored.set_subject(rejection.subject);
    stored.set_reason(rejection.reason);
  }
  for (const WrongCandidate& wrong : report.wrong) {
    WrongCandidateProto& stored = *proto.add_wrong();
    stored.set_kernel(wrong.kernel);
    stored.set_candidate(wrong.candidate);
    stored.set_reason(wrong.reason);
    stored.set_replacement(wrong.replacement);
    stored.set_digest(wrong.digest);
  }
  for (const LibTorchWin& win : report.libtorch_wins) {
    LibTorchWinProto& stored = *proto.add_libtorch_wins();
    stored.set_kernels(win.kernels);
    for (const int64_t op : win.traceOps) stored.add_trace_ops(op);
    stored.set_times(win.times);
    stored.set_microseconds(win.microseconds);
    stored.set_libtorch_microseconds(win.libtorchMicroseconds);
    stored.set_share(win.share);
  }
  ReferenceProto& reference = *proto.mutable_reference();
  reference.set_judged(report.reference.judged);
  reference.set_without_reference(report.reference.withoutReference);
  reference.set_sampled(report.reference.sampled);
  reference.set_known(report.reference.known);
  reference.set_seconds(report.reference.seconds);
  for (const std::string& note : report.notes) proto.add_notes(note);
  proto.set_draws_random_numbers(report.draws_random_numbers);
  for (const OutlinedReport& outlined : report.outlined) {
    OutlinedReportProto& stored = *proto.add_outlined();
    stored.set_place(outlined.place);
    stored.set_versions(outlined.versions);
    stored.set_ops(outlined.ops);
    stored.set_compiled_ops(outlined.compiled_ops);
    stored.set_kernels(outlined.kernels);
    stored.set_why_not(outlined.why_not);
  }
  for (const FallbackOp& fallback : report.fallbacks) {
    FallbackProto& stored = *proto.add_fallbacks();
    stored.set_trace_op(fallback.trace_op);
    stored.set_op(fallback.op);
    stored.set_location(fallback.location);
    stored.set_scope(fallback.scope);
    stored.set_reason(fallback.reason);
  }
  CoverageProto& coverage = *proto.mutable_coverage();
  coverage.set_ops(report.coverage.ops);
  coverage.set_compiled_ops(report.coverage.compiled_ops);
  coverage.set_flops(report.coverage.flops);
  coverage.set_compiled_flops(report.coverage.compiled_flops);
  coverage.set_uncounted(report.coverage.uncounted);
  for (const FallbackGroup& group : report.coverage.fallbacks) {
    FallbackGroupProto& stored = *coverage.add_fallbacks();
    stored.set_op(group.op);
    stored.set_reason(group.reason);
    stored.set_location(group.location);
    stored.set_count(group.count);
    stored.set_flops(group.flops);
    stored.set_uncounted(group.uncounted);
  }
  for (const OperatorCount& count : report.operators) {
    OperatorProto& stored = *proto.add_operators();
    stored.set_name(count.name);
    stored.set_calls(count.calls);
    stored.set_fallbacks(count.fallbacks);
  }
  for (const QuantizedLayer& layer : report.quantized_layers) {
    QuantizedLayerProto& stored = *proto.add_quantized_layers();
    stored.set_layer(layer.layer);
    stored.set_k(layer.k);
    stored.set_n(layer.n);
    stored.set_scheme(layer.scheme);
    stored.set_refusal(layer.refusal);
    stored.set_weight_sqnr_db(layer.weightSqnr);
    stored.set_microseconds(layer.microseconds);
    stored.set_quantized_microseconds(layer.quantizedMicroseconds);
    stored.set_sqnr_db(layer.sqnr);
    stored.set_low_sqnr_db(layer.lowSqnr);
  }
  return proto;
}

BuildReport FromProto(const BuildReportProto& proto) {
  BuildReport report;
  report.kernels = proto.kernels();
  report.unique_kernels = proto.unique_kernels();
  for (const CandidateProto& stored : proto.candidates()) {
    CandidateResult& candidate = report.candidates.emplace_back();
    candidate.kernel = stored.kernel();
    candidate.candidate = stored.candidate();
    candidate.microseconds = stored.microseconds();
    candidate.chosen = stored.chosen();
    candidate.note = stored.note();
  }
  for (const LibTorchWinProto& stored : proto.libtorch_wins())
    report.libtorch_wins.push_back(
        {stored.kernels(),
         {stored.trace_ops().begin(), stored.trace_ops().end()},
         stored.times(),
         stored.microseconds(),
         stored.libtorch_microseconds(),
         stored.share()});
  for (const RejectionProto& stored : proto.rejections())
    report.rejections.push_back(
        {stored.phase(), stored.subject(), stored.reason()});
  for (const WrongCandidateProto& stored : proto.wrong())
    report.wrong.push_back({stored.kernel(), stored.candidate(),
                            stored.reason(), stored.replacement(),
                            stored.digest()});
  const ReferenceProto& reference = proto.reference();
  report.reference.judged = reference.judged();
  report.reference.withoutReference = reference.without_reference();
  report.reference.sampled = reference.sampled();
  report.reference.known = reference.known();
  report.reference.seconds = reference.seconds();
  report.draws_random_numbers = proto.draws_random_numbers();
  for (const OutlinedReportProto& stored : proto.outlined())
    report.outlined.push_back({stored.place(), stored.versions(), stored.ops(),
                               stored.compiled_ops(), stored.kernels(),
                               stored.why_not()});
  report.notes.assign(proto.notes().begin(), proto.notes().end());
  for (const FallbackProto& stored : proto.fallbacks())
    report.fallbacks.push_back({stored.trace_op(), stored.op(),
                                stored.location(), stored.scope(),
                                stored.reason()});
  const CoverageProto& coverage = proto.coverage();
  report.coverage.ops = coverage.ops();
  report.coverage.compiled_ops = coverage.compiled_ops();
  report.coverage.flops = coverage.flops();
  report.coverage.compiled_flops = coverage.compiled_flops();
  report.coverage.uncounted = coverage.uncounted();
  for (const FallbackGroupProto& stored : coverage.fallbacks())
    report.coverage.fallbacks.push_back({stored.op(), stored.reason(),
                                         stored.location(), stored.count(),
                                         stored.flops(), stored.uncounted()});
  for (const OperatorProto& stored : proto.operators())
    report.operators.push_back(
        {stored.name(), stored.calls(), stored.fallbacks()});
  for (const QuantizedLayerProto& stored : proto.quantized_layers())
    report.quantized_layers.push_back(
        {stored.layer(), stored.k(), stored.n(), stored.scheme(),
         stored.refusal(), stored.weight_sqnr_db(), stored.sqnr_db(),
         stored.low_sqnr_db(), stored.microseconds(),
         stored.quantized_microseconds()});
  return report;
}

}  // namespace aitune::frontend
