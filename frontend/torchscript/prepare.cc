#include "frontend/torchscript/prepare.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/autocast_contexts.h"
#include "frontend/torchscript/call_stacks.h"
#include "frontend/torchscript/carried_writes.h"
#include "frontend/torchscript/copy_modules.h"
#include "frontend/torchscript/dtype_checks.h"
#include "frontend/torchscript/equal_tensors.h"
#include "frontend/torchscript/hoist_attributes.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/kept_writes.h"
#include "frontend/torchscript/nested_tensors.h"
#include "frontend/torchscript/neutral_numbers.h"
#include "frontend/torchscript/shared_submodules.h"
#include "frontend/torchscript/submodule_calls.h"
#include "frontend/torchscript/substitution.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// A frozen module keeps its program, which is no longer needed once it is
// copied.
void Forget(torch::jit::Graph& program) {
  while (!program.outputs().empty()) {
    program.eraseOutput(program.outputs().size() - 1);
  }
  for (auto node = program.nodes().rbegin(); node != program.nodes().rend();) {
    torch::jit::Node* dead = *node;
    ++node;
    dead->destroy();
  }
}

// Freezes `module` but for `attributes` again where `frozen` has lost writes
// (kept_writes.h).
void KeepWrites(const torch::jit::Module& module,
                const std::vector<std::string>& attributes,
                torch::jit::Module& frozen) {
  CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
    const int written = CountDependentWrites(module);
    if (written == 0 || CountDependentWrites(frozen) >= written)
      return absl::OkStatus();
    torch::jit::Module kept = Freeze(WithMarkedWrites(module), attributes,
                                     /*fold_numbers=*/false);
    Forget(*frozen.get_method("forward").graph());
    frozen = kept;
    return absl::OkStatus();
  }).IgnoreError();
}

// Whether a value of this type is a module, or a container of some.
bool HoldsModule(const c10::Type& type) {
  // A class may refer to itself, and has no modules.
  if (type.is_module() || type.kind() == c10::TypeKind::ClassType)
    return type.is_module();
  const auto parts = type.containedTypes();
  return std::any_of(parts.begin(), parts.end(), [](const c10::TypePtr& part) {
    return HoldsModule(*part);
  });
}

// Freezing takes from submodules what forward does not read, which who is
// given one may.
bool ReturnsModule(const torch::jit::Module& module) {
  const auto& returns =
      module.get_method("forward").function().getSchema().returns();
  return std::any_of(
      returns.begin(), returns.end(),
      [](const c10::Argument& result) { return HoldsModule(*result.type()); });
}

c10::Symbol DisabledAttribute() {
  static const c10::Symbol symbol = c10::Symbol::attr("aitune_disabled");
  return symbol;
}

void MarkDisabled(torch::jit::Block* block,
                  const std::set<std::string>& disabled) {
  for (torch::jit::Node* node : block->nodes()) {
    const std::string path = SubmoduleOf(*node);
    if (std::any_of(
            disabled.begin(), disabled.end(),
            [&](const std::string& name) { return IsWithin(path, name); })) {
      node->i_(DisabledAttribute(), 1);
    }
    for (torch::jit::Block* inner : node->blocks())
      MarkDisabled(inner, disabled);
  }
}

}  // namespace

bool IsDisabled(const torch::jit::Node& node) {
  return node.hasAttribute(DisabledAttribute());
}

absl::StatusOr<torch::jit::Module> ChangeSubmodules(
    const torch::jit::Module& original, const SubmoduleChanges& changes) {
  std::optional<torch::jit::Module> module;
  std::string what = "preparing the graph";
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        module = CopyModulesWithUnit(original).clone();
        ShareSubmodulesAsIn(original, *module);
        std::map<std::string, torch::jit::GraphFunction*> substitutes;
        for (const auto& named : module->named_modules()) {
          const auto found = changes.substitutes.find(named.name);
          if (found == changes.substitutes.end()) continue;
          what = absl::StrCat("the replacement of ", named.name);
          AITUNE_ASSIGN_OR_RETURN(substitutes[named.name],
                                  DefineSubstitute(named.value, found->second));
        }
        what = "preparing the graph";
        torch::jit::Graph& graph = *module->get_method("forward").graph();
        InlineSubmodules(graph, &substitutes);
        if (!substitutes.empty())
          return absl::InvalidArgumentError(
              absl::StrCat("forward never calls ", substitutes.begin()->first,
                           ", so that it can't be replaced"));
        MarkDisabled(graph.block(), changes.disabled);
        return ApplySubstitutions(graph);
      });
  if (!status.ok())
    return absl::Status(status.code(),
                        absl::StrCat(what, ": ", status.message()));
  return *std::move(module);
}

absl::StatusOr<PreparedGraph> PrepareGraph(const torch::jit::Module& original,
                                           const SubmoduleChanges& changes,
                                           bool for_gpu,
                                           std::vector<std::string>& notes) {
  const c10::NoGradGuard no_grad;
  torch::jit::Module module = original;
  if (!changes.empty() || !SubstitutionsText().empty()) {
    AITUNE_ASSIGN_OR_RETURN(module, ChangeSubmodules(original, changes));
  }
  bool has_swapped = false;
  AITUNE_RETURN_IF_ERROR(CatchExceptions(
      absl::StatusCode::kInvalidArgument, "the autocast contexts", [&] {
        // Before it is frozen, which would leave them out.
        const torch::jit::Module with_casts = WithCastsOfContexts(module);
        has_swapped = for_gpu && with_casts._ivalue() != module._ivalue();
        module = with_casts;
        if (has_swapped)
          SwapDevicesOfCasts(*module.get_method("forward").graph());
        return absl::OkStatus();
      }));
  AITUNE_RETURN_IF_ERROR(CatchExceptions(
      absl::StatusCode::kInvalidArgument, "what loops hand on", [&] {
        module = WithMarkedCarriedWrites(module);
        return absl::OkStatus();
      }));
  PreparedGraph prepared;
  prepared.module = module;
  const torch::jit::Module whole = module;  // has the functions of copies
  bool was_frozen_here = false;
  // A module without the attribute `training` was frozen before.
  if (module.hasattr("training") && !ReturnsModule(module)) {
    std::vector<std::string> attributes;  // that stay
    const absl::Status frozen =
        CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
          const std::string shared = WhySubmodulesMustStayShared(module);
          if (!shared.empty()) return absl::UnimplementedError(shared);
          attributes = NamesOfEqualTensors(module);
          module = WithHiddenNeutralNumbers(CopyModulesWithUnit(whole));
          // Numbers are not folded into weights: that is a copy of each weight
          // for the sake of an epilogue, rounded once more.
          prepared.module = Freeze(module, attributes,
                                   /*fold_numbers=*/false);
          return absl::OkStatus();
        });
    was_frozen_here = frozen.ok();
    if (frozen.ok()) KeepWrites(module, attributes, prepared.module);
    if (!frozen.ok()) {
      notes.push_back(
          absl::StrCat("the module cannot be frozen: ", frozen.message()));
    }
  }
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInvalidArgument, "preparing the graph", [&] {
        const std::shared_ptr<torch::jit::Graph> program =
            prepared.module.get_method("forward").graph();
        prepared.graph = program->copy();
        if (was_frozen_here) Forget(*program);
        InlineCallsAndForks(*prepared.graph);
        if (has_swapped) SwapDevicesOfCasts(*prepared.graph);
        HoistAttributes(*prepared.graph);
        torch::jit::EliminateDeadCode(prepared.graph);
        PadNestedTensors(prepared.graph);
        CheckDtypes(*prepared.graph);
        RemoveMarksOfWrites(*prepared.graph);
        ShowNeutralNumbers(prepared.graph);
        AnchorCallStacks(*prepared.graph);
        prepared.graph->lint();
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return prepared;
}

}  // namespace aitune::frontend
