#include "runtime/cpu/elf_object.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

constexpr uint32_t kUnwindSection = 0x70000001;  // SHT_X86_64_UNWIND

absl::Status Damaged(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("not an object file of kernels: ", what));
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  absl::StatusOr<ElfObject> Read() {
    AITUNE_RETURN_IF_ERROR(ReadSections());
    AITUNE_RETURN_IF_ERROR(ReadSymbols());
    AITUNE_RETURN_IF_ERROR(ReadRelocations());
    return std::move(object_);
  }

 private:
  // `count` records at `offset`.
  template <typename T>
  absl::StatusOr<std::vector<T>> Records(uint64_t offset, uint64_t count,
                                         const char* what) const {
    if (offset > file_.size() || count > (file_.size() - offset) / sizeof(T))
      return Damaged(absl::StrCat(what, " beyond the end of the file"));
    std::vector<T> records(count);
    if (count > 0)
      std::memcpy(records.data(), file_.data() + offset, count * sizeof(T));
    return records;
  }

  absl::StatusOr<std::string_view> Text(const ElfSection& strings,
                                        uint64_t offset) const {
    if (offset >= strings.bytes.size()) return Damaged("a name out of range");
    const size_t end = strings.bytes.find('\0', offset);
    if (end == std::string_view::npos) return Damaged("a name without end");
    return strings.bytes.substr(offset, end - offset);
  }

  absl::StatusOr<const ElfSection*> SectionAt(uint64_t index) const {
    if (index >= object_.sections.size())
      return Damaged(absl::StrCat("section ", index, " does not exist"));
    return &object_.sections[index];
  }

  absl::Status ReadSections() {
    AITUNE_ASSIGN_OR_RETURN(const auto headers,
                            Records<Elf64_Ehdr>(0, 1, "the header"));
    const Elf64_Ehdr& header = headers[0];
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
      return Damaged("no ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL ||
        header.e_machine != EM_X86_64 ||
        header.e_shentsize != sizeof(Elf64_Shdr))
      return Damaged("no relocatable object for x86-64");
    AITUNE_ASSIGN_OR_RETURN(
        const auto sections,
        Records<Elf64_Shdr>(header.e_shoff, header.e_shnum, "sections"));
    for (const Elf64_Shdr& section : sections) {
      ElfSection& read = object_.sections.emplace_back();
      read.header = section;
      if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS)
        continue;
      if (section.sh_offset > file_.size() ||
          section.sh_size > file_.size() - section.sh_offset)
        return Damaged("a section beyond the end of the file");
      read.bytes = file_.substr(section.sh_offset, section.sh_size);
    }
    AITUNE_ASSIGN_OR_RETURN(const ElfSection* names,
                            SectionAt(header.e_shstrndx));
    for (ElfSection& section : object_.sections) {
      AITUNE_ASSIGN_OR_RETURN(section.name,
                              Text(*names, section.header.sh_name));
      AITUNE_RETURN_IF_ERROR(Classify(section));
    }
    return absl::OkStatus();
  }

  absl::Status Classify(ElfSection& section) const {
    const Elf64_Shdr& header = section.header;
    if ((header.sh_flags & SHF_ALLOC) == 0) return absl::OkStatus();
    if (header.sh_type == kUnwindSection || section.name == ".eh_frame")
      return absl::OkStatus();
    if ((header.sh_flags & SHF_TLS) != 0 ||
        (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_NOBITS))
      return absl::UnimplementedError(absl::StrCat(
          "the object file has a section ", std::string(section.name),
          " of a kind that kernels never have (type ", header.sh_type, ")"));
    if (header.sh_addralign > 4096 ||
        (header.sh_addralign & (header.sh_addralign - 1)) != 0)
      return Damaged("an alignment that is no power of two up to 4096");
    if (header.sh_size > (uint64_t{1} << 30))
      return Damaged("a section of more than 1 GiB");
    if ((header.sh_flags & SHF_WRITE) != 0 &&
        (header.sh_flags & SHF_EXECINSTR) != 0)
      return absl::UnimplementedError(absl::StrCat(
          "the object file has a section ", std::string(section.name),
          " that can be written and run, which kernels never have"));
    section.loaded = true;
    return absl::OkStatus();
  }

  absl::Status ReadSymbols() {
    for (const ElfSection& section : object_.sections) {
      if (section.header.sh_type != SHT_SYMTAB) continue;
      if (!object_.symbols.empty()) return Damaged("two symbol tables");
      if (section.header.sh_entsize != sizeof(Elf64_Sym))
        return Damaged("symbols of an unknown size");
      AITUNE_ASSIGN_OR_RETURN(const ElfSection* names,
                              SectionAt(section.header.sh_link));
      AITUNE_ASSIGN_OR_RETURN(
          const auto entries,
          Records<Elf64_Sym>(section.header.sh_offset,
                             section.header.sh_size / sizeof(Elf64_Sym),
                             "symbols"));
      for (const Elf64_Sym& entry : entries) {
        ElfSymbol symbol{entry, {}};
        AITUNE_ASSIGN_OR_RETURN(symbol.name, Text(*names, entry.st_name));
        if (entry.st_shndx == SHN_COMMON || entry.st_shndx == SHN_XINDEX ||
            ELF64_ST_TYPE(entry.st_info) == STT_TLS ||
            ELF64_ST_TYPE(entry.st_info) == STT_GNU_IFUNC)
          return absl::UnimplementedError(
              absl::StrCat("the symbol ", std::string(symbol.name),
                           " is of a kind that kernels never have"));
        if (symbol.defined_in_section()) {
          AITUNE_ASSIGN_OR_RETURN(const ElfSection* home,
                                  SectionAt(entry.st_shndx));
          if (entry.st_value > home->header.sh_size)
            return Damaged(absl::StrCat("the symbol ", std::string(symbol.name),
                                        " is outside its section"));
        }
        object_.symbols.push_back(symbol);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadRelocations() {
    for (const ElfSection& section : object_.sections) {
      const Elf64_Shdr& header = section.header;
      if (header.sh_type != SHT_RELA && header.sh_type != SHT_REL) continue;
      AITUNE_ASSIGN_OR_RETURN(const ElfSection* target,
                              SectionAt(header.sh_info));
      if (!target->loaded) continue;
      if (header.sh_type == SHT_REL ||
          header.sh_entsize != sizeof(Elf64_Rela) ||
          target->header.sh_type == SHT_NOBITS)
        return Damaged("relocations of an unknown form");
      AITUNE_ASSIGN_OR_RETURN(
          const auto entries,
          Records<Elf64_Rela>(header.sh_offset,
                              header.sh_size / sizeof(Elf64_Rela),
                              "relocations"));
      for (const Elf64_Rela& entry : entries) {
        if (ELF64_R_SYM(entry.r_info) >= object_.symbols.size())
          return Damaged("a relocation against a symbol that does not exist");
        object_.relocations.push_back(
            {static_cast<int>(header.sh_info), entry});
      }
    }
    return absl::OkStatus();
  }

  const std::string_view file_;
  ElfObject object_;
};

}  // namespace

absl::StatusOr<ElfObject> ElfObject::Read(std::string_view file) {
  return Reader(file).Read();
}

}  // namespace aitune
