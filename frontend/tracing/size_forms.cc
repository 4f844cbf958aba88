#include "frontend/tracing/size_forms.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "absl/functional/function_ref.h"

namespace aitune::frontend {
namespace {

using Kind = SizeFunction::Kind;
using Relation = SizeConstraint::Relation;
using Formulas = std::vector<SizeExpression>;

SizeExpression Difference(const SizeExpression& a, const SizeExpression& b) {
  return a + b * -1;
}

// Constraints that hold together only where a < b (or a <= b).
std::vector<SizeConstraint> Less(const SizeExpression& a,
                                 const SizeExpression& b, bool or_equal) {
  return {{Difference(b, a) + (or_equal ? 0 : -1), Relation::kNonNegative}};
}

bool IsComparison(const std::string& name) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::eq",          "aten::ne",          "aten::lt",
      "aten::le",          "aten::gt",          "aten::ge",
      "aten::__is__",      "aten::__isnot__",   "aten::__contains__",
      "aten::__not__",     "aten::logical_not", "aten::Bool",
      "aten::is_nonzero",  "aten::__and__",     "aten::__or__",
      "aten::logical_and", "aten::logical_or",  "aten::is_same_size",
      "aten::equal"};
  return kNames->count(name) > 0;
}

// The formulas of a list's or tuple's elements, if all have one.
std::optional<Formulas> ElementsOf(const SizeFunction& list) {
  Formulas formulas;
  if (list.kind == Kind::kFixed && list.fixed.isIntList()) {
    for (const int64_t element : list.fixed.toIntVector())
      formulas.emplace_back(element);
    return formulas;
  }
  if (list.kind == Kind::kCall && IsListOfSizes(list))
    return list.arguments[0]->sizes;
  if (list.kind != Kind::kList && list.kind != Kind::kTuple)
    return std::nullopt;
  for (const SizeFunctionRef& element : list.arguments) {
    std::optional<SizeExpression> formula = element->Formula();
    if (!formula) return std::nullopt;
    formulas.push_back(*std::move(formula));
  }
  return formulas;
}

// Where two lists are equal, or are not.
std::vector<SizeConstraint> EqualLists(const Formulas& a, const Formulas& b,
                                       bool equal) {
  // So it is for all sizes.
  const SizeConstraint holds = {SizeExpression(0), Relation::kZero};
  if (a.size() != b.size()) return {holds};
  std::vector<SizeConstraint> forms = {holds};
  SizeExpression squares;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const SizeExpression difference = Difference(a[i], b[i]);
    forms.push_back({difference, Relation::kZero});
    squares = squares + difference * difference;
  }
  if (equal) return forms;
  return {{squares, Relation::kNonZero}};
}

// Where one of `elements` is `wanted`, or none is.
std::vector<SizeConstraint> OneOf(const Formulas& elements,
                                  const SizeExpression& wanted, bool is_one) {
  std::vector<SizeConstraint> forms;
  SizeExpression product = 1;
  for (const SizeExpression& element : elements) {
    forms.push_back({Difference(wanted, element), Relation::kNonZero});
    product = product * forms.back().expression;
  }
  // A longer product may be beyond an integer.
  constexpr size_t kMostFactors = 2;
  if (!is_one) return forms;
  if (forms.size() > kMostFactors) return {};
  return {{product, Relation::kZero}};
}

bool IsEqual(const std::string& name) {
  return name == "aten::eq" || name == "aten::__is__";
}

bool IsUnequal(const std::string& name) {
  return name == "aten::ne" || name == "aten::__isnot__";
}

// Of two formulas; none for other operators.
std::vector<SizeConstraint> Comparison(const std::string& name,
                                       const SizeExpression& a,
                                       const SizeExpression& b, bool expected) {
  if (name == "aten::lt")
    return expected ? Less(a, b, false) : Less(b, a, true);
  if (name == "aten::le")
    return expected ? Less(a, b, true) : Less(b, a, false);
  if (name == "aten::gt")
    return expected ? Less(b, a, false) : Less(a, b, true);
  if (name == "aten::ge")
    return expected ? Less(b, a, true) : Less(a, b, false);
  if (!IsEqual(name) && !IsUnequal(name)) return {};
  const bool equal = expected != IsUnequal(name);
  return {{Difference(a, b), equal ? Relation::kZero : Relation::kNonZero}};
}

struct Ratio {
  SizeExpression numerator, denominator;
};

// The ratio of the smallest integers that is `number`, rounded.
std::optional<Ratio> RatioOf(double number) {
  // So that no other ratio of sizes, or products of sizes, below 2^39 is
  // rounded to the same number of 53 bits.
  constexpr int64_t kMostDenominator = 1024, kMostNumerator = 1 << 12;
  for (int64_t q = 1; q <= kMostDenominator; ++q) {
    const double p = std::round(number * static_cast<double>(q));
    if (std::abs(p) <= kMostNumerator && p / static_cast<double>(q) == number)
      return Ratio{SizeExpression(static_cast<int64_t>(p)), SizeExpression(q)};
  }
  return std::nullopt;
}

// The quotient of two formulas that `function` is as a float.
std::optional<Ratio> QuotientOf(const SizeFunction& function) {
  if (function.kind != Kind::kCall || function.name != "aten::div" ||
      function.arguments.size() != 2)
    return std::nullopt;
  const auto formula = [](const SizeFunction& part) {
    const bool is_float = part.kind == Kind::kCall &&
                          part.name == "aten::Float" &&
                          part.arguments.size() == 1;
    return (is_float ? *part.arguments[0] : part).Formula();
  };
  const std::optional<SizeExpression> numerator =
      formula(*function.arguments[0]);
  const std::optional<SizeExpression> denominator =
      formula(*function.arguments[1]);
  if (!numerator || !denominator) return std::nullopt;
  return Ratio{*numerator, *denominator};
}

// Of a quotient of sizes and a number, such as an image's ratio of width to
// height and 1.5: a / b > p / q where a * q > p * b, for b above 0.
std::vector<SizeConstraint> FormsOfRatio(const std::string& name,
                                         const SizeFunction& first,
                                         const SizeFunction& second,
                                         bool expected) {
  const bool is_second = second.kind == Kind::kFixed;
  const SizeFunction& fixed = is_second ? second : first;
  if (fixed.kind != Kind::kFixed ||
      !(fixed.fixed.isDouble() || fixed.fixed.isInt()))
    return {};
  const std::optional<Ratio> quotient = QuotientOf(is_second ? first : second);
  const std::optional<Ratio> number =
      RatioOf(fixed.fixed.toScalar().toDouble());
  if (!quotient || !number) return {};
  const SizeExpression left = quotient->numerator * number->denominator,
                       right = quotient->denominator * number->numerator;
  std::vector<SizeConstraint> forms =
      is_second ? Comparison(name, left, right, expected)
                : Comparison(name, right, left, expected);
  if (!forms.empty())
    forms.push_back({quotient->denominator + -1, Relation::kNonNegative});
  return forms;
}

std::vector<SizeConstraint> FormsOf(const SizeFunction& function, bool expected,
                                    bool of_lists);

std::vector<SizeConstraint> FormsOfPair(const std::string& name,
                                        const SizeFunction& first,
                                        const SizeFunction& second,
                                        bool expected, bool of_lists) {
  const bool both = name == "aten::__and__" || name == "aten::logical_and";
  const bool either = name == "aten::__or__" || name == "aten::logical_or";
  if ((both && expected) || (either && !expected)) {
    std::vector<SizeConstraint> forms = FormsOf(first, expected, of_lists);
    const std::vector<SizeConstraint> others =
        FormsOf(second, expected, of_lists);
    if (forms.empty() || others.empty()) return {};
    forms.insert(forms.end(), others.begin(), others.end());
    return forms;
  }
  const bool unequal = IsUnequal(name);
  const bool compares_equal = unequal || IsEqual(name);
  const std::optional<SizeExpression> a = first.Formula();
  const std::optional<SizeExpression> b = second.Formula();
  if (of_lists && compares_equal && !a && !b) {
    const std::optional<Formulas> left = ElementsOf(first);
    const std::optional<Formulas> right = ElementsOf(second);
    if (left && right) return EqualLists(*left, *right, expected != unequal);
  }
  if (of_lists && name == "aten::__contains__" && b) {
    if (const std::optional<Formulas> elements = ElementsOf(first))
      return OneOf(*elements, *b, expected);
  }
  if (!a || !b) return FormsOfRatio(name, first, second, expected);
  return Comparison(name, *a, *b, expected);
}

// Constraints that all hold only where the truth of `function` is `expected`.
std::vector<SizeConstraint> FormsOf(const SizeFunction& function, bool expected,
                                    bool of_lists) {
  if (const std::optional<SizeExpression> formula = function.Formula())
    return {{*formula, expected ? Relation::kNonZero : Relation::kZero}};
  if (function.kind != Kind::kCall || function.arguments.empty()) return {};
  const std::string& name = function.name;
  const SizeFunction& first = *function.arguments[0];
  if (name == "aten::Bool" || name == "aten::is_nonzero" ||
      name == "aten::item" || name == "aten::Int" ||
      name == "prim::NumToTensor")
    return FormsOf(first, expected, of_lists);
  if (name == "aten::__not__" || name == "aten::logical_not")
    return FormsOf(first, !expected, of_lists);
  if (function.arguments.size() < 2) return {};
  return FormsOfPair(name, first, *function.arguments[1], expected, of_lists);
}

// Whether `holds` for the function or a part of it.
bool AnyPart(const SizeFunction& function,
             absl::FunctionRef<bool(const SizeFunction&)> holds,
             std::unordered_set<const SizeFunction*>& seen) {
  if (!seen.insert(&function).second) return false;
  return holds(function) ||
         std::any_of(function.arguments.begin(), function.arguments.end(),
                     [&](const SizeFunctionRef& argument) {
                       return AnyPart(*argument, holds, seen);
                     });
}

}  // namespace

std::vector<SizeConstraint> FormsOf(const SizeFunction& function,
                                    const c10::IValue& expected,
                                    bool of_lists) {
  if (expected.isBool()) return FormsOf(function, expected.toBool(), of_lists);
  if (!expected.isInt()) return {};
  if (const std::optional<SizeExpression> formula = function.Formula())
    return {{*formula + SizeExpression(-expected.toInt()), Relation::kZero}};
  // A comparison as a number.
  if (function.kind == Kind::kCall && function.name == "aten::Int" &&
      function.arguments[0]->kind == Kind::kCall &&
      IsComparison(function.arguments[0]->name))
    return FormsOf(*function.arguments[0], expected.toInt() != 0, of_lists);
  return {};
}

bool IsSmooth(const SizeFunction& function) {
  static const auto* const kSmooth = new std::set<std::string>{
      "aten::add",   "aten::sub",       "aten::mul",
      "aten::neg",   "aten::size",      "aten::sym_size",
      "aten::numel", "aten::sym_numel", "aten::len"};
  std::unordered_set<const SizeFunction*> seen;
  return !AnyPart(
      function,
      [](const SizeFunction& part) {
        return part.kind == Kind::kProgram ||
               (part.kind == Kind::kCall && kSmooth->count(part.name) == 0);
      },
      seen);
}

bool AsksForLayout(const SizeFunction& function) {
  if (function.kind != SizeFunction::Kind::kCall) return false;
  const std::string& name = function.name;
  if (name == "aten::is_contiguous") return true;
  if (!IsComparison(name) || function.arguments.empty()) return false;
  const auto is_least = [](const SizeFunctionRef& part) {
    return part->kind == SizeFunction::Kind::kFixed && part->fixed.isInt() &&
           part->fixed.toInt() <= 1;
  };
  const auto is_stride = [](const SizeFunctionRef& part) {
    return part->kind == SizeFunction::Kind::kCall &&
           (part->name == "aten::stride" || part->name == "aten::sym_stride");
  };
  if ((IsEqual(name) || IsUnequal(name)) && function.arguments.size() == 2 &&
      std::any_of(function.arguments.begin(), function.arguments.end(),
                  is_stride))
    return std::any_of(function.arguments.begin(), function.arguments.end(),
                       is_least);
  return std::all_of(function.arguments.begin(), function.arguments.end(),
                     [](const SizeFunctionRef& argument) {
                       return argument->kind == SizeFunction::Kind::kFixed ||
                              AsksForLayout(*argument);
                     });
}

}  // namespace aitune::frontend
