// The sizes of what a recurrent layer of LibTorch gives, by their formula.
//
// LibTorch's implementation for the meta device, which would give them, is
// written in Python and takes seconds to load in a process that has imported
// torch. oneDNN's LSTM, which it calls on a CPU, reads and writes beyond memory
// where the states are of another batch than the input (PyTorch 2.11).
#ifndef AITUNE_FRONTEND_VALUES_RECURRENT_SIZES_H_
#define AITUNE_FRONTEND_VALUES_RECURRENT_SIZES_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace aitune::frontend {

// Whether the operator is a recurrent layer over a dense sequence: aten::lstm,
// gru, rnn_tanh or rnn_relu with an input.
bool IsRecurrent(const c10::FunctionSchema& schema);

// The sizes of each result of such a call: the outputs of all steps, the last
// hidden state and, of an LSTM, the last cell. Nothing where the sizes of the
// states or of the weights don't fit the input's, or there is no step.
// Precondition: IsRecurrent. Thread-safe.
std::optional<std::vector<std::vector<int64_t>>> RecurrentSizes(
    const c10::FunctionSchema& schema, const std::vector<c10::IValue>& stack);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_RECURRENT_SIZES_H_
