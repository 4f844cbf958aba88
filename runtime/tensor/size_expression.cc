#include "runtime/tensor/size_expression.h"

#include <utility>

namespace aitune {
namespace {

using Kind = SizeExpression::Kind;

// Sizes come from models and files: arithmetic wraps and x / 0 is 0 instead of
// undefined.
int64_t Wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return Wrap(-static_cast<uint64_t>(a));
  const int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

int64_t Apply(Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case Kind::kAdd:
      return Wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case Kind::kMultiply:
      return Wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case Kind::kFloorDivide:
      return FloorDivide(a, b);
    case Kind::kCeilDivide:
      return Wrap(-static_cast<uint64_t>(
          FloorDivide(Wrap(-static_cast<uint64_t>(a)), b)));
    case Kind::kModulo:
      return b == 0 ? 0
                    : a - Wrap(static_cast<uint64_t>(b) *
                               static_cast<uint64_t>(FloorDivide(a, b)));
    case Kind::kConstant:
    case Kind::kSymbol:
      break;
  }
  return 0;
}

const char* Spelling(Kind kind) {
  switch (kind) {
    case Kind::kAdd:
      return " + ";
    case Kind::kMultiply:
      return " * ";
    case Kind::kFloorDivide:
      return " floordiv ";
    case Kind::kCeilDivide:
      return " ceildiv ";
    case Kind::kModulo:
      return " mod ";
    case Kind::kConstant:
    case Kind::kSymbol:
      break;
  }
  return "";
}

}  // namespace

struct SizeExpression::Node {
  Kind kind;
  int64_t value;  // a constant's value; the index of a symbol
  std::shared_ptr<const Node> lhs, rhs;

  static bool Equal(const Node& a, const Node& b) {
    if (&a == &b) return true;
    if (a.kind != b.kind || a.value != b.value) return false;
    return a.lhs == nullptr || (Equal(*a.lhs, *b.lhs) && Equal(*a.rhs, *b.rhs));
  }
};

SizeExpression::SizeExpression(std::shared_ptr<const Node> node)
    : node_(std::move(node)) {}

SizeExpression::SizeExpression() : SizeExpression(int64_t{0}) {}

SizeExpression::SizeExpression(int64_t value)
    : node_(std::make_shared<Node>(
          Node{Kind::kConstant, value, nullptr, nullptr})) {}

SizeExpression SizeExpression::Symbol(int index) {
  return SizeExpression(
      std::make_shared<Node>(Node{Kind::kSymbol, index, nullptr, nullptr}));
}

SizeExpression SizeExpression::Binary(Kind kind, SizeExpression lhs,
                                      SizeExpression rhs) {
  const std::optional<int64_t> a = lhs.constant(), b = rhs.constant();
  if (a && b) return Apply(kind, *a, *b);
  if (kind == Kind::kAdd || kind == Kind::kMultiply) {
    // Constants go right, so that equal expressions are equal in structure.
    if (a) return Binary(kind, std::move(rhs), std::move(lhs));
    if (b && *b == (kind == Kind::kAdd ? 0 : 1)) return lhs;
    if (kind == Kind::kMultiply && b && *b == 0) return 0;
    if (b && lhs.kind() == kind && lhs.rhs().constant()) {
      return Binary(kind, lhs.lhs(), Apply(kind, *lhs.rhs().constant(), *b));
    }
  } else {
    if (b && *b == 1) return kind == Kind::kModulo ? SizeExpression(0) : lhs;
    if (a && *a == 0) return 0;
  }
  return SizeExpression(std::make_shared<Node>(
      Node{kind, 0, std::move(lhs.node_), std::move(rhs.node_)}));
}

Kind SizeExpression::kind() const { return node_->kind; }

std::optional<int64_t> SizeExpression::constant() const {
  if (node_->kind != Kind::kConstant) return std::nullopt;
  return node_->value;
}

int SizeExpression::symbol() const { return static_cast<int>(node_->value); }

SizeExpression SizeExpression::lhs() const {
  return SizeExpression(node_->lhs);
}

SizeExpression SizeExpression::rhs() const {
  return SizeExpression(node_->rhs);
}

int64_t SizeExpression::Evaluate(absl::Span<const int64_t> symbols) const {
  // Walks the nodes, not SizeExpressions: no reference counts are touched in
  // the runtime's hot path.
  struct Walk {
    absl::Span<const int64_t> symbols;
    int64_t operator()(const Node& node) const {
      if (node.kind == Kind::kConstant) return node.value;
      if (node.kind == Kind::kSymbol)
        return symbols[static_cast<size_t>(node.value)];
      return Apply(node.kind, (*this)(*node.lhs), (*this)(*node.rhs));
    }
  };
  return Walk{symbols}(*node_);
}

std::string SizeExpression::ToString() const {
  struct Print {
    std::string operator()(const Node& node, bool nested) const {
      if (node.kind == Kind::kConstant) return std::to_string(node.value);
      if (node.kind == Kind::kSymbol) return "s" + std::to_string(node.value);
      std::string text = (*this)(*node.lhs, true) + Spelling(node.kind) +
                         (*this)(*node.rhs, true);
      return nested ? "(" + text + ")" : text;
    }
  };
  return Print{}(*node_, false);
}

bool operator==(const SizeExpression& a, const SizeExpression& b) {
  return SizeExpression::Node::Equal(*a.node_, *b.node_);
}

}  // namespace aitune
