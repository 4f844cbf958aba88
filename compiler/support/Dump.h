// Writes what --dump asks for: IR after each phase, assembly, object code.
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
  /// `directory` empty: writes nothing. Else files go to directory/folder.
  Dump(const std::string &directory, const std::string &folder);

  bool enabled() const { return !path.empty(); }
  void write(const std::string &file, const std::string &contents) const;
  void write(const std::string &file, mlir::Operation *op) const;

private:
  std::string path;
};

} // namespace aitune

#endif // AITUNE_COMPILER_SUPPORT_DUMP_H
