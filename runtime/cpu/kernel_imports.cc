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

bool IsLibmName(std::string_view symbol) {
  if (IsArithmetic(symbol)) return true;
  if (symbol.empty() || symbol.back() != 'f') return false;
  symbol.remove_suffix(1);
  return IsArithmetic(symbol);
}

}  // namespace

bool IsVectorFunction(std::string_view symbol) {
  // "_ZGV", the instruction set, "N" for no mask, the number of lanes, a "v"
  // for each vector, "_" and the name in libm.
  if (symbol.substr(0, 4) != "_ZGV" || symbol.size() < 8) return false;
  const std::string_view sets = "bcde";
  if (sets.find(symbol[4]) == std::string_view::npos || symbol[5] != 'N')
    return false;
  size_t at = 6;
  while (at < symbol.size() && symbol[at] >= '0' && symbol[at] <= '9') ++at;
  const size_t vectors = at;
  while (at < symbol.size() && symbol[at] == 'v') ++at;
  return vectors > 6 && at > vectors && at < symbol.size() &&
         symbol[at] == '_' && IsLibmName(symbol.substr(at + 1));
}

bool MayImport(std::string_view symbol) {
  return std::binary_search(std::begin(kMemory), std::end(kMemory), symbol) ||
         IsLibmName(symbol) || IsVectorFunction(symbol);
}

}  // namespace aitune
