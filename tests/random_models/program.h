// A random program: inputs, statements and what it returns.
#ifndef AITUNE_TESTS_RANDOM_MODELS_PROGRAM_H_
#define AITUNE_TESTS_RANDOM_MODELS_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/tensor/data_type.h"

namespace aitune::random_models {

// "v7".
std::string Name(int value);

struct Statement {
  // Lines of TorchScript without the indent of forward. Values by Name, dtypes
  // by their number in c10::ScalarType as "$(6)".
  std::string text;
  std::vector<int> reads;     // values
  std::vector<int> measures;  // values of which it takes sizes alone
  std::vector<int> makes;     // values; none when it writes to one it reads
  // Integers that it reads and that LibTorch makes floats of its default dtype.
  std::vector<int> promotes;
  // A value that it reads and that is like the only one it makes, in dtype and
  // sizes; -1: none.
  int like = -1;
};

struct Program {
  uint64_t seed = 0;
  std::vector<std::string> inputs;  // as --input; values 0, 1, ...
  std::vector<Statement> statements;
};

// What a smaller program leaves out of one, by positions of statements.
struct Reduction {
  std::set<int> dropped;   // with all that need what they make
  std::set<int> bypassed;  // what they make is a copy of what it is like
};
Program Reduced(const Program& program, const Reduction& reduction);

// Replaces "$(6)" by the number of the dtype; with `floats`, that of a
// floating-point one by the number of `floats`: float32 or float64.
std::string WithDataTypes(const std::string& text,
                          std::optional<DataType> floats);

// `text` with casts to the dtype `number` behind these values.
std::string Widened(const std::string& text, const std::vector<int>& values,
                    int number);

// TorchScript of forward, which returns what no statement reads, and some of
// the others. Dtypes as in WithDataTypes, with `floats` those that integers are
// promoted to as well.
std::string SourceOf(const Program& program,
                     std::optional<DataType> floats = std::nullopt);

}  // namespace aitune::random_models

#endif  // AITUNE_TESTS_RANDOM_MODELS_PROGRAM_H_
