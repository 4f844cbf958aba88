#include "runtime/guards/dispatch_table.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

bool MayPass(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
      return true;
    default:
      return false;
  }
}

std::string InputsText(absl::Span<const InputDescription> inputs) {
  return absl::StrJoin(inputs, ", ",
                       [](std::string* out, const InputDescription& input) {
                         absl::StrAppend(out, ToString(input));
                       });
}

// What can't be compiled for these inputs may still be for others of the same
// ranges, so a failure is remembered for these alone.
std::vector<InputDescription> ExactInputs(absl::Span<const CallInput> inputs) {
  std::vector<InputDescription> exact;
  for (const CallInput& input : inputs)
    exact.push_back(InputDescription::Of(input));
  return exact;
}

}  // namespace

DispatchTableBase::DispatchTableBase(DispatchOptions options)
    : options_(std::move(options)), history_(options_.sizes) {}

absl::StatusOr<std::shared_ptr<void>> DispatchTableBase::Find(
    absl::Span<const CallInput> inputs, Compile compile, OnMiss on_miss) {
  {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    if (auto known = Known(inputs)) return *std::move(known);
    if (on_miss == OnMiss::kNothing) return std::shared_ptr<void>();
    if (on_miss == OnMiss::kFail)
      return absl::FailedPreconditionError(absl::StrCat(
          options_.name, " would have to be compiled: ", ExplainMiss(inputs)));
  }
  return CompileFor(inputs, compile);
}

std::optional<absl::StatusOr<std::shared_ptr<void>>> DispatchTableBase::Known(
    absl::Span<const CallInput> inputs) const {
  for (const std::unique_ptr<const Entry>& entry : entries_) {
    if (entry->guards.Check(inputs))
      return absl::StatusOr<std::shared_ptr<void>>(entry->executable);
  }
  for (const Failure& failure : failures_) {
    if (failure.guards.Check(inputs))
      return absl::StatusOr<std::shared_ptr<void>>(failure.error);
  }
  return std::nullopt;
}

bool DispatchTableBase::Knows(absl::Span<const CallInput> inputs) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return Known(inputs).has_value();
}

std::string DispatchTableBase::ExplainMiss(
    absl::Span<const CallInput> inputs) const {
  if (entries_.empty()) return "there is no version yet";
  std::vector<std::string> texts;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::optional<GuardFailure> failure =
        entries_[i]->guards.Explain(inputs);
    if (failure.has_value())
      texts.push_back(absl::StrCat("version ", i, ": ", failure->text,
                                   "; to avoid it, ", failure->advice));
  }
  return absl::StrJoin(texts, ". ");
}

absl::StatusOr<std::shared_ptr<void>> DispatchTableBase::CompileFor(
    absl::Span<const CallInput> inputs, Compile compile) {
  std::lock_guard<std::mutex> compile_lock(compile_mutex_);
  CompileRequest request;
  {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    // Another thread may have compiled it meanwhile.
    if (auto known = Known(inputs)) return *std::move(known);
    request.version = static_cast<int>(entries_.size());
    if (request.version > 0) request.reason = ExplainMiss(inputs);
  }
  if (request.version >= options_.recompile_limit) {
    const std::string text = absl::StrCat(
        options_.name, " has reached the limit of ", options_.recompile_limit,
        " compiled versions: LibTorch runs what they don't fit, unless you "
        "raise recompile_limit. ",
        request.reason);
    // Warned of once; which calls they are is the channel's.
    const bool first = calls_beyond_limit_++ == 0;
    Log(first ? LogChannel::kWarning : LogChannel::kRecompiles, text);
    return std::shared_ptr<void>();
  }
  std::vector<std::string> notes;
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    request.inputs = history_.Next(inputs, &notes);
  }
  if (request.version > 0 && IsEnabled(LogChannel::kRecompiles))
    Log(LogChannel::kRecompiles,
        absl::StrCat("compiling version ", request.version, " of ",
                     options_.name, " for ", InputsText(request.inputs), ". ",
                     request.reason));
  for (const std::string& note : notes)
    Log(LogChannel::kDynamic, absl::StrCat(options_.name, ": ", note));

  absl::StatusOr<Version> version = compile(request);
  if (!version.ok()) {
    if (!MayPass(version.status()))
      AddFailure(GuardSet(ExactInputs(inputs)), version.status());
    return version.status();
  }
  GuardSet guards(std::move(version->inputs), options_.guard_filter,
                  std::move(version->constraints));
  // Otherwise every such call would compile again.
  if (const std::optional<GuardFailure> failure = guards.Explain(inputs))
    return absl::InternalError(
        absl::StrCat("the compiler gave a version of ", options_.name,
                     " that does not fit the call: ", failure->text));
  Add(std::move(guards), version->executable);
  return std::move(version->executable);
}

void DispatchTableBase::Insert(Version version) {
  Add(GuardSet(std::move(version.inputs), options_.guard_filter,
               std::move(version.constraints)),
      std::move(version.executable));
}

void DispatchTableBase::Add(GuardSet guards, std::shared_ptr<void> executable) {
  auto entry =
      std::make_unique<Entry>(Entry{std::move(guards), std::move(executable)});
  std::unique_lock<std::shared_mutex> lock(mutex_);
  entries_.push_back(std::move(entry));
}

void DispatchTableBase::AddFailure(GuardSet guards, absl::Status error) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  if (failures_.size() == kRememberedFailures) failures_.pop_front();
  failures_.push_back({std::move(guards), std::move(error)});
}

int DispatchTableBase::version_count() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return static_cast<int>(entries_.size());
}

SizeHistory::Groups DispatchTableBase::history() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return history_.groups();
}

void DispatchTableBase::Remember(const SizeHistory::Groups& groups) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  history_.Remember(groups);
}

void DispatchTableBase::Reset(absl::FunctionRef<void()> forget) {
  std::lock_guard<std::mutex> compile_lock(compile_mutex_);
  {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    entries_.clear();
    failures_.clear();
    history_ = SizeHistory(options_.sizes);
    calls_beyond_limit_ = 0;
  }
  forget();
}

}  // namespace aitune
