#include "frontend/compiled_model/build_report.h"

#include <map>

namespace aitune::frontend {

bool IsSame(const WrongCandidate& a, const WrongCandidate& b) {
  return a.digest == b.digest && a.candidate == b.candidate;
}

void DescribeTrace(const Trace& trace, std::vector<FallbackOp> fallbacks,
                   BuildReport* report) {
  std::vector<int64_t> largest;
  for (const TraceSymbol& symbol : trace.symbols) largest.push_back(symbol.max);
  report->coverage = CoverageOf(trace, fallbacks, largest);
  report->notes = trace.notes;
  report->draws_random_numbers = trace.draws_random_numbers;
  std::map<std::string, OperatorCount> operators;
  for (const TraceOp& op : trace.ops) ++operators[op.name].calls;
  for (const FallbackOp& op : fallbacks)
    ++operators[trace.ops[op.trace_op].name].fallbacks;
  for (auto& [name, count] : operators) {
    count.name = name;
    report->operators.push_back(std::move(count));
  }
  report->fallbacks = std::move(fallbacks);
}

std::string GraphReasonOf(absl::Span<const BuiltVersion> versions) {
  for (const BuiltVersion& version : versions) {
    if (!version.graph_reason.empty()) return version.graph_reason;
  }
  return "";
}

const char* Name(CacheReport::Outcome outcome) {
  switch (outcome) {
    case CacheReport::Outcome::kOff:
      return "off";
    case CacheReport::Outcome::kHit:
      return "hit";
    case CacheReport::Outcome::kMiss:
      return "miss";
  }
  return "";
}

}  // namespace aitune::frontend
