// Copies the state of one tree of modules to another: of another program on the
// same modules, or of a copy of the modules on another device. Internal:
// includes LibTorch, which these functions throw the errors of.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_STATE_COPY_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_STATE_COPY_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/torchscript/state_writes.h"

namespace aitune::frontend {

// Whether two tensors of equal sizes and dtypes have the same bytes, so that
// NaN equals itself. They may be on different devices.
bool SameBytes(const at::Tensor& a, const at::Tensor& b);

class StateCopy {
 public:
  // `writes`, of the program on the tree that is copied from, must outlive
  // this. `device`: of the other tree, if it is another.
  StateCopy(const StateWrites& writes, std::optional<c10::Device> device)
      : writes_(writes), device_(device) {}

  // Copies what the program may write of `from` and of the modules in it.
  void Copy(const c10::ivalue::Object& from, c10::ivalue::Object& to);

  // The same for the constants that it writes; `to` are those of the other
  // program.
  void CopyConstants(const std::vector<at::Tensor>& to) const;

 private:
  // Does to `there` what in-place operators did to `value`. Programs on the
  // same modules have the same tensor.
  void Write(const at::Tensor& value, at::Tensor there) const;
  at::Tensor CopyOf(const at::Tensor& tensor) const;
  // One tensor stays one.
  c10::IValue There(const c10::IValue& value);

  const StateWrites& writes_;
  const std::optional<c10::Device> device_;
  std::unordered_set<const c10::ivalue::Object*> seen_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> there_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_STATE_COPY_H_
