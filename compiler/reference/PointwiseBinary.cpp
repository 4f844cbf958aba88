// Pointwise operations of two and three operands.
#include "compiler/dialect/Ait.h"
#include "compiler/reference/Builder.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace aitune::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Units in the last place that arithmetic (division on a GPU) and functions
/// may be wrong by; see Pointwise.cpp.
constexpr double kArithmetic = 2, kElementary = 32;

using FloatFunction = double (*)(double, double);
using IntegerFunction = int64_t (*)(int64_t, int64_t);
using CompareFloats = bool (*)(double, double);
using CompareIntegers = bool (*)(int64_t, int64_t);

double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b)
             ? std::numeric_limits<double>::quiet_NaN()
             : std::max(a, b);
}
double smaller(double a, double b) { return -larger(-a, -b); }

/// Python's %: the sign of the divisor.
double remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// floor of the exact quotient, which the quotient's rounding may lie above.
double floorDivide(double a, double b) {
  if (b == 0 || std::isnan(a) || std::isnan(b) || std::isinf(a))
    return b == 0 ? a / b : std::numeric_limits<double>::quiet_NaN();
  const double ratio = (a - remainder(a, b)) / b;
  // remainder of an infinite divisor is infinite where the signs differ.
  return std::isinf(b) ? ((a < 0) != (b < 0) && a != 0 ? -1 : 0)
                       : std::nearbyint(ratio);
}

/// Division by 0 gives what the compiled code gives: x / 1.
int64_t divide(int64_t a, int64_t b) {
  if (b == -1)
    return static_cast<int64_t>(-static_cast<uint64_t>(a));
  return b == 0 ? a : a / b;
}
int64_t fmodOf(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
int64_t remainderOf(int64_t a, int64_t b) {
  const int64_t rest = fmodOf(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t floorDivideOf(int64_t a, int64_t b) {
  const int64_t rest = fmodOf(a, b);
  return divide(a, b) - (rest != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t powOf(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  uint64_t result = 1, power = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, power *= power)
    if (exponent & 1)
      result *= power;
  return static_cast<int64_t>(result);
}

int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) -
                              static_cast<uint64_t>(b));
}
int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) *
                              static_cast<uint64_t>(b));
}

/// How an operation computes; null where it is not for floats or integers.
struct BinaryRule {
  FloatFunction ofFloats;
  double units; ///< 0: the result is exact
  IntegerFunction ofIntegers, ofBools;
};

std::optional<BinaryRule> binaryRule(Operation *op) {
  IntegerFunction bitAnd = [](int64_t a, int64_t b) { return a & b; };
  IntegerFunction bitOr = [](int64_t a, int64_t b) { return a | b; };
  IntegerFunction bitXor = [](int64_t a, int64_t b) { return a ^ b; };
  return llvm::TypeSwitch<Operation *, std::optional<BinaryRule>>(op)
      .Case([&](ait::AddOp) {
        return BinaryRule{[](double a, double b) { return a + b; }, kArithmetic,
                          plus, bitOr};
      })
      .Case([&](ait::SubOp) {
        return BinaryRule{[](double a, double b) { return a - b; }, kArithmetic,
                          minus, nullptr};
      })
      .Case([&](ait::MulOp) {
        return BinaryRule{[](double a, double b) { return a * b; }, kArithmetic,
                          times, bitAnd};
      })
      .Case([&](ait::DivOp) {
        return BinaryRule{[](double a, double b) { return a / b; }, kArithmetic,
                          divide, nullptr};
      })
      .Case([&](ait::FloorDivideOp) {
        return BinaryRule{floorDivide, kArithmetic, floorDivideOf, nullptr};
      })
      .Case([&](ait::RemainderOp) {
        return BinaryRule{remainder, kArithmetic, remainderOf, nullptr};
      })
      .Case([&](ait::FmodOp) {
        return BinaryRule{[](double a, double b) { return std::fmod(a, b); },
                          kArithmetic, fmodOf, nullptr};
      })
      .Case([&](ait::PowOp) {
        return BinaryRule{[](double a, double b) { return std::pow(a, b); },
                          kElementary, powOf, nullptr};
      })
      .Case([&](ait::Atan2Op) {
        return BinaryRule{[](double a, double b) { return std::atan2(a, b); },
                          kElementary, nullptr, nullptr};
      })
      .Case([&](ait::CopysignOp) {
        return BinaryRule{
            [](double a, double b) { return std::copysign(a, b); }, 0, nullptr,
            nullptr};
      })
      .Case([&](ait::MaximumOp) {
        IntegerFunction f = [](int64_t a, int64_t b) { return std::max(a, b); };
        return BinaryRule{larger, 0, f, f};
      })
      .Case([&](ait::MinimumOp) {
        IntegerFunction f = [](int64_t a, int64_t b) { return std::min(a, b); };
        return BinaryRule{smaller, 0, f, f};
      })
      .Case([&](ait::BitwiseAndOp) {
        return BinaryRule{nullptr, 0, bitAnd, bitAnd};
      })
      .Case([&](ait::BitwiseOrOp) {
        return BinaryRule{nullptr, 0, bitOr, bitOr};
      })
      .Case([&](ait::BitwiseXorOp) {
        return BinaryRule{nullptr, 0, bitXor, bitXor};
      })
      .Default([](Operation *) { return std::nullopt; });
}

class PairNode : public Node {
public:
  PairNode(const Site &site)
      : Node(site.format, site.sizes, site.effort), lhs(*site.operands[0]),
        rhs(*site.operands[1]) {}

protected:
  Node &lhs, &rhs;
};

class FloatBinary : public PairNode {
public:
  FloatBinary(const Site &site, const BinaryRule &rule)
      : PairNode(site), function(rule.ofFloats), units(rule.units),
        isPower(isa<ait::PowOp>(site.op)),
        isCopysign(isa<ait::CopysignOp>(site.op)),
        isFmod(isa<ait::FmodOp>(site.op)),
        isRest(isFmod || isa<ait::RemainderOp>(site.op)),
        isRemainder(isRest || isa<ait::FloorDivideOp>(site.op)),
        isDivision(isRemainder || isa<ait::DivOp>(site.op)) {}

protected:
  Element compute(const int64_t *index) override {
    Element a = lhs.at(index), b = rhs.at(index);
    const double y = function(a.number, b.number);
    if (isUnknown(a.number, b.number))
      return {y, 0, kInfinity};
    if (units == kElementary) {
      // As in Pointwise.cpp: the exponent of a power is rounded.
      for (Element *operand : {&a, &b})
        if (std::isfinite(operand->number))
          operand->error += format.computeUnit * std::abs(operand->number);
    }
    double passedOn = 0;
    if (std::isinf(a.error) || std::isinf(b.error) ||
        (isDivision && b.error > 0 && std::abs(b.number) <= b.error)) {
      passedOn = kInfinity;
    } else if (a.error > 0 || b.error > 0) {
      // The corners of the rectangle that the operands lie in.
      for (double x : {a.number - a.error, a.number + a.error})
        for (double z : {b.number - b.error, b.number + b.error})
          passedOn = std::max(passedOn, difference(y, function(x, z)));
      // A rest jumps by the divisor where the quotient becomes another whole
      // number.
      if (isRest && !isSameWhole(a, b))
        passedOn = std::max(passedOn, std::abs(b.number) + b.error);
    }
    return units > 0 ? format.rounded(y, passedOn, units)
                     : Element{y, 0, passedOn};
  }

private:
  /// Whether all quotients of numbers within the operands' errors have the same
  /// whole part.
  bool isSameWhole(const Element &a, const Element &b) const {
    auto whole = [&](double quotient) {
      return isFmod ? std::trunc(quotient) : std::floor(quotient);
    };
    for (double x : {a.number - a.error, a.number + a.error})
      for (double z : {b.number - b.error, b.number + b.error})
        if (whole(x / z) != whole(a.number / b.number))
          return false;
    return true;
  }

  /// What implementations may treat in more than one way.
  bool isUnknown(double a, double b) const {
    // Of the square root of minus infinity, and the sign of that of zero, a
    // power knows nothing.
    if (isPower)
      return std::abs(b) == 0.5 && (a == -kInfinity || a == 0);
    // Algorithms differ in the sign of zeros (the greater one of 0 and -0) and
    // of NaN.
    if (isCopysign)
      return b == 0 || std::isnan(b);
    // Of so large a quotient no digit is left behind the point.
    return isRemainder && std::isfinite(a) &&
           std::abs(a) > 0x1p20 * std::abs(b);
  }

  const FloatFunction function;
  const double units;
  const bool isPower, isCopysign, isFmod, isRest, isRemainder, isDivision;
};

class IntegerBinary : public PairNode {
public:
  IntegerBinary(const Site &site, IntegerFunction function)
      : PairNode(site), function(function) {}

protected:
  Element compute(const int64_t *index) override {
    const Element a = lhs.at(index), b = rhs.at(index);
    return {0, format.wrap(function(a.integer, b.integer)),
            a.error > 0 || b.error > 0 ? kInfinity : 0};
  }

private:
  const IntegerFunction function;
};

struct CompareRule {
  CompareFloats ofFloats;
  CompareIntegers ofIntegers;
};

std::optional<CompareRule> compareRule(Operation *op) {
  auto rule = [](auto compare) {
    return CompareRule{
        [](double a, double b) { return decltype(compare)()(a, b); },
        [](int64_t a, int64_t b) { return decltype(compare)()(a, b); }};
  };
  return llvm::TypeSwitch<Operation *, std::optional<CompareRule>>(op)
      .Case([&](ait::EqOp) { return rule(std::equal_to<>()); })
      .Case([&](ait::NeOp) { return rule(std::not_equal_to<>()); })
      .Case([&](ait::LtOp) { return rule(std::less<>()); })
      .Case([&](ait::LeOp) { return rule(std::less_equal<>()); })
      .Case([&](ait::GtOp) { return rule(std::greater<>()); })
      .Case([&](ait::GeOp) { return rule(std::greater_equal<>()); })
      .Default([](Operation *) { return std::nullopt; });
}

class CompareNode : public PairNode {
public:
  CompareNode(const Site &site, CompareRule rule)
      : PairNode(site), rule(rule) {}

protected:
  Element compute(const int64_t *index) override {
    const Element a = lhs.at(index), b = rhs.at(index);
    const double error = a.error + b.error;
    if (!lhs.format.isFloat)
      return {0, rule.ofIntegers(a.integer, b.integer), error > 0 ? 1.0 : 0.0};
    // Too near each other for sure.
    const bool isUncertain =
        error > 0 &&
        (std::isinf(error) || std::abs(a.number - b.number) <= error);
    return {0, rule.ofFloats(a.number, b.number), isUncertain ? 1.0 : 0.0};
  }

private:
  const CompareRule rule;
};

class WhereNode : public Node {
public:
  WhereNode(const Site &site)
      : Node(site.format, site.sizes, site.effort), operands(site.operands) {}

protected:
  Element compute(const int64_t *index) override {
    const Element condition = operands[0]->at(index);
    const Element chosen = operands[condition.integer != 0 ? 1 : 2]->at(index);
    if (!(condition.error > 0))
      return chosen;
    const Element other = operands[condition.integer != 0 ? 2 : 1]->at(index);
    Element result = chosen;
    result.error = std::max(chosen.error, other.error) +
                   difference(format.valueOf(chosen), format.valueOf(other));
    return result;
  }

private:
  const llvm::SmallVector<Node *> operands;
};

} // namespace

std::unique_ptr<Node> makeBinary(const Site &site) {
  if (isa<ait::WhereOp>(site.op))
    return std::make_unique<WhereNode>(site);
  if (std::optional<CompareRule> rule = compareRule(site.op))
    return std::make_unique<CompareNode>(site, *rule);
  const std::optional<BinaryRule> rule = binaryRule(site.op);
  if (!rule)
    return nullptr;
  if (site.format.isFloat)
    return rule->ofFloats ? std::make_unique<FloatBinary>(site, *rule)
                          : nullptr;
  const IntegerFunction function =
      site.format.isBool() ? rule->ofBools : rule->ofIntegers;
  return function ? std::make_unique<IntegerBinary>(site, function) : nullptr;
}

} // namespace aitune::reference
