#include "runtime/control/control.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace aitune {
namespace {

constexpr Stance kStances[] = {
    Stance::kDefault, Stance::kForceEager, Stance::kEagerOnRecompile,
    Stance::kFailOnRecompile, Stance::kEagerWhileCompiling};

std::atomic<Stance> process_stance{Stance::kDefault};
thread_local std::optional<Stance> thread_stance;
thread_local int calls = 0, compilations = 0, exports = 0;

int* CounterOf(ScopedActivity::Kind kind) {
  switch (kind) {
    case ScopedActivity::Kind::kCall:
      return &calls;
    case ScopedActivity::Kind::kCompile:
      return &compilations;
    case ScopedActivity::Kind::kExport:
      return &exports;
  }
  return nullptr;
}

absl::Status CheckOutside(const char* what) {
  if (calls == 0 && compilations == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what,
                   " can't be used inside of a compiled model; call it before "
                   "or after"));
}

// Never destroyed: models may be destroyed after static objects.
struct Registrations {
  std::mutex mutex;
  int next = 0;
  std::map<int, std::function<void()>> forget;
};
Registrations& GetRegistrations() {
  static auto* const registrations = new Registrations;
  return *registrations;
}

struct AllowedOps {
  std::mutex mutex;
  std::set<std::string, std::less<>> names;
};
AllowedOps& GetAllowedOps() {
  static auto* const ops = new AllowedOps;
  return *ops;
}

int Register(std::function<void()> forget) {
  Registrations& registrations = GetRegistrations();
  std::lock_guard<std::mutex> lock(registrations.mutex);
  registrations.forget.emplace(registrations.next, std::move(forget));
  return registrations.next++;
}

}  // namespace

std::string_view Name(Stance stance) {
  switch (stance) {
    case Stance::kDefault:
      return "default";
    case Stance::kForceEager:
      return "force_eager";
    case Stance::kEagerOnRecompile:
      return "eager_on_recompile";
    case Stance::kFailOnRecompile:
      return "fail_on_recompile";
    case Stance::kEagerWhileCompiling:
      return "eager_while_compiling";
  }
  return "?";
}

absl::StatusOr<Stance> ParseStance(std::string_view name) {
  std::string names;
  for (const Stance stance : kStances) {
    if (Name(stance) == name) return stance;
    absl::StrAppend(&names, names.empty() ? "" : ", ",
                    std::string(Name(stance)));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no stance '", std::string(name), "'; there are ", names));
}

absl::Status SetStance(Stance stance) {
  absl::Status status = CheckOutside("set_stance");
  if (status.ok()) process_stance = stance;
  return status;
}

Stance CurrentStance() {
  return thread_stance.has_value() ? *thread_stance : process_stance.load();
}

absl::Status SetThreadStance(std::optional<Stance> stance) {
  absl::Status status = CheckOutside("set_stance");
  if (status.ok()) thread_stance = stance;
  return status;
}

ScopedStance::ScopedStance(Stance stance) : previous_(thread_stance) {
  status_ = SetThreadStance(stance);
}

ScopedStance::~ScopedStance() {
  if (status_.ok()) thread_stance = previous_;
}

bool IsCompiling() { return compilations > 0; }
bool IsDynamoCompiling() { return IsCompiling(); }
bool IsExporting() { return exports > 0; }

ScopedActivity::ScopedActivity(Kind kind) : kind_(kind) { ++*CounterOf(kind); }
ScopedActivity::~ScopedActivity() { --*CounterOf(kind_); }

absl::Status Reset() {
  absl::Status status = CheckOutside("reset");
  if (!status.ok()) return status;
  process_stance = Stance::kDefault;
  Registrations& registrations = GetRegistrations();
  std::lock_guard<std::mutex> lock(registrations.mutex);
  for (const auto& [id, forget] : registrations.forget) forget();
  return absl::OkStatus();
}

ResetRegistration::ResetRegistration(std::function<void()> forget)
    : id_(Register(std::move(forget))) {}

ResetRegistration::~ResetRegistration() {
  Registrations& registrations = GetRegistrations();
  std::lock_guard<std::mutex> lock(registrations.mutex);
  registrations.forget.erase(id_);
}

void AllowInGraph(std::string op) {
  AllowedOps& ops = GetAllowedOps();
  std::lock_guard<std::mutex> lock(ops.mutex);
  ops.names.insert(std::move(op));
}

void DisallowInGraph(std::string_view op) {
  AllowedOps& ops = GetAllowedOps();
  std::lock_guard<std::mutex> lock(ops.mutex);
  if (const auto found = ops.names.find(op); found != ops.names.end())
    ops.names.erase(found);
}

bool IsAllowedInGraph(std::string_view op) {
  AllowedOps& ops = GetAllowedOps();
  std::lock_guard<std::mutex> lock(ops.mutex);
  if (ops.names.count(op) > 0) return true;
  // "aten::add.Tensor": allowed by its name without the overload too.
  return ops.names.count(op.substr(0, op.find('.'))) > 0;
}

}  // namespace aitune
