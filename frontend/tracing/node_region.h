// What the parts of Interpreter::RunAsRegion (region_node.cc, region_ways.cc)
// tell one another about a node that LibTorch runs whole.
#ifndef AITUNE_FRONTEND_TRACING_NODE_REGION_H_
#define AITUNE_FRONTEND_TRACING_NODE_REGION_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frontend/tracing/interpreter.h"

namespace aitune::frontend {

// A node and what goes into the program that runs it.
struct Interpreter::NodeRegion {
  torch::jit::Node* node = nullptr;
  std::string reason;
  std::vector<torch::jit::Value*> free;  // that the node reads
  std::vector<ProbedRef> contents;       // of `free`
  // Places in `free` of the tensors and the lists that the node writes.
  std::vector<size_t> written, lists;
  // Places of the tensors that it gets as they lie in memory
  // (region_layouts.h).
  std::vector<size_t> laid_out;
  // The number of inputs, the first of the node, that decide its ways: the
  // condition of an if, the length and the condition of a loop.
  size_t controls = 0;
  // Takes `free` and the controls; gives the node's outputs and what it has
  // written.
  RecordedProgram program;
  std::shared_ptr<torch::jit::Graph> graph;  // that the program interprets
  RecordedFunction run_in_probe;             // with limits (WithLimits)
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
  bool is_if() const { return node->kind() == c10::prim::If; }
  bool is_loop() const { return node->kind() == c10::prim::Loop; }
  size_t output_count() const { return node->outputs().size(); }
};

// What a region gives, whichever way its data leads.
struct Interpreter::RegionWays {
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
  // Whether the sizes of tensors in the program do not come from data.
  bool sizes_known = false;
  // Whether a way that was not run may give something else: one that raises,
  // or of control flow in the blocks, which goes only the ways that the probes'
  // elements say.
  bool others_unseen = false;
};

// Whether a block of `node` has a node of one of these kinds, however deep.
bool Contains(torch::jit::Node* node, const std::vector<c10::Symbol>& kinds);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_NODE_REGION_H_
