// A TorchScript model in memory: loaded, described, and run by LibTorch itself
// (as the reference to compare with and the peer to be timed against).
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODEL_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/values/value_list.h"
#include "runtime/tensor/data_type.h"

namespace torch::jit {
struct Module;
}  // namespace torch::jit

namespace aitune::frontend {

struct LoadOptions {
  // Convert floating point parameters and buffers to this dtype, as
  // module.to(dtype) does.
  std::optional<DataType> dtype;
  // Move parameters, buffers and the devices that the program names to this
  // GPU; -1: the CPU.
  int gpu = -1;
};

// A parameter of forward.
struct Parameter {
  std::string name;
  std::string type;  // as TorchScript prints it, such as "Tensor" or "Dict[str,
                     // Tensor]"
  bool has_default = false;
};

class Model {
 public:
  // Reads a file written by torch.jit.save. Errors, one line each: kNotFound
  // (no such file), kInvalidArgument (truncated, not TorchScript, weights
  // without code, no forward). The module is put into eval mode.
  static absl::StatusOr<Model> Load(const std::string& path,
                                    const LoadOptions& options = {});
  // A model of a module in memory, which is put into eval mode and must not be
  // changed afterwards. Errors as Load.
  static absl::StatusOr<Model> FromModule(torch::jit::Module module,
                                          const LoadOptions& options = {});
  // The same for TorchScript source that defines `def forward(self, ...)`.
  static absl::StatusOr<Model> FromSource(const std::string& source);

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  // forward's parameters without self.
  const std::vector<Parameter>& parameters() const;
  // "forward(x: Tensor, mask: Tensor? = None)"; the type of the result after
  // "->".
  std::string Signature() const;
  // Bytes of all parameters and buffers, shared ones counted once.
  int64_t WeightBytes() const;
  // Inputs of the sizes and dtypes that the model was traced with, if the file
  // has them. Files do not keep the elements: floating point ones are random,
  // integers 0 or 1.
  std::optional<ValueList> RecordedInputs() const;

  // torch.compiler.disable for a submodule, such as "encoder.layer.0": in
  // compiled models LibTorch runs it and what it calls, for the reason
  // "disabled". Before the model is compiled or shared. kNotFound names the
  // submodules that there are.
  absl::Status Disable(const std::string& submodule);

  // torch.compiler.substitute_in_graph for a submodule: compiled models run
  // the method that `source` defines in place of its forward,
  //
  //   def forward(self, x: Tensor):
  //       return x * torch.sigmoid(x) * self.scale
  //
  // which must take and give the same types and compute the same; eager keeps
  // the submodule. It comes with the model into checkpoints. Before the model
  // is compiled or shared; a second one takes the place of the first.
  // kNotFound as Disable; kInvalidArgument for source that is not such a
  // method, with LibTorch's text, and for a submodule that forward never calls.
  absl::Status Substitute(const std::string& submodule,
                          const std::string& source);

  // Runs operator by operator in LibTorch's interpreter with no optimisation:
  // what eager mode computes, in eager's order. Missing arguments take their
  // defaults. kInvalidArgument for wrong arguments; kInternal with the model's
  // own message when it raises. Thread-safe.
  absl::StatusOr<c10::IValue> RunEager(const ValueList& inputs) const;

  // As RunEager through `freeze` and `optimize_for_inference`, LibTorch's own
  // best; built on first use. The first calls profile and compile: warm up.
  absl::StatusOr<c10::IValue> RunOptimized(const ValueList& inputs) const;

  // The LibTorch half of the model; defined in model_internal.h.
  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  // kNotFound unless there is one.
  absl::Status CheckSubmodule(const std::string& submodule) const;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_MODEL_H_
