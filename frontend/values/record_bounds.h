// LibTorch reads tensors of files where the files say that they are, wherever
// that is. Internal to frontend.
#ifndef AITUNE_FRONTEND_VALUES_RECORD_BOUNDS_H_
#define AITUNE_FRONTEND_VALUES_RECORD_BOUNDS_H_

#include <c10/core/Allocator.h>

#include <cstddef>
#include <unordered_map>

#include "absl/status/status.h"

namespace c10 {
struct IValue;
}  // namespace c10

namespace aitune::frontend {

// The records of a file that tensors are made of. For one thread.
class RecordBounds {
 public:
  // The same record, whose size it keeps.
  at::DataPtr Keep(at::DataPtr record, size_t bytes);

  // kInvalidArgument names the first tensor anywhere in `value`, objects
  // included, that reaches out of its storage, or whose storage has more bytes
  // than the kept record that it consists of. Reads no elements. `value` may
  // hold itself, but may not be too deep for a recursive walk.
  absl::Status Check(const c10::IValue& value) const;

 private:
  std::unordered_map<const void*, size_t> bytes_;  // by where records begin
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_RECORD_BOUNDS_H_
