#include "frontend/trace/out_variant.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/symbol.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <memory>
#include <vector>

namespace aitune::frontend {
namespace {

// Whether `out` takes the arguments of `schema`, then a tensor to write to for
// each of its results.
bool IsOutVariantOf(const c10::FunctionSchema& out,
                    const c10::FunctionSchema& schema) {
  const std::vector<c10::Argument>&given = schema.arguments(),
        &taken = out.arguments();
  const size_t results = schema.returns().size();
  if (results == 0 || taken.size() != given.size() + results ||
      out.returns().size() != results)
    return false;
  for (size_t i = 0; i < given.size(); ++i)
    if (taken[i].name() != given[i].name() ||
        *taken[i].type() != *given[i].type())
      return false;
  for (size_t i = 0; i < results; ++i) {
    const c10::AliasInfo* alias = taken[given.size() + i].alias_info();
    if (alias == nullptr || !alias->isWrite() ||
        schema.returns()[i].type()->kind() != c10::TypeKind::TensorType)
      return false;
  }
  return true;
}

bool IsComposite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(
      c10::DispatchKey::CompositeImplicitAutograd);
}

}  // namespace

std::optional<OutVariant> FindOutVariant(const std::string& name,
                                         const std::string& overload) {
  // Of a vector it gives the memory other sizes on the way, with a warning.
  if (name == "aten::matmul") return std::nullopt;
  // For memory whose rows are together it copies what it reads: twice the time
  // of the operator and a copy of its result.
  if (name == "aten::linalg_solve_triangular") return std::nullopt;
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  const auto functional = dispatcher.findSchema({name, overload});
  // A view is no computation, and another tensor's memory is not written.
  if (!functional || functional->schema().is_vararg()) return std::nullopt;
  for (const c10::Argument& result : functional->schema().returns())
    if (result.alias_info() != nullptr) return std::nullopt;
  for (const std::shared_ptr<torch::jit::Operator>& other :
       torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
    if (!IsOutVariantOf(other->schema(), functional->schema())) continue;
    const auto found = dispatcher.findSchema(other->schema().operator_name());
    // Generated ones call the functional one and copy its result.
    if (!found || found->hasTag(at::Tag::generated)) continue;
    // What is made of other operators takes what they take; a kernel of its own
    // for memory that is given may refuse some of it.
    if (IsComposite(*functional) && !IsComposite(*found)) continue;
    return OutVariant{*found, functional->schema().arguments().size()};
  }
  return std::nullopt;
}

}  // namespace aitune::frontend
