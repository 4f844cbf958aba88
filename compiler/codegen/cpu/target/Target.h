// The properties of the CPU that code is generated for.
//
// They are detected on the machine that the compiler runs on, or given by name,
// so that tests of passes have the same IR on every machine.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_TARGET_TARGET_H
#define AITUNE_COMPILER_CODEGEN_CPU_TARGET_TARGET_H

#include <cstdint>
#include <string>

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace aitune {

struct Target {
  std::string triple; ///< LLVM's target triple
  /// LLVM's name for the CPU, for example "znver4".
  std::string cpu;
  /// LLVM's feature string, for example "+avx512f,+avx512bw".
  std::string features;
  /// The width of the vector registers to use, in bits: 512, 256 or 128.
  int64_t vectorBits = 128;
  /// The number of vector registers: 32 with AVX-512, otherwise 16.
  int64_t vectorRegisters = 16;
  bool hasAvx2 = false;
  /// Whether it has AVX-512 F, BW, DQ and VL: masks for elements of every
  /// width.
  bool hasAvx512 = false;
  bool hasAvx512Bf16 = false;
  bool hasAvx512Fp16 = false;
  bool hasAvx512Vnni = false;
  bool hasAmxBf16 = false;
  bool hasAmxInt8 = false;
  /// Whether the C library of this machine has functions of vectors: libmvec of
  /// glibc 2.35 or later.
  bool hasVectorMath = false;
  /// Sizes of the data caches of one core, in bytes; typical sizes if unknown.
  int64_t l1DataBytes = 32 * 1024;
  int64_t l2Bytes = 1024 * 1024;
  /// The size of the largest data cache, which cores may share, in bytes; a
  /// typical size if unknown.
  int64_t lastLevelBytes = 32 * 1024 * 1024;

  /// This machine. Thread-safe.
  static const Target &host();

  /// "host", or a typical machine: "avx2" (haswell), "avx512" (skylake-avx512
  /// without AMX or bf16), "avx512bf16" (znver4), "amx" (sapphirerapids).
  /// Failure for another name.
  static mlir::FailureOr<Target> named(llvm::StringRef name);

  /// The features of this one that `machine` lacks, "avx512bw, avx512f": its
  /// code would end a process there with SIGILL. Empty: it runs there.
  std::string missingOn(const Target &machine) const;

  /// The number of elements of `elementType` in a vector register; i1 counts as
  /// i8.
  int64_t lanes(mlir::Type elementType) const;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_TARGET_TARGET_H
