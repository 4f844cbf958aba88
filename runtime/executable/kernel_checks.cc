#include "runtime/executable/kernel_checks.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace aitune {
namespace {

std::string Describe(const CheckProto& check, int64_t value,
                     absl::Span<const int64_t> symbols) {
  std::string text = absl::StrCat(
      check.operator_(),
      check.location().empty() ? "" : absl::StrCat(" at ", check.location()),
      ": ");
  if (!check.has_size()) {
    return absl::StrCat(text,
                        "an integer is divided by 0: keep zeros out of the "
                        "divisor");
  }
  absl::StrAppend(&text, "index ", value, " is out of range");
  const absl::StatusOr<SizeExpression> size =
      FromProto(check.size(), static_cast<int>(symbols.size()));
  const absl::StatusOr<int64_t> entries =
      size.ok() ? EvaluateSize(*size, symbols) : size.status();
  if (!entries.ok()) return text;
  absl::StrAppend(&text, " for ", *entries,
                  *entries == 1 ? " entry" : " entries");
  if (*entries > 0) {
    absl::StrAppend(&text, ": give indices from ",
                    check.from_end() ? -*entries : 0, " to ", *entries - 1);
  }
  return text;
}

// Kernels on other threads, or on a GPU, may write at the same time.
int64_t Load(const int64_t& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
void Clear(int64_t& word) { __atomic_store_n(&word, 0, __ATOMIC_RELAXED); }

}  // namespace

KernelChecks::KernelChecks(const LoadedPlan& plan,
                           const std::vector<LoadedStep>& steps)
    : ignored_(plan.plan().ignores_checks()) {
  for (const LoadedStep& step : steps) {
    for (const CheckProto& check : step.proto->checks())
      checks_.push_back(&check);
  }
}

absl::Status KernelChecks::Take(absl::Span<KernelCheck> found,
                                absl::Span<const int64_t> symbols) const {
  absl::Status status;
  for (size_t i = 0; i < checks_.size(); ++i) {
    if (Load(found[i].failed) == 0) continue;
    if (status.ok() && !ignored_) {
      status = absl::InvalidArgumentError(
          Describe(*checks_[i], Load(found[i].value), symbols));
    }
    Clear(found[i].failed);
  }
  return status;
}

}  // namespace aitune
