// The comparison of results of any nesting, leaf by leaf.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/check/verification.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Compares the leaves of results, and what objects among them hold.
class ResultComparer {
 public:
  std::vector<Comparison> Compare(
      const c10::IValue& ours, const c10::IValue& eager,
      const c10::IValue* reference, const ComparisonOptions& options,
      absl::Span<const std::optional<DataType>> arithmetic);

 private:
  // The comparison of two objects is one: of the first attribute that differs.
  Comparison CompareObjects(const c10::ivalue::Object& ours,
                            const c10::ivalue::Object& eager,
                            const c10::ivalue::Object* reference,
                            const ComparisonOptions& options);

  // Those that were met before: objects may refer to each other.
  std::set<std::pair<const void*, const void*>> seen_;
};

// The class's name without what LibTorch adds to it in copies of a module.
std::string NameOf(const c10::ClassType& type) {
  if (!type.name()) return "";
  std::vector<std::string> atoms = type.name()->atoms();
  atoms.erase(std::remove_if(atoms.begin(), atoms.end(),
                             [](const std::string& atom) {
                               return absl::StartsWith(atom,
                                                       "___torch_mangle_");
                             }),
              atoms.end());
  return absl::StrJoin(atoms, ".");
}

// Whether both have the same name, attributes and constants.
bool AreOneClass(const c10::ClassType& a, const c10::ClassType& b) {
  if (&a == &b) return true;
  if (NameOf(a) != NameOf(b) || a.numAttributes() != b.numAttributes() ||
      a.numConstants() != b.numConstants())
    return false;
  for (size_t i = 0; i < a.numAttributes(); ++i) {
    if (a.getAttributeName(i) != b.getAttributeName(i)) return false;
  }
  for (size_t i = 0; i < a.numConstants(); ++i) {
    if (a.getConstantName(i) != b.getConstantName(i) ||
        a.getConstant(i) != b.getConstant(i))
      return false;
  }
  return true;
}

Comparison ResultComparer::CompareObjects(const c10::ivalue::Object& ours,
                                          const c10::ivalue::Object& eager,
                                          const c10::ivalue::Object* reference,
                                          const ComparisonOptions& options) {
  Comparison result;
  result.agrees = true;
  if (&ours == &eager || !seen_.emplace(&ours, &eager).second) return result;
  if (!AreOneClass(*ours.type(), *eager.type())) {
    result.agrees = false;
    result.max_error = kInfinity;
    result.problem = absl::StrCat(
        "is an object of the class ", NameOf(*ours.type()), ", eager's of ",
        NameOf(*eager.type()), " or of another of that name");
    return result;
  }
  const bool has_truth =
      reference != nullptr && AreOneClass(*reference->type(), *eager.type());
  for (size_t i = 0; i < eager.slots().size(); ++i) {
    const c10::IValue truth = has_truth ? reference->getSlot(i) : c10::IValue();
    for (const Comparison& part :
         Compare(ours.getSlot(i), eager.getSlot(i),
                 has_truth ? &truth : nullptr, options, {})) {
      result.max_error = std::max(result.max_error, part.max_error);
      if (part.agrees) continue;
      result.agrees = false;
      result.differing = part.differing;
      result.limits = part.limits;
      result.problem = absl::StrCat("differs in its attribute ",
                                    eager.type()->getAttributeName(i),
                                    part.output, ": ", part.problem);
      return result;
    }
  }
  return result;
}

std::vector<Comparison> ResultComparer::Compare(
    const c10::IValue& ours, const c10::IValue& eager,
    const c10::IValue* reference, const ComparisonOptions& options,
    absl::Span<const std::optional<DataType>> arithmetic) {
  const std::vector<Leaf> our_leaves = Leaves(ours),
                          eager_leaves = Leaves(eager);
  std::vector<Leaf> reference_leaves;
  if (reference != nullptr) reference_leaves = Leaves(*reference);
  Comparison structure;
  structure.max_error = kInfinity;
  if (our_leaves.size() != eager_leaves.size()) {
    structure.problem =
        absl::StrCat("the result has ", our_leaves.size(),
                     " leaves, eager's has ", eager_leaves.size());
    return {structure};
  }
  std::optional<DataType> narrowest = options.arithmetic;
  for (const std::optional<DataType>& dtype : arithmetic)
    narrowest = Narrower(narrowest, dtype);
  const auto tensors = static_cast<size_t>(
      std::count_if(eager_leaves.begin(), eager_leaves.end(),
                    [](const Leaf& leaf) { return leaf.value->isTensor(); }));
  size_t tensor = 0;
  std::vector<Comparison> results;
  for (size_t i = 0; i < our_leaves.size(); ++i) {
    const Leaf &mine = our_leaves[i], &theirs = eager_leaves[i];
    Comparison result;
    if (mine.path != theirs.path) {
      result.max_error = kInfinity;
      result.problem =
          absl::StrCat("is at ", mine.path, ", eager's is at ", theirs.path);
    } else if (mine.value->isTensor() && theirs.value->isTensor()) {
      const at::Tensor* truth = nullptr;
      if (reference_leaves.size() == eager_leaves.size() &&
          reference_leaves[i].value->isTensor()) {
        truth = &reference_leaves[i].value->toTensor();
      }
      ComparisonOptions own = options;
      own.arithmetic = tensors == arithmetic.size()
                           ? Narrower(options.arithmetic, arithmetic[tensor])
                           : narrowest;
      ++tensor;
      result = CompareTensors(mine.value->toTensor(), theirs.value->toTensor(),
                              truth, own);
    } else if (mine.value->isDouble() && theirs.value->isDouble()) {
      result = CompareTensors(
          at::scalar_tensor(mine.value->toDouble(), at::kDouble),
          at::scalar_tensor(theirs.value->toDouble(), at::kDouble), nullptr,
          {options.relative, Narrower(DataType::kFloat32, narrowest)});
    } else if (mine.value->isObject() && theirs.value->isObject()) {
      const bool has_truth = reference_leaves.size() == eager_leaves.size() &&
                             reference_leaves[i].value->isObject();
      ComparisonOptions own = options;
      own.arithmetic = narrowest;
      result = CompareObjects(
          mine.value->toObjectRef(), theirs.value->toObjectRef(),
          has_truth ? &reference_leaves[i].value->toObjectRef() : nullptr, own);
    } else if (mine.value->tagKind() == theirs.value->tagKind() &&
               *mine.value == *theirs.value) {
      result.agrees = true;
    } else {
      result.max_error = kInfinity;
      result.problem =
          absl::StrCat("is a ", mine.value->tagKind(), ", eager's is a ",
                       theirs.value->tagKind(), " or another value");
    }
    result.output = theirs.path;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

std::vector<Comparison> CompareResults(
    const c10::IValue& ours, const c10::IValue& eager,
    const c10::IValue* reference, const ComparisonOptions& options,
    absl::Span<const std::optional<DataType>> arithmetic) {
  return ResultComparer().Compare(ours, eager, reference, options, arithmetic);
}

}  // namespace aitune::frontend
