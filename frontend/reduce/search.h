// The search of `aitune reduce`: the smallest program that still fails.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_REDUCE_SEARCH_H_
#define AITUNE_FRONTEND_REDUCE_SEARCH_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/reduce/program.h"

namespace aitune::reduce {

struct SearchOptions {
  // Returns whether a program, which eager runs without an error, shows the
  // failure. An error ends the search.
  std::function<absl::StatusOr<bool>(const Program&)> fails;
  // The search ends when this returns true. Called before each candidate and
  // after each call of `fails`, whose result is then ignored. Null: never.
  std::function<bool()> stop;
  // Called with each smaller program that fails. An error ends the search. May
  // be null.
  std::function<absl::Status(const Program&)> improved;
  // Called with the number of operators left and of calls of `fails` so far.
  // May be null.
  std::function<void(int operators, int tried)> progress;
  // Whether to make tensors smaller and simpler too. False for failures that
  // are about time.
  bool shrink_tensors = true;
};

struct SearchResult {
  Program program;       // the smallest program that fails
  int tried = 0;         // number of calls of `fails`
  bool complete = true;  // false: `stop` ended the search
};

// Makes `program`, which fails, smaller until no step helps. The steps remove
// outputs, then the operators after the failure and those before it by
// bisection, single operators (replaced by an operand or by their recorded
// result), inputs, and then reduce the sizes and elements of tensors. They are
// repeated while one of them helps. Programs are run in eager mode in this
// process. Errors: those of `fails` and `improved`; kInternal when `program`
// itself raises in eager mode.
absl::StatusOr<SearchResult> Reduce(const Program& program,
                                    const SearchOptions& options);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_SEARCH_H_
