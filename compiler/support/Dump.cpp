#include "compiler/support/Dump.h"

#include <filesystem>
#include <fstream>

#include "llvm/Support/raw_ostream.h"

namespace aitune {

std::string printToString(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  stream << "\n";
  return text;
}

Dump::Dump(const std::string &directory, const std::string &folder) {
  if (directory.empty())
    return;
  std::error_code error;
  path = directory + "/" + folder;
  std::filesystem::create_directories(path, error);
  if (error) {
    llvm::errs() << "aitune: can't make the dump folder " << path << ": "
                 << error.message() << "\n";
    path.clear();
  }
}

void Dump::write(const std::string &file, const std::string &contents) const {
  if (!enabled())
    return;
  std::ofstream stream(path + "/" + file, std::ios::binary);
  stream << contents;
  if (!stream.flush())
    llvm::errs() << "aitune: can't write the dump " << path << "/" << file
                 << "\n";
}

void Dump::write(const std::string &file, mlir::Operation *op) const {
  if (enabled())
    write(file, printToString(op));
}

} // namespace aitune
