// Einstein summation, operand by operand, as matrix products.
#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

// A label of an axis: a letter, or -1, -2, ... for the axes of an ellipsis,
// numbered from the right as broadcasting aligns them.
using Label = int;
using Labels = SmallVector<Label>;

struct Term {
  Value value;
  Labels labels;
};

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  bool has_output = false;
};

absl::StatusOr<Equation> Parse(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation equation;
  const size_t arrow = text.find("->");
  equation.has_output = arrow != std::string::npos;
  if (equation.has_output) {
    equation.output = text.substr(arrow + 2);
    text.resize(arrow);
  }
  size_t start = 0;
  while (true) {
    const size_t comma = text.find(',', start);
    equation.inputs.push_back(
        text.substr(start, comma == std::string::npos ? comma : comma - start));
    if (comma == std::string::npos) break;
    start = comma + 1;
  }
  return equation;
}

// The labels that `text` gives a tensor of `rank` axes.
absl::StatusOr<Labels> ReadLabels(const std::string& text, int64_t rank) {
  Labels labels;
  int64_t letters = 0;
  for (char c : text) letters += c != '.';
  bool ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (ellipsis || text.compare(i, 3, "...") != 0 || rank < letters)
        return Reject("the equation's '...' is misplaced");
      ellipsis = true;
      i += 2;
      for (int64_t axis = rank - letters; axis > 0; --axis)
        labels.push_back(static_cast<Label>(-axis));
      continue;
    }
    const bool letter = (text[i] >= 'a' && text[i] <= 'z') ||
                        (text[i] >= 'A' && text[i] <= 'Z');
    if (!letter)
      return Reject(
          absl::StrCat("the equation holds '", text.substr(i, 1), "'"));
    labels.push_back(text[i]);
  }
  if (static_cast<int64_t>(labels.size()) != rank) {
    return Reject(absl::StrCat("the equation has ", labels.size(),
                               " axes for a tensor of rank ", rank));
  }
  return labels;
}

class Einsum {
 public:
  explicit Einsum(OpImporter& call) : call_(call) {}

  absl::Status Build() {
    AITUNE_ASSIGN_OR_RETURN(std::string text, call_.String("equation"));
    AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> tensors,
                            call_.Tensors("tensors"));
    AITUNE_ASSIGN_OR_RETURN(Equation equation, Parse(text));
    if (equation.inputs.size() != tensors.size())
      return Reject("the equation doesn't name each operand");
    std::vector<Term> terms;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i]) return Reject("an operand is None");
      AITUNE_ASSIGN_OR_RETURN(
          Labels labels,
          ReadLabels(equation.inputs[i], call_.RankOf(tensors[i])));
      terms.push_back(TakeDiagonals({tensors[i], labels}));
      NoteSizes(terms.back());
    }
    if (!IsFloatingPoint(call_.ResultDataType()))
      return Reject("products of integers are not supported");
    AITUNE_ASSIGN_OR_RETURN(Labels output, OutputLabels(equation, terms));
    Term result = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      Labels kept = output;
      for (size_t later = i + 1; later < terms.size(); ++later)
        kept.append(terms[later].labels);
      result = Contract(result, terms[i], kept);
    }
    result = SumAway(result, output);
    SmallVector<int64_t> order;
    for (Label label : output) {
      const auto* position = llvm::find(result.labels, label);
      if (position == result.labels.end())
        return Reject("the output has a label that no operand has");
      order.push_back(position - result.labels.begin());
    }
    return call_.SetResult(
        call_.Expand(call_.Permute(result.value, order), call_.ResultSizes()));
  }

 private:
  // One axis for the axes that have one label.
  Term TakeDiagonals(Term term) {
    Labels& labels = term.labels;
    for (size_t first = 0; first < labels.size();) {
      const Label label = labels[first];
      auto* const second =
          std::find(labels.begin() + first + 1, labels.end(), label);
      if (second == labels.end()) {
        ++first;
        continue;
      }
      term.value = call_.Diagonal(
          term.value, static_cast<int64_t>(first), second - labels.begin(),
          /*offset=*/0, call_.SizesOf(term.value)[first]);
      labels.erase(second);
      labels.erase(labels.begin() + first);
      labels.push_back(label);
      ++joined_[label];
    }
    return term;
  }

  // The size of each label: a 1 gives way to another size.
  void NoteSizes(const Term& term) {
    const Sizes sizes = call_.SizesOf(term.value);
    for (size_t i = 0; i < sizes.size(); ++i) {
      auto [known, inserted] = sizes_.try_emplace(term.labels[i], sizes[i]);
      if (!inserted && call_.StaticSize(known->second) == 1)
        known->second = sizes[i];
    }
  }

  absl::StatusOr<Labels> OutputLabels(const Equation& equation,
                                      const std::vector<Term>& terms) {
    int64_t ellipsis = 0;
    std::map<Label, int> counts;
    for (const Term& term : terms) {
      for (Label label : term.labels) {
        ellipsis = std::max<int64_t>(ellipsis, -label);
        ++counts[label];
      }
    }
    for (const auto& [label, count] : joined_) counts[label] += count;
    Labels output;
    if (!equation.has_output) {
      for (int64_t axis = ellipsis; axis > 0; --axis)
        output.push_back(static_cast<Label>(-axis));
      for (const auto& [label, count] : counts) {
        if (label > 0 && count == 1) output.push_back(label);
      }
      return output;
    }
    int64_t letters = 0;
    for (char c : equation.output) letters += c != '.';
    const bool dots = equation.output.find('.') != std::string::npos;
    AITUNE_ASSIGN_OR_RETURN(
        output, ReadLabels(equation.output, letters + (dots ? ellipsis : 0)));
    for (Label label : output) {
      if (llvm::count(output, label) > 1)
        return Reject("the output has a label twice");
    }
    return output;
  }

  // Sums over the labels that are not in `kept`.
  Term SumAway(Term term, llvm::ArrayRef<Label> kept) {
    SmallVector<int64_t> dims;
    Labels labels;
    for (size_t i = 0; i < term.labels.size(); ++i) {
      if (llvm::is_contained(kept, term.labels[i])) {
        labels.push_back(term.labels[i]);
      } else {
        dims.push_back(i);
      }
    }
    if (dims.empty()) return term;
    return {call_.Squeeze(call_.Reduce<ait::SumOp>(term.value, dims), dims),
            labels};
  }

  Sizes SizesOf(llvm::ArrayRef<Label> labels) {
    Sizes sizes;
    for (Label label : labels) sizes.push_back(sizes_.at(label));
    return sizes;
  }

  // `term` with its axes in the order `labels` at their full sizes.
  Value Arrange(const Term& term, llvm::ArrayRef<Label> labels) {
    SmallVector<int64_t> order;
    for (Label label : labels)
      order.push_back(llvm::find(term.labels, label) - term.labels.begin());
    return call_.Expand(call_.Permute(term.value, order), SizesOf(labels));
  }

  // The product of two terms, summed over their common labels that are not in
  // `kept`. A label that is of no further use and in one term only is summed
  // before the product.
  Term Contract(Term lhs, Term rhs, const Labels& kept) {
    Labels keep_left(kept), keep_right(kept);
    keep_left.append(rhs.labels);
    keep_right.append(lhs.labels);
    lhs = SumAway(lhs, keep_left);
    rhs = SumAway(rhs, keep_right);
    Labels batch, left, right, contracted;
    for (Label label : lhs.labels) {
      const bool shared = llvm::is_contained(rhs.labels, label);
      const bool stays = llvm::is_contained(kept, label);
      (!shared ? left : stays ? batch : contracted).push_back(label);
    }
    for (Label label : rhs.labels) {
      if (!llvm::is_contained(lhs.labels, label)) right.push_back(label);
    }
    Labels result = batch;
    result.append(left);
    result.append(right);
    if (contracted.empty()) return {PointwiseProduct(lhs, rhs, result), result};
    auto arrange = [&](const Term& term, const Labels& first,
                       const Labels& second) {
      Labels order = batch;
      order.append(first);
      order.append(second);
      Sizes sizes = SizesOf(batch);
      sizes.push_back(call_.Product(SizesOf(first)));
      sizes.push_back(call_.Product(SizesOf(second)));
      return call_.Reshape(Arrange(term, order), sizes);
    };
    // Do not transpose the data of the right side if the matmul can read it
    // transposed.
    const bool transpose = !right.empty() && !rhs.labels.empty() &&
                           rhs.labels.back() == contracted.back();
    Value right_matrix = transpose ? arrange(rhs, right, contracted)
                                   : arrange(rhs, contracted, right);
    Value product =
        call_.Matmul(arrange(lhs, left, contracted), right_matrix, transpose);
    return {call_.Reshape(product, SizesOf(result)), result};
  }

  Value PointwiseProduct(const Term& lhs, const Term& rhs,
                         const Labels& result) {
    // Each term with axes of size 1 where only the other has a label.
    auto align = [&](const Term& term) {
      Labels present;
      for (Label label : result) {
        if (llvm::is_contained(term.labels, label)) present.push_back(label);
      }
      Value value = Arrange(term, present);
      Sizes sizes;
      for (Label label : result) {
        sizes.push_back(llvm::is_contained(present, label) ? sizes_.at(label)
                                                           : call_.Constant(1));
      }
      return call_.Reshape(value, sizes);
    };
    Value left = align(lhs);
    return call_.Multiply(left, align(rhs));
  }

  OpImporter& call_;
  std::map<Label, AffineExpr> sizes_;
  std::map<Label, int> joined_;  // how many axes TakeDiagonals has taken away
};

absl::Status BuildEinsum(OpImporter& call) { return Einsum(call).Build(); }

// Three operands: result[..., o] = x1[..., i] weight[o, i, j] x2[..., j].
absl::Status BuildBilinear(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value x1, call.Tensor("input1"));
  AITUNE_ASSIGN_OR_RETURN(Value x2, call.Tensor("input2"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.Tensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(Value bias, call.OptionalTensor("bias"));
  if (call.RankOf(weight) != 3 || call.RankOf(x1) < 1 ||
      call.RankOf(x2) != call.RankOf(x1)) {
    return Reject("two inputs of one rank and a weight of rank 3 are expected");
  }
  const Sizes weights = call.SizesOf(weight);
  const Sizes sizes = call.SizesOf(x1);
  Sizes batch(sizes.begin(), sizes.end() - 1);
  const AffineExpr rows = call.Product(batch);
  Value left = call.Reshape(x1, {rows, sizes.back()});
  // [rows, i] x [i, o * j] -> [rows, o, j], then a product with x2 summed over
  // j.
  Value table =
      call.Reshape(call.Permute(weight, {1, 0, 2}),
                   {weights[1], call.Product({weights[0], weights[2]})});
  Value product =
      call.Reshape(call.Matmul(left, table), {rows, weights[0], weights[2]});
  Value right = call.Reshape(x2, {rows, call.Constant(1), weights[2]});
  Value sum = call.Squeeze(
      call.Reduce<ait::SumOp>(call.Multiply(product, right), {2}), {2});
  batch.push_back(weights[0]);
  Value result = call.Reshape(sum, batch);
  return call.SetResult(bias ? call.Add(result, bias) : result);
}

}  // namespace

void RegisterEinsumOps(Registry& registry) {
  registry.Add({"einsum"}, BuildEinsum);
  registry.Add({"bilinear"}, BuildBilinear);
}

}  // namespace aitune::frontend
