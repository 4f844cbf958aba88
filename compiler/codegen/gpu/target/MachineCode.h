// Mends a fault of NVIDIA's assembler in the machine code that NVRTC gives.
//
// A processor doesn't wait for the result of an arithmetic instruction. The
// assembler writes into each instruction how many cycles must pass before the
// next is issued (its stall count), so that results are there when they are
// read. ptxas 13.0.88 gets that wrong where a pair of registers is set to zero
// (CS2R), then written under a condition, then read: it waits for the second
// write alone. Where the condition is false the reader may get what was in the
// registers before: a null pointer that is not null, in kernels seen on an
// H200. Stall counts are described by Jia et al., "Dissecting the NVIDIA Volta
// GPU Architecture via Microbenchmarking", 2018, section 2.1.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TARGET_MACHINECODE_H
#define AITUNE_COMPILER_CODEGEN_GPU_TARGET_MACHINECODE_H

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace aitune {

/// An instruction of sm_70 to sm_120: 128 bits, the low half first.
struct MachineInstruction {
  uint64_t low = 0, high = 0;
};

/// Lets every CS2R stall for so long that nothing reads its registers within
/// the 7 cycles that the assembler itself leaves where no condition lies
/// between. Returns the number of instructions that were changed. An immediate
/// operand may be taken for a register, which costs some cycles and nothing
/// else. Thread-safe.
int64_t delayReadsOfZeros(absl::Span<MachineInstruction> code);

/// The same for all code of `cubin`, an ELF file as NVRTC gives it.
/// kInternal where it is none. Thread-safe.
absl::StatusOr<int64_t> delayReadsOfZeros(std::string &cubin);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TARGET_MACHINECODE_H
