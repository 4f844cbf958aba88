#include "runtime/control/memory_budget.h"

#include <utility>

namespace aitune {
namespace {

thread_local MemoryBudget* current = nullptr;

}  // namespace

ScopedMemoryBudget::ScopedMemoryBudget(MemoryBudget* budget)
    : previous_(std::exchange(current, budget)) {}

ScopedMemoryBudget::~ScopedMemoryBudget() { current = previous_; }

absl::Status CheckMemoryBudget() {
  return current == nullptr ? absl::OkStatus() : current->Check();
}

}  // namespace aitune
