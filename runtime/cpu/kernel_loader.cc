#include "runtime/cpu/kernel_loader.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/cpu/crash_names.h"
#include "runtime/cpu/elf_object.h"
#include "runtime/cpu/kernel_imports.h"
#include "runtime/cpu/kernel_symbols.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

constexpr size_t kPage = 4096;
// jmp *offset(%rip), padded.
constexpr size_t kStubBytes = 8;

size_t AlignUp(size_t value, size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// Pages of this process, given back at the end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (base_ != nullptr) munmap(base_, bytes_);
  }

  absl::Status Allocate(size_t bytes) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for ", bytes,
                       " bytes of object code: ", std::strerror(errno)));
    base_ = static_cast<char*>(base);
    bytes_ = bytes;
    return absl::OkStatus();
  }

  absl::Status Protect(size_t begin, size_t end, int protection) {
    if (begin == end || mprotect(base_ + begin, end - begin, protection) == 0)
      return absl::OkStatus();
    return absl::InternalError(absl::StrCat(
        "the system does not let object code be run: ", std::strerror(errno)));
  }

  char* base() const { return base_; }

 private:
  char* base_ = nullptr;
  size_t bytes_ = 0;
};

class LoadedKernels : public KernelLibrary {
 public:
  KernelFunction Find(absl::string_view symbol) const override {
    const auto found = entries.find(symbol);
    return found == entries.end() ? nullptr : found->second;
  }

  Mapping mapping;
  std::vector<std::unique_ptr<KernelSymbols>> symbols;  // the objects' symbols
  std::unique_ptr<CrashNames> crash_names;              // null: not wanted
  absl::flat_hash_map<std::string, KernelFunction> entries;
};

// Where undefined symbols come from. Null for what kernels may not call, and
// for what the system lacks.
void* FindInSystem(std::string_view name) {
  if (!MayImport(name)) return nullptr;
  static void* const libm = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  void* library = libm;
  if (IsVectorFunction(name)) {
    static void* const libmvec = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    library = libmvec;
  }
  return library == nullptr ? nullptr
                            : dlsym(library, std::string(name).c_str());
}

// One link of all objects.
class Linker {
 public:
  explicit Linker(const std::vector<std::string>& files) : files_(files) {}

  absl::StatusOr<std::shared_ptr<const KernelLibrary>> Link(
      std::string_view model) {
    for (const std::string& file : files_) {
      AITUNE_ASSIGN_OR_RETURN(ElfObject object, ElfObject::Read(file));
      objects_.push_back(std::move(object));
    }
    AITUNE_RETURN_IF_ERROR(CollectSymbols());
    AITUNE_RETURN_IF_ERROR(CollectImports());
    AITUNE_RETURN_IF_ERROR(Place());
    for (const auto& [name, index] : imports_) WriteStub(index);
    for (size_t i = 0; i < objects_.size(); ++i) {
      for (const ElfRelocation& relocation : objects_[i].relocations)
        AITUNE_RETURN_IF_ERROR(Relocate(i, relocation));
    }
    AITUNE_RETURN_IF_ERROR(
        library_->mapping.Protect(0, code_end_, PROT_READ | PROT_EXEC));
    AITUNE_RETURN_IF_ERROR(
        library_->mapping.Protect(code_end_, constants_end_, PROT_READ));
    for (const auto& [name, place] : globals_) {
      if (!place.is_function) continue;
      void* entry = Address(place.object, *place.symbol);
      library_->entries[std::string(name)] =
          reinterpret_cast<KernelFunction>(entry);
    }
    for (size_t i = 0; i < objects_.size(); ++i)
      library_->symbols.push_back(std::make_unique<KernelSymbols>(
          files_[i], objects_[i], SectionAddresses(i)));
    if (CrashNames::AreWanted())
      library_->crash_names =
          std::make_unique<CrashNames>(std::string(model), CodeOfKernels());
    return std::shared_ptr<const KernelLibrary>(std::move(library_));
  }

 private:
  struct Global {
    size_t object;
    const ElfSymbol* symbol;
    bool is_function;
  };
  struct Import {
    void* address = nullptr;
    size_t stub = 0, slot = 0;  // offsets in the mapping
  };

  absl::Status CollectSymbols() {
    for (size_t i = 0; i < objects_.size(); ++i) {
      for (const ElfSymbol& symbol : objects_[i].symbols) {
        if (!symbol.defined_in_section() ||
            ELF64_ST_BIND(symbol.entry.st_info) == STB_LOCAL)
          continue;
        const ElfSection& home = objects_[i].sections[symbol.entry.st_shndx];
        if (!home.loaded) continue;
        const bool is_function =
            ELF64_ST_TYPE(symbol.entry.st_info) == STT_FUNC &&
            (home.header.sh_flags & SHF_EXECINSTR) != 0;
        if (!globals_.emplace(symbol.name, Global{i, &symbol, is_function})
                 .second)
          return absl::InvalidArgumentError(
              absl::StrCat("the object code of the kernels defines ",
                           std::string(symbol.name), " twice"));
      }
    }
    return absl::OkStatus();
  }

  // A slot for each symbol that is reached through one: all that are not
  // defined in these objects.
  absl::Status CollectImports() {
    std::vector<std::string> missing;
    for (const ElfObject& object : objects_) {
      for (const ElfRelocation& relocation : object.relocations) {
        const ElfSymbol& symbol =
            object.symbols[ELF64_R_SYM(relocation.entry.r_info)];
        if (symbol.entry.st_shndx != SHN_UNDEF || symbol.name.empty() ||
            globals_.count(symbol.name) > 0)
          continue;
        const auto [place, added] =
            import_numbers_.emplace(symbol.name, import_numbers_.size());
        if (!added) continue;
        Import import;
        import.address = FindInSystem(symbol.name);
        if (import.address == nullptr)
          missing.push_back(std::string(symbol.name));
        imports_.emplace_back(symbol.name, import);
      }
    }
    if (missing.empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(
        "the object code of the kernels needs ", absl::StrJoin(missing, ", "),
        ", which is none of the functions that kernels may call of this "
        "machine's libm and libmvec (glibc 2.35 or later has them all)"));
  }

  // Code and stubs, then constants and slots, then data; each on pages of its
  // own.
  absl::Status Place() {
    offsets_.resize(objects_.size());
    for (size_t i = 0; i < objects_.size(); ++i)
      offsets_[i].resize(objects_[i].sections.size());
    size_t end = 0;
    const auto place = [&](uint64_t flags) {
      for (size_t i = 0; i < objects_.size(); ++i) {
        for (size_t s = 0; s < objects_[i].sections.size(); ++s) {
          const ElfSection& section = objects_[i].sections[s];
          const uint64_t kind =
              section.header.sh_flags & (SHF_EXECINSTR | SHF_WRITE);
          if (!section.loaded || kind != flags) continue;
          end = AlignUp(end, std::max<size_t>(section.header.sh_addralign, 1));
          offsets_[i][s] = end;
          end += section.header.sh_size;
          if (end > std::numeric_limits<int32_t>::max() / 2) return false;
        }
      }
      return true;
    };
    if (!place(SHF_EXECINSTR)) return TooLarge();
    end = AlignUp(end, kStubBytes);
    for (auto& [name, import] : imports_) {
      import.stub = end;
      end += kStubBytes;
    }
    code_end_ = end = AlignUp(end, kPage);
    for (auto& [name, import] : imports_) {
      import.slot = end;
      end += sizeof(void*);
    }
    if (!place(0)) return TooLarge();
    constants_end_ = end = AlignUp(end, kPage);
    if (!place(SHF_WRITE)) return TooLarge();
    AITUNE_RETURN_IF_ERROR(
        library_->mapping.Allocate(std::max(AlignUp(end, kPage), kPage)));
    for (size_t i = 0; i < objects_.size(); ++i) {
      for (size_t s = 0; s < objects_[i].sections.size(); ++s) {
        const ElfSection& section = objects_[i].sections[s];
        if (section.loaded && !section.bytes.empty())
          std::memcpy(base() + offsets_[i][s], section.bytes.data(),
                      section.bytes.size());
      }
    }
    return absl::OkStatus();
  }

  static absl::Status TooLarge() {
    return absl::InvalidArgumentError(
        "the object code of the kernels is larger than 1 GiB");
  }

  void WriteStub(const Import& import) {
    std::memcpy(base() + import.slot, &import.address, sizeof(void*));
    const auto offset =
        static_cast<int32_t>(static_cast<int64_t>(import.slot) -
                             static_cast<int64_t>(import.stub + 6));
    char* stub = base() + import.stub;
    stub[0] = '\xff';
    stub[1] = '\x25';
    std::memcpy(stub + 2, &offset, sizeof(offset));
    stub[6] = stub[7] = '\xcc';
  }

  char* base() const { return library_->mapping.base(); }

  char* Address(size_t object, const ElfSymbol& symbol) const {
    return base() + offsets_[object][symbol.entry.st_shndx] +
           symbol.entry.st_value;
  }

  std::vector<CrashNames::Kernel> CodeOfKernels() const {
    std::vector<CrashNames::Kernel> kernels;
    for (size_t i = 0; i < objects_.size(); ++i) {
      for (const ElfSymbol& symbol : objects_[i].symbols) {
        if (!symbol.defined_in_section() ||
            ELF64_ST_TYPE(symbol.entry.st_info) != STT_FUNC ||
            !objects_[i].sections[symbol.entry.st_shndx].loaded)
          continue;
        const auto begin = reinterpret_cast<uint64_t>(Address(i, symbol));
        kernels.push_back(
            {begin, begin + symbol.entry.st_size, std::string(symbol.name)});
      }
    }
    return kernels;
  }

  std::vector<uint64_t> SectionAddresses(size_t object) const {
    std::vector<uint64_t> addresses;
    for (size_t s = 0; s < offsets_[object].size(); ++s)
      addresses.push_back(
          objects_[object].sections[s].loaded
              ? reinterpret_cast<uint64_t>(base() + offsets_[object][s])
              : 0);
    return addresses;
  }

  absl::Status Relocate(size_t object, const ElfRelocation& relocation) {
    const ElfSymbol& symbol =
        objects_[object].symbols[ELF64_R_SYM(relocation.entry.r_info)];
    const uint32_t type = ELF64_R_TYPE(relocation.entry.r_info);
    const Import* import = nullptr;
    char* target = nullptr;
    if (symbol.defined_in_section()) {
      if (!objects_[object].sections[symbol.entry.st_shndx].loaded)
        return Refused(symbol, type, "its section is not loaded");
      target = Address(object, symbol);
    } else if (symbol.entry.st_shndx == SHN_ABS || symbol.name.empty()) {
      target = reinterpret_cast<char*>(symbol.entry.st_value);
    } else if (const auto found = globals_.find(symbol.name);
               found != globals_.end()) {
      target = Address(found->second.object, *found->second.symbol);
    } else if (const auto number = import_numbers_.find(symbol.name);
               number != import_numbers_.end()) {
      import = &imports_[number->second].second;
    } else {
      return Refused(symbol, type, "the symbol is of an unknown kind");
    }
    const ElfSection& section = objects_[object].sections[relocation.section];
    const size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    if (section.bytes.size() < width ||
        relocation.entry.r_offset > section.bytes.size() - width)
      return Refused(symbol, type, "it is outside its section");
    char* place = base() + offsets_[object][relocation.section] +
                  relocation.entry.r_offset;
    const auto number = [](const char* address) {
      return reinterpret_cast<int64_t>(address);
    };
    switch (type) {
      case R_X86_64_PLT32:
        if (import != nullptr) target = base() + import->stub;
        break;
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        if (import == nullptr)
          return Refused(symbol, type, "only imports have a slot");
        target = base() + import->slot;
        break;
      case R_X86_64_64:
        if (import != nullptr) target = static_cast<char*>(import->address);
        break;
      case R_X86_64_PC32:
      case R_X86_64_PC64:
        if (import != nullptr) return Refused(symbol, type, "it is an import");
        break;
      default:
        return Refused(symbol, type, "the kind is unknown");
    }
    int64_t value = 0;
    if (__builtin_add_overflow(number(target), relocation.entry.r_addend,
                               &value))
      return Refused(symbol, type, "its addend is out of range");
    if (type != R_X86_64_64 &&
        __builtin_sub_overflow(value, number(place), &value))
      return Refused(symbol, type, "it is too far away");
    if (width == 8) {
      std::memcpy(place, &value, 8);
      return absl::OkStatus();
    }
    const auto narrow = static_cast<int32_t>(value);
    if (narrow != value) return Refused(symbol, type, "it is too far away");
    std::memcpy(place, &narrow, 4);
    return absl::OkStatus();
  }

  static absl::Status Refused(const ElfSymbol& symbol, uint32_t type,
                              const char* why) {
    return absl::UnimplementedError(
        absl::StrCat("the object code of the kernels has a relocation (type ",
                     type, ", symbol '", std::string(symbol.name),
                     "') that cannot be applied: ", why));
  }

  const std::vector<std::string>& files_;
  std::vector<ElfObject> objects_;
  std::map<std::string_view, Global> globals_;
  std::map<std::string_view, size_t> import_numbers_;
  std::vector<std::pair<std::string_view, Import>> imports_;
  // Each section's place, by object and section.
  std::vector<std::vector<size_t>> offsets_;
  size_t code_end_ = 0, constants_end_ = 0;
  std::shared_ptr<LoadedKernels> library_ = std::make_shared<LoadedKernels>();
};

// Linux lends AMX's tile registers only to processes that ask for them
// (ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). Where there is no AMX the request
// fails, and no kernel uses it.
void RequestTileRegisters() {
  static std::once_flag requested;
  std::call_once(requested, [] {
#if defined(__linux__) && defined(__x86_64__)
    syscall(SYS_arch_prctl, 0x1023, 18);
#endif
  });
}

}  // namespace

absl::StatusOr<std::shared_ptr<const KernelLibrary>> LoadKernels(
    const std::vector<std::string>& objects, std::string_view model) {
  RequestTileRegisters();
  return Linker(objects).Link(model);
}

}  // namespace aitune
