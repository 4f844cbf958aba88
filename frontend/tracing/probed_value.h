// A value of the interpreted program, with its contents in each probe.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_PROBED_VALUE_H_
#define AITUNE_FRONTEND_TRACING_PROBED_VALUE_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/trace/recorded_op.h"
#include "frontend/trace/trace.h"
#include "frontend/tracing/size_function.h"

namespace aitune::frontend {

struct ProbedValue;

// Lists, dicts and tensors have reference semantics in TorchScript: names that
// denote one object share one ProbedValue.
using ProbedRef = std::shared_ptr<ProbedValue>;

// One view operator between a tensor and one that shares its memory.
struct ViewStep {
  std::string name, overload;  // of the operator; see TraceOp
  // Its arguments; arguments[0], self, is filled in when the step is applied.
  std::vector<ArgumentTemplate> arguments;
  TensorType type;  // the type of the result
};

// The memory that a tensor and its views share, as the trace knows it.
struct TracedStorage {
  ValueId base = -1;  // the value of the trace with its present contents
  TensorType base_type;
  std::vector<at::Tensor> base_tensors;  // one for each probe
  int version = 0;                       // the number of writes
  // Whether the contents are independent of input data and the same in all
  // probes.
  bool constant = false;
  // The value of the trace that is the model's or the caller's own tensor,
  // which calls write and whose memory this is (state_write.cc); -1 for other
  // memory.
  ValueId state = -1;
  std::string state_name;  // of such a tensor, for messages
  // The place in Trace::inputs of the input whose memory this is; -1: of none.
  int input = -1;
  // Whether the value that was read of `state` last lies in the tensor's own
  // memory, as long as that is not written after it; null: none was read.
  std::shared_ptr<bool> is_lent;
  // Of such a tensor: the versions whose parts were read, and then
  // overwritten, in a trace before this one. Of these the parts are copied.
  std::set<int>* overwritten = nullptr;
  int64_t read_elements = 0;   // elements of the parts read in this version
  bool tainted = false;        // whether the contents depend on input data
  bool unknown_views = false;  // whether a view of it has unknown steps
  std::string read_only;       // why it must not be written; empty if it may be
  std::vector<std::weak_ptr<ProbedValue>> tensors;  // all tensors in it
};

struct ProbedValue {
  enum class Kind {
    kPlain,   // a number, string, None, device or object; independent of data
    kTensor,  // a tensor of known dtype, rank and sizes
    kList,
    kTuple,
    kDict,
    kObject,  // an object made by the program, of a class that is no module
    kOpaque,  // a value that depends on data in a way a trace cannot express
  };
  Kind kind = Kind::kPlain;

  // kPlain, kTensor, kOpaque: the contents in each probe.
  std::vector<c10::IValue> probes;
  // Whether the value is the same for all sizes of the region.
  bool uniform = false;

  // kPlain integers and kTensor integers of rank 0: their expression, if known.
  std::optional<SizeExpression> size;

  // kPlain and kTensor, not uniform: the value as a function of the sizes; null
  // if it is not known, as after writes. With is_list_of_known: a list of
  // tensors that have the sizes of the value's.
  SizeFunctionRef function;
  // kTensor: the version of the storage for which `function` is right.
  int function_version = 0;

  // kOpaque: whether this is a tensor (of complex numbers, for example) whose
  // sizes do not depend on data; they are then type.sizes.
  bool has_sizes = false;
  // kOpaque: whether this is a list of tensors, whose number and sizes do not
  // depend on data. They follow from type.sizes, as `function` says.
  bool is_list_of_known = false;
  // kOpaque: whether its dtype, rank or kind depends on data, or that of a
  // part.
  bool of_varying_type = false;
  // Not kTensor: whether another value may have its memory, or be the same list
  // or dict, for other data than the probes'.
  bool may_share_memory = false;

  // kTensor:
  TensorType type;
  bool has_type = false;  // false: traces do not support its dtype or layout
  std::shared_ptr<TracedStorage> storage;
  std::vector<ViewStep> views;  // the steps from the storage's base to it
  int version = 0;              // the version of the storage of which `id` is

  // kTensor, kOpaque: the value of the trace; -1: none has been made yet.
  ValueId id = -1;
  // The name of a weight or submodule, such as "layer1.0.conv1.weight".
  std::string name;

  // kList, kTuple, kDict, kObject:
  std::vector<ProbedRef> elements;
  bool kept_by_module = false;    // whether an attribute of a module holds it
  std::vector<c10::IValue> keys;  // of kDict; of kObject: names of attributes
  c10::TypePtr type_hint;         // its static type

  bool IsTensor() const { return kind == Kind::kTensor; }
  bool IsContainer() const {
    return kind == Kind::kList || kind == Kind::kTuple || kind == Kind::kDict ||
           kind == Kind::kObject;
  }
  const at::Tensor& tensor(size_t probe = 0) const {
    return probes[probe].toTensor();
  }
};

// Whether the value or a part of it is opaque.
bool HasOpaque(const ProbedValue& value);
// The sizes of a tensor, of complex numbers too; null if it is none or if they
// are not known.
const std::vector<SizeExpression>* KnownSizes(const ProbedValue& value);
// Whether an opaque part has sizes that are not known.
bool HasUnknownSizes(const ProbedValue& value);
// Whether the dtype, rank or kind of the value or a part of it depends on data.
bool HasVaryingType(const ProbedValue& value);
// Whether the value or a part of it depends on input data.
bool IsTainted(const ProbedValue& value);
// Whether all parts are the same in all probes and independent of input data.
bool IsUniform(const ProbedValue& value);

// Whether all of the values are uniform.
bool AllUniform(const std::vector<ProbedRef>& values);
// Whether one of them, or a part of it, depends on input data or is opaque.
bool AnyTainted(const std::vector<ProbedRef>& values);
bool AnyOpaque(const std::vector<ProbedRef>& values);

// A container of these elements; `type` is ProbedValue::type_hint.
ProbedRef MakeContainer(ProbedValue::Kind kind, std::vector<ProbedRef> elements,
                        c10::TypePtr type);

// The position among `size` elements that Python means by `index`; not set if
// it is out of range.
std::optional<size_t> PositionOf(int64_t index, size_t size);

// The IValue of one probe; containers are built anew.
c10::IValue ValueInProbe(const ProbedValue& value, size_t probe);

// The position among the elements of a dict or object of the one with this key
// (the name of an attribute); not set if there is none.
std::optional<size_t> FindKey(const ProbedValue& value, const c10::IValue& key);
// Replaces the element with this key, or appends it if there is none.
void SetKey(ProbedValue& value, const c10::IValue& key, ProbedRef element);

// Appends the tensors in the value, depth first.
void CollectTensors(const ProbedRef& value, std::vector<ProbedRef>& tensors);
// Appends the opaque tensors with known sizes in the value, depth first.
void CollectOpaqueTensors(const ProbedRef& value,
                          std::vector<ProbedRef>& tensors);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_PROBED_VALUE_H_
