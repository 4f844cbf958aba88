// The probing interpreter: runs a prepared graph node by node, each node once
// for each probe, and records the operators that it runs as a trace.
//
// Errors tell build_trace.cc what to do next:
//   kUnimplemented    a trace cannot express the program: LibTorch runs it all
//   kOutOfRange       the program differs between sizes: the region has become
//                     smaller than the probes, trace again with others
//   kInvalidArgument  the model itself fails for these inputs
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_INTERPRETER_H_
#define AITUNE_FRONTEND_TRACING_INTERPRETER_H_

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "frontend/torchscript/live_state.h"
#include "frontend/trace/size_fit.h"
#include "frontend/trace/size_region.h"
#include "frontend/tracing/build_trace.h"
#include "frontend/tracing/fallback_reasons.h"
#include "frontend/tracing/functionalizer.h"
#include "frontend/tracing/invocation.h"
#include "frontend/tracing/known_shapes.h"
#include "frontend/tracing/module_state.h"
#include "frontend/tracing/possible_view.h"
#include "frontend/tracing/probed_value.h"
#include "frontend/tracing/trace_builder.h"
#include "frontend/tracing/trace_findings.h"

namespace aitune::frontend {

struct OperatorCall;  // operator_call.h
class RegionRunner;   // region_runner.h

class Interpreter {
 public:
  // `fitter`, `region` and `options` must outlive this. The fitter's probes
  // must be points of the region, which shrinks when the program decides by
  // sizes. The graph must be inlined; it is only read. LibTorch runs
  // `findings->whole_loops` whole; Run adds the outermost loop around one that
  // is too long to unroll, or that holds little to compile, and gives up. So it
  // does at the first write to an input that is not among
  // `findings->written_inputs`, which it adds.
  Interpreter(std::shared_ptr<torch::jit::Graph> graph,
              const SizeFitter* fitter, SizeRegion* region,
              const TraceOptions& options, TraceFindings* findings);

  // Sets the values that attributes of modules have before the program runs,
  // where they differ from those in the modules.
  void set_state(ModuleState state) { state_ = std::move(state); }
  // The attributes that the program has set, with their values.
  ModuleState StateAfter() const;
  // The model's tensors that calls write, which the trace reads and writes;
  // must outlive this. Null: a write to any is kUnimplemented, for this reason.
  void set_live_state(const LiveState* live, const std::string& why_not) {
    live_state_ = live;
    if (!why_not.empty()) absl::StrAppend(&writes_own_, ": ", why_not);
  }

  // Runs the graph with these arguments, self included where it has one.
  absl::StatusOr<ProbedRef> Run(const std::vector<ProbedRef>& arguments);

  TraceBuilder& builder() { return builder_; }
  Functionalizer& functionalizer() { return functionalizer_; }
  std::vector<std::string>& notes() { return notes_; }

  // A value that is not a tensor, with one IValue for each probe. It is uniform
  // if they are all equal.
  ProbedRef MakePlain(std::vector<c10::IValue> probes);
  // A tensor with known contents: a constant of the model, which must not be
  // written.
  ProbedRef MakeModelConstant(const c10::IValue& value,
                              const std::string& name);
  // The trace's next input, a tensor of this type.
  ProbedRef MakeInput(std::vector<c10::IValue> probes, TensorType type);

  // Makes sure that a number or string has the same value in the whole region,
  // by restricting the region to the sizes for which it has the anchor's value.
  // `what` names it in messages.
  absl::Status Settle(const ProbedRef& value, absl::string_view what);

  // The recipe of a value as an argument of an operator. Adds constants to the
  // trace, and reads tensors as Functionalizer::Read does.
  absl::StatusOr<ArgumentTemplate> ToTemplate(const ProbedRef& value);
  absl::StatusOr<std::vector<ArgumentTemplate>> ToTemplates(
      const std::vector<ProbedRef>& values);

  // kUnimplemented for a result of the program that later calls may write:
  // what a trace gives is the caller's alone.
  absl::Status CheckOutput(const ProbedValue& value) const;

 private:
  // Its part that runs nodes whole in LibTorch.
  friend class RegionRunner;

  using Inputs = std::vector<ProbedRef>;
  using Results = std::vector<ProbedRef>;
  // Nothing when the node is of another kind.
  using NodeResults = absl::StatusOr<std::optional<Results>>;

  // interpreter.cc
  absl::Status RunBlock(torch::jit::Block* block);
  absl::Status RunNode(torch::jit::Node* node);
  absl::Status RunIf(torch::jit::Node* node);
  absl::Status RunLoop(torch::jit::Node* node);
  absl::StatusOr<bool> UniformBool(const ProbedRef& value,
                                   absl::string_view what);
  absl::StatusOr<int64_t> UniformInt(const ProbedRef& value,
                                     absl::string_view what);
  bool LoopDependsOnData(torch::jit::Node* node);
  // Whether most operators of the outermost loop, as far as it is unrolled, are
  // LibTorch's, which costs more than if it ran the loop.
  bool IsMostlyLibTorchs() const;
  const ProbedRef& Get(torch::jit::Value* value);
  void Set(torch::jit::Value* value, ProbedRef content) {
    environment_[value] = std::move(content);
  }
  std::vector<ProbedRef> GetAll(at::ArrayRef<torch::jit::Value*> values);
  void EnterSite(torch::jit::Node* node);
  absl::Status Located(const absl::Status& status) const;

  // container_node.cc: nodes without an operator. The others are parts of
  // RunContainerNode, by kinds of nodes.
  NodeResults RunContainerNode(torch::jit::Node* node);
  // Has LibTorch take apart an opaque value.
  NodeResults UnpackOpaque(torch::jit::Node* node);
  NodeResults RunConstant(torch::jit::Node* node);
  NodeResults RunGetAttribute(torch::jit::Node* node, const ProbedValue& owner);
  NodeResults RunSetAttribute(torch::jit::Node* node, ProbedValue& owner,
                              const ProbedRef& value);
  NodeResults MakeDict(torch::jit::Node* node, const Inputs& inputs);
  NodeResults RunIs(torch::jit::Node* node, const ProbedRef& a,
                    const ProbedRef& b);
  NodeResults RunIsInstance(torch::jit::Node* node, const ProbedValue& value);

  // container_operator.cc: operators on containers. The others are parts of
  // RunContainerOperator: operators on lists, and those of one element; on
  // dicts, and those of one key.
  NodeResults RunContainerOperator(torch::jit::Node* node,
                                   const Inputs& inputs);
  NodeResults RunListOperator(torch::jit::Node* node, const Inputs& inputs);
  // Appends what is known only in LibTorch, so that `list` is.
  absl::Status ExtendByOpaque(const ProbedRef& list, const ProbedRef& added);
  NodeResults RunElementOperator(torch::jit::Node* node, const Inputs& inputs);
  NodeResults RunListSlice(const Inputs& inputs);
  NodeResults RunDictOperator(torch::jit::Node* node, const Inputs& inputs);
  NodeResults RunKeyOperator(torch::jit::Node* node, const Inputs& inputs);

  // operator_call.cc: operators with a schema. The others are parts of Invoke,
  // as those of recorded_call.cc, in their order.
  absl::StatusOr<Results> Invoke(const Invocation& call);
  // Fills in what the arguments say.
  void FindArgumentTraits(OperatorCall& op);
  // Fills in the sizes that arguments say, as those of a new tensor or a slice.
  void FindToldSizes(OperatorCall& op);
  // Finds what the results depend on, which of them are opaque, and whether
  // LibTorch must run the call.
  void FindDependence(OperatorCall& op);
  // Fills in `functions`; leaves out sizes at which lists have other lengths.
  absl::Status FindFunctions(OperatorCall& op);

  // recorded_call.cc: what a call has given, and its operator in the trace.
  // Decides whether the trace gets an operator, which needs recipes.
  absl::Status MakeRecipes(OperatorCall& op);
  absl::Status ConvertResults(OperatorCall& op);
  // Leaves out sizes at which the results are not what the trace says.
  absl::Status CheckResults(const OperatorCall& op);
  // Adds the operator to the trace, or what says the same better.
  void RecordCall(OperatorCall& op);

  // sliced_call.cc: slices, and operators that give parts of a tensor.
  absl::StatusOr<Results> EmitSlices(const Invocation& call);
  // Limits the region to sizes for which the index of aten::select is inside of
  // the axis, or is not, as at the anchor.
  absl::Status CheckSelection(const Invocation& call);
  // Limits the region to sizes for which aten::squeeze removes the axes that it
  // removes at the anchor.
  absl::Status SettleSqueeze(const Invocation& call);
  // Limits the region to sizes for which the same axis ends the diagonal that
  // aten::diagonal gives, and for which it has elements, or none.
  absl::Status SettleDiagonal(const Invocation& call);
  // Limits the bounds of a slice to 0 and the size of its axis. Returns the
  // axis and its new size; not set when they depend on data.
  absl::StatusOr<std::optional<std::pair<int64_t, SizeExpression>>> ClampSlice(
      Invocation& call);

  // execute_call.cc
  absl::StatusOr<std::vector<std::vector<c10::IValue>>> Execute(
      const Invocation& call);

  // strided_view.cc
  // Whether what a call on a tensor gives depends on where its elements lie.
  absl::StatusOr<bool> SpeaksOfMemory(const Invocation& call);
  // Leaves out sizes at which it may pick other elements than at the anchor.
  absl::Status SettleStridedView(const Invocation& call);
  absl::StatusOr<Results> EmitStridedView(const Invocation& call);

  // possible_view.cc
  // Not set if it does not depend on sizes, or the way from memory to the
  // operator's tensor is not known.
  std::optional<PossibleView> FindView(const Invocation& call,
                                       const ProbedValue& result) const;
  // Leaves out sizes at which aten::view raises, as it does not where a tensor
  // is empty or has one element.
  absl::Status CheckView(const Invocation& call, const ProbedValue& result);
  // A tensor that has the sizes of `tensor`, which has a type, and its strides;
  // not set if these are not known.
  std::optional<SizeFunctionRef> StridedShapeOf(
      const ProbedValue& tensor) const;
  // Notes that the result of a call on a tensor may be a view of it at other
  // sizes, or for other data, than the probes'.
  void NotePossibleView(const Invocation& call, ProbedValue& result);
  // Leaves out sizes at which others than at the probes see a write to
  // `written`.
  absl::Status SettlePossibleViews(const TracedStorage& written);

  // value_conversion.cc: IValues of all probes as values of the interpreter.
  absl::StatusOr<ProbedRef> Convert(std::vector<c10::IValue> probes,
                                    const ResultTraits& traits,
                                    ResultTemplate* result);
  absl::StatusOr<ProbedRef> ConvertTensor(std::vector<c10::IValue> probes,
                                          const ResultTraits& traits,
                                          ResultTemplate* result);
  // The size of each axis of a tensor whose rank is the same in all probes. Not
  // set if the sizes of an axis have no formula; they are then in
  // `unexplained`, one for each probe.
  std::optional<std::vector<SizeExpression>> FitSizes(
      const ProbedValue& tensor, const ResultTraits& traits,
      std::vector<int64_t>& unexplained);
  std::optional<std::vector<SizeExpression>> FindSizes(
      const ProbedValue& tensor, const ResultTraits& traits);
  absl::StatusOr<bool> FindType(ProbedValue& tensor,
                                const ResultTraits& traits);
  ProbedRef MakeOpaque(std::vector<c10::IValue> probes, const std::string& why,
                       ResultTemplate* result);
  std::string FallbackReason(const std::vector<ProbedRef>& results) const;

  // in_place_call.cc
  absl::StatusOr<Results> InvokeInPlace(const Invocation& call);
  // Makes `target`, which the call writes, another view of its memory.
  // kUnimplemented for what is the caller's or the next call's too.
  absl::Status ChangeView(const Invocation& call, const ProbedRef& target);
  // What a call writes to its argument `written`, as a tensor of its own.
  absl::StatusOr<ProbedRef> WrittenValue(const Invocation& call, size_t written,
                                         bool random);
  // Writes `value` to `target`, in the trace and in each probe.
  // kUnimplemented for other sizes, kInvalidArgument for a dtype that eager
  // refuses.
  absl::Status WriteBack(const Invocation& call, const ProbedRef& target,
                         const ProbedRef& value, bool random);
  // Runs a call that writes to argument `written` with a copy of that argument,
  // and records it as an operator that LibTorch runs, for this `reason`.
  // `value` of the trace is the copy after the call, which is returned for each
  // probe.
  absl::StatusOr<std::vector<c10::IValue>> RunOnCopy(const Invocation& call,
                                                     size_t written,
                                                     ValueId value,
                                                     const std::string& reason);

  // overlapping_write.cc: kInvalidArgument with LibTorch's text for a write
  // that eager refuses as it overlaps what is read, kUnimplemented for another
  // one.
  absl::Status CheckOverlap(const Invocation& call, size_t written) const;

  // opaque_write.cc: runs a call that writes to argument `written`, an opaque
  // tensor or list.
  absl::StatusOr<Results> WriteOpaque(const Invocation& call, size_t written);
  // What aten::pop takes out of a list, which is still there.
  absl::StatusOr<Results> ElementOf(const Invocation& call);
  // Makes a tensor that the program filled with constants, of a dtype or layout
  // that traces have not, opaque with all that shares its memory: each call has
  // a copy to write to. False, and nothing changed, for any other tensor.
  bool MakeConstantOpaque(const ProbedRef& target);

  // state_write.cc
  // The value that is the model's own tensor, if `tensor` is one that calls
  // write; otherwise null.
  ProbedRef FindState(const at::Tensor& tensor, const std::string& name);
  // Makes `storage` the memory of the caller's own tensor, the trace's input
  // `id`, which calls write.
  void ShareInput(TracedStorage& storage, ValueId id,
                  std::set<int>* overwritten);
  // Makes what `program` gives the state of `storage`, as the operator `name`.
  void AddState(TracedStorage& storage, const std::string& name,
                RecordedProgram program, std::vector<ArgumentTemplate> recipes);
  // Runs a call that writes to argument `written`, a tensor of the model's or
  // the caller's that calls write, or a view of one.
  absl::StatusOr<Results> WriteState(const Invocation& call, size_t written);
  // Whether the first argument is such a tensor, or a view by known steps.
  bool HasStateFirst(const Invocation& call) const;
  // Whether a call, with the result `viewed`, makes a view of such a tensor.
  bool ViewsState(const Invocation& call, const c10::IValue& viewed) const;
  // Whether a call reads, of such a tensor or a view, what indices name.
  bool GathersFromState(const Invocation& call) const;
  // Adds such a call as one that LibTorch runs on the tensor itself, as it is
  // written later. `recipes`: of the arguments; the first is filled in.
  void AddGather(const Invocation& call, std::vector<ArgumentTemplate> recipes,
                 std::vector<ResultTemplate> results);

  // number_node.cc: integers that stand for sizes.
  std::optional<SizeExpression> SizeOf(const ProbedRef& value);
  absl::Status InferSizes(const Invocation& call, const Results& results);
  // Leaves out sizes at which `divisor` is 0, or has another sign than at the
  // anchor.
  absl::Status CheckDivisor(const SizeExpression& divisor);
  // Finds the expression of a result of prim::min or prim::max.
  absl::Status InferExtremum(const Invocation& call, ProbedValue& result);

  // number_operand.cc
  // A tensor of the trace, without axes, with the value of `function`, which is
  // that of `number`.
  ProbedRef NumberAsTensor(const ProbedRef& number,
                           const SizeFunctionRef& function,
                           at::ScalarType type);
  // The function of a number that depends on sizes and has no formula; null for
  // any other value. `takes_integers`: or else it is a double.
  SizeFunctionRef NumberOfSizes(const ProbedRef& number, bool takes_integers);
  // Runs an operator of a tensor's elements and numbers, one of which is such a
  // number; not set for other calls. The others are parts of it.
  absl::StatusOr<std::optional<Results>> InvokeOnNumber(const Invocation& call);
  // Whether one of the arguments at `places` is such a number and the others
  // are the same at all sizes.
  bool HasNumberOfSizes(const Invocation& call,
                        const std::vector<size_t>& places, bool takes_integers);
  // Whether elements become an integer that depends on sizes and may be beyond
  // their dtype, for which eager raises.
  bool MayOverflow(const Invocation& call);
  // A number as the operand of an operator that takes tensors.
  absl::StatusOr<ProbedRef> NumberOperand(const ProbedRef& number,
                                          at::ScalarType type);
  absl::StatusOr<std::optional<Results>> InvokeOnAlpha(const Invocation& call);
  absl::StatusOr<std::optional<Results>> FillWithNumber(const Invocation& call);
  // A call of LibTorch's operator, which has one result.
  absl::StatusOr<Results> InvokeOperator(const char* name, const char* overload,
                                         std::vector<ProbedRef> arguments);
  absl::StatusOr<ProbedRef> Converted(const ProbedRef& tensor,
                                      at::ScalarType type);
  // The same value at all probes.
  ProbedRef Everywhere(const c10::IValue& value);

  // size_decision.cc
  SizeFunctionRef FunctionOf(const ProbedRef& value) const;
  // The function of sizes of each result, for a call whose arguments depend on
  // sizes alone or that asks for sizes; null where it is not known.
  std::vector<SizeFunctionRef> ResultFunctions(const Invocation& call) const;
  void MarkDerived(const ProbedRef& result, const SizeFunctionRef& function);
  absl::Status SettleLength(const SizeFunctionRef& function);
  // An integer formula for `function`, whose values at the probes are `values`.
  // It was compared with the function at all points of the region, or at many
  // where more than that cannot differ.
  std::optional<SizeExpression> FormulaOf(const SizeFunctionRef& function,
                                          const std::vector<int64_t>& values);
  // A formula that is right around the anchor, to which the region is
  // restricted, as far as can be looked at.
  absl::StatusOr<std::optional<SizeExpression>> SettleFormula(
      const ProbedRef& value, absl::string_view what);
  // Whether size >= 0 in the whole region, which is restricted if necessary.
  absl::StatusOr<bool> IsNonNegative(const SizeExpression& size,
                                     absl::string_view what);
  ProbedRef MakeSize(const SizeExpression& size);
  // kOutOfRange when a probe is no longer in the region.
  absl::Status KeepProbes(absl::string_view what);
  // Restricts the symbols that `values`, one for each probe, vary with to the
  // anchor's sizes, because nothing better is known.
  absl::Status Divergence(const std::vector<int64_t>& values,
                          absl::string_view what);
  std::string Reason(absl::string_view what) const;
  std::vector<int> AllSymbols() const;

  // known_lists.cc: lists of tensors that only LibTorch knows.
  // Sets ProbedValue::is_list_of_known of result `number`.
  void NoteListOfKnown(const Invocation& call, size_t number,
                       ProbedValue& result) const;
  // Whether the sizes of what a call with such lists gives have formulas.
  bool HasKnownSizes(const std::vector<c10::IValue>& probes,
                     const ResultTraits& traits);
  // Notes what the write to a list leaves in it.
  void NoteNewElements(const Invocation& call, size_t written) const;

  // shape_query.cc: what decides the sizes of a call's results.
  SizeFunctionRef ShapeOf(const ProbedRef& value) const;
  // The query of a call, with `contents` where these tell its results' sizes;
  // not set when the sizes of an argument are not known.
  std::optional<ShapeQuery> MakeShapeQuery(const Invocation& call);
  // Whether the results' sizes follow from elements of the arguments.
  bool ReadsElements(const ShapeQuery& query);
  // Adds `contents` where they are not there.
  void AddContents(const Invocation& call, ShapeQuery& query) const;
  // Names the operator, the sizes of its arguments and the elements that it
  // reads, by the addresses of functions that must be kept as long as the name.
  static std::string NameOf(const ShapeQuery& query);

  // shape_check.cc: the sizes of a call's results at other points.
  ShapesAt FindShapes(const ShapeQuery& query, absl::Span<const int64_t> point);
  // kInvalidArgument if the call raises at the anchor, which need not be a
  // probe, whatever elements its tensors have.
  absl::Status ErrorAtAnchor(const ShapeQuery& query) const;
  // Compares with `expected`, the sizes of each tensor of the results.
  absl::Status CheckSizes(
      const Invocation& call,
      const std::vector<std::vector<SizeExpression>>& expected);
  // Restricts the region to sizes for which a call returns as many tensors as
  // at the anchor.
  absl::Status SettlePartCount(const Invocation& call);
  // For a call that raised `error` at a probe: removes the sizes for which it
  // raises, or, where shapes don't tell these, all but the anchor's. Returns
  // `error` if it raises at the anchor.
  absl::Status RestrictToWorking(const Invocation& call,
                                 const absl::Status& error);

  // known_shapes.cc
  // Of a call whose results are tensors; null where the sizes of an argument
  // are not known, or depend on no symbol.
  KnownShapes* FindKnownShapes(const Invocation& call);
  // Adds what the call gives at `point`, if that can be found.
  bool AddPoint(KnownShapes& known, const SizePoint& point);
  // The formula of a size that is `at_probes` there: size `axis` of tensor
  // number `tensor` of the results. Not set if none is right at all points.
  std::optional<SizeExpression> FitKnown(KnownShapes& known, size_t tensor,
                                         size_t axis,
                                         absl::Span<const int64_t> at_probes,
                                         const ResultTraits& traits);
  // Whether a formula is right at all sizes of its symbols.
  bool IsRightForAll(const SizeExpression& formula, const KnownShapes& known,
                     size_t tensor, size_t axis);
  // FitKnown, for what it has not looked at before.
  std::optional<SizeExpression> FitNew(KnownShapes& known, size_t tensor,
                                       size_t axis,
                                       absl::Span<const int64_t> at_probes,
                                       const ResultTraits& traits);

  std::shared_ptr<torch::jit::Graph> graph_;
  // Whether the program asks how tensors lie in memory (outlining_rules.h).
  const bool asks_for_layout_;
  const SizeFitter& fitter_;
  SizeRegion& region_;
  const TraceOptions& options_;
  TraceFindings& findings_;
  TraceBuilder builder_;
  Functionalizer functionalizer_;
  std::vector<std::string> notes_;
  // The tensors of NumberAsTensor, by the texts of their functions and their
  // dtypes. The texts hold addresses, which are those functions' as long as the
  // functions are kept.
  std::map<std::pair<std::string, at::ScalarType>,
           std::pair<SizeFunctionRef, ProbedRef>>
      numbers_;
  // By the calls' queries, as NameOf names them.
  std::unordered_map<std::string, KnownShapes> known_shapes_;
  // The calls that CheckSizes has looked at, each with the functions that its
  // text names by their addresses.
  std::unordered_map<std::string, ShapeQuery> checked_calls_;
  // What ReadsElements has found of calls, and the functions that their names
  // name.
  std::unordered_map<std::string, std::pair<bool, std::vector<SizeFunctionRef>>>
      reads_elements_;
  // Operators without an implementation for the meta device.
  std::unordered_set<std::string> no_meta_;
  // The calls of an operator that raised on the meta device and then with
  // memory, too; a negative number once one did not.
  std::unordered_map<std::string, int> confirmed_errors_;

  std::vector<PossibleView> possible_views_;
  std::unordered_map<torch::jit::Value*, ProbedRef> environment_;
  // The values that are not used after a node, and can be forgotten.
  std::unordered_map<torch::jit::Node*, std::vector<torch::jit::Value*>>
      last_uses_;
  std::unordered_map<torch::jit::Node*, RecordedFunction> operations_;
  std::unordered_map<torch::jit::Node*, ProbedRef> constants_;
  ModuleState state_;
  std::map<ModuleState::key_type, ProbedRef> attributes_set_;
  // Attributes that the program has not set, by the nodes that read them and
  // the objects.
  std::map<std::pair<const torch::jit::Node*, const c10::ivalue::Object*>,
           ProbedRef>
      attributes_;
  const LiveState* live_state_ = nullptr;
  std::string writes_own_ = "the model writes to its own weights or buffers";
  std::map<const at::Tensor*, ProbedRef> states_;  // by the model's own tensors
  std::unique_ptr<torch::jit::AliasDb> aliases_;
  // The loop that runs and is in no other, and the operators before it.
  const torch::jit::Node* outermost_loop_ = nullptr;
  size_t ops_before_loop_ = 0;
  int nodes_done_ = 0, nodes_total_ = 0;
  int decomposition_depth_ = 0;
  std::unordered_set<torch::jit::Graph*> decompositions_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_INTERPRETER_H_
