// Arguments or results of a model: LibTorch values that code without LibTorch's
// headers can hold, pass on and print.
#ifndef AITUNE_FRONTEND_VALUES_VALUE_LIST_H_
#define AITUNE_FRONTEND_VALUES_VALUE_LIST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace at {
class Tensor;
}  // namespace at
namespace c10 {
struct IValue;
}  // namespace c10

namespace aitune::frontend {

// A list of IValues, shared by copies and never changed through them.
class ValueList {
 public:
  // The empty list.
  ValueList();
  explicit ValueList(std::vector<c10::IValue> values);

  int size() const;
  // The values themselves, for code that includes ATen/core/ivalue.h.
  const std::vector<c10::IValue>& values() const { return *values_; }

  // For example "float32[1,3,224,224], int64=5".
  std::string Describe() const;

  // The same values with map(tensor) in place of each tensor that is defined.
  // May throw LibTorch's exceptions.
  ValueList MapTensors(
      const std::function<at::Tensor(const at::Tensor&)>& map) const;
  // The same values with memory of its own for each tensor, of equal strides:
  // what lies between the elements is copied too. May throw LibTorch's
  // exceptions.
  ValueList Clone() const;

 private:
  std::shared_ptr<const std::vector<c10::IValue>> values_;
};

// Reads sample inputs from a file that torch.save wrote: a tensor (one
// argument), a list or tuple (its elements are the arguments) or a dict (its
// values are the arguments, in order; `names` gets its keys if all of them are
// strings). Tensors that lie on a GPU come to the CPU. kNotFound when the file
// does not exist, kInvalidArgument when it holds something else.
absl::StatusOr<ValueList> LoadSamples(
    const std::string& path, std::vector<std::string>* names = nullptr);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_VALUE_LIST_H_
