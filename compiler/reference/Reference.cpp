#include "compiler/reference/Reference.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/SizeExpressions.h"
#include "compiler/reference/Builder.h"
#include "runtime/status/status_macros.h"
#include "runtime/tensor/data_type_facts.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace aitune {
namespace {

using reference::Effort;
using reference::Node;
using reference::Site;
using reference::Sizes;

/// Elements side by side that are sampled together: they share a row's sums,
/// and among them are the first and the last of some vectors.
constexpr int64_t kRun = 16;

/// The nodes of a kernel's values.
class Graph {
public:
  Graph(absl::Span<const int64_t> symbols, const ReferenceOptions &options)
      : symbols(symbols), options(options) {
    effort.left = options.most * 16;
  }

  absl::Status build(func::FuncOp kernel,
                     absl::Span<const TensorView> arguments);
  absl::StatusOr<ReferenceResult> sample(Value value);

private:
  absl::Status add(Operation &op);
  void keepWhatIsReadAgain(Value value);

  const absl::Span<const int64_t> symbols;
  const ReferenceOptions &options;
  Effort effort;
  llvm::DenseMap<Value, Node *> nodes;
  std::vector<std::unique_ptr<Node>> owned;
};

/// Whether sizes that hold for some values of the symbols hold for these: what
/// an operation reads is there.
bool haveFittingSizes(const Site &site) {
  if (llvm::any_of(site.sizes, [](int64_t size) { return size < 0; }))
    return false;
  auto countOf = [](llvm::ArrayRef<int64_t> sizes) {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return count;
  };
  // An empty result reads nothing.
  if (countOf(site.sizes) == 0)
    return true;
  auto reads = [](llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> steps,
                  const Sizes &part, const Sizes &whole) {
    for (size_t axis = 0; axis < part.size(); ++axis)
      if (starts[axis] + steps[axis] * (part[axis] - 1) >= whole[axis])
        return false;
    return true;
  };
  if (ait::isPointwise(site.op))
    return llvm::all_of(site.operands, [&](const Node *operand) {
      return operand->sizes == site.sizes;
    });
  if (auto slice = dyn_cast<ait::SliceOp>(site.op))
    return reads(slice.getStarts(), slice.getSteps(), site.sizes,
                 site.operands[0]->sizes);
  if (auto scatter = dyn_cast<ait::SliceScatterOp>(site.op))
    return reads(scatter.getStarts(), scatter.getSteps(),
                 site.operands[1]->sizes, site.sizes);
  if (isa<ait::ReshapeOp>(site.op))
    return site.operands[0]->count() == countOf(site.sizes);
  if (isa<ait::ExpandOp>(site.op)) {
    const Sizes &from = site.operands[0]->sizes;
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] != 1 &&
          from[i] != site.sizes[site.sizes.size() - from.size() + i])
        return false;
  }
  if (auto concat = dyn_cast<ait::ConcatOp>(site.op)) {
    int64_t total = 0;
    for (const Node *operand : site.operands)
      total += operand->sizes[concat.getDim()];
    return total == site.sizes[concat.getDim()];
  }
  if (auto matmul = dyn_cast<ait::MatmulOp>(site.op)) {
    const Node &lhs = *site.operands[0], &rhs = *site.operands[1];
    return lhs.sizes[lhs.rank() - (matmul.getTransposeLhs() ? 2 : 1)] ==
           rhs.sizes[rhs.rank() - (matmul.getTransposeRhs() ? 1 : 2)];
  }
  return true;
}

/// Whether `op` reads its operands at its result's index alone.
bool readsInPlace(Operation *op) {
  return ait::isPointwise(op) || isa<func::ReturnOp>(op);
}

void Graph::keepWhatIsReadAgain(Value value) {
  if (!value.getDefiningOp())
    return;
  Node *node = nodes.lookup(value);
  if (node->isWorthRemembering() &&
      (!value.hasOneUse() || !readsInPlace(*value.user_begin())))
    node->remember();
}

absl::Status Graph::add(Operation &op) {
  auto unknown = [&] {
    return absl::UnimplementedError(absl::StrCat(
        "there is no reference for ", op.getName().getStringRef().str()));
  };
  if (op.getNumResults() != 1)
    return unknown();
  auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  std::optional<NumberFormat> format =
      type ? NumberFormat::of(type.getElementType()) : std::nullopt;
  if (!format)
    return unknown();
  const std::vector<int64_t> sizes = evaluateSizes(type, symbols);
  Site site{&op,    {},      *format, Sizes(sizes.begin(), sizes.end()),
            effort, symbols, options};
  for (Value operand : op.getOperands())
    site.operands.push_back(nodes.lookup(operand));
  if (llvm::is_contained(site.operands, nullptr))
    return unknown();
  if (!haveFittingSizes(site))
    return absl::InvalidArgumentError(
        absl::StrCat("the sizes of ", op.getName().getStringRef().str(),
                     " do not go together"));
  std::unique_ptr<Node> node;
  for (auto make : {reference::makeSource, reference::makeView,
                    reference::makeMovement, reference::makeReduction,
                    reference::makeWindow, reference::makeContraction}) {
    node = make(site);
    if (node)
      break;
  }
  if (!node && ait::isPointwise(&op))
    node = op.getNumOperands() == 1 ? reference::makeUnary(site)
                                    : reference::makeBinary(site);
  if (!node)
    return unknown();
  nodes[op.getResult(0)] = node.get();
  owned.push_back(std::move(node));
  keepWhatIsReadAgain(op.getResult(0));
  return absl::OkStatus();
}

absl::Status Graph::build(func::FuncOp kernel,
                          absl::Span<const TensorView> arguments) {
  if (arguments.size() != kernel.getNumArguments())
    return absl::InvalidArgumentError(
        absl::StrCat("the kernel has ", kernel.getNumArguments(),
                     " arguments, not ", arguments.size()));
  for (auto [number, argument] : llvm::enumerate(kernel.getArguments())) {
    auto type = cast<RankedTensorType>(argument.getType());
    const std::optional<NumberFormat> format =
        NumberFormat::of(type.getElementType());
    if (!format)
      return absl::UnimplementedError(absl::StrCat(
          "there is no reference for the type of argument ", number));
    const std::vector<int64_t> sizes = evaluateSizes(type, symbols);
    if (arguments[number].dtype != format->dtype ||
        ElementCount(arguments[number].sizes) != ElementCount(sizes))
      return absl::InvalidArgumentError(
          absl::StrCat("argument ", number, " is not of the kernel's type"));
    owned.push_back(reference::makeArgument(
        *format, Sizes(sizes.begin(), sizes.end()), effort, arguments[number]));
    nodes[argument] = owned.back().get();
  }
  for (Operation &op : kernel.getBody().front().without_terminator())
    AITUNE_RETURN_IF_ERROR(add(op));
  return absl::OkStatus();
}

/// The elements of a result that are looked at, those first without which
/// nothing is known.
std::vector<int64_t> choosePositions(const Node &node, int64_t samples) {
  const int64_t count = node.count();
  std::vector<int64_t> positions;
  if (count <= samples) {
    for (int64_t i = 0; i < count; ++i)
      positions.push_back(i);
    return positions;
  }
  for (int64_t i = 0; i < kRun; ++i) {
    positions.push_back(i);
    positions.push_back(count - 1 - i);
  }
  const int64_t rank = std::min<int64_t>(node.rank(), 5);
  for (int64_t corner = 0; corner < (int64_t{1} << rank); ++corner) {
    Sizes index(node.rank(), 0);
    for (int64_t axis = 0; axis < rank; ++axis)
      if (corner >> axis & 1)
        index[axis] = node.sizes[axis] - 1;
    positions.push_back(node.flatten(index.data()));
  }
  std::mt19937_64 generator(static_cast<uint64_t>(count));
  while (static_cast<int64_t>(positions.size()) < samples) {
    const int64_t first =
        static_cast<int64_t>(generator() % static_cast<uint64_t>(count));
    for (int64_t i = first; i < std::min(first + kRun, count); ++i)
      positions.push_back(i);
  }
  return positions;
}

absl::StatusOr<ReferenceResult> Graph::sample(Value value) {
  Node &node = *nodes.lookup(value);
  std::vector<std::pair<int64_t, ReferenceElement>> found;
  Sizes index(node.rank());
  for (int64_t position : choosePositions(node, options.samples)) {
    node.unflatten(position, index.data());
    const ReferenceElement element = node.at(index.data());
    // What was computed when the effort was spent is not whole.
    if (effort.isSpent())
      break;
    found.emplace_back(position, element);
  }
  if (found.empty() && node.count() > 0)
    return absl::ResourceExhaustedError(
        absl::StrCat("an element of a result takes more than ", options.most,
                     " elements of values before it"));
  std::sort(found.begin(), found.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  found.erase(std::unique(found.begin(), found.end(),
                          [](const auto &a, const auto &b) {
                            return a.first == b.first;
                          }),
              found.end());
  ReferenceResult result;
  for (const auto &[position, element] : found) {
    result.positions.push_back(position);
    result.elements.push_back(element);
  }
  return result;
}

/// Why `actual` is not `expected`; empty if it may be.
std::string compareElement(const NumberFormat &format,
                           const ReferenceElement &expected,
                           const ReferenceElement &actual) {
  if (std::isinf(expected.error))
    return "";
  if (!format.isFloat) {
    const double distance = std::abs(static_cast<double>(expected.integer) -
                                     static_cast<double>(actual.integer));
    if (distance <= expected.error &&
        (expected.error > 0 || expected.integer == actual.integer))
      return "";
    return absl::StrCat("is ", actual.integer, " where ", expected.integer,
                        " is right");
  }
  const double right = expected.number, is = actual.number;
  const bool isRight = std::isnan(right) ? std::isnan(is)
                       : std::isinf(right)
                           ? is == right
                           : std::abs(is - right) <= expected.error;
  if (isRight)
    return "";
  return absl::StrFormat("is %.7g where %.7g is right, give or take %.2g", is,
                         right, expected.error);
}

} // namespace

std::vector<int64_t> evaluateSizes(RankedTensorType type,
                                   absl::Span<const int64_t> symbols) {
  std::vector<int64_t> sizes;
  for (AffineExpr size : ait::getSymbolicSizes(type))
    sizes.push_back(ait::toSizeExpression(size).Evaluate(symbols));
  return sizes;
}

absl::StatusOr<std::vector<ReferenceResult>>
computeReference(func::FuncOp kernel, absl::Span<const TensorView> arguments,
                 absl::Span<const int64_t> symbols,
                 const ReferenceOptions &options) {
  std::vector<ReferenceResult> results;
  // One graph a result: what one of them costs is not missing for the next.
  for (Value value : kernel.getBody().front().getTerminator()->getOperands()) {
    Graph graph(symbols, options);
    AITUNE_RETURN_IF_ERROR(graph.build(kernel, arguments));
    AITUNE_ASSIGN_OR_RETURN(ReferenceResult result, graph.sample(value));
    results.push_back(std::move(result));
  }
  return results;
}

std::string compareWithReference(absl::Span<const ReferenceResult> expected,
                                 absl::Span<const TensorView> actual,
                                 absl::Span<const ResultMemory> memory) {
  for (size_t i = 0; i < expected.size() && i < actual.size(); ++i) {
    const TensorView &view = actual[i];
    NumberFormat format;
    const DataTypeFacts *facts = FindFacts(view.dtype);
    format.isFloat = facts && facts->IsFloat();
    const bool isWhole = memory.empty() || memory[i] == ResultMemory::Whole;
    int64_t wrong = 0;
    std::string first;
    for (size_t k = 0; k < expected[i].positions.size(); ++k) {
      const int64_t position = expected[i].positions[k];
      const std::string difference = compareElement(
          format, expected[i].elements[k],
          NumberFormat::read(view.data, view.dtype,
                             isWhole ? position : static_cast<int64_t>(k)));
      if (difference.empty())
        continue;
      if (wrong++ > 0)
        continue;
      std::vector<int64_t> index(view.sizes.size());
      int64_t rest = position;
      for (size_t axis = index.size(); axis-- > 0;) {
        index[axis] = rest % view.sizes[axis];
        rest /= view.sizes[axis];
      }
      first = absl::StrCat("result ", i, " at [", absl::StrJoin(index, ", "),
                           "] ", difference);
    }
    if (wrong > 0)
      return absl::StrCat(first, "; ", wrong, " of ",
                          expected[i].positions.size(),
                          " compared elements are wrong");
  }
  return "";
}

ReferenceCoverage coverageOf(absl::Span<const ReferenceResult> results) {
  ReferenceCoverage coverage;
  for (const ReferenceResult &result : results)
    for (const ReferenceElement &element : result.elements) {
      ++coverage.sampled;
      coverage.known += !std::isinf(element.error);
    }
  return coverage;
}

} // namespace aitune
