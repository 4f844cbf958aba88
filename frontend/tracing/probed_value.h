// A value of the interpreted program, seen in all probes at once.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_PROBED_VALUE_H_
#define AITUNE_FRONTEND_TRACING_PROBED_VALUE_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <memory>
#include <optional>
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
  std::string name, overload;
  std::vector<ArgumentTemplate>
      arguments;    // arguments[0], self, is put in on use
  TensorType type;  // of the result
};

// The memory that a tensor and its views share, as the trace knows it.
struct TracedStorage {
  ValueId base = -1;  // the current functional value of the whole
  TensorType base_type;
  std::vector<at::Tensor> base_tensors;  // one a probe
  int version = 0;                       // raised by each write
  bool constant = false;       // no input data in it, the same in all probes
  bool tainted = false;        // depends on input data
  bool unknown_views = false;  // has views whose steps are not known
  std::string read_only;       // why it must not be written; empty if it may
  std::vector<std::weak_ptr<ProbedValue>> tensors;  // that live in it
};

struct ProbedValue {
  enum class Kind {
    kPlain,   // numbers, strings, None, devices, objects: never data dependent
    kTensor,  // of known dtype, rank and sizes
    kList,
    kTuple,
    kDict,
    kObject,  // of a class that is no module, made by the program itself
    kOpaque,  // anything that depends on data in a way the trace cannot follow
  };
  Kind kind = Kind::kPlain;

  // kPlain, kTensor, kOpaque: one a probe.
  std::vector<c10::IValue> probes;
  // The value is the same at all sizes that the trace is made for.
  bool uniform = false;

  // kPlain integers and kTensor integers of rank 0: their expression, if known.
  std::optional<SizeExpression> size;

  // kPlain and kTensor, not uniform: the value as a function of the sizes; null
  // where it is not known, as after writes.
  SizeFunctionRef function;
  int function_version = 0;  // kTensor: of the storage that it is right for

  // kOpaque: a tensor, such as one of complex numbers, whose sizes do not
  // depend on data; type.sizes are they.
  bool has_sizes = false;

  // kTensor
  TensorType type;
  bool has_type = false;  // false: a dtype or layout that traces have not
  std::shared_ptr<TracedStorage> storage;
  std::vector<ViewStep> views;  // from the storage's base
  int version = 0;              // of the storage that `id` belongs to

  // kTensor, kOpaque: the value of the trace; -1: none made yet.
  ValueId id = -1;
  std::string
      name;  // of a weight or submodule, such as "layer1.0.conv1.weight"

  // kList, kTuple, kDict, kObject
  std::vector<ProbedRef> elements;
  bool kept_by_module = false;    // it is what a module's attribute holds
  std::vector<c10::IValue> keys;  // kDict; kObject: the attributes' names
  c10::TypePtr type_hint;         // static type: of the list, tuple, ...

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
// Whether an opaque part has sizes that are not known.
bool HasUnknownSizes(const ProbedValue& value);
// Whether the value or a part of it depends on input data.
bool IsTainted(const ProbedValue& value);
// Whether all parts are the same in all probes and independent of input data.
bool IsUniform(const ProbedValue& value);

// The IValue of one probe; containers are built anew.
c10::IValue ValueInProbe(const ProbedValue& value, size_t probe);

// Of a dict, or of an object by the name of an attribute: the position among
// its elements; nothing if there is none.
std::optional<size_t> FindKey(const ProbedValue& value, const c10::IValue& key);
// Puts `element` in place of the key's, or after all others.
void SetKey(ProbedValue& value, const c10::IValue& key, ProbedRef element);

// Appends the tensors in the value, depth first.
void CollectTensors(const ProbedRef& value, std::vector<ProbedRef>& tensors);
// The same of the opaque ones with sizes.
void CollectOpaqueTensors(const ProbedRef& value,
                          std::vector<ProbedRef>& tensors);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_PROBED_VALUE_H_
