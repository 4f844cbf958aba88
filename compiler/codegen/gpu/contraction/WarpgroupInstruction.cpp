#include "compiler/codegen/gpu/contraction/WarpgroupInstruction.h"

#include "compiler/dialect/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {

bool isCode(Type element) {
  return element.isInteger(8) || ait::isFloatCode(element);
}

std::string WarpgroupInstruction::define(const std::string &name) const {
  // A thread has half a sum of each column.
  const int64_t count = columns / 2;
  const bool isOfCodes = isCode(element), hasIntegers = element.isInteger(8);
  std::string numbers, sums;
  for (int64_t i = 0; i < count; ++i) {
    numbers += llvm::formatv("{0}%{1}", i ? ", " : "", i);
    sums += llvm::formatv("{0}\"+{2}\"(sums[{1}])", i ? ", " : "", i,
                          hasIntegers ? "r" : "f");
  }
  const std::string half = element.isBF16() ? "bf16" : "f16",
                    types = hasIntegers ? "k32.s32.u8.s8"
                            : isOfCodes ? "k32.f32.e4m3.e4m3"
                                        : "k16.f32." + half + "." + half;
  auto number = [&](int64_t i) { return "%" + std::to_string(count + i); };
  const int64_t leftCount = hasLeftInRegisters ? 4 : 1;
  const std::string left = hasLeftInRegisters
                               ? "{" + number(0) + ", " + number(1) + ", " +
                                     number(2) + ", " + number(3) + "}"
                               : number(0);
  const char *const leftParameter =
      hasLeftInRegisters ? "const unsigned (&a)[4]" : "unsigned long long a";
  const char *const leftInput =
      hasLeftInRegisters ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])"
                         : "\"l\"(a)";
  // What follows the predicate: signs of floats and, of half types in shared
  // memory, the order of A and of B.
  const std::string order = hasColumnsOfB ? ", 1" : ", 0",
                    flags = hasIntegers          ? ""
                            : isOfCodes          ? ", 1, 1"
                            : hasLeftInRegisters ? ", 1, 1" + order
                                                 : ", 1, 1, 0" + order;
  return llvm::formatv(
      "__device__ __forceinline__ void {12}({0} (&sums)[{1}], {2}, "
      "unsigned long long b, int accumulate) {{\n"
      "  asm volatile(\"{{\\n.reg .pred p;\\nsetp.ne.b32 p, {3}, 0;\\n\"\n"
      "               \"wgmma.mma_async.sync.aligned.m64n{4}{5} \"\n"
      "               \"{{{6}}, {7}, {8}, p{9};\\n}\"\n"
      "               : {10}\n"
      "               : {11}, \"l\"(b), \"r\"(accumulate));\n"
      "}\n",
      hasIntegers ? "int" : "float", count, leftParameter,
      number(leftCount + 1), columns, types, numbers, left, number(leftCount),
      flags, sums, leftInput, name);
}

} // namespace aitune
