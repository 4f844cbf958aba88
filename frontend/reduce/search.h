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
  // Whether a program, which eager runs without an error, shows the failure. An
  // error ends the search.
  std::function<absl::StatusOr<bool>(const Program&)> fails;
  // Asked before each candidate and after each call of `fails`, whose answer is
  // not used when this is true by then. Empty: never.
  std::function<bool()> stop;
  // Told each smaller program that fails. An error ends the search. May be
  // empty.
  std::function<absl::Status(const Program&)> improved;
  // Operators left and candidates asked about so far. May be empty.
  std::function<void(int operators, int tried)> progress;
  // Also make tensors smaller and simpler: not for failures that are about
  // time.
  bool shrink_tensors = true;
};

struct SearchResult {
  Program program;
  int tried = 0;         // candidates that `fails` was asked about
  bool complete = true;  // false: `stop` ended the search
};

// Makes `program`, which fails, smaller until no step helps: its outputs, then
// the operators after the failure and those before it by bisection, single
// operators (replaced by an operand or by what they computed), the inputs, then
// the sizes and the elements of tensors; all over again while something went.
// Programs are run in eager mode in this process. Errors: those of `fails` and
// `improved`; kInternal when `program` itself raises in eager mode.
absl::StatusOr<SearchResult> Reduce(const Program& program,
                                    const SearchOptions& options);

}  // namespace aitune::reduce

#endif  // AITUNE_FRONTEND_REDUCE_SEARCH_H_
