// The sizes of what a node that LibTorch runs whole gives, away from the
// probes: those that were fitted to the probes' are right there too, or they
// are not known. All probes of x[:17], say, may be shorter.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/run_limits.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/irregular_sizes.h"
#include "frontend/tracing/region_runner.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

using torch::jit::Value;
using Kind = ProbedValue::Kind;

// What all runs of a region away from the probes may take, in seconds, and the
// elements of the tensors that one of them is given.
constexpr double kSecondsElsewhere = 1;
constexpr int64_t kMostElements = int64_t{1} << 22;
constexpr size_t kPointsElsewhere = 48;
// Sizes of irregular symbols that are all looked at.
constexpr size_t kMostIrregular = 4096;

}  // namespace

absl::Status RegionRunner::FindIrregularSizes(NodeRegion& region,
                                              const RegionWays& ways) {
  SizeRegion& sizes = interpreter_.region_;
  const bool gives_sizes = (ways.sizes_known && region.has_functions) ||
                           std::any_of(ways.stable.begin(), ways.stable.end(),
                                       [](bool stable) { return stable; });
  if (!gives_sizes || sizes.ranges().empty()) return absl::OkStatus();
  region.irregular = IrregularSymbols(region.node, [&](Value* value) {
    const ProbedRef content = interpreter_.Get(value);
    const SizeFunctionRef function = content->kind == Kind::kOpaque &&
                                             !content->has_sizes &&
                                             !content->is_list_of_known
                                         ? nullptr
                                         : interpreter_.ShapeOf(content);
    if (function != nullptr) return GrowthOf(*function);
    SizeGrowth growth;
    if (content->kind != Kind::kPlain || content->uniform) return growth;
    growth.kind = SizeGrowth::Kind::kIrregular;
    for (const int symbol : interpreter_.AllSymbols())
      growth.symbols.insert(symbol);
    return growth;
  });
  const char* const what = "a number that control flow computes";
  for (const std::vector<int>& symbols : region.irregular)
    sizes.Shorten(
        symbols, kMostIrregular,
        interpreter_.Reason(absl::StrCat(what, " depends on the size")));
  return interpreter_.KeepProbes(what);
}

std::vector<SizePoint> RegionRunner::TellingPoints(
    const std::vector<int>& symbols, const NodeRegion& region,
    size_t sample) const {
  const SizeRegion& sizes = interpreter_.region_;
  const std::vector<SizePoint> some = sizes.Points(symbols, sample, nullptr);
  std::set<SizePoint> points(some.begin(), some.end());
  for (const std::vector<int>& irregular : region.irregular) {
    const std::vector<SizePoint> all =
        sizes.Points(irregular, kMostIrregular, nullptr);
    points.insert(all.begin(), all.end());
  }
  return {points.begin(), points.end()};
}

std::optional<c10::IValue> RegionRunner::ValueAt(const ProbedRef& value,
                                                 const SizePoint& point) const {
  if (value->uniform && (value->kind == Kind::kPlain ||
                         (value->IsTensor() && value->storage->constant)))
    return value->probes[0];
  // Of data, and no size.
  if (value->kind == Kind::kOpaque &&
      (value->probes[0].isBool() || value->probes[0].isDouble()))
    return value->probes[0];
  if (const std::vector<SizeExpression>* sizes = KnownSizes(*value)) {
    int64_t elements = 1;
    for (const SizeExpression& size : *sizes) {
      const int64_t there = size.Evaluate(point);
      if (there > kMostElements || (elements *= there) > kMostElements)
        return std::nullopt;
    }
  }
  const SizeFunctionRef known = interpreter_.FunctionOf(value);
  const SizeFunctionRef function =
      known != nullptr ? known : interpreter_.ShapeOf(value);
  if (function == nullptr) return std::nullopt;
  absl::StatusOr<c10::IValue> there =
      SizeEvaluator(point, /*real=*/true).Evaluate(function);
  if (!there.ok()) return std::nullopt;
  return *std::move(there);
}

void RegionRunner::RunElsewhere(const NodeRegion& region, RegionWays& ways) {
  ways.missed_sizes = !region.is_limited;
  if (interpreter_.region_.ranges().empty() || !region.is_limited ||
      std::none_of(ways.stable.begin(), ways.stable.end(),
                   [](bool stable) { return stable; }))
    return;
  const RunLimits limits(kSecondsElsewhere, /*limits_sizes=*/true);
  for (const SizePoint& point :
       TellingPoints(interpreter_.AllSymbols(), region, kPointsElsewhere)) {
    std::vector<c10::IValue> given;
    const auto add = [&](const ProbedRef& value) {
      std::optional<c10::IValue> there = ValueAt(value, point);
      if (there) given.push_back(*std::move(there));
      return there.has_value();
    };
    if (!std::all_of(region.contents.begin(), region.contents.end(), add)) {
      ways.missed_sizes = true;
      continue;
    }
    std::vector<std::vector<c10::IValue>> controls = {{}};
    if (region.is_if()) {
      controls = {{true}, {false}};
    } else if (region.is_loop() && !region.has_one_way()) {
      controls = {{int64_t{1}, true}};
    } else if (region.is_loop()) {
      const auto length =
                     ValueAt(interpreter_.Get(region.node->input(0)), point),
                 condition =
                     ValueAt(interpreter_.Get(region.node->input(1)), point);
      if (!length || !condition) {
        ways.missed_sizes = true;
        continue;
      }
      controls = {{*length, *condition}};
    }
    for (const std::vector<c10::IValue>& control : controls) {
      if (limits.IsLate()) {
        ways.missed_sizes = true;
        return;
      }
      std::vector<c10::IValue> outputs;
      if (Try(region, given, control, ways, outputs).ok())
        ways.elsewhere.push_back({point, std::move(outputs)});
    }
  }
  ways.missed_sizes = ways.missed_sizes || limits.IsLate();
}

bool RegionRunner::HasItsSizesElsewhere(const RegionWays& ways, size_t output,
                                        const TensorType& type) {
  return std::all_of(
      ways.elsewhere.begin(), ways.elsewhere.end(), [&](const auto& run) {
        const c10::IValue& value = run.outputs[output];
        if (!value.isTensor() || !value.toTensor().defined() ||
            value.toTensor().scalar_type() != ToScalarType(type.dtype) ||
            value.toTensor().dim() != static_cast<int64_t>(type.sizes.size()))
          return false;
        for (size_t axis = 0; axis < type.sizes.size(); ++axis) {
          if (value.toTensor().size(static_cast<int64_t>(axis)) !=
              type.sizes[axis].Evaluate(run.point))
            return false;
        }
        return true;
      });
}

}  // namespace aitune::frontend
