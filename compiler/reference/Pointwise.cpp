// Operations that compute each element from the same element of each operand.
#include "compiler/dialect/Ait.h"
#include "compiler/reference/Builder.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <functional>
#include <limits>

using namespace mlir;

namespace aitune::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Units in the last place that an implementation of an elementary function,
/// and of a function made of several, may be wrong by. The functions of C
/// libraries and of CUDA stay below 4 (CUDA C++ Programming Guide, mathematical
/// functions), polynomials of vector code below 8; what is coarser is an error.
constexpr double kElementary = 16, kComposed = 32;

/// Numbers between two others at which a function turns or has a pole.
using Turns = llvm::SmallVector<double, 2>;

/// A function of one float.
struct FloatRule {
  std::function<double(double)> function;
  double units = 0; ///< 0: the result is exact
  /// Of the numbers that are added and cancel on the way; null: none.
  std::function<double(double)> scale;
  /// One of each kind in (low, high); null: the function is monotone, or turns
  /// where it is 0.
  std::function<Turns(double low, double high)> turns;
};

using IntegerRule = std::function<int64_t(int64_t)>;

/// Of the least integer it is that itself.
int64_t negated(int64_t x) {
  return static_cast<int64_t>(-static_cast<uint64_t>(x));
}

double number(const llvm::APFloat &value) { return value.convertToDouble(); }
double size(double x) { return std::abs(x); }
double one(double) { return 1; }
double nan() { return std::numeric_limits<double>::quiet_NaN(); }
double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? nan() : std::max(a, b);
}
double smaller(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? nan() : std::min(a, b);
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double ramp(double x) { return smaller(larger(x + 3, 0), 6); }
double roundToEven(double x) { return std::nearbyint(x); }
double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

double softplus(double x, double beta, double threshold) {
  const double scaled = x * beta;
  return scaled > threshold ? x : std::log1p(std::exp(scaled)) / beta;
}

double gelu(double x, bool isTanh) {
  if (!isTanh)
    return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  // sqrt(2 / pi)
  const double argument = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(argument));
}

double elu(ait::EluOp op, double x) {
  return x > 0 ? x * number(op.getScale())
               : std::expm1(x * number(op.getInputScale())) *
                     number(op.getAlpha()) * number(op.getScale());
}

double clampTo(ait::ClampOp op, double x) {
  if (std::optional<llvm::APFloat> min = op.getMin())
    x = larger(x, number(*min));
  if (std::optional<llvm::APFloat> max = op.getMax())
    x = smaller(x, number(*max));
  return x;
}

/// The turns of a function with a period: at `first` and `second` in the first
/// one. A pole is as large a number as a double near it gives.
std::function<Turns(double, double)> turnsEvery(double period, double first,
                                                double second) {
  return [=](double low, double high) {
    Turns turns;
    for (double start : {first, second}) {
      const double next = start + period * std::ceil((low - start) / period);
      if (next < high)
        turns.push_back(next);
    }
    return turns;
  };
}

std::function<Turns(double, double)> turnsAt(double place) {
  return [=](double low, double high) {
    return low < place && place < high ? Turns{place} : Turns{};
  };
}

std::optional<FloatRule> floatRule(Operation *op) {
  using Function = double (*)(double);
  auto exact = [](Function f) { return FloatRule{f, 0, nullptr, nullptr}; };
  auto elementary = [](Function f) {
    return FloatRule{f, kElementary, nullptr, nullptr};
  };
  auto cancelling = [](Function f) {
    return FloatRule{f, kComposed, one, nullptr};
  };
  auto composed = [](std::function<double(double)> f, Function scale) {
    return FloatRule{std::move(f), kComposed, scale, nullptr};
  };
  auto turning = [](FloatRule rule, auto turns) {
    rule.turns = turns;
    return rule;
  };
  constexpr double pi = llvm::numbers::pi;
  return llvm::TypeSwitch<Operation *, std::optional<FloatRule>>(op)
      .Case([&](ait::AbsOp) { return exact(std::abs); })
      .Case([&](ait::NegOp) { return exact([](double x) { return -x; }); })
      .Case([&](ait::SignOp) { return exact(signOf); })
      .Case([&](ait::FloorOp) { return exact(std::floor); })
      .Case([&](ait::CeilOp) { return exact(std::ceil); })
      .Case([&](ait::RoundOp) { return exact(roundToEven); })
      .Case([&](ait::TruncOp) { return exact(std::trunc); })
      .Case([&](ait::ReluOp) {
        return exact([](double x) { return larger(x, 0); });
      })
      .Case([&](ait::ClampOp clamp) {
        return FloatRule{[clamp](double x) { return clampTo(clamp, x); }, 0,
                         nullptr, nullptr};
      })
      .Case([&](ait::ExpOp) { return elementary(std::exp); })
      .Case([&](ait::Exp2Op) { return elementary(std::exp2); })
      .Case([&](ait::LogOp) { return elementary(std::log); })
      .Case([&](ait::Log2Op) { return elementary(std::log2); })
      .Case([&](ait::Log10Op) { return elementary(std::log10); })
      .Case([&](ait::Log1pOp) { return elementary(std::log1p); })
      .Case([&](ait::SqrtOp) { return elementary(std::sqrt); })
      .Case([&](ait::RsqrtOp) {
        return elementary([](double x) { return 1 / std::sqrt(x); });
      })
      .Case([&](ait::ReciprocalOp) {
        return turning(elementary([](double x) { return 1 / x; }), turnsAt(0));
      })
      .Case([&](ait::Expm1Op) { return elementary(std::expm1); })
      // Near their zeros the reduced argument's rounding counts.
      .Case([&](ait::SinOp) {
        return turning(cancelling(std::sin),
                       turnsEvery(2 * pi, pi / 2, -pi / 2));
      })
      .Case([&](ait::CosOp) {
        return turning(cancelling(std::cos), turnsEvery(2 * pi, 0, pi));
      })
      .Case([&](ait::TanOp) {
        return turning(cancelling(std::tan),
                       turnsEvery(2 * pi, pi / 2, -pi / 2));
      })
      .Case([&](ait::AsinOp) { return elementary(std::asin); })
      .Case([&](ait::AcosOp) { return cancelling(std::acos); })
      .Case([&](ait::AtanOp) { return elementary(std::atan); })
      .Case([&](ait::SinhOp) { return elementary(std::sinh); })
      .Case([&](ait::CoshOp) { return elementary(std::cosh); })
      .Case([&](ait::AsinhOp) { return elementary(std::asinh); })
      .Case([&](ait::AcoshOp) { return elementary(std::acosh); })
      .Case([&](ait::AtanhOp) { return elementary(std::atanh); })
      .Case([&](ait::TanhOp) { return elementary(std::tanh); })
      .Case([&](ait::ErfOp) { return elementary(std::erf); })
      .Case([&](ait::SigmoidOp) { return composed(sigmoid, nullptr); })
      .Case([&](ait::LogSigmoidOp) {
        return composed(
            [](double x) {
              return smaller(x, 0) - std::log1p(std::exp(-std::abs(x)));
            },
            nullptr);
      })
      .Case([&](ait::SiluOp) {
        return turning(
            composed([](double x) { return x / (1 + std::exp(-x)); }, nullptr),
            turnsAt(-1.278));
      })
      .Case([&](ait::MishOp) {
        return turning(
            composed(
                [](double x) { return x * std::tanh(std::log1p(std::exp(x))); },
                nullptr),
            turnsAt(-1.192));
      })
      .Case([&](ait::HardswishOp) {
        return turning(composed([](double x) { return x * ramp(x) / 6; }, size),
                       turnsAt(-1.5));
      })
      .Case([&](ait::HardsigmoidOp) {
        return composed([](double x) { return ramp(x) / 6; }, one);
      })
      .Case([&](ait::GeluOp op) {
        const bool isTanh = op.getTanhApproximation();
        return turning(
            composed([isTanh](double x) { return gelu(x, isTanh); }, size),
            turnsAt(-0.752));
      })
      .Case([&](ait::EluOp op) {
        return composed([op](double x) { return elu(op, x); }, nullptr);
      })
      .Case([&](ait::LeakyReluOp op) {
        const double slope = number(op.getNegativeSlope());
        return composed([slope](double x) { return x > 0 ? x : x * slope; },
                        nullptr);
      })
      .Case([&](ait::SoftplusOp op) {
        const double beta = number(op.getBeta()),
                     threshold = number(op.getThreshold());
        return composed([=](double x) { return softplus(x, beta, threshold); },
                        nullptr);
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<IntegerRule> integerRule(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<IntegerRule>>(op)
      .Case([](ait::AbsOp) {
        return [](int64_t x) { return x < 0 ? negated(x) : x; };
      })
      .Case([](ait::NegOp) { return negated; })
      .Case([](ait::SignOp) {
        return [](int64_t x) { return int64_t{x > 0} - int64_t{x < 0}; };
      })
      .Case<ait::FloorOp, ait::CeilOp, ait::RoundOp, ait::TruncOp>(
          [](auto) { return [](int64_t x) { return x; }; })
      .Case([](ait::ReluOp) {
        return [](int64_t x) { return std::max<int64_t>(x, 0); };
      })
      .Case([](ait::BitwiseNotOp) { return [](int64_t x) { return ~x; }; })
      .Case([](ait::ClampOp op) {
        return [op](int64_t x) {
          // Bounds beyond the integers hold nothing.
          const double limited = clampTo(op, static_cast<double>(x));
          return limited == static_cast<double>(x)
                     ? x
                     : static_cast<int64_t>(limited);
        };
      })
      .Default([](Operation *) { return std::nullopt; });
}

class PointwiseNode : public Node {
public:
  PointwiseNode(const Site &site)
      : Node(site.format, site.sizes, site.effort), input(*site.operands[0]) {}

protected:
  Node &input;
};

class FloatUnary : public PointwiseNode {
public:
  FloatUnary(const Site &site, FloatRule rule)
      : PointwiseNode(site), rule(std::move(rule)) {}

protected:
  Element compute(const int64_t *index) override {
    const Element x = input.at(index);
    const double y = rule.function(x.number);
    // An implementation rounds a reduced argument: of an exponent, of a period.
    const double moved = rule.units > 0 && std::isfinite(x.number)
                             ? x.error + format.computeUnit * std::abs(x.number)
                             : x.error;
    double passedOn = 0;
    if (moved > 0)
      passedOn = std::isfinite(moved) ? reach(x.number, y, moved) : kInfinity;
    // x / (1 + exp(-x)) is 0 once the exponential overflows, and x * exp(x)
    // once it vanishes: e^x is less than `tiny` there, but x times that is not.
    if (rule.units == kComposed && std::isfinite(x.number))
      passedOn += 4 * format.tiny * (1 + std::abs(x.number));
    if (rule.units > 0)
      return format.rounded(y, passedOn, rule.units,
                            rule.scale ? rule.scale(x.number) : 0);
    // A bound that the type has not is rounded to one that it has.
    if (y != x.number && std::isfinite(y) && format.round(y) != y)
      passedOn += format.storeUnit * std::abs(y);
    return {y, 0, passedOn};
  }

private:
  /// How far the result of a number within `moved` of `x` may be from `y`, that
  /// of `x`.
  double reach(double x, double y, double moved) const {
    const double low = x - moved, high = x + moved;
    double reached = std::max(difference(y, rule.function(low)),
                              difference(y, rule.function(high)));
    if (rule.turns && std::isfinite(x))
      for (double turn : rule.turns(low, high))
        reached = std::max(reached, difference(y, rule.function(turn)));
    return reached;
  }

  const FloatRule rule;
};

class IntegerUnary : public PointwiseNode {
public:
  IntegerUnary(const Site &site, IntegerRule rule)
      : PointwiseNode(site), rule(std::move(rule)) {}

protected:
  Element compute(const int64_t *index) override {
    const Element x = input.at(index);
    return {0, format.wrap(rule(x.integer)), x.error > 0 ? kInfinity : 0};
  }

private:
  const IntegerRule rule;
};

/// logical_not, isnan and isinf.
class PredicateNode : public PointwiseNode {
public:
  PredicateNode(const Site &site) : PointwiseNode(site), op(site.op) {}

protected:
  Element compute(const int64_t *index) override {
    const Element x = input.at(index);
    if (isa<ait::LogicalNotOp>(op)) {
      const Truth truth = truthOf(input.format, x);
      return {0, !truth.holds, truth.isUncertain ? 1.0 : 0.0};
    }
    const bool holds =
        input.format.isFloat &&
        (isa<ait::IsNanOp>(op) ? std::isnan(x.number) : std::isinf(x.number));
    return {0, holds, std::isinf(x.error) ? 1.0 : 0.0};
  }

private:
  Operation *const op;
};

class ConvertNode : public PointwiseNode {
public:
  using PointwiseNode::PointwiseNode;

protected:
  Element compute(const int64_t *index) override {
    const Element x = input.at(index);
    if (format.isBool()) {
      const Truth truth = truthOf(input.format, x);
      return {0, truth.holds, truth.isUncertain ? 1.0 : 0.0};
    }
    if (!input.format.isFloat)
      return format.isFloat ? toFloat(static_cast<double>(x.integer), x.error)
                            : Element{0, format.wrap(x.integer), x.error};
    if (format.isFloat)
      return toFloat(x.number, x.error);
    return toInteger(x);
  }

private:
  Element toFloat(double value, double error) const {
    if (!std::isfinite(value) || format.holds(value))
      return {value, 0, error};
    return format.rounded(value, error, 1);
  }
  /// Rounded toward zero; narrow integers wrap from 32 bits.
  Element toInteger(const Element &x) const {
    const double greatest = format.bits == 64 ? 0x1p63 : 0x1p31;
    if (!(std::abs(x.number) + x.error < greatest))
      return {0, 0, kInfinity};
    const double y = std::trunc(x.number);
    return {0, format.wrap(static_cast<int64_t>(y)),
            std::max(difference(y, std::trunc(x.number + x.error)),
                     difference(y, std::trunc(x.number - x.error)))};
  }
};

/// Integers in range, whatever they were.
class CheckNode : public PointwiseNode {
public:
  CheckNode(const Site &site, ait::CheckOp op)
      : PointwiseNode(site), isFromEnd(op.getFromEnd()) {
    if (std::optional<AffineMap> map = op.getSize())
      entries = evaluateSizes(
          ait::getTensorType(map->getResults(), op.getType().getElementType()),
          site.symbols)[0];
  }

protected:
  Element compute(const int64_t *index) override {
    Element x = input.at(index);
    if (x.error > 0)
      return {0, x.integer, kInfinity};
    if (!entries)
      return {0, x.integer == 0 ? 1 : x.integer, 0};
    if (isFromEnd && x.integer < 0)
      x.integer += *entries;
    // With no entry at all nothing is read.
    x.integer = std::max<int64_t>(std::min(x.integer, *entries - 1), 0);
    return x;
  }

private:
  const bool isFromEnd;
  std::optional<int64_t> entries;
};

} // namespace

std::unique_ptr<Node> makeUnary(const Site &site) {
  Operation *op = site.op;
  if (isa<ait::ConvertOp>(op))
    return std::make_unique<ConvertNode>(site);
  if (auto check = dyn_cast<ait::CheckOp>(op))
    return std::make_unique<CheckNode>(site, check);
  if (isa<ait::LogicalNotOp, ait::IsNanOp, ait::IsInfOp>(op))
    return std::make_unique<PredicateNode>(site);
  if (site.format.isFloat) {
    std::optional<FloatRule> rule = floatRule(op);
    return rule ? std::make_unique<FloatUnary>(site, *std::move(rule))
                : nullptr;
  }
  std::optional<IntegerRule> rule = integerRule(op);
  return rule ? std::make_unique<IntegerUnary>(site, *std::move(rule))
              : nullptr;
}

} // namespace aitune::reference
