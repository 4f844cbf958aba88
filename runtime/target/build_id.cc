#include "runtime/target/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace aitune {
namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

// The contents of the build ids among the notes of a segment: each note is
// three numbers (the sizes of name and contents, the type), the name and the
// contents, both padded to four bytes.
std::string BuildIdOf(std::string_view notes) {
  std::string ids;
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof(note)) {
    std::memcpy(&note, notes.data(), sizeof(note));
    notes.remove_prefix(sizeof(note));
    const size_t name = (size_t{note.n_namesz} + 3) / 4 * 4;
    const size_t contents = (size_t{note.n_descsz} + 3) / 4 * 4;
    if (name + contents > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID &&
        notes.substr(0, note.n_namesz) == std::string_view("GNU", 4))
      ids += notes.substr(name, note.n_descsz);
    notes.remove_prefix(name + contents);
  }
  return ids;
}

// The callback of dl_iterate_phdr, which ends when it returns 1.
int Visit(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool has_it = false;
  std::string id;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search.address >= begin &&
        search.address - begin < segment.p_memsz)
      has_it = true;
    if (segment.p_type == PT_NOTE)
      id += BuildIdOf({reinterpret_cast<const char*>(begin), segment.p_memsz});
  }
  if (has_it) search.id = std::move(id);
  return has_it;
}

}  // namespace

std::string LinkersBuildId(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(Visit, &search);
  return search.id;
}

}  // namespace aitune
