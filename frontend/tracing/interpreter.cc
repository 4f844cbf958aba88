#include "frontend/tracing/interpreter.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "frontend/torchscript/carried_writes.h"
#include "frontend/torchscript/prepare.h"
#include "frontend/tracing/decompositions.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/outlining_rules.h"
#include "frontend/tracing/probe_run.h"
#include "frontend/tracing/region_runner.h"
#include "frontend/values/attention_heads.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

int CountNodes(Block* block) {
  int count = 0;
  for (Node* node : block->nodes()) {
    ++count;
    for (Block* inner : node->blocks()) count += CountNodes(inner);
  }
  return count;
}

// The node of `block` that contains `node`, which may be deeper.
Node* AncestorIn(Block* block, Node* node) {
  while (node != nullptr && node->owningBlock() != block)
    node = node->owningBlock()->owningNode();
  return node;
}

// For each node of the block and the blocks inside, the values of its own
// block that nothing reads after it.
void FindLastUses(Block* block,
                  std::unordered_map<Node*, std::vector<Value*>>& last_uses) {
  const auto visit = [&](Value* value, Node* definition) {
    Node* last = definition;
    for (const torch::jit::Use& use : value->uses()) {
      Node* user = AncestorIn(block, use.user);
      if (user == nullptr || user == block->return_node()) return;
      if (last == nullptr || last->isBefore(user)) last = user;
    }
    if (last != nullptr) last_uses[last].push_back(value);
  };
  for (Value* input : block->inputs()) visit(input, nullptr);
  for (Node* node : block->nodes()) {
    for (Value* output : node->outputs()) visit(output, node);
    for (Block* inner : node->blocks()) FindLastUses(inner, last_uses);
  }
}

// Whether a node's results depend on data when these values do, by the rules
// of the interpreter but without running it.
bool MayDependOnData(Node* node, const std::unordered_set<Value*>& tainted);

void Propagate(Block* block, std::unordered_set<Value*>& tainted) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) Propagate(inner, tainted);
    if (node->kind() == c10::prim::If || node->kind() == c10::prim::Loop) {
      const size_t condition = node->kind() == c10::prim::If ? 0 : 1;
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        bool depends = tainted.count(node->input(condition)) > 0;
        for (Block* inner : node->blocks()) {
          const size_t skip = node->kind() == c10::prim::Loop ? 1 : 0;
          if (i + skip < inner->outputs().size())
            depends |= tainted.count(inner->outputs()[i + skip]) > 0;
        }
        if (depends) tainted.insert(node->outputs()[i]);
      }
      continue;
    }
    if (!MayDependOnData(node, tainted)) continue;
    for (Value* output : node->outputs()) tainted.insert(output);
  }
}

// TorchScript has doubles of the indexing operators that take Tensor[] for
// Tensor?[]; everyone else knows only the originals.
void UseCanonicalOperator(const c10::FunctionSchema*& schema,
                          RecordedFunction& run,
                          std::vector<ProbedRef>& arguments) {
  absl::string_view overload = schema->overload_name();
  if (!absl::ConsumeSuffix(&overload, "hacked_twin") || arguments.size() < 2)
    return;
  absl::ConsumeSuffix(&overload, "_");
  const auto original = c10::Dispatcher::singleton().findSchema(
      {schema->name(), std::string(overload)});
  if (!original) return;
  schema = &original->schema();
  run = [original = *original](std::vector<c10::IValue>& stack) {
    original.callBoxed(stack);
  };
  auto indices = std::make_shared<ProbedValue>(*arguments[1]);
  indices->type_hint = c10::ListType::create(c10::OptionalType::ofTensor());
  arguments[1] = std::move(indices);
}

bool MayDependOnData(Node* node, const std::unordered_set<Value*>& tainted) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  const auto reads = [&](bool several_types) {
    return std::any_of(
        node->inputs().begin(), node->inputs().end(), [&](Value* input) {
          return tainted.count(input) > 0 &&
                 (!several_types || MayBeOfSeveralTypes(*input->type()));
        });
  };
  if (!reads(/*several_types=*/false)) return false;
  if (schema == nullptr) return true;
  if (schema->name() == "aten::__is__" || schema->name() == "aten::__isnot__")
    return reads(/*several_types=*/true);
  return !IsMetadataQuery(*schema);
}

// Runs LibTorch's attention, whose arguments begin with the query, key and
// value, where the process survives it.
void RunAttention(const RecordedFunction& run, std::vector<c10::IValue>& stack,
                  size_t arguments) {
  const size_t first = stack.size() - arguments;
  const at::Tensor query = stack.at(first).toTensor();
  if (!HasNoHeads(query) || !HasNoHeads(stack.at(first + 1).toTensor()))
    return run(stack);
  const at::Tensor result =
      ZerosOfAttention(query, stack.at(first + 2).toTensor());
  torch::jit::drop(stack, arguments);
  stack.emplace_back(result);
}

// What runs the node. LibTorch's division of integers by 0 ends the process.
RecordedFunction OperationOf(const Node& node) {
  static const auto* const divisions = new std::set<std::string>{
      "aten::divmod", "aten::floordiv", "aten::mod", "aten::remainder"};
  RecordedFunction run(node.getOperation());
  if (node.kind() == c10::aten::scaled_dot_product_attention)
    return [run = std::move(run),
            arguments = node.inputs().size()](std::vector<c10::IValue>& stack) {
      RunAttention(run, stack, arguments);
    };
  if (node.inputs().size() != 2 ||
      divisions->count(node.kind().toQualString()) == 0)
    return run;
  return [run = std::move(run)](std::vector<c10::IValue>& stack) {
    const c10::IValue& divisor = stack.back();
    if (divisor.isInt() && divisor.toInt() == 0 &&
        stack.at(stack.size() - 2).isInt())
      throw std::runtime_error("division by 0");
    run(stack);
  };
}

}  // namespace

Interpreter::Interpreter(std::shared_ptr<torch::jit::Graph> graph,
                         const SizeFitter* fitter, SizeRegion* region,
                         const TraceOptions& options, TraceFindings* findings)
    : graph_(std::move(graph)),
      asks_for_layout_(AsksForLayout(graph_->block())),
      fitter_(*fitter),
      region_(*region),
      options_(options),
      findings_(*findings),
      functionalizer_(&builder_) {
  FindLastUses(graph_->block(), last_uses_);
  nodes_total_ = CountNodes(graph_->block());
}

absl::Status Interpreter::Located(const absl::Status& status) const {
  const std::string& location = builder_.site().location;
  if (status.ok() || location.empty() ||
      absl::StrContains(status.message(), " (at "))
    return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " (at ", location, ")"));
}

const ProbedRef& Interpreter::Get(Value* value) {
  static const auto* const kMissing = new ProbedRef();
  const auto found = environment_.find(value);
  return found == environment_.end() ? *kMissing : found->second;
}

std::vector<ProbedRef> Interpreter::GetAll(at::ArrayRef<Value*> values) {
  std::vector<ProbedRef> contents;
  for (Value* value : values) contents.push_back(Get(value));
  return contents;
}

absl::StatusOr<bool> Interpreter::UniformBool(const ProbedRef& value,
                                              absl::string_view what) {
  AITUNE_ASSIGN_OR_RETURN(int64_t number, UniformInt(value, what));
  return number != 0;
}

absl::StatusOr<int64_t> Interpreter::UniformInt(const ProbedRef& value,
                                                absl::string_view what) {
  if (value->probes.empty())
    return absl::UnimplementedError(absl::StrCat(what, " has no value"));
  for (const c10::IValue& probe : value->probes) {
    if (value->kind != ProbedValue::Kind::kPlain ||
        (!probe.isInt() && !probe.isBool())) {
      return absl::UnimplementedError(
          absl::StrCat(what, " is no number that is known without data"));
    }
  }
  AITUNE_RETURN_IF_ERROR(Settle(value, what));
  const c10::IValue& settled = value->probes[0];
  return settled.isBool() ? static_cast<int64_t>(settled.toBool())
                          : settled.toInt();
}

void Interpreter::EnterSite(Node* node) {
  // Inside a decomposition the operator that is decomposed is the place.
  if (decomposition_depth_ > 0) return;
  Site site;
  site.location = LocationOf(*node);
  if (const auto stack = node->callstack()) {
    std::vector<std::string> names;
    for (const auto& entry : (*stack)->vec()) {
      const auto& instance = std::get<2>(entry);
      if (!instance || instance->instance_name().empty() ||
          instance->instance_name() == "SELF")
        continue;
      names.push_back(instance->instance_name());
    }
    site.scope = absl::StrJoin(names, ".");
  }
  site.disabled = IsDisabled(*node);
  builder_.set_site(std::move(site));
}

absl::StatusOr<ProbedRef> Interpreter::Run(
    const std::vector<ProbedRef>& arguments) {
  if (arguments.size() != graph_->inputs().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model takes ", graph_->inputs().size(),
                     " arguments, ", arguments.size(), " were given"));
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    Set(graph_->inputs()[i], arguments[i]);
  AITUNE_RETURN_IF_ERROR(RunBlock(graph_->block()));
  if (graph_->outputs().size() != 1)
    return absl::UnimplementedError("the graph does not return one value");
  const ProbedRef result = Get(graph_->outputs()[0]);
  if (result == nullptr)
    return absl::UnimplementedError(
        "the graph returns a value that it does not compute");
  return result;
}

absl::Status Interpreter::RunBlock(Block* block) {
  for (Node* node : block->nodes()) {
    if (absl::Status status = RunNode(node); !status.ok())
      return Located(status);
    if (static_cast<int64_t>(builder_.op_count()) > options_.max_ops) {
      return absl::UnimplementedError(
          absl::StrCat("unrolled, the model has more than ", options_.max_ops,
                       " operators"));
    }
    if (const auto dead = last_uses_.find(node); dead != last_uses_.end()) {
      for (Value* value : dead->second) environment_.erase(value);
    }
  }
  return absl::OkStatus();
}

absl::Status Interpreter::RunNode(Node* node) {
  EnterSite(node);
  if (decomposition_depth_ == 0) {
    nodes_done_ = std::min(nodes_done_ + 1, nodes_total_);
    if (options_.progress) options_.progress(nodes_done_, nodes_total_);
  }
  for (Value* input : node->inputs()) {
    if (Get(input) == nullptr)
      return absl::UnimplementedError("a value is read before it is computed");
  }
  if (node->kind() == c10::prim::If) return RunIf(node);
  if (node->kind() == c10::prim::Loop) return RunLoop(node);
  if (MarksCarriedWrite(*node)) return absl::OkStatus();

  AITUNE_ASSIGN_OR_RETURN(std::optional<Results> results,
                          RunContainerNode(node));
  if (!results) {
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema == nullptr || !node->maybeOperator()) {
      return absl::UnimplementedError(
          absl::StrCat("LibTorch knows no operator ",
                       node->kind().toQualString(), " for these arguments"));
    }
    const std::vector<ProbedRef> arguments = GetAll(node->inputs());
    // In a disabled submodule operators are LibTorch's, whole.
    if (std::shared_ptr<torch::jit::Graph> decomposed =
            builder_.site().disabled ? nullptr
                                     : FindDecomposition(*schema, arguments)) {
      if (decompositions_.insert(decomposed.get()).second)
        FindLastUses(decomposed->block(), last_uses_);
      for (size_t i = 0; i < arguments.size(); ++i)
        Set(decomposed->inputs()[i], arguments[i]);
      ++decomposition_depth_;
      const absl::Status status = RunBlock(decomposed->block());
      --decomposition_depth_;
      if (!status.ok()) return status;
      Results unpacked;
      const ProbedRef result = Get(decomposed->outputs()[0]);
      if (node->outputs().size() == 1) {
        unpacked = {result};
      } else if (result != nullptr &&
                 result->kind == ProbedValue::Kind::kTuple) {
        unpacked = result->elements;
      }
      results = std::move(unpacked);
    } else {
      auto operation = operations_.find(node);
      if (operation == operations_.end())
        operation = operations_.emplace(node, OperationOf(*node)).first;
      Invocation call;
      call.schema = schema;
      call.run = operation->second;
      call.arguments = arguments;
      call.result_count = node->outputs().size();
      UseCanonicalOperator(call.schema, call.run, call.arguments);
      AITUNE_ASSIGN_OR_RETURN(Results invoked, Invoke(call));
      results = std::move(invoked);
    }
  }
  if (results->size() != node->outputs().size()) {
    return absl::UnimplementedError(
        absl::StrCat(node->kind().toQualString(), " gives ", results->size(),
                     " results instead of ", node->outputs().size()));
  }
  for (size_t i = 0; i < results->size(); ++i)
    Set(node->outputs()[i], (*results)[i]);
  return absl::OkStatus();
}

absl::Status Interpreter::RunIf(Node* node) {
  const ProbedRef condition = Get(node->input(0));
  if (IsTainted(*condition))
    return RegionRunner(*this).Run(node, "its condition depends on data");
  AITUNE_ASSIGN_OR_RETURN(bool taken,
                          UniformBool(condition, "the condition of an if"));
  Block* block = node->blocks().at(taken ? 0 : 1);
  AITUNE_RETURN_IF_ERROR(RunBlock(block));
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const ProbedRef output = Get(block->outputs()[i]);
    if (output == nullptr)
      return absl::UnimplementedError(
          "an if gives a value that it does not compute");
    Set(node->outputs()[i], output);
  }
  return absl::OkStatus();
}

bool Interpreter::LoopDependsOnData(Node* node) {
  if (IsTainted(*Get(node->input(0))) || IsTainted(*Get(node->input(1))))
    return true;
  Block* body = node->blocks().at(0);
  std::unordered_set<Value*> tainted;
  for (const auto& [value, content] : environment_) {
    if (content != nullptr && IsTainted(*content)) tainted.insert(value);
  }
  // Loop-carried values: until nothing changes.
  for (size_t before = SIZE_MAX; before != tainted.size();) {
    before = tainted.size();
    for (size_t i = 1; i < body->inputs().size(); ++i) {
      if (tainted.count(node->input(i + 1)) > 0 ||
          tainted.count(body->outputs()[i]) > 0)
        tainted.insert(body->inputs()[i]);
    }
    Propagate(body, tainted);
  }
  return tainted.count(body->outputs()[0]) > 0;
}

bool Interpreter::IsMostlyLibTorchs() const {
  // Fewer cost little, whoever runs them.
  constexpr size_t kFewOps = 64;
  const std::vector<TraceOp>& ops = builder_.trace().ops;
  const size_t count = ops.size() - ops_before_loop_;
  if (count < kFewOps) return false;
  const auto of_libtorch = static_cast<size_t>(std::count_if(
      ops.begin() + static_cast<std::ptrdiff_t>(ops_before_loop_), ops.end(),
      [](const auto& op) { return !op.must_fall_back.empty(); }));
  return 2 * of_libtorch > count;
}

absl::Status Interpreter::RunLoop(Node* node) {
  if (LoopDependsOnData(node))
    return RegionRunner(*this).Run(node, "how often it runs depends on data");
  if (const auto whole = findings_.whole_loops.find(node);
      whole != findings_.whole_loops.end())
    return RegionRunner(*this).Run(node, whole->second);
  if (options_.rolled_loops && !Get(node->input(0))->uniform)
    return RegionRunner(*this).Run(node, kRolledLoop);
  AITUNE_ASSIGN_OR_RETURN(
      int64_t trips, UniformInt(Get(node->input(0)), "the length of a loop"));
  absl::StatusOr<bool> running =
      UniformBool(Get(node->input(1)), "the condition of a loop");
  if (!running.ok()) return running.status();
  Block* body = node->blocks().at(0);
  std::vector<ProbedRef> carried;
  for (size_t i = 2; i < node->inputs().size(); ++i)
    carried.push_back(Get(node->input(i)));
  const bool outermost = outermost_loop_ == nullptr;
  if (outermost) {
    outermost_loop_ = node;
    ops_before_loop_ = builder_.op_count();
  }
  for (int64_t iteration = 0; iteration < trips && *running; ++iteration) {
    if (iteration >= options_.max_loop_iterations ||
        static_cast<int64_t>(builder_.op_count() - ops_before_loop_) >
            options_.max_loop_ops) {
      findings_.whole_loops.emplace(outermost_loop_, kLongLoop);
      return absl::UnimplementedError(kLongLoop);
    }
    Set(body->inputs()[0], MakePlain(std::vector<c10::IValue>(
                               fitter_.probes().size(), iteration)));
    for (size_t i = 0; i < carried.size(); ++i)
      Set(body->inputs()[i + 1], carried[i]);
    AITUNE_RETURN_IF_ERROR(RunBlock(body));
    if (outermost && IsMostlyLibTorchs() && RegionRunner(*this).CanRun(node)) {
      findings_.whole_loops.emplace(node, kLibTorchsLoop);
      return absl::UnimplementedError(kLibTorchsLoop);
    }
    const std::vector<ProbedRef> outputs = GetAll(body->outputs());
    for (const ProbedRef& output : outputs) {
      if (output == nullptr)
        return absl::UnimplementedError(
            "a loop gives a value that it does not compute");
    }
    running = UniformBool(outputs[0], "the condition of a loop");
    if (!running.ok()) return running.status();
    carried.assign(outputs.begin() + 1, outputs.end());
  }
  if (outermost) outermost_loop_ = nullptr;
  for (size_t i = 0; i < carried.size(); ++i)
    Set(node->outputs()[i], carried[i]);
  return absl::OkStatus();
}

}  // namespace aitune::frontend
