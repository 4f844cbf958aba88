// The control functions of torch.compiler, with which a program influences
// compilation for all of its models.
//
// A stance says what calls of compiled models do. It is set for the process,
// or for the calling thread in a scope; inside of the scope, the thread's
// stance holds. Each call of a compiled model reads the stance once.
#ifndef AITUNE_RUNTIME_CONTROL_CONTROL_H_
#define AITUNE_RUNTIME_CONTROL_CONTROL_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace aitune {

enum class Stance {
  kDefault,           // compile a new version for inputs that fit none
  kForceEager,        // run every call in eager
  kEagerOnRecompile,  // run calls whose inputs fit no version in eager
  kFailOnRecompile,   // refuse calls whose inputs fit no version
  // Run calls whose inputs fit no version in eager, and compile one for the
  // calls to come in a thread of its own.
  kEagerWhileCompiling,
};

// "default", "force_eager", "eager_on_recompile", "fail_on_recompile",
// "eager_while_compiling".
std::string_view Name(Stance stance);
// The inverse; kInvalidArgument, with the names there are, for another one.
absl::StatusOr<Stance> ParseStance(std::string_view name);

// Sets the stance of the process. kFailedPrecondition inside of a call or a
// compilation of a compiled model. Thread-safe.
absl::Status SetStance(Stance stance);

// The stance of calls on this thread.
Stance CurrentStance();

// Sets the stance of this thread; not set: the process's again. Within a scope
// of ScopedStance, until its end. Errors as SetStance.
absl::Status SetThreadStance(std::optional<Stance> stance);

// A stance of this thread until the end of the scope. Scopes nest.
class ScopedStance {
 public:
  // As SetStance; status() tells whether it was taken.
  explicit ScopedStance(Stance stance);
  ~ScopedStance();
  ScopedStance(const ScopedStance&) = delete;
  ScopedStance& operator=(const ScopedStance&) = delete;

  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
  std::optional<Stance> previous_;
};

// Whether this thread is compiling a model. A user's own operators can ask this
// when a trace runs them. PyTorch has a second name for it, IsDynamoCompiling;
// there is only one compiler here, so both give the same answer.
bool IsCompiling();
bool IsDynamoCompiling();
// Whether this thread is writing a checkpoint.
bool IsExporting();

// Marks what this thread is doing until the end of the scope. For implementers
// of compiled models.
class ScopedActivity {
 public:
  enum class Kind { kCall, kCompile, kExport };
  explicit ScopedActivity(Kind kind);
  ~ScopedActivity();
  ScopedActivity(const ScopedActivity&) = delete;
  ScopedActivity& operator=(const ScopedActivity&) = delete;

 private:
  const Kind kind_;
};

// Forgets every compiled version of every model in the process and sets the
// default stance, as before the first compilation. Models stay usable: they
// compile again, or, in a program without the compiler, keep what was loaded.
// Calls in progress finish. kFailedPrecondition as SetStance.
// Thread-safe.
absl::Status Reset();

// Makes Reset call `forget`, on the thread that calls Reset, until the
// registration is destroyed. The destructor waits for a `forget` in progress.
class ResetRegistration {
 public:
  explicit ResetRegistration(std::function<void()> forget);
  ~ResetRegistration();
  ResetRegistration(const ResetRegistration&) = delete;
  ResetRegistration& operator=(const ResetRegistration&) = delete;

 private:
  const int id_;
};

// Operators ("aten::topk", "mylib::op") that LibTorch may run inside of a
// compiled graph: with fullgraph they are no graph break. DisallowInGraph takes
// back what AllowInGraph was called with, for what is compiled from then on.
// Thread-safe.
void AllowInGraph(std::string op);
void DisallowInGraph(std::string_view op);
bool IsAllowedInGraph(std::string_view op);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CONTROL_CONTROL_H_
