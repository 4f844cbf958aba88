// What LibTorch does not survive in a text of TorchScript. Internal to
// torchscript.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_CODE_CHECK_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_CODE_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace aitune::frontend {

// kInvalidArgument, which says that `what` has it, for a statement `import`
// without an end, which LibTorch reads forever, and for statements that are
// nested so deep that the stack of its parser or compiler might overflow. Other
// errors are LibTorch's to find.
absl::Status CheckCode(absl::string_view what, absl::string_view code);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_CODE_CHECK_H_
