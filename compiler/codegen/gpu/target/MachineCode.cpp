#include "compiler/codegen/gpu/target/MachineCode.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/status/status.h"

namespace aitune {
namespace {

/// Of 718 kernels for sm_90, none reads sooner what a CS2R without a later
/// write under a condition has set.
constexpr int kCyclesUntilRead = 7;

/// The operation of CS2R, which copies a special register, here the one that is
/// always zero.
constexpr unsigned kCs2r = 0x805;
constexpr unsigned kZeroRegister = 255;
/// Where the stall count is in the high half, in bits; its largest value that
/// needs no further flag.
constexpr int kStallBit = 41;
constexpr int kLargestStall = 11;

unsigned byte(uint64_t word, int number) { return word >> 8 * number & 0xff; }
int stall(const MachineInstruction &instruction) {
  return instruction.high >> kStallBit & 0xf;
}

/// Whether register `first` or the one after it may be a source operand.
bool mayRead(const MachineInstruction &instruction, unsigned first) {
  for (unsigned operand : {byte(instruction.low, 3), byte(instruction.low, 4),
                           byte(instruction.high, 0)})
    if (operand == first || operand == first + 1)
      return true;
  return false;
}

absl::Status noElf() {
  return absl::InternalError(
      "NVRTC gave machine code that is no ELF file; install another version of "
      "the CUDA 13 run-time compiler");
}

} // namespace

int64_t delayReadsOfZeros(absl::Span<MachineInstruction> code) {
  int64_t changed = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    const unsigned to = byte(code[i].low, 2);
    if ((code[i].low & 0xfff) != kCs2r || to == kZeroRegister)
      continue;
    int cycles = stall(code[i]);
    for (size_t reader = i + 1;
         reader < code.size() && cycles < kCyclesUntilRead; ++reader) {
      if (mayRead(code[reader], to)) {
        const int longer =
            std::min(kLargestStall, stall(code[i]) + kCyclesUntilRead - cycles);
        code[i].high = (code[i].high & ~(uint64_t{0xf} << kStallBit)) |
                       static_cast<uint64_t>(longer) << kStallBit;
        ++changed;
        break;
      }
      cycles += stall(code[reader]);
    }
  }
  return changed;
}

absl::StatusOr<int64_t> delayReadsOfZeros(std::string &cubin) {
  Elf64_Ehdr file;
  if (cubin.size() < sizeof(file))
    return noElf();
  std::memcpy(&file, cubin.data(), sizeof(file));
  if (std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
      file.e_ident[EI_CLASS] != ELFCLASS64 ||
      file.e_shentsize != sizeof(Elf64_Shdr) || file.e_shoff > cubin.size() ||
      (cubin.size() - file.e_shoff) / sizeof(Elf64_Shdr) < file.e_shnum)
    return noElf();
  int64_t changed = 0;
  for (int i = 0; i < file.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, cubin.data() + file.e_shoff + i * sizeof(section),
                sizeof(section));
    if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR))
      continue;
    if (section.sh_offset > cubin.size() ||
        section.sh_size > cubin.size() - section.sh_offset ||
        section.sh_size % sizeof(MachineInstruction) != 0)
      return noElf();
    std::vector<MachineInstruction> code(section.sh_size /
                                         sizeof(MachineInstruction));
    char *const at = cubin.data() + section.sh_offset;
    std::memcpy(code.data(), at, section.sh_size);
    changed += delayReadsOfZeros(absl::MakeSpan(code));
    std::memcpy(at, code.data(), section.sh_size);
  }
  return changed;
}

} // namespace aitune
