#include "runtime/cpu/kernel_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"

// gdb looks these names up in every file of a process. Hidden, so that LLVM,
// which has a list of its own under the same names, keeps to its own.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
enum { JIT_NOACTION = 0, JIT_REGISTER_FN = 1, JIT_UNREGISTER_FN = 2 };

// gdb stops here to read the descriptor.
__attribute__((visibility("hidden"), noinline, used)) void
__jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
__attribute__((visibility("hidden"),
               used)) jit_descriptor __jit_debug_descriptor = {
    1, JIT_NOACTION, nullptr, nullptr};
}

namespace aitune {
namespace {

std::mutex descriptor_mutex;

void Tell(uint32_t action, jit_code_entry* entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_register_code();
}

// A line for each function: its address and size in hexadecimal, and its name.
std::string PerfLines(const ElfObject& object,
                      const std::vector<uint64_t>& addresses) {
  std::string lines;
  for (const ElfSymbol& symbol : object.symbols) {
    if (!symbol.defined_in_section() ||
        ELF64_ST_TYPE(symbol.entry.st_info) != STT_FUNC ||
        addresses[symbol.entry.st_shndx] == 0)
      continue;
    absl::StrAppend(
        &lines,
        absl::Hex(addresses[symbol.entry.st_shndx] + symbol.entry.st_value),
        " ", absl::Hex(symbol.entry.st_size), " ", std::string(symbol.name),
        "\n");
  }
  return lines;
}

// Where it can't be written, perf shows addresses. A file of somebody else, or
// a link, is left alone.
void WriteForPerf(const std::string& lines) {
  const std::string path = absl::StrCat("/tmp/perf-", getpid(), ".map");
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
           S_IRUSR | S_IWUSR);
  if (file < 0) return;
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_uid == geteuid()) [[maybe_unused]]
    const ssize_t written = write(file, lines.data(), lines.size());
  close(file);
}

}  // namespace

struct KernelSymbols::Entry : jit_code_entry {
  std::string file;
};

KernelSymbols::KernelSymbols(std::string_view file, const ElfObject& object,
                             const std::vector<uint64_t>& addresses)
    : entry_(std::make_unique<Entry>()) {
  entry_->file = std::string(file);
  Elf64_Ehdr header;
  std::memcpy(&header, entry_->file.data(), sizeof(header));
  for (size_t i = 0; i < addresses.size(); ++i) {
    Elf64_Shdr section = object.sections[i].header;
    section.sh_addr = addresses[i];
    std::memcpy(entry_->file.data() + header.e_shoff + i * sizeof(section),
                &section, sizeof(section));
  }
  entry_->symfile_addr = entry_->file.data();
  entry_->symfile_size = entry_->file.size();
  {
    std::lock_guard<std::mutex> lock(descriptor_mutex);
    entry_->prev_entry = nullptr;
    entry_->next_entry = __jit_debug_descriptor.first_entry;
    if (entry_->next_entry != nullptr)
      entry_->next_entry->prev_entry = entry_.get();
    __jit_debug_descriptor.first_entry = entry_.get();
    Tell(JIT_REGISTER_FN, entry_.get());
  }
  if (const char* wanted = std::getenv("AITUNE_PERF_MAP");
      wanted != nullptr && std::string_view(wanted) == "1")
    WriteForPerf(PerfLines(object, addresses));
}

KernelSymbols::~KernelSymbols() {
  std::lock_guard<std::mutex> lock(descriptor_mutex);
  (entry_->prev_entry != nullptr ? entry_->prev_entry->next_entry
                                 : __jit_debug_descriptor.first_entry) =
      entry_->next_entry;
  if (entry_->next_entry != nullptr)
    entry_->next_entry->prev_entry = entry_->prev_entry;
  Tell(JIT_UNREGISTER_FN, entry_.get());
}

}  // namespace aitune
