// Nested TorchScript values (tuples, lists, dicts) seen as leaves with paths.
#ifndef AITUNE_FRONTEND_VALUES_PYTREE_H_
#define AITUNE_FRONTEND_VALUES_PYTREE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace at {
class Tensor;
}  // namespace at
namespace c10 {
struct IValue;
}  // namespace c10

namespace aitune::frontend {

class ValueList;

struct Leaf {
  // How Python would index it, such as "[0]['mask']"; "" for the value itself.
  // What a dict with tensors as keys has is named by its place, as these have
  // no name: ".keys()[0]" and ".values()[0]".
  std::string path;
  std::shared_ptr<const c10::IValue> value;
};

// The leaves of `value` in depth-first order: tensors, numbers, strings, None
// and objects. An undefined tensor is None, as it is in Python. Dicts are
// walked in insertion order; a key that is a tensor is a leaf before its value.
std::vector<Leaf> Leaves(const c10::IValue& value);

// The tensors among the leaves, all of them defined; of a list, those of all
// its values in order.
std::vector<at::Tensor> TensorLeaves(const c10::IValue& value);
std::vector<at::Tensor> TensorLeaves(const ValueList& values);

// A copy of `value` with each leaf replaced by `map(leaf)`, in the order of
// Leaves; undefined tensors are given as they are. Named tuples keep their
// names.
c10::IValue MapLeaves(
    const c10::IValue& value,
    const std::function<c10::IValue(const c10::IValue&)>& map);

// A copy of `value` with each tensor replaced by `map(tensor, index)`, where
// index counts the tensors in the order of Leaves. Other leaves are shared,
// with undefined tensors among them.
c10::IValue MapTensors(
    const c10::IValue& value,
    const std::function<at::Tensor(const at::Tensor&, int)>& map);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_PYTREE_H_
