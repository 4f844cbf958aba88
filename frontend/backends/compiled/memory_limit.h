// The most memory that a backend may hold, for all its calls.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_MEMORY_LIMIT_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_MEMORY_LIMIT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "runtime/control/memory_budget.h"
#include "runtime/executable/memory_use.h"

namespace aitune::frontend {

// Thread-safe.
class MemoryLimit : public MemoryBudget {
 public:
  // `use` tells what the owner holds, `free` frees what it keeps for later
  // calls. Both are called until Detach.
  MemoryLimit(std::function<MemoryUse()> use, std::function<void()> free)
      : use_(std::move(use)), free_(std::move(free)) {}

  // From now on; 0 or less: no limit.
  void Set(int64_t bytes) { bytes_ = bytes; }
  // The limit in bytes; 0 or less: none.
  int64_t bytes() const { return bytes_; }

  // If more than the limit is held, frees what is kept; kResourceExhausted if
  // that is too little. The text tells what is held.
  absl::Status Check() override;

  // Forgets the owner, which goes before what its callers still have.
  void Detach();

 private:
  std::atomic<int64_t> bytes_ = 0;
  std::mutex mutex_;
  std::function<MemoryUse()> use_;
  std::function<void()> free_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_MEMORY_LIMIT_H_
