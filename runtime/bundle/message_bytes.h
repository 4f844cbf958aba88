// The bytes of protobuf messages that are stored. protobuf's own order of a map
// changes from one message to an equal one, so that two saves of one module
// would have other digests.
#ifndef AITUNE_RUNTIME_BUNDLE_MESSAGE_BYTES_H_
#define AITUNE_RUNTIME_BUNDLE_MESSAGE_BYTES_H_

#include <google/protobuf/message_lite.h>

#include <string>

#include "absl/status/statusor.h"

namespace aitune {

// The same for equal messages of one build of this program. kUnimplemented for
// more than 2 GiB, which protobuf can't write. Thread-safe.
absl::StatusOr<std::string> MessageBytes(
    const google::protobuf::MessageLite& message);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BUNDLE_MESSAGE_BYTES_H_
