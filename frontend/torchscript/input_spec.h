// Specifications of a model's inputs, as the user writes them:
// `--input "float32[1,3,224,224]"`.
//
//   spec   := tensor | scalar | "none" |
//             "(" spec "," ... ")" | "[" spec "," ... "]" |
//             "{" key ":" spec "," ... "}"
//   tensor := dtype "[" axis "," ... "]" values?
//   axis   := size | range | name "=" range | name
//   range  := size ".." size
//   values := "{" number ".." number "}"
//   scalar := "int64=5" | "float64=0.5" | "bool=true" | "str=" text
//
//   key    := integer | text | "float64=0.5" | "bool=true" |
//             "complex128=(" real "," imaginary ")"
//   text   := word | '"' characters, with the escapes of C '"'
//
// "(...)" is a tuple, "[...]" a list, "{...}" a dict. A range makes a dynamic
// axis. Axes with the same name have the same size. Unnamed ranges of different
// inputs with the same bounds on the same axis number are one symbol too (the
// batch of several inputs); ranges of one input are never merged.
//
// Values: floating-point inputs are drawn from the normal distribution, or
// uniformly from the range if one is given. Integer inputs are often indices,
// whose bounds only the model knows: without a range they are 0 or 1, which any
// embedding with at least two rows accepts. The values of a mask must be given:
// int64[1,128]{1..1}.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_INPUT_SPEC_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_INPUT_SPEC_H_

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/values/value_list.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// One axis of an input.
struct AxisSpec {
  int64_t min = 1, max = 1;  // its range in elements; equal for a fixed size
  std::string name;          // name of the symbol; empty when none was given
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
    kList,
    kDict
  };
  // Of each type that a key may have in TorchScript, but tensors, which are
  // equal to nothing but themselves.
  using Key =
      std::variant<int64_t, std::string, double, bool, std::complex<double>>;
  Kind kind = Kind::kTensor;
  // Of kTensor:
  DataType dtype = DataType::kFloat32;
  std::vector<AxisSpec> axes;
  // The range of its elements, both ends included.
  std::optional<std::pair<double, double>> values;
  // The value of other kinds:
  int64_t int_value = 0;   // kInt; kBool: 0 or 1
  double float_value = 0;  // kFloat
  std::string text;        // kString
  // The elements of kTuple and kList, the values of kDict.
  std::vector<InputSpec> children;
  std::vector<Key> keys;  // of kDict, one for each of its values
};

// The specification of one argument of forward. The error, kInvalidArgument,
// says where the text is wrong.
absl::StatusOr<InputSpec> ParseInputSpec(std::string_view text);

// The inverse of ParseInputSpec.
std::string ToString(const InputSpec& spec);

// The specifications of given values: the dtype and sizes of each tensor and,
// for integers, the range of its elements. kInvalidArgument for values that no
// specification can describe (objects, dtypes outside of DataType, dicts with
// keys of other types).
absl::StatusOr<std::vector<InputSpec>> SpecsOf(const ValueList& values);

// A symbol: the common size of one or more dynamic axes.
struct SymbolSpec {
  std::string name;
  int64_t min = 1, max = 1;  // its range in elements, both ends included
  // The first axis of the symbol, and its flattened tensor input.
  int32_t input = 0, axis = 0;
};

struct SymbolAssignment {
  std::vector<SymbolSpec> symbols;  // in the order of their first axes
  // of[i][a] is the symbol of axis a of the flattened tensor input i; -1 for a
  // fixed axis.
  std::vector<std::vector<int>> of;
};
// The symbols of all inputs, merged as described above. kInvalidArgument when
// axes with the same name have different bounds.
absl::StatusOr<SymbolAssignment> AssignSymbols(
    absl::Span<const InputSpec> specs);

// Random inputs of the specified kinds; sizes[s] is the size of symbol s. Equal
// seeds give equal inputs. kInvalidArgument when the values cannot be made
// (an empty range, for example).
absl::StatusOr<ValueList> MakeInputs(absl::Span<const InputSpec> specs,
                                     absl::Span<const int64_t> sizes,
                                     uint64_t seed);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_INPUT_SPEC_H_
