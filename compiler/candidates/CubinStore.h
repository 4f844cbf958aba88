// Machine code of a GPU by the CUDA text that it was compiled from, so that
// equal texts are compiled once. Internal to this folder.
//
// A kernel's name is no part of that: at the smaller sizes of a range most of
// its candidates have the code of the largest under another name
// (SizeAlternatives.h), and compiling them is most of the time of a build.
#ifndef AITUNE_COMPILER_CANDIDATES_CUBINSTORE_H
#define AITUNE_COMPILER_CANDIDATES_CUBINSTORE_H

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace aitune {

/// Not thread-safe; but entries may be filled from different threads.
class CubinStore {
public:
  struct Entry {
    /// The kernel's name in the code. It has the text's digest in it, so that
    /// no other code has it: a model may have several candidates of one kernel,
    /// for different sizes, and kernels of an earlier compilation
    /// (KnownKernels.h), whose store was another.
    std::string symbol;
    /// The text with that name; empty once it is compiled.
    std::string text;
    /// The machine code, to be set by who adds the entry; kUnknown before.
    absl::StatusOr<std::string> cubin = absl::UnknownError("not compiled");
  };

  /// The entry of `text`, whose kernel is called `symbol`, and whether it is
  /// new and so to be compiled. It lives as long as the store.
  std::pair<Entry *, bool> find(const std::string &text,
                                const std::string &symbol);

private:
  /// The texts' code, by the digest of the nameless text.
  std::map<std::string, Entry> entries;
};

/// `name`, which is `symbol` or starts with it, for the kernel called `renamed`
/// in place of `symbol`.
std::string renameSymbol(absl::string_view name, absl::string_view symbol,
                         absl::string_view renamed);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUBINSTORE_H
