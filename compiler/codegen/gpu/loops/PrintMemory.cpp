// Loads and stores of PointPrinter.
#include "compiler/codegen/gpu/loops/PointPrinter.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace aitune {
namespace {

/// Elements that a thread keeps in registers between the loops over a row.
constexpr int64_t kMostKept = 96;

std::string memoryType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return cudaType(IntegerType::get(integer.getContext(), integer.getWidth()));
  return cudaType(elementType);
}

/// "(a + b)" without its parentheses: for the inside of brackets.
std::string strip(const std::string &text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return text;
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0)
      return text;
  }
  return text.substr(1, text.size() - 2);
}

} // namespace

bool PointPrinter::isPack(const PrintScope &scope,
                          const LinearForm &address) const {
  if (scope.lanes == 1 || address.isNonlinearIn(*scope.laneDim) ||
      address.coefficientOf(*scope.laneDim) != 1)
    return false;
  auto isMultiple = [&](AffineExpr expr) {
    return expr.isMultipleOf(scope.lanes);
  };
  for (const LinearForm::Term &term : address.terms) {
    auto dim = dyn_cast<AffineDimExpr>(term.term);
    if (dim && dim.getPosition() == *scope.laneDim)
      continue;
    if (!isMultiple(term.coefficient))
      return false;
  }
  return isMultiple(address.constant);
}

std::string PointPrinter::loadPack(PrintScope *lane, BlockArgument argument,
                                   const LinearForm &address) {
  AffineExpr place = address.toExpr();
  AffineMap key = toKey(place, place.getContext());
  PrintScope *home = lane->parent;
  const std::string element = "[j]";
  for (PrintScope *scope = current; scope; scope = scope->parent) {
    auto found = scope->packs.find({argument, key});
    if (found != scope->packs.end())
      return found->second + element;
  }
  // The conditions between the load and its place, innermost last.
  std::string condition;
  SmallVector<unsigned, 4> moved = dimsOf(place);
  for (PrintScope *scope = current; scope != lane; scope = scope->parent)
    if (scope->isBranch) {
      condition =
          scope->condition + (condition.empty() ? "" : " && " + condition);
      moved.append(scope->conditionDims);
    }
  // Dims that loops inside the lanes bind cannot be moved out of them.
  for (unsigned dim : moved) {
    if (dim == *lane->laneDim)
      continue;
    for (PrintScope *scope = current; scope != home; scope = scope->parent)
      if (scope->bindings.count(dim))
        return "";
  }
  Type elementType =
      cast<RankedTensorType>(argument.getType()).getElementType();
  std::string type = memoryType(elementType),
              pointer = arguments[argument].pointer, name = fresh("x");
  // At the lanes' first value.
  auto printLoad = [&](const std::string &target, const std::string &guard) {
    runIn(home, [&] {
      std::string at =
          strip(indexWith(*home, *lane->laneDim, lane->laneBase, place));
      std::string load =
          llvm::formatv("load<{0}>({1} + {2})", lane->lanes, pointer, at);
      if (!guard.empty())
        line("if (" + guard + ")");
      line((guard.empty() ? "" : "  ") + target + " = " + load + ";");
    });
  };
  std::string pack = llvm::formatv("Pack<{0}, {1}>", type, lane->lanes);

  // Kept for the whole row when the loop over chunks sees it every time.
  bool ofRow = cache.chunks > 0 && condition.empty() &&
               cache.elements + cache.chunks * lane->lanes <= kMostKept;
  for (PrintScope *scope = home; ofRow && scope != cache.row;
       scope = scope->parent) {
    ofRow = scope->parent != nullptr;
    for (auto &[dim, text] : scope->bindings)
      if (!cache.dims.contains(dim) && address.involves(dim))
        ofRow = false;
  }
  ofRow &= llvm::any_of(cache.dims,
                        [&](unsigned dim) { return address.involves(dim); });
  if (ofRow) {
    cache.elements += cache.chunks * lane->lanes;
    std::string stored = name + "[c]";
    runIn(cache.row, [&] {
      line(llvm::formatv("{0} {1}[{2}];", pack, name, cache.chunks));
      cache.forEachChunk([&] {
        line(llvm::formatv("{0} = load<{1}>({2} + {3});", stored, lane->lanes,
                           pointer, strip(index(place))));
      });
      current->packs[{argument, key}] = stored;
    });
    return stored + element;
  }
  if (condition.empty()) {
    printLoad("const " + pack + " " + name, "");
    home->packs[{argument, key}] = name;
    return name + element;
  }
  lineIn(home, pack + " " + name + ";");
  printLoad(name, condition);
  // Known in this branch only.
  current->packs[{argument, key}] = name;
  return name + element;
}

std::string PointPrinter::load(BlockArgument argument,
                               ArrayRef<AffineExpr> exprs) {
  auto found = arguments.find(argument);
  if (found == arguments.end())
    return fail("a value that is not an argument of the kernel");
  if (found->second.at) {
    std::optional<std::string> value = found->second.at(exprs);
    return value ? *value
                 : fail("a contraction's result is read at another place than "
                        "it is written");
  }
  auto type = cast<RankedTensorType>(argument.getType());
  LinearForm address = decompose(linearize(type, exprs));
  PrintScope *lane = laneScope();
  if (lane && isPack(*lane, address)) {
    bool movable = true;
    for (PrintScope *scope = current; scope != lane; scope = scope->parent)
      movable &= !scope->isBranch ||
                 (!scope->condition.empty() && !scope->conditionVariesWithLane);
    if (movable)
      if (std::string element = loadPack(lane, argument, address);
          !element.empty())
        return element;
  }
  std::string name = fresh("x");
  line(llvm::formatv("const {0} {1} = {2}[{3}];",
                     memoryType(type.getElementType()), name,
                     found->second.pointer, strip(index(address.toExpr()))));
  return name;
}

void PointPrinter::store(const std::string &value, const std::string &pointer,
                         RankedTensorType type, ArrayRef<AffineExpr> exprs) {
  LinearForm address = decompose(linearize(type, exprs));
  PrintScope *lane = laneScope();
  const std::string head =
      storeCondition.empty() ? "" : "if (" + storeCondition + ") ";
  if (!lane || lane != current || !isPack(*lane, address)) {
    line(head + pointer + "[" + strip(index(address.toExpr())) +
         "] = " + value + ";");
    return;
  }
  // Into a pack that the caller's scope stores after the lanes.
  std::string name = fresh("y");
  lineIn(lane->parent,
         llvm::formatv("Pack<{0}, {1}> {2};", memoryType(type.getElementType()),
                       lane->lanes, name));
  line(name + "[j] = " + value + ";");
  std::string at =
      strip(indexWith(*lane, *lane->laneDim, lane->laneBase, address.toExpr()));
  pendingStores.push_back(head + "store(" + pointer + " + " + at + ", " + name +
                          ");");
}

void PointPrinter::flushStores() {
  for (const std::string &text : pendingStores)
    line(text);
  pendingStores.clear();
}

} // namespace aitune
