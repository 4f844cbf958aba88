// Which arguments operators write to. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_WRITTEN_ARGUMENTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_WRITTEN_ARGUMENTS_H_

#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>
#include <vector>

namespace aitune::frontend {

// Whether the node runs a program that is bound at run time, which may write to
// anything: a method of an interface, a fork or what waits for it, a context.
// Thread-safe.
bool RunsUnknownProgram(const torch::jit::Node& node);

// The positions of the inputs of `node` that its schema says it writes to:
// tensors, lists and dicts. None for a node without a schema. Thread-safe.
std::vector<size_t> WrittenArguments(const torch::jit::Node& node);

// Whether what it writes is a list or dict, whose tensors stay as they are.
// Thread-safe.
bool WritesOnlyContainer(const torch::jit::Node& node);

// The tensors that it writes to and its schema does not tell of
// (hidden_writes.h), which may be optional ones. Thread-safe.
std::vector<const torch::jit::Value*> HiddenlyWritten(
    const torch::jit::Node& node);

// The tensors that the operator writes to, hidden ones too. Thread-safe.
std::vector<const torch::jit::Value*> WrittenTensors(
    const torch::jit::Node& node);

// The values whose tensors the node may write to: WrittenTensors, and all that
// a function or method which is bound at run time is given. Thread-safe.
std::vector<const torch::jit::Value*> MayBeWritten(
    const torch::jit::Node& node);

// Whether the tensor that is this argument may have other sizes or strides
// after the call, as with t_(), resize_() and results that are given (out=).
bool MayChangeSizes(const c10::FunctionSchema& schema, size_t argument);

// Whether a value of the type is or may hold a tensor. Thread-safe.
bool HoldsTensors(const c10::TypePtr& type);

// Whether the node changes which tensors a list, dict or object holds, or which
// memory a tensor has. Thread-safe.
bool ChangesContents(const torch::jit::Node& node);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_WRITTEN_ARGUMENTS_H_
