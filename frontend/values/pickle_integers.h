// Integers in what Python pickled.
#ifndef AITUNE_FRONTEND_VALUES_PICKLE_INTEGERS_H_
#define AITUNE_FRONTEND_VALUES_PICKLE_INTEGERS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace aitune::frontend {

// `pickle`, of protocol 2 as torch.save writes it, with each integer of more
// than 32 bits in 8 bytes: Python takes as few as it needs, and LibTorch reads
// only those of 8. kInvalidArgument for one that needs more. From an opcode on
// that is not known nothing is changed. Thread-safe.
absl::StatusOr<std::string> WithWideIntegers(std::string_view pickle);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_PICKLE_INTEGERS_H_
