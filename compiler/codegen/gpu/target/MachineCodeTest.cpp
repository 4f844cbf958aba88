// What is changed in machine code that reads a register too early.
#include "compiler/codegen/gpu/target/MachineCode.h"

#include <elf.h>

#include <cstring>
#include <vector>

#include "compiler/codegen/gpu/target/Nvrtc.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

using testing::HasSubstr;

int stall(const MachineInstruction &instruction) {
  return instruction.high >> 41 & 0xf;
}

/// As ptxas 13.0.88 wrote it for sm_90a. The stall counts until the last
/// instruction are 1 each, so that it reads R178 5 cycles after the first.
std::vector<MachineInstruction> readTooEarly() {
  return {
      {0x0000000000b27805, 0x000fe2000001ff00}, // CS2R R178, SRZ
      {0x4000004000137882, 0x000fe20000000000}, // UMOV UR19, 0x40000040
      {0x00000002a5b2b825, 0x000fe200078e0202}, // @!P3 IMAD.WIDE R178, R165, 2
      {0x00000080a200780c, 0x000fe20003f64270}, // ISETP.GT P3, R162, 0x80
      {0x0001c00004067890, 0x000fe2000fffe03f}, // UIADD3 UR6, UR4, 0x1c000
      {0x000000ffb200720c, 0x000fc40003fa5070}, // ISETP.NE.U32 P5, R178, RZ
  };
}

TEST(MachineCode, AnEarlyReadIsDelayed) {
  std::vector<MachineInstruction> code = readTooEarly();
  const std::vector<MachineInstruction> before = code;
  ASSERT_EQ(stall(code[0]), 1);
  EXPECT_EQ(delayReadsOfZeros(absl::MakeSpan(code)), 1);
  EXPECT_EQ(stall(code[0]), 3); // 7 cycles in all
  // Nothing else is changed.
  code[0].high = before[0].high;
  for (size_t i = 0; i < code.size(); ++i) {
    EXPECT_EQ(code[i].low, before[i].low) << i;
    EXPECT_EQ(code[i].high, before[i].high) << i;
  }
}

TEST(MachineCode, ItIsDelayedOnce) {
  std::vector<MachineInstruction> code = readTooEarly();
  delayReadsOfZeros(absl::MakeSpan(code));
  EXPECT_EQ(delayReadsOfZeros(absl::MakeSpan(code)), 0);
}

TEST(MachineCode, TheUpperRegisterCountsToo) {
  std::vector<MachineInstruction> code = readTooEarly();
  code.back().low = 0x000000ffb300720c; // R179
  EXPECT_EQ(delayReadsOfZeros(absl::MakeSpan(code)), 1);
}

TEST(MachineCode, OtherRegistersMayBeRead) {
  std::vector<MachineInstruction> code = readTooEarly();
  code.back().low = 0x000000ffb400720c; // R180
  EXPECT_EQ(delayReadsOfZeros(absl::MakeSpan(code)), 0);
}

/// The words of the executable sections.
std::vector<MachineInstruction> codeOf(const std::string &cubin) {
  Elf64_Ehdr file;
  std::memcpy(&file, cubin.data(), sizeof(file));
  std::vector<MachineInstruction> code;
  for (int i = 0; i < file.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, cubin.data() + file.e_shoff + i * sizeof(section),
                sizeof(section));
    if (!(section.sh_flags & SHF_EXECINSTR))
      continue;
    const size_t count = code.size();
    code.resize(count + section.sh_size / sizeof(MachineInstruction));
    std::memcpy(code.data() + count, cubin.data() + section.sh_offset,
                section.sh_size);
  }
  return code;
}

// Pointers that are null unless a condition holds, many at a time, as the
// assembler mixes their instructions.
TEST(MachineCode, WhatNvrtcGivesIsMended) {
  const std::string text = R"(
extern "C" __global__ void kernel(const float *in, float *out, int n, int m) {
  const float *rows[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    rows[i] = threadIdx.x * 8 + i < n ? in + (threadIdx.x * 8ll + i) * m : nullptr;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(i * 16), "l"(rows[i] ? rows[i] : in), "r"(rows[i] ? 16 : 0) : "memory");
})";
  auto cubin = compileToCubin(text, *GpuTarget::named("sm_90"));
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  std::vector<MachineInstruction> code = codeOf(*cubin);
  EXPECT_GT(code.size(), 50u);
  EXPECT_EQ(delayReadsOfZeros(absl::MakeSpan(code)), 0);
  // A fault in the first section that is code is found.
  const auto fault = readTooEarly();
  const size_t at = cubin->find(std::string(
      reinterpret_cast<const char *>(code.data()), 6 * sizeof(code[0])));
  ASSERT_NE(at, std::string::npos);
  std::memcpy(cubin->data() + at, fault.data(), 6 * sizeof(fault[0]));
  EXPECT_EQ(*delayReadsOfZeros(*cubin), 1);
  EXPECT_EQ(*delayReadsOfZeros(*cubin), 0);
}

TEST(MachineCode, WhatIsNoElfFileIsRefused) {
  std::string text = "ptx", cut;
  EXPECT_THAT(std::string(delayReadsOfZeros(text).status().message()),
              HasSubstr("no ELF file"));
  auto cubin = compileToCubin("extern \"C\" __global__ void kernel() {}",
                              *GpuTarget::named("sm_90"));
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  for (size_t size = 0; size < cubin->size(); size += 7) {
    cut = cubin->substr(0, size);
    (void)delayReadsOfZeros(cut); // must not read beyond the end
  }
}

} // namespace
} // namespace aitune
