// A TorchScript model in memory, which LibTorch can run: as the reference that
// compiled models are compared with and timed against.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODEL_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/values/value_list.h"
#include "runtime/device/device.h"
#include "runtime/tensor/data_type.h"
#include "runtime/tensor/tensor_view.h"

namespace torch::jit {
struct Module;
}  // namespace torch::jit

namespace aitune::frontend {

class CodedWeights;

struct LoadOptions {
  // The dtype to which floating-point parameters and buffers are converted, as
  // module.to(dtype) does; not set: none.
  std::optional<DataType> dtype;
  // Whether the narrower floating-point dtypes that the program names, as
  // x.to(torch.float16) does, become `dtype` as well: the same program in
  // higher precision. Without it they stay, and a program may stop that mixes
  // them with converted weights.
  bool widen_casts = false;
  // The device to which parameters, buffers and the devices in the program are
  // moved.
  Device device;
};

// A parameter of forward.
struct Parameter {
  std::string name;
  // Its type as TorchScript prints it, such as "Tensor" or "Dict[str, Tensor]".
  std::string type;
  bool has_default = false;
};

class Model {
 public:
  // Reads a file that torch.jit.save wrote, and puts the module into eval mode.
  // Errors, each with a text of one line: kNotFound (no such file),
  // kInvalidArgument (truncated, not TorchScript, weights without code, no
  // forward).
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

  // The name of the module's class, such as "BertModel".
  std::string class_name() const;
  // The parameters of forward, without self.
  const std::vector<Parameter>& parameters() const;
  // Such as "forward(x: Tensor, mask: Tensor? = None) -> Tensor".
  std::string Signature() const;
  // Bytes of all parameters and buffers, shared ones counted once, and those of
  // weights that are not made yet counted too.
  int64_t WeightBytes() const;
  // Those of them that are not made yet (MakeLater). Thread-safe.
  int64_t UnmadeBytes() const;
  // Bytes of the tensors that KeepBeside keeps.
  int64_t BesideBytes() const;
  // Inputs with the sizes and dtypes that the model was traced with, if they
  // are in the file. The file has no elements: floating-point elements are
  // random, integers 0 or 1.
  std::optional<ValueList> RecordedInputs() const;

  // torch.compiler.disable for a submodule, such as "encoder.layer.0": in
  // compiled models LibTorch runs it and all that it calls, with the reason
  // "disabled". Must be called before the model is compiled or shared between
  // threads. kNotFound for an unknown submodule; the text lists the submodules.
  absl::Status Disable(const std::string& submodule);

  // torch.compiler.substitute_in_graph for a submodule: compiled models run
  // the method that `source` defines in place of its forward,
  //
  //   def forward(self, x: Tensor):
  //       return x * torch.sigmoid(x) * self.scale
  //
  // The method must take and return the same types and compute the same. Eager
  // still runs the submodule itself. Checkpoints of the model include the
  // replacement. Must be called before the model is compiled or shared between
  // threads; a second call for the same submodule replaces the first. kNotFound
  // as Disable; kInvalidArgument for source that is not such a method, with
  // LibTorch's text, and for a submodule that forward never calls.
  absl::Status Substitute(const std::string& submodule,
                          const std::string& source);

  // The same program with the elements of `weights`, dense tensors on the CPU
  // by the names that state_dict gives them, in place of those of its
  // parameters and buffers. They are copied. All other tensors, also those that
  // calls change, are the ones of this model. A tensor that the model has under
  // several names (tied weights) changes under all of them. Errors: kNotFound
  // for a name that the model lacks; kInvalidArgument for another dtype or
  // other sizes, for several names of one tensor that are given different
  // elements, and for a tensor of whose memory another one is a view. Each
  // names the weight. Thread-safe.
  absl::StatusOr<Model> WithWeights(
      const std::map<std::string, TensorView>& weights) const;

  // Runs operator by operator in LibTorch's interpreter with no optimisation:
  // the same operators in the same order as in PyTorch's eager mode. Missing
  // arguments take their defaults. kInvalidArgument for wrong arguments;
  // kInvalidArgument with the model's own message when it raises. Thread-safe.
  absl::StatusOr<c10::IValue> RunEager(const ValueList& inputs) const;

  // As RunEager, but optimised by LibTorch's `freeze` and
  // `optimize_for_inference`, at the first call. The next calls are slow too,
  // because LibTorch profiles and compiles in them. Thread-safe.
  absl::StatusOr<c10::IValue> RunOptimized(const ValueList& inputs) const;

  // Keeps tensors beside the model's own: ModelTensors has them, too. They are
  // the codes of its quantised weights. Not thread-safe.
  void KeepBeside(std::vector<ConstantTensor> tensors);

  // Has `weights`, which are tensors of this model, made when something first
  // reads them; null: all are made. Not thread-safe.
  void MakeLater(std::shared_ptr<CodedWeights> weights);
  // Makes them, if they are not made yet, as all that reads weights does: runs
  // by LibTorch, traces, hashes, saving. Thread-safe. Errors: LibTorch's own,
  // such as lack of memory; the next call then tries again.
  absl::Status MakeWeights() const;
  // This model for a passing use: with weights of its own in place of those
  // that are not made yet, and stay so. Other tensors are the ones of this
  // model. Thread-safe. Errors as MakeWeights.
  absl::StatusOr<Model> WithOwnWeights() const;

  // A model of `module`, another program on this model's tensors. Errors as
  // FromModule.
  absl::StatusOr<Model> WithProgram(torch::jit::Module module) const;

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
