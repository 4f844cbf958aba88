#include "runtime/cpu/kernel_imports.h"

#include <algorithm>
#include <iterator>

namespace aitune {
namespace {

// The functions of C's math.h that LLVM's intrinsics and MLIR's mathematical
// operations become, for doubles; those for floats have an 'f' at the end.
// Sorted.
constexpr std::string_view kArithmetic[] = {
    "acos",      "acosh",  "asin",  "asinh",     "atan",      "atan2",
    "atanh",     "cbrt",   "ceil",  "copysign",  "cos",       "cosh",
    "erf",       "erfc",   "exp",   "exp10",     "exp2",      "expm1",
    "fabs",      "fdim",   "floor", "fma",       "fmax",      "fmin",
    "fmod",      "frexp",  "hypot", "ldexp",     "lgamma",    "llrint",
    "llround",   "log",    "log10", "log1p",     "log2",      "logb",
    "lrint",     "lround", "modf",  "nearbyint", "nextafter", "pow",
    "remainder", "rint",   "round", "roundeven", "scalbn",    "sin",
    "sincos",    "sinh",   "sqrt",  "tan",       "tanh",      "tgamma",
    "trunc",
};

// What LLVM makes of loops that copy or fill. Sorted.
constexpr std::string_view kMemory[] = {"memcpy", "memmove", "memset"};

bool IsArithmetic(std::string_view symbol) {
  return std::binary_search(std::begin(kArithmetic), std::end(kArithmetic),
                            symbol);
}

}  // namespace

bool MayImport(std::string_view symbol) {
  if (std::binary_search(std::begin(kMemory), std::end(kMemory), symbol) ||
      IsArithmetic(symbol))
    return true;
  if (symbol.empty() || symbol.back() != 'f') return false;
  symbol.remove_suffix(1);
  return IsArithmetic(symbol);
}

}  // namespace aitune
