// Writes the files of --dump: IR after each phase, assembly, object code.
#ifndef AITUNE_COMPILER_SUPPORT_DUMP_H
#define AITUNE_COMPILER_SUPPORT_DUMP_H

#include <string>

#include "mlir/IR/Operation.h"

namespace aitune {

/// The operation's text, with locations left out.
std::string printToString(mlir::Operation *op);

/// A folder of dumps. Best effort: a file that can't be written is reported on
/// stderr and never stops a compilation. Thread-safe for different folders.
class Dump {
public:
  /// Files are written to directory/folder, which is made. If `directory` is
  /// empty, nothing is written.
  Dump(const std::string &directory, const std::string &folder);

  bool enabled() const { return !path.empty(); }
  /// Writes `contents`, or the text of `op`, to a file of this name.
  void write(const std::string &file, const std::string &contents) const;
  void write(const std::string &file, mlir::Operation *op) const;

private:
  std::string path;
};

} // namespace aitune

#endif // AITUNE_COMPILER_SUPPORT_DUMP_H
