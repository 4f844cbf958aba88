// Graphs for LibTorch's interpreter.
//
// Internal: includes LibTorch, for files that do so already.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_INTERPRETER_CODE_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_INTERPRETER_CODE_H_

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <memory>
#include <string>

namespace aitune::frontend {

// What LibTorch's interpreter runs of `graph`, which is not changed and need
// not be kept. Throws c10::Error for a graph that can't be run.
//
// A torch::jit::Code of the graph itself may raise "Expected Tensor but got
// None": a loop whose one result is read once, by the operator behind it, is
// run while that operator's operands are loaded, and a value that was loaded
// before it, and that its body reads, then counts as read for the last time in
// the first iteration.
std::unique_ptr<torch::jit::Code> MakeCode(torch::jit::Graph& graph,
                                           const std::string& name);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_INTERPRETER_CODE_H_
