// What a model is called with: kinds of inputs for tracing, samples, and the
// sets of values that a compiled model is checked on.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_MODEL_INPUTS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_MODEL_INPUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"

namespace aitune::frontend {

struct ModelInputs {
  // One an argument of forward. Empty when only samples describe the inputs
  // (dicts, objects): everything is static then.
  std::vector<InputSpec> specs;
  std::optional<ValueList> samples;
  // Where they come from, to tell the user: "--input", "bert.inputs.pt".
  std::string source;
};

struct InputChoice {
  std::vector<std::string> specs;  // texts for ParseInputSpec; empty: none
  std::string samples_file;        // empty: none
  std::string model_file;          // NAME.pt: NAME.inputs.pt is tried last
  // Floating-point inputs are converted to this dtype.
  std::optional<DataType> dtype;
};

// Settles what `model` is called with: the specs and the file that were given;
// with both, the file gives values and the specs the dynamic axes. Without
// either, NAME.inputs.pt beside the model, then the inputs recorded in it.
// kInvalidArgument tells what to give, with forward's signature.
absl::StatusOr<ModelInputs> ChooseInputs(const Model& model,
                                         const InputChoice& choice);

// Arguments to time with: the samples, otherwise random ones with each dynamic
// axis at its maximum.
absl::StatusOr<ValueList> TypicalArguments(const ModelInputs& inputs,
                                           uint64_t seed);

// The sizes of the symbols of AssignSymbols(specs) in `arguments`.
// kInvalidArgument when these are other tensors than the specs describe, or
// sizes outside of their ranges.
absl::StatusOr<std::vector<int64_t>> SymbolSizes(
    absl::Span<const InputSpec> specs, const ValueList& arguments);

// Arguments to compare with eager on.
struct InputCase {
  std::string name;
  ValueList arguments;
};

// The samples, random ones (at the smallest, the largest and a middle size of
// each dynamic axis, and at `more_sizes`: one size for each symbol of
// AssignSymbols(inputs.specs)), zeros, ones, large magnitudes, and some NaN.
absl::StatusOr<std::vector<InputCase>> CheckCases(
    const ModelInputs& inputs, uint64_t seed,
    absl::Span<const std::vector<int64_t>> more_sizes = {});

// One size for each dynamic axis of the inputs, by its symbol.
struct SizeCombination {
  std::string name;  // of its case, such as "smallest sizes"
  std::vector<int64_t> sizes;
};

// Those that CheckCases takes: the largest twice, with other elements, and with
// dynamic axes the smallest and the middle ones.
std::vector<SizeCombination> SizesToCheck(absl::Span<const SymbolSpec> symbols);

// A case of random elements for each of `combinations`, in order. Errors: those
// of MakeInputs.
absl::StatusOr<std::vector<InputCase>> RandomCases(
    const ModelInputs& inputs, absl::Span<const SizeCombination> combinations,
    uint64_t seed);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_MODEL_INPUTS_H_
