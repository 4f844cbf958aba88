#include "frontend/torchscript/model.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/argument_types.h"
#include "frontend/torchscript/autocast_contexts.h"
#include "frontend/torchscript/gradients.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/interpreter_code.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/module_objects.h"
#include "frontend/torchscript/prepare.h"
#include "frontend/values/torch_util.h"
#include "runtime/control/memory_budget.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Calls `visit` with each tensor constant of the block and the blocks inside.
void ForEachConstant(torch::jit::Block* block,
                     const std::function<void(const at::Tensor&)>& visit) {
  for (torch::jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant &&
        node->hasAttribute(c10::attr::value) &&
        node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t) {
      visit(node->t(c10::attr::value));
    }
    for (torch::jit::Block* inner : node->blocks())
      ForEachConstant(inner, visit);
  }
}

// As Python writes it.
std::string PrintDefault(const c10::IValue& value) {
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isInt()) return absl::StrCat(value.toInt());
  if (value.isDouble()) return absl::StrCat(value.toDouble());
  if (value.isString()) return absl::StrCat("'", value.toStringRef(), "'");
  return Describe(value);
}

}  // namespace

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

std::string Model::class_name() const {
  const std::optional<c10::QualifiedName> name =
      impl_->bare_module.type()->name();
  return name.has_value() ? name->name() : "";
}

const std::vector<Parameter>& Model::parameters() const {
  return impl_->parameters;
}

std::string Model::Signature() const {
  const c10::FunctionSchema& schema = impl_->ForwardSchema();
  std::vector<std::string> parts;
  for (size_t i = 1; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    std::string part =
        absl::StrCat(argument.name(), ": ", argument.type()->annotation_str());
    if (argument.default_value())
      absl::StrAppend(&part, " = ", PrintDefault(*argument.default_value()));
    parts.push_back(std::move(part));
  }
  const std::string result = schema.returns().empty()
                                 ? "None"
                                 : schema.returns()[0].type()->annotation_str();
  return absl::StrCat("forward(", absl::StrJoin(parts, ", "), ") -> ", result);
}

int64_t Model::WeightBytes() const {
  std::unordered_set<const c10::StorageImpl*> seen;
  int64_t bytes = 0;
  const auto add = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    if (!seen.insert(storage).second) return;
    bytes += static_cast<int64_t>(
        CodedWeights::IsUnmade(tensor) ? tensor.nbytes() : storage->nbytes());
  };
  std::unique_lock<std::mutex> held;
  if (impl_->coded != nullptr) held = impl_->coded->Hold();
  VisitAttributes(*impl_->bare_module._ivalue(),
                  [&](const std::string&, const c10::IValue& value) {
                    if (value.isTensor()) add(value.toTensor());
                  });
  // A frozen model's weights are constants of its graph.
  ForEachConstant(impl_->bare_module.get_method("forward").graph()->block(),
                  add);
  return bytes;
}

std::optional<ValueList> Model::RecordedInputs() const {
  if (!impl_->recorded) return std::nullopt;
  absl::StatusOr<ValueList> inputs =
      MakeInputs(*impl_->recorded, {}, /*seed=*/0);
  if (!inputs.ok()) return std::nullopt;
  return *std::move(inputs);
}

int64_t Model::UnmadeBytes() const {
  return impl_->coded == nullptr ? 0 : impl_->coded->UnmadeBytes();
}

int64_t Model::BesideBytes() const {
  int64_t bytes = 0;
  for (const ConstantTensor& tensor : impl_->beside)
    bytes += ElementCount(tensor.view.sizes) * SizeInBytes(tensor.view.dtype);
  return bytes;
}

void Model::KeepBeside(std::vector<ConstantTensor> tensors) {
  impl_->beside = std::move(tensors);
}

void Model::MakeLater(std::shared_ptr<CodedWeights> weights) {
  impl_->coded = std::move(weights);
}

absl::Status Model::MakeWeights() const { return impl_->MakeWeights(); }

absl::Status Model::Impl::MakeWeights() const {
  if (coded == nullptr) return absl::OkStatus();
  return CatchExceptions(absl::StatusCode::kInternal,
                         "making the weights of their codes",
                         [&] { return coded->Make(CheckMemoryBudget); });
}

absl::Status Model::CheckSubmodule(const std::string& submodule) const {
  std::vector<std::string> names;
  for (const auto& named : impl_->bare_module.named_modules()) {
    if (named.name.empty()) continue;
    if (named.name == submodule) return absl::OkStatus();
    names.push_back(named.name);
  }
  constexpr size_t kShown = 20;
  const size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return absl::NotFoundError(
      absl::StrCat("the model has no submodule ", submodule, "; it has ",
                   names.empty() ? "none" : absl::StrJoin(names, ", "),
                   more == 0 ? "" : absl::StrCat(" and ", more, " more")));
}

absl::Status Model::Disable(const std::string& submodule) {
  absl::Status status = CheckSubmodule(submodule);
  if (status.ok()) impl_->changes.disabled.insert(submodule);
  return status;
}

absl::Status Model::Substitute(const std::string& submodule,
                               const std::string& source) {
  AITUNE_RETURN_IF_ERROR(CheckSubmodule(submodule));
  SubmoduleChanges alone;
  alone.substitutes[submodule] = source;
  AITUNE_RETURN_IF_ERROR(ChangeSubmodules(impl_->bare_module, alone).status());
  impl_->changes.substitutes[submodule] = source;
  return absl::OkStatus();
}

absl::StatusOr<torch::jit::Stack> Model::Impl::MakeStack(
    const ValueList& inputs) const {
  torch::jit::Stack stack;
  stack.emplace_back(bare_module._ivalue());
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        const c10::FunctionSchema& schema = ForwardSchema();
        for (const c10::IValue& value : inputs.values()) {
          const size_t position = stack.size();
          stack.push_back(position < schema.arguments().size()
                              ? WithContainerTypes(
                                    value, schema.arguments()[position].type())
                              : value);
        }
        schema.checkAndNormalizeInputs(stack, {});
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  // Not for a call that is refused: they stay.
  AITUNE_RETURN_IF_ERROR(MakeWeights());
  return stack;
}

absl::StatusOr<c10::IValue> Model::RunEager(const ValueList& inputs) const {
  AITUNE_ASSIGN_OR_RETURN(torch::jit::Stack stack, impl_->MakeStack(inputs));
  std::call_once(impl_->eager_once, [&] {
    impl_->eager_status =
        CatchExceptions(absl::StatusCode::kInternal, "forward", [&] {
          auto graph = impl_->bare_module.get_method("forward").graph()->copy();
          InlineCalls(*graph);
          MakeCastsOfContexts(graph);
          impl_->eager_takes_gradients = TakesGradients(*graph);
          impl_->eager = MakeCode(*graph, "forward");
          return absl::OkStatus();
        });
  });
  if (!impl_->eager_status.ok()) return impl_->eager_status;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "forward", [&] {
        RunInMode(impl_->eager_takes_gradients, stack,
                  [&](torch::jit::Stack& values) {
                    torch::jit::InterpreterState(*impl_->eager).run(values);
                  });
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return stack.empty() ? c10::IValue() : stack.front();
}

absl::StatusOr<c10::IValue> Model::RunOptimized(const ValueList& inputs) const {
  // Arguments are checked here so that errors are those of RunEager.
  AITUNE_ASSIGN_OR_RETURN(torch::jit::Stack stack, impl_->MakeStack(inputs));
  std::call_once(impl_->optimized_once,
                 [&] { impl_->optimized = OptimizedProgram::Make(*this, {}); });
  if (!impl_->optimized.ok()) return impl_->optimized.status();
  return (*impl_->optimized)
      ->Run(
          ValueList(std::vector<c10::IValue>(stack.begin() + 1, stack.end())));
}

}  // namespace aitune::frontend
