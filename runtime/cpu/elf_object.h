// A relocatable ELF file with every offset in it checked: what the linker of
// kernel_loader.h reads. Internal to this folder.
#ifndef AITUNE_RUNTIME_CPU_ELF_OBJECT_H_
#define AITUNE_RUNTIME_CPU_ELF_OBJECT_H_

#include <elf.h>

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace aitune {

struct ElfSection {
  Elf64_Shdr header = {};
  std::string_view name;
  std::string_view bytes;  // empty for a section of zeros
  // True for code and data; false for unwind tables, which kernels do not need.
  bool loaded = false;  // whether kernel_loader.h copies it into memory
};

struct ElfSymbol {
  Elf64_Sym entry = {};
  std::string_view name;
  bool defined_in_section() const {
    return entry.st_shndx != SHN_UNDEF && entry.st_shndx < SHN_LORESERVE;
  }
};

struct ElfRelocation {
  int section = 0;  // index of the section that it changes, which is loaded
  Elf64_Rela entry = {};
};

// Refers to the bytes that it was read from.
struct ElfObject {
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols;
  std::vector<ElfRelocation> relocations;  // relocations of loaded sections

  // kInvalidArgument for anything but a well-formed x86-64 object: what this
  // returns has every index, name and range inside the file. kUnimplemented
  // for thread-local data and common symbols.
  static absl::StatusOr<ElfObject> Read(std::string_view file);
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_ELF_OBJECT_H_
