// The sizes that a part of the program which LibTorch runs computes so that a
// few of them say nothing of the others.
//
// Such a part is run at some sizes, and formulas are fitted to what it gives.
// That shows all sizes as long as they grow with those of the inputs, in steps
// perhaps, as the number of chunks does. x[:n - n * n % 101 // 100] has another
// size for two in a hundred n, which a sample passes over. Internal: includes
// LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_IRREGULAR_SIZES_H_
#define AITUNE_FRONTEND_TRACING_IRREGULAR_SIZES_H_

#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <set>
#include <vector>

#include "frontend/tracing/size_function.h"

namespace aitune::frontend {

// How a number, or the sizes of a tensor, follow from the sizes of symbols.
struct SizeGrowth {
  enum class Kind {
    kFixed,       // they don't
    kLinear,      // a sum of multiples
    kPolynomial,  // of products, too
    kSteps,       // a division of a linear number, a comparison, a minimum
    kPeriodic,    // a remainder, or a difference of steps
    kIrregular,   // in any other way
  };
  Kind kind = Kind::kFixed;
  std::set<int> symbols;

  // Takes `other` in: what may be one or the other, or has both as parts.
  void Join(const SizeGrowth& other);
};

// Of a formula, and of a function; of the latter, if it is a tensor's or a
// list's, that of its sizes or elements. Thread-safe.
SizeGrowth GrowthOf(const SizeExpression& formula);
SizeGrowth GrowthOf(const SizeFunction& function);

// The sets of symbols, ascending, that numbers and sizes in the blocks of
// `node` are irregular in, none a part of another. `outside`: the growth of a
// value from outside of the node. Thread-safe.
std::set<std::vector<int>> IrregularSymbols(
    torch::jit::Node* node,
    const std::function<SizeGrowth(torch::jit::Value*)>& outside);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_IRREGULAR_SIZES_H_
