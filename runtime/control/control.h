// The control functions of torch.compiler: what a program says about compiling
// from outside of any one model.
//
// A stance says what calls of compiled models do. It is set for the process,
// or for the calling thread in a scope; the scope goes first. Compiled calls
// ask for it once each.
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
  kDefault,           // compile what is new, run what is compiled
  kForceEager,        // run everything in eager
  kEagerOnRecompile,  // run what is compiled, what is new in eager
  kFailOnRecompile,   // run what is compiled, what is new is an error
};

// "default", "force_eager", "eager_on_recompile", "fail_on_recompile".
std::string_view Name(Stance stance);
// The inverse; kInvalidArgument, with the names there are, for another one.
absl::StatusOr<Stance> ParseStance(std::string_view name);

// Sets the stance of the process. kFailedPrecondition inside of a call or a
// compilation of a compiled model. Thread-safe.
absl::Status SetStance(Stance stance);

// The stance of calls on this thread.
Stance CurrentStance();

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

// Whether this thread compiles a model now; asked by operators of users that
// a trace runs. IsDynamoCompiling is the same: there is one compiler here.
bool IsCompiling();
bool IsDynamoCompiling();
// Whether this thread writes a checkpoint.
bool IsExporting();

// Marks what this thread does, for those who implement compiled models.
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
// compile again. Calls in progress finish. kFailedPrecondition as SetStance.
absl::Status Reset();

// What Reset calls. `forget` is called by any thread, until the registration
// is destroyed (which waits for a call in progress).
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
// compiled graph: with fullgraph they are no graph break. Thread-safe.
void AllowInGraph(std::string op);
bool IsAllowedInGraph(std::string_view op);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CONTROL_CONTROL_H_
