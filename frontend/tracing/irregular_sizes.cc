#include "frontend/tracing/irregular_sizes.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "frontend/torchscript/written_arguments.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/region_sizes.h"
#include "frontend/tracing/size_forms.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
using Kind = SizeGrowth::Kind;

SizeGrowth AtLeast(SizeGrowth growth, Kind kind) {
  if (growth.kind != Kind::kFixed) growth.kind = std::max(growth.kind, kind);
  return growth;
}

// A product of numbers that grow so.
SizeGrowth Product(const SizeGrowth& a, const SizeGrowth& b) {
  SizeGrowth product = a;
  product.Join(b);
  if (a.kind == Kind::kFixed || b.kind == Kind::kFixed) return product;
  return AtLeast(product, product.kind <= Kind::kPolynomial ? Kind::kPolynomial
                                                            : Kind::kIrregular);
}

// A quotient, rounded (`kind` is kSteps; also how often a range has a step), or
// a remainder (kPeriodic).
SizeGrowth Quotient(const SizeGrowth& dividend, const SizeGrowth& divisor,
                    Kind kind) {
  SizeGrowth quotient = dividend;
  quotient.Join(divisor);
  const bool is_regular =
      dividend.kind <= Kind::kLinear && divisor.kind == Kind::kFixed;
  return AtLeast(quotient, is_regular ? kind : Kind::kIrregular);
}

bool ShareSymbols(const SizeGrowth& a, const SizeGrowth& b) {
  return std::any_of(a.symbols.begin(), a.symbols.end(),
                     [&](int symbol) { return b.symbols.count(symbol) > 0; });
}

// A sum or difference: of n and a multiple of its steps, what is left.
SizeGrowth Sum(const SizeGrowth& a, const SizeGrowth& b) {
  SizeGrowth sum = a;
  sum.Join(b);
  if (sum.kind != Kind::kSteps) return sum;
  return ShareSymbols(a, b) ? AtLeast(sum, Kind::kPeriodic) : sum;
}

// A difference of numbers: two steps that lie near each other leave few sizes
// between them.
SizeGrowth Difference(const SizeGrowth& a, const SizeGrowth& b) {
  const SizeGrowth difference = Sum(a, b);
  return a.kind >= Kind::kSteps && b.kind >= Kind::kSteps
             ? AtLeast(difference, Kind::kIrregular)
             : difference;
}

// Of what changes where its operands, whose growth is given, cross.
SizeGrowth Threshold(const SizeGrowth& operands) {
  return AtLeast(operands, operands.kind <= Kind::kSteps ? Kind::kSteps
                                                         : Kind::kIrregular);
}

// What an operator that gives numbers makes of its arguments' growth. kTruth:
// it keeps that of truths; of numbers it takes bits, or whether they are 0.
// kPlace: it takes one of a list's elements.
enum class Rule {
  kKeeps,
  kDifference,
  kProduct,
  kQuotient,
  kRemainder,
  kRange,
  kThreshold,
  kTruth,
  kPlace
};

const Rule* RuleOf(c10::Symbol kind) {
  static const auto* const kRules = new std::map<std::string, Rule>{
      {"aten::add", Rule::kKeeps},
      {"aten::sub", Rule::kDifference},
      {"aten::neg", Rule::kKeeps},
      {"aten::len", Rule::kKeeps},
      {"aten::Float", Rule::kKeeps},
      {"aten::Bool", Rule::kTruth},
      {"aten::__not__", Rule::kTruth},
      {"aten::__and__", Rule::kTruth},
      {"aten::__or__", Rule::kTruth},
      {"aten::list", Rule::kKeeps},
      {"aten::append", Rule::kKeeps},
      {"aten::__getitem__", Rule::kPlace},
      {"aten::pop", Rule::kPlace},
      {"aten::mul", Rule::kProduct},
      {"aten::__derive_index", Rule::kProduct},
      {"aten::floordiv", Rule::kQuotient},
      {"aten::remainder", Rule::kRemainder},
      {"aten::__range_length", Rule::kRange},
      {"aten::lt", Rule::kThreshold},
      {"aten::le", Rule::kThreshold},
      {"aten::gt", Rule::kThreshold},
      {"aten::ge", Rule::kThreshold},
      {"prim::min", Rule::kThreshold},
      {"prim::max", Rule::kThreshold},
      {"prim::ListConstruct", Rule::kKeeps},
      {"prim::ListUnpack", Rule::kKeeps},
      {"prim::TupleConstruct", Rule::kKeeps},
      {"prim::TupleUnpack", Rule::kKeeps},
      {"prim::TupleIndex", Rule::kKeeps},
      {"prim::unchecked_cast", Rule::kKeeps},
      {"prim::unchecked_unwrap_optional", Rule::kKeeps},
  };
  const auto rule = kRules->find(kind.toQualString());
  return rule == kRules->end() ? nullptr : &rule->second;
}

bool HoldsNumbers(const Value* value) {
  return MayHold(*value->type(),
                 {c10::TypeKind::IntType, c10::TypeKind::FloatType,
                  c10::TypeKind::BoolType, c10::TypeKind::NumberType,
                  c10::TypeKind::StringType});
}

// Whether the operator gives tensors of sizes that it rounds itself.
bool RoundsSizes(const Node& node) {
  const std::string name = node.kind().toQualString();
  const bool may_round = name == "aten::arange" || name == "aten::range" ||
                         name.find("upsample") != std::string::npos ||
                         name.find("interpolate") != std::string::npos;
  return may_round && std::any_of(node.inputs().begin(), node.inputs().end(),
                                  [](const Value* input) {
                                    return MayHold(*input->type(),
                                                   {c10::TypeKind::FloatType,
                                                    c10::TypeKind::NumberType});
                                  });
}

// Follows sizes through the blocks of a node until nothing more is found.
class Growths {
 public:
  explicit Growths(const std::function<SizeGrowth(Value*)>& outside)
      : outside_(outside) {}

  void Follow(Node* node) {
    Enter(node);
    do {
      changed_ = false;
      VisitNode(node);
    } while (changed_);
  }

  std::set<std::set<int>> irregular() const {
    std::set<std::set<int>> found;
    for (const auto& [value, growth] : growths_) {
      if (growth.kind == Kind::kIrregular) found.insert(growth.symbols);
    }
    return found;
  }

 private:
  // Notes what `node` and its blocks define.
  void Enter(Node* node) {
    inside_.insert(node->outputs().begin(), node->outputs().end());
    for (Block* block : node->blocks()) {
      inside_.insert(block->inputs().begin(), block->inputs().end());
      for (Node* inner : block->nodes()) Enter(inner);
    }
  }

  const SizeGrowth& Of(Value* value) {
    const auto found = growths_.find(value);
    if (found != growths_.end()) return found->second;
    // What a loop carries is read before it is given.
    return growths_
        .emplace(value,
                 inside_.count(value) > 0 ? SizeGrowth() : outside_(value))
        .first->second;
  }

  void Join(Value* value, const SizeGrowth& growth) {
    SizeGrowth joined = Of(value);
    joined.Join(growth);
    SizeGrowth& known = growths_[value];
    changed_ |= joined.kind != known.kind || joined.symbols != known.symbols;
    known = std::move(joined);
  }

  SizeGrowth OfAll(at::ArrayRef<Value*> values) {
    SizeGrowth all;
    for (Value* value : values) all.Join(Of(value));
    return all;
  }

  // `decided`: the growth of what decides whether, or how often, it is run.
  void VisitBlock(Block* block, const SizeGrowth& decided) {
    const SizeGrowth outer = deciding_;
    deciding_.Join(decided);
    for (Node* node : block->nodes()) VisitNode(node);
    deciding_ = outer;
  }

  void VisitNode(Node* node) {
    if (node->kind() == c10::prim::If) return VisitIf(node);
    if (node->kind() == c10::prim::Loop) return VisitLoop(node);
    for (Block* block : node->blocks()) VisitBlock(block, SizeGrowth());
    SizeGrowth result = ResultOf(node);
    for (Value* output : node->outputs()) Join(output, result);
    result.Join(deciding_);
    for (const size_t i : WrittenArguments(*node)) Join(node->input(i), result);
  }

  void VisitIf(Node* node) {
    // Where a size decides, the results change there.
    const SizeGrowth decided = AtLeast(Of(node->input(0)), Kind::kSteps);
    for (Block* block : node->blocks()) {
      VisitBlock(block, decided);
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        SizeGrowth growth = Of(block->outputs()[i]);
        // Two bounds that lie near each other.
        const bool is_between =
            HoldsNumbers(node->output(i)) && growth.kind >= Kind::kSteps &&
            decided.kind >= Kind::kSteps && ShareSymbols(growth, decided);
        growth.Join(decided);
        if (is_between) growth = AtLeast(growth, Kind::kIrregular);
        Join(node->output(i), growth);
      }
    }
  }

  void VisitLoop(Node* loop) {
    Block* const body = loop->blocks().at(0);
    const SizeGrowth length = Of(loop->input(0));
    SizeGrowth decided = Of(body->outputs()[0]);
    decided.Join(Of(loop->input(1)));
    // How many rounds it has then, these sizes don't show.
    decided = AtLeast(decided, Kind::kIrregular);
    SizeGrowth rounds = AtLeast(length, Kind::kSteps);
    rounds.Join(decided);
    VisitBlock(body, rounds);
    Join(body->inputs()[0], length);
    for (size_t i = 0; i < loop->outputs().size(); ++i) {
      Value* const carried = body->inputs()[i + 1];
      Value* const next = body->outputs()[i + 1];
      SizeGrowth growth = Of(loop->input(i + 2));
      growth.Join(Of(next));
      if (next != carried) {
        const bool adds_up =
            length.kind != Kind::kFixed && HoldsNumbers(carried);
        growth.Join(AtLeast(length, adds_up && !AddsFixed(*next, carried)
                                        ? Kind::kIrregular
                                        : Kind::kSteps));
      }
      growth.Join(decided);
      Join(carried, growth);
      Join(loop->output(i), growth);
    }
  }

  // Whether `next` is `carried` and a number that is the same in each round.
  bool AddsFixed(const Value& next, Value* carried) {
    const Node& add = *next.node();
    if (add.kind() != c10::aten::add && add.kind() != c10::aten::sub)
      return false;
    if (add.input(0) == carried) return Of(add.input(1)).kind == Kind::kFixed;
    return add.kind() == c10::aten::add && add.input(1) == carried &&
           Of(add.input(0)).kind == Kind::kFixed;
  }

  SizeGrowth ResultOf(Node* node) {
    const at::ArrayRef<Value*> inputs = node->inputs();
    const SizeGrowth all = OfAll(inputs);
    if (all.kind == Kind::kFixed) return all;
    const c10::FunctionSchema* const schema = node->maybeSchema();
    if (schema != nullptr && IsMetadataQuery(*schema))
      return AtLeast(all, schema->name() == "aten::numel" ? Kind::kPolynomial
                                                          : Kind::kLinear);
    if (RoundsSizes(*node)) return AtLeast(all, Kind::kIrregular);
    const bool gives_numbers = std::any_of(node->outputs().begin(),
                                           node->outputs().end(), HoldsNumbers);
    if (!gives_numbers) return all;
    // Elements are no sizes.
    if (schema != nullptr && node->kind() != c10::aten::len &&
        std::any_of(inputs.begin(), inputs.end(), [](Value* input) {
          return input->type()->kind() == c10::TypeKind::TensorType;
        }))
      return {};
    const Rule* const rule = RuleOf(node->kind());
    if (rule == nullptr) return AtLeast(all, Kind::kIrregular);
    switch (*rule) {
      case Rule::kKeeps:
        return all;
      case Rule::kDifference:
        return Difference(Of(inputs[0]), Of(inputs[1]));
      case Rule::kProduct: {
        if (node->kind() != c10::aten::__derive_index)
          return Product(Of(inputs[0]), Of(inputs[1]));
        // The start and, for each index, a step.
        SizeGrowth index = Product(Of(inputs[0]), Of(inputs[2]));
        index.Join(Of(inputs[1]));
        return index;
      }
      case Rule::kQuotient:
        return Quotient(Of(inputs[0]), Of(inputs[1]), Kind::kSteps);
      case Rule::kRemainder:
        return Quotient(Of(inputs[0]), Of(inputs[1]), Kind::kPeriodic);
      case Rule::kRange: {
        SizeGrowth bounds = Of(inputs[0]);
        bounds.Join(Of(inputs[1]));
        return Quotient(bounds, Of(inputs[2]), Kind::kSteps);
      }
      case Rule::kThreshold:
        return Threshold(all);
      case Rule::kTruth:
        return inputs[0]->type()->kind() == c10::TypeKind::BoolType
                   ? all
                   : AtLeast(all, Kind::kIrregular);
      case Rule::kPlace:
        // Another number where the place is another.
        return AtLeast(all, OfAll(inputs.slice(1)).kind != Kind::kFixed
                                ? Kind::kIrregular
                                : Kind::kSteps);
    }
    return AtLeast(all, Kind::kIrregular);
  }

  const std::function<SizeGrowth(Value*)>& outside_;
  std::unordered_map<Value*, SizeGrowth> growths_;
  std::set<Value*> inside_;
  SizeGrowth deciding_;  // of the blocks around
  bool changed_ = false;
};

}  // namespace

void SizeGrowth::Join(const SizeGrowth& other) {
  kind = std::max(kind, other.kind);
  symbols.insert(other.symbols.begin(), other.symbols.end());
}

SizeGrowth GrowthOf(const SizeExpression& formula) {
  using Operator = SizeExpression::Kind;
  switch (formula.kind()) {
    case Operator::kConstant:
      return {};
    case Operator::kSymbol:
      return {Kind::kLinear, {formula.symbol()}};
    case Operator::kAdd:
      return Sum(GrowthOf(formula.lhs()), GrowthOf(formula.rhs()));
    case Operator::kMultiply:
      return Product(GrowthOf(formula.lhs()), GrowthOf(formula.rhs()));
    case Operator::kFloorDivide:
    case Operator::kCeilDivide:
    case Operator::kModulo:
      break;
  }
  return Quotient(
      GrowthOf(formula.lhs()), GrowthOf(formula.rhs()),
      formula.kind() == Operator::kModulo ? Kind::kPeriodic : Kind::kSteps);
}

SizeGrowth GrowthOf(const SizeFunction& function) {
  if (const auto formula = function.Formula()) return GrowthOf(*formula);
  SizeGrowth growth;
  growth.symbols.insert(function.symbols.begin(), function.symbols.end());
  if (growth.symbols.empty()) return growth;
  growth.kind = Kind::kIrregular;
  switch (function.kind) {
    case SizeFunction::Kind::kShape:
      growth = {};
      for (const SizeExpression& size : function.sizes)
        growth.Join(GrowthOf(size));
      break;
    case SizeFunction::Kind::kList:
    case SizeFunction::Kind::kTuple:
    case SizeFunction::Kind::kDict:
      growth = {};
      for (const SizeFunctionRef& element : function.arguments)
        growth.Join(GrowthOf(*element));
      break;
    case SizeFunction::Kind::kProgram:
      if (function.irregular.empty()) growth.kind = Kind::kSteps;
      break;
    default:
      if (IsListOfSizes(function)) return GrowthOf(*function.arguments[0]);
      if (IsSmooth(function)) growth.kind = Kind::kPolynomial;
      break;
  }
  return growth;
}

std::set<std::vector<int>> IrregularSymbols(
    Node* node, const std::function<SizeGrowth(Value*)>& outside) {
  Growths growths(outside);
  growths.Follow(node);
  const std::set<std::set<int>> found = growths.irregular();
  std::set<std::vector<int>> largest;
  for (const std::set<int>& symbols : found) {
    const bool is_part = std::any_of(
        found.begin(), found.end(), [&](const std::set<int>& other) {
          return other.size() > symbols.size() &&
                 std::includes(other.begin(), other.end(), symbols.begin(),
                               symbols.end());
        });
    if (!is_part) largest.emplace(symbols.begin(), symbols.end());
  }
  return largest;
}

}  // namespace aitune::frontend
