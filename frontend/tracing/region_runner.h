// Runs a node whole in LibTorch, in the trace too: control flow that depends on
// data, and what takes apart values that only LibTorch knows. A class beside
// the interpreter, as the node's ways, and the layouts and sizes of what goes
// in and comes out, need nothing of it but its values. Internal: includes
// LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_REGION_RUNNER_H_
#define AITUNE_FRONTEND_TRACING_REGION_RUNNER_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/tracing/interpreter.h"

namespace aitune::frontend {

// A node and what goes into the program that runs it.
struct NodeRegion {
  torch::jit::Node* node = nullptr;
  std::string reason;
  std::vector<torch::jit::Value*> free;  // that the node reads
  std::vector<ProbedRef> contents;       // of `free`
  // Places in `free` of the tensors and the lists that the node writes.
  std::vector<size_t> written, lists;
  // Places of the tensors that it gets as they lie in memory
  // (region_layouts.h).
  std::vector<size_t> laid_out;
  // What the program takes, as functions of sizes, tensors of data as zeros.
  std::vector<SizeFunctionRef> functions;
  bool has_functions = false;  // whether each of them is known
  // The sets of symbols that what it computes is irregular in
  // (irregular_sizes.h).
  std::set<std::vector<int>> irregular;
  // The number of inputs, the first of the node, that decide its ways: the
  // condition of an if, the length and the condition of a loop.
  size_t controls = 0;
  // Takes `free` and the controls; gives the node's outputs and what it has
  // written.
  RecordedProgram program;
  std::shared_ptr<torch::jit::Graph> graph;  // that the program interprets
  RecordedFunction run_in_probe;             // with limits (WithLimits)
  // Of what has one way and gives lists, the same without what is outlined: of
  // sizes that no probe has, nothing is noted for the parts.
  RecordedFunction run_elsewhere;
  bool is_limited = true;  // false: it calls what has no limits
  // The parts of the program that can be compiled.
  std::vector<std::shared_ptr<OutlinedProgram>> outlined;

  // Whether no data decides which ways it goes: a loop of a known length.
  bool has_one_way() const {
    return reason == kLongLoop || reason == kRolledLoop;
  }
  // Whether it is a loop that runs as often as sizes say.
  bool has_length_of_sizes() const { return reason == kRolledLoop; }
  bool is_laid_out(size_t place) const {
    return std::find(laid_out.begin(), laid_out.end(), place) != laid_out.end();
  }
  // Whether it may give a list, or change one.
  bool gives_lists() const {
    return !lists.empty() ||
           std::any_of(node->outputs().begin(), node->outputs().end(),
                       [](torch::jit::Value* output) {
                         return output->type()->kind() ==
                                c10::TypeKind::ListType;
                       });
  }
  bool is_if() const { return node->kind() == c10::prim::If; }
  bool is_loop() const { return node->kind() == c10::prim::Loop; }
  size_t output_count() const { return node->outputs().size(); }
};

// What a region gives, whichever way its data leads.
struct RegionWays {
  // By probe: what the program gives.
  std::vector<std::vector<c10::IValue>> outputs;
  // By output, as all that follows: whether it has the same type each way.
  std::vector<bool> stable;
  // What it and its parts are, some way.
  std::vector<std::map<std::string, std::set<std::string>>> kinds;
  // The values that it shares memory with, some way, of those that went in and
  // of the results.
  std::vector<std::set<size_t>> aliased, shared;
  // What it gives at sizes that are no probe's.
  struct Elsewhere {
    SizePoint point;
    std::vector<c10::IValue> outputs;
  };
  std::vector<Elsewhere> elsewhere;
  // Whether it was not run at some of the sizes that were to be looked at. Of
  // what is irregular in sizes, each of them may be a special one.
  bool missed_sizes = false;
  // Whether the sizes of tensors in the program do not come from data.
  bool sizes_known = false;
  // Whether a way that was not run may give something else: one that raises,
  // or of control flow in the blocks, which goes only the ways that the probes'
  // elements say.
  bool others_unseen = false;
};

// The functions are defined in the files that their groups name.
class RegionRunner {
 public:
  // `interpreter`, whose part this is, must outlive it.
  explicit RegionRunner(Interpreter& interpreter) : interpreter_(interpreter) {}

  // Runs `node` in the probes and adds it to the trace as an operator of
  // LibTorch's, for this `reason`. kUnimplemented for what no region can do.
  absl::Status Run(torch::jit::Node* node, const std::string& reason);
  // Whether it accepts `node`.
  bool CanRun(torch::jit::Node* node);

 private:
  // region_runner.cc: the parts of Run, in their order.
  // kUnimplemented for what no region can do, such as setting an attribute.
  absl::Status Check(const NodeRegion& region);
  // Fills in `contents`, `written` and `lists`, and prepares the writes.
  absl::Status FindInputs(NodeRegion& region);
  absl::Status MakeProgram(NodeRegion& region) const;
  absl::StatusOr<ProbedRef> ResultOf(const NodeRegion& region,
                                     const RegionWays& ways, size_t output,
                                     ResultTemplate* recipe);

  // region_layouts.cc: tensors that a region gets as they lie in memory.
  // Fills in `laid_out`; kUnimplemented where the region, or the program behind
  // it, shows a layout that is not known.
  absl::Status FindLayouts(NodeRegion& region) const;
  // Whether the tensor's memory and the way from it tell how it lies there.
  bool HasKnownLayout(const ProbedValue& tensor) const;
  // The memory of a tensor with a known layout, the outermost axis first.
  absl::StatusOr<ArgumentTemplate> MemoryOf(const ProbedValue& tensor);
  // The region's program for arguments of these recipes, of which those of
  // `laid_out` are MemoryOf. Adds the recipes of more arguments.
  RecordedProgram ProgramWithLayouts(
      const NodeRegion& region, std::vector<ArgumentTemplate>& recipes) const;

  // region_ways.cc: what a region gives as its data decides, and with each
  // other decision that data or sizes could make.
  absl::StatusOr<RegionWays> RunAllWays(const NodeRegion& region);
  // Whether a loop, whose length sizes decide, has no round for some of them.
  bool MayNotRun(torch::jit::Node* loop);
  // Runs its parts that no way came to, on their own.
  void SeeUntakenWays(const NodeRegion& region);
  // The values of `free` and of the controls, in a probe.
  static std::vector<c10::IValue> GivenIn(const NodeRegion& region,
                                          size_t probe);
  std::vector<c10::IValue> ControlsIn(const NodeRegion& region, size_t probe);
  // One way, given the values of `free` and of the controls: what the program
  // gives is in `stack`, and what is seen of it added to `ways`.
  absl::Status Try(const NodeRegion& region,
                   const std::vector<c10::IValue>& given,
                   const std::vector<c10::IValue>& control, RegionWays& ways,
                   std::vector<c10::IValue>& stack) const;

  // known_lists.cc: lists of tensors that it gives.
  // Fills in `functions`, before the region changes what it writes.
  void FindFunctions(NodeRegion& region) const;
  // Whether what the function gives is, at other sizes too, a list of tensors
  // of one dtype and rank: of `type`, if it is set.
  bool IsListOfOneType(
      const NodeRegion& region, const SizeFunctionRef& function,
      std::optional<std::pair<at::ScalarType, int64_t>> type) const;
  // Sets ProbedValue::is_list_of_known, or of_varying_type, of a list, number
  // `output` of what the program gives.
  void NoteKnownList(const NodeRegion& region, const RegionWays& ways,
                     size_t output, ProbedValue& result) const;

  // region_points.cc: the same at other sizes than the probes'.
  // Fills in `irregular` and, where the region gives what has sizes, shortens
  // the ranges of these symbols until all of their sizes can be looked at.
  absl::Status FindIrregularSizes(NodeRegion& region, const RegionWays& ways);
  // Sizes that show what the region gives at all: `sample` of them, and all
  // that differ from the anchor in symbols which it is irregular in.
  std::vector<SizePoint> TellingPoints(const std::vector<int>& symbols,
                                       const NodeRegion& region,
                                       size_t sample) const;
  // What a value is at these sizes, tensors of data as zeros; not set if that
  // is not known, or too large.
  std::optional<c10::IValue> ValueAt(const ProbedRef& value,
                                     const SizePoint& point) const;
  // Adds what the region gives there, and what is seen of it, to `ways`.
  void RunElsewhere(const NodeRegion& region, RegionWays& ways);
  // Whether a result has this type there.
  static bool HasItsSizesElsewhere(const RegionWays& ways, size_t output,
                                   const TensorType& type);

  Interpreter& interpreter_;
};

// Whether a block of `node` has a node of one of these kinds, however deep.
bool Contains(torch::jit::Node* node, const std::vector<c10::Symbol>& kinds);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_REGION_RUNNER_H_
