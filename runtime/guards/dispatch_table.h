// The compiled versions of one graph, and which of them a call runs.
//
// A call runs the first version whose guards hold, the oldest first, so that a
// version for exactly its sizes goes before a dynamic one and equal calls
// always run the same code. If none does, the graph is compiled once more, for
// ranges that size_history.h decides; the log channel "recompiles" says which
// guard failed, with the values, and what would avoid it. There is a limit to
// that: beyond it nothing is compiled, which the log says loudly, the table
// counts, and the caller serves with LibTorch. Only versions count against the
// limit. Inputs that can't be compiled for are remembered apart, and only the
// latest: who sends bad sizes uses up neither versions nor memory.
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
  std::string name;  // of the graph, for texts
  DynamicOptions sizes;
  // How many versions there may be; failures are none.
  int recompile_limit = 8;
  // Which guards are checked; null: all.
  GuardFilter guard_filter;
};

// What the compiler is asked for.
struct CompileRequest {
  std::vector<InputDescription> inputs;
  int version = 0;     // 0 the first time
  std::string reason;  // why the versions so far don't fit; empty for the first
};

// What a call may do when no version fits.
enum class OnMiss {
  kCompile,
  kFail,  // kFailedPrecondition with the reason
};

// How many inputs that can't be compiled for are remembered: an attempt costs
// seconds, a call looks through all that are kept where no version fits.
inline constexpr int kRememberedFailures = 32;

// DispatchTable without the type of what it holds. Thread-safe.
class DispatchTableBase {
 public:
  // What the compiler made, and the inputs it is right for: those of the
  // request, or fewer (it may have had to specialise), but the call's among
  // them.
  struct Version {
    std::shared_ptr<void> executable;
    std::vector<InputDescription> inputs;
    std::vector<SizeConstraint> constraints = {};  // on the inputs' symbols
  };
  using Compile =
      absl::FunctionRef<absl::StatusOr<Version>(const CompileRequest& request)>;

  explicit DispatchTableBase(DispatchOptions options);

  absl::StatusOr<std::shared_ptr<void>> Find(absl::Span<const CallInput> inputs,
                                             Compile compile, OnMiss on_miss);
  void Insert(Version version);
  int version_count() const;
  int64_t calls_beyond_limit() const { return calls_beyond_limit_; }
  void Reset();

 private:
  struct Entry {
    GuardSet guards;
    std::shared_ptr<void> executable;
  };
  struct Failure {
    GuardSet guards;  // of exactly the inputs of the call
    absl::Status error;
  };

  // What is known for these inputs: a version, the error of compiling one, or
  // nothing. With the lock held.
  std::optional<absl::StatusOr<std::shared_ptr<void>>> Known(
      absl::Span<const CallInput> inputs) const;
  // Why no version fits, and what would avoid it. With the lock held.
  std::string ExplainMiss(absl::Span<const CallInput> inputs) const;
  absl::StatusOr<std::shared_ptr<void>> CompileFor(
      absl::Span<const CallInput> inputs, Compile compile);
  void Add(GuardSet guards, std::shared_ptr<void> executable);
  void AddFailure(GuardSet guards, absl::Status error);

  const DispatchOptions options_;

  // Held while compiling: one version at a time. Taken before mutex_.
  std::mutex compile_mutex_;
  SizeHistory history_;  // with compile_mutex_

  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<const Entry>> entries_;
  std::deque<Failure> failures_;  // the oldest first
  std::atomic<int64_t> calls_beyond_limit_{0};
};

// Holds versions of type T. Thread-safe: calls that find a version run at the
// same time, also while another version is compiled.
template <typename T>
class DispatchTable {
 public:
  struct Version {
    std::shared_ptr<T> executable;
    std::vector<InputDescription> inputs;
    std::vector<SizeConstraint> constraints = {};  // on the inputs' symbols
  };
  // Knows the call that it is made for, so that it can look at its values.
  using Compile =
      absl::FunctionRef<absl::StatusOr<Version>(const CompileRequest& request)>;

  explicit DispatchTable(DispatchOptions options) : base_(std::move(options)) {}

  // The version for a call with these inputs, made by `compile` if there is
  // none (one thread at a time); null where there would be too many: the call
  // is LibTorch's then. Errors: the compiler's, which is remembered for the
  // latest kRememberedFailures inputs, so that those cost one attempt (unless
  // it may pass: kUnavailable, kResourceExhausted, kCancelled,
  // kDeadlineExceeded, kAborted); kFailedPrecondition with OnMiss::kFail;
  // kInternal if the compiler's version does not fit the call.
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

  // Adds a version that was compiled before. It is behind those there are.
  void Insert(Version version) {
    base_.Insert({std::move(version.executable), std::move(version.inputs),
                  std::move(version.constraints)});
  }

  // Versions compiled and kept.
  int version_count() const { return base_.version_count(); }
  // Calls that got none since the table was made or reset, because of the
  // limit.
  int64_t calls_beyond_limit() const { return base_.calls_beyond_limit(); }

  // Forgets all versions and sizes, as when new.
  void Reset() { base_.Reset(); }

 private:
  DispatchTableBase base_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_GUARDS_DISPATCH_TABLE_H_
