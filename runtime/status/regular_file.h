// What is at a path, before it is opened.
#ifndef AITUNE_RUNTIME_STATUS_REGULAR_FILE_H_
#define AITUNE_RUNTIME_STATUS_REGULAR_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace aitune {

// OK if a regular file is at `path`, links followed, whether or not it can be
// read. Opening a pipe would wait for its other end. kNotFound if there is
// nothing, kInvalidArgument for anything else, such as a folder or links that
// lead to each other; the text begins with the path.
absl::Status CheckRegularFile(const std::string& path);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_STATUS_REGULAR_FILE_H_
