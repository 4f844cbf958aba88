// The compiled versions of one graph, and which of them a call runs.
//
// A call runs the first version whose guards hold, the oldest first, so that a
// version for exactly its sizes goes before a dynamic one and equal calls
// always run the same code. If none does, the graph is compiled once more, for
// ranges that size_history.h decides; the log channel "recompiles" says which
// guard failed, with the values, and what would avoid it. There is a limit to
// that: beyond it nothing is compiled, a warning is logged, the table counts
// the calls, and the caller runs them in LibTorch. Only versions count against
// the limit. Inputs for which compilation failed are remembered separately, and
// only the latest of them, so a caller that sends bad sizes uses up neither
// versions nor memory.
#ifndef AITUNE_RUNTIME_GUARDS_DISPATCH_TABLE_H_
#define AITUNE_RUNTIME_GUARDS_DISPATCH_TABLE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/guards/guard_set.h"
#include "runtime/guards/input_description.h"
#include "runtime/guards/size_history.h"

namespace aitune {

struct DispatchOptions {
  std::string name;  // name of the graph in error and log texts
  DynamicOptions sizes;
  // The most versions of the graph. Compilations that failed do not count. The
  // default is that of torch._dynamo.config.recompile_limit.
  int recompile_limit = 8;
  // Which guards are checked; null: all.
  GuardFilter guard_filter;
};

// What the compiler is asked for.
struct CompileRequest {
  std::vector<InputDescription> inputs;  // the inputs to compile for
  int version = 0;     // number of the version: how many there are already
  std::string reason;  // why no version fits yet; empty for version 0
};

// What Find does when no version fits.
enum class OnMiss {
  kCompile,  // compiles one
  kFail,     // returns kFailedPrecondition with the reason
  kNothing,  // returns null
};

// How many inputs for which compilation failed are remembered. Forgetting one
// costs another attempt, which takes seconds; remembering many makes each call
// that fits no version slower, since it compares its inputs with all of them.
inline constexpr int kRememberedFailures = 32;

// DispatchTable without the type of its executables; its functions are those of
// DispatchTable. Thread-safe.
class DispatchTableBase {
 public:
  // A compiled version and the inputs it is right for. The compiler may have
  // specialised, so it may be right for fewer inputs than were requested, but
  // the inputs of the call are always among them. Without an executable, such
  // calls are known to be for LibTorch, and it counts as a version too.
  struct Version {
    std::shared_ptr<void> executable;
    std::vector<InputDescription> inputs;
    std::vector<SizeConstraint> constraints =
        {};  // what must hold of the inputs' symbols
  };
  using Compile =
      absl::FunctionRef<absl::StatusOr<Version>(const CompileRequest& request)>;

  explicit DispatchTableBase(DispatchOptions options);

  absl::StatusOr<std::shared_ptr<void>> Find(absl::Span<const CallInput> inputs,
                                             Compile compile, OnMiss on_miss);
  bool Knows(absl::Span<const CallInput> inputs) const;
  void Insert(Version version);
  int version_count() const;
  bool is_full() const { return version_count() >= options_.recompile_limit; }
  int64_t calls_beyond_limit() const { return calls_beyond_limit_; }
  SizeHistory::Groups history() const;
  void Remember(const SizeHistory::Groups& groups);
  void Reset(absl::FunctionRef<void()> forget);

 private:
  struct Entry {
    GuardSet guards;
    std::shared_ptr<void> executable;
  };
  struct Failure {
    GuardSet guards;  // which only the inputs of the failed call pass
    absl::Status error;
  };

  // The version that fits these inputs, or the remembered error of compiling
  // for them; nothing if there is neither. With mutex_ held.
  std::optional<absl::StatusOr<std::shared_ptr<void>>> Known(
      absl::Span<const CallInput> inputs) const;
  // Why no version fits, and what would avoid it. With mutex_ held.
  std::string ExplainMiss(absl::Span<const CallInput> inputs) const;
  absl::StatusOr<std::shared_ptr<void>> CompileFor(
      absl::Span<const CallInput> inputs, Compile compile);
  void Add(GuardSet guards, std::shared_ptr<void> executable);
  void AddFailure(GuardSet guards, absl::Status error);

  const DispatchOptions options_;

  // Held while compiling: one version at a time. Taken before mutex_.
  std::mutex compile_mutex_;

  // Never held while compiling, so that nobody who saves or calls waits for
  // that.
  mutable std::shared_mutex mutex_;
  SizeHistory history_;
  std::vector<std::unique_ptr<const Entry>> entries_;
  std::deque<Failure> failures_;  // the oldest first
  std::atomic<int64_t> calls_beyond_limit_{0};
};

// Holds executables of type T. Thread-safe: calls that find a version run at
// the same time, also while another version is compiled.
template <typename T>
class DispatchTable {
 public:
  // See DispatchTableBase::Version.
  struct Version {
    std::shared_ptr<T> executable;
    std::vector<InputDescription> inputs;
    std::vector<SizeConstraint> constraints =
        {};  // what must hold of the inputs' symbols
  };
  // Compiles a version. It belongs to one call of Find, so it may also look at
  // the values of that call's inputs.
  using Compile =
      absl::FunctionRef<absl::StatusOr<Version>(const CompileRequest& request)>;

  explicit DispatchTable(DispatchOptions options) : base_(std::move(options)) {}

  // The version for a call with these inputs, made by `compile` if none fits
  // (one thread compiles at a time). Null when none fits and recompile_limit is
  // reached, or with OnMiss::kNothing, and where the version that fits has no
  // executable: the caller then runs the call in LibTorch. Errors: the
  // compiler's; kFailedPrecondition with OnMiss::kFail; kInternal if the
  // compiler's version does not fit the call. The compiler's errors are
  // remembered for the latest kRememberedFailures inputs, which are then not
  // compiled for again. Codes of passing troubles are not remembered:
  // kUnavailable, kResourceExhausted, kCancelled, kDeadlineExceeded, kAborted.
  absl::StatusOr<std::shared_ptr<T>> Find(absl::Span<const CallInput> inputs,
                                          Compile compile,
                                          OnMiss on_miss = OnMiss::kCompile) {
    const auto compile_untyped = [&](const CompileRequest& request)
        -> absl::StatusOr<DispatchTableBase::Version> {
      absl::StatusOr<Version> version = compile(request);
      if (!version.ok()) return version.status();
      return DispatchTableBase::Version{std::move(version->executable),
                                        std::move(version->inputs),
                                        std::move(version->constraints)};
    };
    absl::StatusOr<std::shared_ptr<void>> found =
        base_.Find(inputs, compile_untyped, on_miss);
    if (!found.ok()) return found.status();
    return std::static_pointer_cast<T>(*std::move(found));
  }

  // Whether a version fits such a call, or an error of compiling for it is
  // remembered.
  bool Knows(absl::Span<const CallInput> inputs) const {
    return base_.Knows(inputs);
  }

  // Adds a version that was compiled before, after the existing ones.
  void Insert(Version version) {
    base_.Insert({std::move(version.executable), std::move(version.inputs),
                  std::move(version.constraints)});
  }

  // The number of versions.
  int version_count() const { return base_.version_count(); }
  // Whether the number of versions has reached recompile_limit.
  bool is_full() const { return base_.is_full(); }
  // The sizes for which versions were made or are being made, and those to
  // remember beside them. Neither waits for a compilation.
  SizeHistory::Groups history() const { return base_.history(); }
  void Remember(const SizeHistory::Groups& groups) { base_.Remember(groups); }
  // The number of calls that got no version because of recompile_limit, since
  // the table was made or reset.
  int64_t calls_beyond_limit() const { return base_.calls_beyond_limit(); }

  // Forgets all versions and sizes, as when new, and has `forget` forget what
  // else there is of these versions: none is compiled meanwhile. Waits for a
  // compilation under way.
  void Reset(absl::FunctionRef<void()> forget = [] {}) { base_.Reset(forget); }

 private:
  DispatchTableBase base_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_GUARDS_DISPATCH_TABLE_H_
