// Operators that end the process for some arguments.
//
// LibTorch's eigvals writes where it may not if a number is no finite one, and
// ldl_solve if pivots are none; `n % m` of integers ends the process where m is
// 0, `n // m` and it for the least integer and -1, as does attention without
// heads on a CPU; _pad_packed_sequence writes before its memory where batch
// sizes increase, and an LSTM beyond it where its states are of another batch
// (PyTorch 2.11). A program that is run on arguments that nobody
// gave it looks at those of such operators first. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_FATAL_OPERATORS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_FATAL_OPERATORS_H_

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <vector>

namespace aitune::frontend {

// The arguments for which an operator may end the process.
enum class FatalArguments {
  kNone,
  kEmpty,  // some of those with tensors that have no elements
  kOther,  // other ones too
};

// Of the operators in `block` and its inner blocks together, but for `//`,
// whose arguments hardly are those. Thread-safe.
FatalArguments FatalArgumentsIn(torch::jit::Block* block);

// Puts a look at the arguments before each such operator in `block` and its
// inner blocks, which throws where the operator would end the process. Whether
// there is one.
bool GuardFatalOperators(torch::jit::Block* block);

// The look at the arguments of one call, which throws std::runtime_error where
// it would end the process. Other operators pass.
void LookAtCall(const c10::FunctionSchema& schema,
                const std::vector<c10::IValue>& arguments);

// Why the last look on this thread has thrown, since ForgetFatalCall; empty if
// none has. LibTorch's interpreter throws it on as an exception of its own.
const std::string& FatalCall();
void ForgetFatalCall();

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_FATAL_OPERATORS_H_
