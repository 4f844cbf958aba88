// The inputs of a model: their kinds for tracing, samples, and the sets of
// values on which a compiled model is checked.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODEL_INPUTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODEL_INPUTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

struct ModelInputs {
  // One for each argument of forward. Empty when only samples can describe the
  // inputs (dicts, objects): all sizes are then static.
  std::vector<InputSpec> specs;
  std::optional<ValueList> samples;
  // Where the inputs come from, for messages: "--input", "bert.inputs.pt".
  std::string source;
  // Gives arguments that are made of `specs` the types of forward's parameters,
  // as WithParameterTypes, which an empty list, say, does not show. Null: they
  // stay as they are made.
  std::function<ValueList(const ValueList&)> with_types;
};

// As MakeInputs of `inputs.specs`, with the types of forward's parameters.
absl::StatusOr<ValueList> MakeInputs(const ModelInputs& inputs,
                                     absl::Span<const int64_t> sizes,
                                     uint64_t seed);

// The user's choice of inputs.
struct InputChoice {
  std::vector<std::string> specs;  // texts for ParseInputSpec; empty: none
  std::string samples_file;        // a file for LoadSamples; empty: none
  std::string model_file;          // the model's own file, NAME.pt
  // The dtype to which floating-point inputs are converted; not set: none.
  std::optional<DataType> dtype;
};

// The inputs of `model` by this choice: the specs and the samples, which a dict
// whose keys are parameters of forward gives by name, with the types of forward
// as Python's calls convert them; with both, the values are those of the
// samples and the dynamic axes those of the specs. If neither is given, the
// samples in NAME.inputs.pt beside the model's file, otherwise the inputs
// recorded in the model. kInvalidArgument says what to give, with forward's
// signature, and names a spec that is of another type than its parameter.
absl::StatusOr<ModelInputs> ChooseInputs(const Model& model,
                                         const InputChoice& choice);

// Arguments for timing: the samples if there are any, otherwise random ones
// with each dynamic axis at its maximum. Equal seeds give equal arguments.
absl::StatusOr<ValueList> TypicalArguments(const ModelInputs& inputs,
                                           uint64_t seed);

// The sizes in `arguments` of the symbols of AssignSymbols(specs).
// kInvalidArgument when the specs describe other tensors, or a size is outside
// of its range.
absl::StatusOr<std::vector<int64_t>> SymbolSizes(
    absl::Span<const InputSpec> specs, const ValueList& arguments);

// `specs` in which dynamic axes have the sizes that `arguments`, which are of
// equal nesting, have. Fixed ones stay, whatever size the arguments have there.
// Errors as SpecsOf.
absl::StatusOr<std::vector<InputSpec>> WithSizesOf(std::vector<InputSpec> specs,
                                                   const ValueList& arguments);

// The name of the case that is the caller's own samples.
inline constexpr std::string_view kSampleCase = "sample";

// Arguments for which a compiled model is compared with eager.
struct InputCase {
  std::string name;  // such as "zeros"
  ValueList arguments;
};

// The cases of a check: the samples, random arguments, zeros, ones, large
// magnitudes, and some NaN. Random arguments have the sizes of SizesToCheck and
// of `more_sizes`, of which each has one size for each symbol of
// AssignSymbols(inputs.specs).
absl::StatusOr<std::vector<InputCase>> CheckCases(
    const ModelInputs& inputs, uint64_t seed,
    absl::Span<const std::vector<int64_t>> more_sizes = {});

// One combination of sizes of the inputs' dynamic axes.
struct SizeCombination {
  std::string name;            // the name of its case, such as "smallest sizes"
  std::vector<int64_t> sizes;  // one for each symbol, in elements
};

// The combinations that CheckCases uses: all sizes at their largest, twice, for
// two cases with different elements; if there are dynamic axes, also all at
// their smallest and all at the middle of their ranges.
std::vector<SizeCombination> SizesToCheck(absl::Span<const SymbolSpec> symbols);

// A case of random elements for each of `combinations`, in order. Errors as
// MakeInputs.
absl::StatusOr<std::vector<InputCase>> RandomCases(
    const ModelInputs& inputs, absl::Span<const SizeCombination> combinations,
    uint64_t seed);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_MODEL_INPUTS_H_
