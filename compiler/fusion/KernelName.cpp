#include "compiler/fusion/KernelName.h"

#include "compiler/dialect/Ait.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::ait;

namespace {
constexpr unsigned maxWords = 4;

template <typename... Ops> bool contains(Block &body) {
  return (llvm::any_of(body, [](Operation &op) { return isa<Ops>(op); }) &&
          ...);
}

/// Whether an operation says nothing about the purpose of a kernel.
bool isIncidental(Operation &op) {
  return isa<ConvertOp, ExpandOp, ReshapeOp, FullOp, IotaOp, CheckOp, YieldOp>(
      op);
}

/// The primitives that a normalisation or softmax was made of, as one word.
StringRef findComposite(Block &body) {
  if (contains<AmaxOp, SubOp, ExpOp, SumOp>(body))
    return contains<LogOp>(body) ? "log_softmax" : "softmax";
  if (contains<MeanOp, RsqrtOp>(body))
    return contains<SubOp>(body) ? "layer_norm" : "rms_norm";
  return "";
}

bool isPartOfComposite(StringRef composite, Operation &op) {
  if (composite.ends_with("softmax"))
    return isa<AmaxOp, SubOp, ExpOp, SumOp, DivOp, LogOp>(op);
  if (composite.ends_with("norm"))
    return isa<MeanOp, RsqrtOp, SubOp, MulOp, AddOp>(op);
  return false;
}
} // namespace

std::string aitune::describeKernel(Block &body) {
  llvm::SmallSetVector<StringRef, maxWords> words;
  StringRef composite = findComposite(body);
  auto addWord = [&](StringRef word) {
    if (words.size() < maxWords)
      words.insert(word);
  };
  auto name = [](Operation &op) { return op.getName().stripDialect(); };
  // What decides the time comes first, what surrounds it after.
  for (Operation &op : body)
    if (isContraction(&op))
      addWord(name(op));
  if (!composite.empty())
    addWord(composite);
  for (Operation &op : body)
    if (isReduction(&op) && !isPartOfComposite(composite, op))
      addWord(name(op));
  for (Operation &op : body)
    if (!isIncidental(op) && !isReduction(&op) &&
        !isPartOfComposite(composite, op))
      addWord(name(op));
  if (words.empty())
    for (Operation &op : body.without_terminator())
      addWord(name(op));
  if (words.empty())
    addWord("copy");
  return llvm::join(words, "_");
}
