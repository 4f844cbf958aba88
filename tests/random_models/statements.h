// Statements beside calls of the operators' table: views, broadcasts, writes,
// branches, loops, and numbers made of sizes.
#ifndef AITUNE_TESTS_RANDOM_MODELS_STATEMENTS_H_
#define AITUNE_TESTS_RANDOM_MODELS_STATEMENTS_H_

#include <optional>

#include "tests/random_models/pool.h"

namespace aitune::random_models {

// Nothing where the pool has no value that fits; eager may refuse what is
// given.
std::optional<Expression> View(Pool& pool);
// Two values, of which one was reduced or got axes, or of a value and a size.
std::optional<Expression> Arithmetic(Pool& pool);
std::optional<Expression> Cast(Pool& pool);
// A tensor made of nothing but sizes, or chosen by them.
std::optional<Expression> FromSizes(Pool& pool);
// A [3,n], [n,n] or [1,4,n,n] of a value: what the table's calls like.
std::optional<Expression> TableShape(Pool& pool);
// To a value that shares no memory with an input, or to a view of it.
std::optional<Expression> Write(Pool& pool);
// An if on sizes, with such expressions in its ways; a loop over parts of a
// value, of a fixed number of turns, or as long as sizes say.
std::optional<Expression> Branch(Pool& pool);
std::optional<Expression> Loop(Pool& pool);

}  // namespace aitune::random_models

#endif  // AITUNE_TESTS_RANDOM_MODELS_STATEMENTS_H_
