// What the user says about a model's inputs: `--input "float32[1,3,224,224]"`.
//
//   spec     := tensor | scalar | "(" spec "," ... ")" | "[" spec "," ... "]" |
//   "none" tensor   := dtype "[" axis "," ... "]" values? axis     := size |
//   range | name "=" range | name range    := size ".." size values   := "{"
//   number ".." number "}" scalar   := "int64=5" | "float64=0.5" | "bool=true"
//   | "str=text"
//
// "(...)" is a tuple, "[...]" a list. A range makes a dynamic axis. Axes with
// the same name have the same size. Unnamed ranges of different inputs with
// the same bounds on the same axis number are one symbol too (the batch of
// several inputs); ranges of one input are never merged.
//
// Values: floating point inputs are drawn from the normal distribution unless
// a range is given, then uniformly. Integer inputs are often indices, for which
// nobody but the model knows the bounds: without a range they are 0 or 1,
// which any embedding of two rows or more accepts. Masks need the user's word:
// int64[1,128]{1..1}.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_INPUT_SPEC_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_INPUT_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/values/value_list.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// One axis of an input: min == max for a fixed size.
struct AxisSpec {
  int64_t min = 1, max = 1;
  std::string name;  // of the symbol; empty when the user gave none
  bool dynamic() const { return min != max; }
};

struct InputSpec {
  enum class Kind {
    kTensor,
    kInt,
    kFloat,
    kBool,
    kString,
    kNone,
    kTuple,
    kList
  };
  Kind kind = Kind::kTensor;
  // kTensor
  DataType dtype = DataType::kFloat32;
  std::vector<AxisSpec> axes;
  std::optional<std::pair<double, double>>
      values;  // inclusive range of the elements
  // kInt, kFloat, kBool (0 or 1), kString
  int64_t int_value = 0;
  double float_value = 0;
  std::string text;
  // kTuple, kList
  std::vector<InputSpec> children;
};

// One argument of forward. kInvalidArgument says where in the text it is wrong.
absl::StatusOr<InputSpec> ParseInputSpec(std::string_view text);

// The inverse of ParseInputSpec.
std::string ToString(const InputSpec& spec);

// The specification of a given value: its dtype, sizes, and for integers the
// range of its elements. kInvalidArgument for values that no specification can
// describe (dicts, objects, dtypes outside DataType).
absl::StatusOr<std::vector<InputSpec>> SpecsOf(const ValueList& values);

// The symbol that each dynamic axis belongs to.
struct SymbolSpec {
  std::string name;
  int64_t min = 1, max = 1;
  int32_t input = 0,
          axis = 0;  // its first axis, inputs numbered as flattened tensors
};

// Symbols of all inputs in order of appearance, merged as described above.
// kInvalidArgument when axes of one name have different bounds.
struct SymbolAssignment {
  std::vector<SymbolSpec> symbols;
  // of[i][a]: the symbol of axis a of the flattened tensor input i, or -1.
  std::vector<std::vector<int>> of;
};
absl::StatusOr<SymbolAssignment> AssignSymbols(
    absl::Span<const InputSpec> specs);

// Random inputs of the specified kinds, with `sizes[s]` for symbol s. Equal
// seeds give equal inputs. kInvalidArgument when the values cannot be made
// (an empty range).
absl::StatusOr<ValueList> MakeInputs(absl::Span<const InputSpec> specs,
                                     absl::Span<const int64_t> sizes,
                                     uint64_t seed);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_INPUT_SPEC_H_
