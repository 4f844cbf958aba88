// A bound on memory that holds for the calls of a thread: who allocates for a
// call asks it first.
#ifndef AITUNE_RUNTIME_CONTROL_MEMORY_BUDGET_H_
#define AITUNE_RUNTIME_CONTROL_MEMORY_BUDGET_H_

#include "absl/status/status.h"

namespace aitune {

// Thread-safe.
class MemoryBudget {
 public:
  virtual ~MemoryBudget() = default;
  // Called without locks, when what is about to be allocated has been counted
  // already. Frees memory if need be; kResourceExhausted if there is too little
  // to free.
  virtual absl::Status Check() = 0;
};

// The budget of this thread's calls until the end of the scope; null: none.
// Scopes nest; the inner one's budget holds.
class ScopedMemoryBudget {
 public:
  explicit ScopedMemoryBudget(MemoryBudget* budget);
  ~ScopedMemoryBudget();
  ScopedMemoryBudget(const ScopedMemoryBudget&) = delete;
  ScopedMemoryBudget& operator=(const ScopedMemoryBudget&) = delete;

 private:
  MemoryBudget* const previous_;
};

// Check of this thread's budget; OK if there is none.
absl::Status CheckMemoryBudget();

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CONTROL_MEMORY_BUDGET_H_
