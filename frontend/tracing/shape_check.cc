// Whether the sizes that the trace gives a call's results are right at sizes
// that no probe has: each call is looked at by itself, at many points of the
// region, without its arithmetic where LibTorch can do that.
#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/torchscript/fatal_operators.h"
#include "frontend/trace/one_symbol_fit.h"
#include "frontend/tracing/convolution_sizes.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/padding_sizes.h"
#include "frontend/tracing/probe_run.h"
#include "frontend/values/pytree.h"
#include "frontend/values/recurrent_sizes.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;
using Sizes = std::vector<std::vector<int64_t>>;

// Points at which results are compared: all of a range up to this length.
constexpr size_t kCheckedPoints = 160;
// The same where the formula is wrong and one around the anchor is looked for.
constexpr size_t kPointsAround = 4096;
// An operator is really run to find the sizes of its results only if all of its
// arguments together have at most kMaxElements elements, and then only at
// kRealPoints of the points.
constexpr int64_t kMaxElements = int64_t{1} << 21;
constexpr size_t kRealPoints = 12;
constexpr int64_t kSmallElements = int64_t{1} << 14;
// An error on the meta device is believed, of more than kSmallElements, once so
// many calls of the operator raised with memory, too.
constexpr int kConfirmedErrors = 3;

// `points` in an order of which any beginning is spread over all of them: the
// last, the first, the middle, the quarters and so on.
std::vector<SizePoint> Scattered(std::vector<SizePoint> points) {
  if (points.size() < 3) return points;
  std::vector<size_t> order = {points.size() - 1, 0};
  std::vector<bool> taken(points.size());
  taken.front() = taken.back() = true;
  for (size_t parts = 2; order.size() < points.size(); parts *= 2) {
    for (size_t part = 1; part < parts; part += 2) {
      const size_t place = part * points.size() / parts;
      if (!taken[place]) order.push_back(place);
      taken[place] = true;
    }
  }
  std::vector<SizePoint> scattered;
  for (const size_t place : order)
    scattered.push_back(std::move(points[place]));
  return scattered;
}

// The tensors that `value` is or holds.
std::vector<at::Tensor> TensorsOf(const c10::IValue& value) {
  std::vector<at::Tensor> tensors = TensorLeaves(value);
  tensors.erase(
      std::remove_if(tensors.begin(), tensors.end(),
                     [](const at::Tensor& t) { return !t.defined(); }),
      tensors.end());
  return tensors;
}

// Whether tensors that share memory have the same elements in the same order.
bool HaveSameElements(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.storage_offset() != b.storage_offset() ||
      a.scalar_type() != b.scalar_type())
    return false;
  for (int64_t axis = 0; axis < a.dim(); ++axis) {
    if (a.size(axis) > 1 && a.stride(axis) != b.stride(axis)) return false;
  }
  return true;
}

bool IsOtherView(const at::Tensor& result,
                 const std::vector<at::Tensor>& arguments) {
  bool is_view = false;
  for (const at::Tensor& argument : arguments) {
    if (!result.has_storage() || !argument.has_storage() ||
        !result.is_alias_of(argument))
      continue;
    if (HaveSameElements(result, argument)) return false;
    is_view = true;
  }
  return is_view;
}

int64_t CountElements(const std::vector<c10::IValue>& stack) {
  int64_t elements = 0;
  for (const c10::IValue& value : stack) {
    for (const at::Tensor& tensor : TensorsOf(value)) {
      int64_t product = 1;
      for (const int64_t size : tensor.sizes())
        product = size != 0 && product > kMaxElements * 4 / size
                      ? kMaxElements * 4
                      : product * size;
      elements += product;
    }
  }
  return elements;
}

// Has a call that makes a tensor of sizes that it is given, as zeros and
// new_full do, make one without memory. Whether its other arguments raise, as a
// number beyond the dtype does, is seen of one element, with `run`.
void PutOnMeta(const c10::FunctionSchema& schema, bool takes_tensors,
               const std::function<void(std::vector<c10::IValue>&)>& run,
               std::vector<c10::IValue>& stack) {
  const std::optional<size_t> device = FindArgument(schema, "device"),
                              size = FindArgument(schema, "size");
  if (!device || *device >= stack.size()) return;
  if (!stack[*device].isDevice() && (takes_tensors || !stack[*device].isNone()))
    return;
  if (size && stack[*size].isIntList()) {
    std::vector<c10::IValue> small = stack;
    std::vector<int64_t> sizes = stack[*size].toIntVector();
    for (int64_t& length : sizes) length = std::min<int64_t>(length, 1);
    small[*size] = c10::IValue(sizes);
    run(small);
  }
  stack[*device] = c10::Device(at::kMeta);
}

using SizesFormula = std::optional<Sizes> (*)(const c10::FunctionSchema&,
                                              const std::vector<c10::IValue>&);

// What gives the sizes of the call's results; null: the operator itself.
SizesFormula ShapeFormulaOf(const c10::FunctionSchema& schema,
                            const std::vector<c10::IValue>& stack) {
  if (IsConvolution(schema.name())) return ConvolutionSizes;
  if (IsRecurrent(schema)) return RecurrentSizes;
  return IsPadding(schema, stack) ? PaddingSizes : nullptr;
}

bool SaysNotImplemented(absl::string_view message) {
  return absl::StrContains(message, "Meta") ||
         absl::StrContains(message, "meta") ||
         absl::StrContains(message, "not implemented") ||
         absl::StrContains(message, "Could not run") ||
         absl::StrContains(message, "data is not allocated") ||
         absl::StrContains(message, "storage");
}

using ShapesBySize = std::map<int64_t, ShapesAt>;  // sizes by the one symbol
// A formula of each axis of each result that is right for sizes of the symbol
// around `anchor`, where there is one.
std::map<std::pair<size_t, size_t>, SizeExpression> FormulasAround(
    int symbol, int64_t anchor, const ShapesBySize& shapes) {
  const ShapesAt& wanted = shapes.at(anchor);
  const auto is_alike = [&](const ShapesAt& there) {
    return there.known && !there.raises &&
           std::equal(there.sizes.begin(), there.sizes.end(),
                      wanted.sizes.begin(), wanted.sizes.end(),
                      [](const auto& a, const auto& b) {
                        return a.size() == b.size();
                      });
  };
  auto begin = shapes.find(anchor), end = begin;
  while (end != shapes.end() && is_alike(end->second)) ++end;
  while (begin != shapes.begin() && is_alike(std::prev(begin)->second)) --begin;
  std::map<std::pair<size_t, size_t>, SizeExpression> formulas;
  for (size_t i = 0; i < wanted.sizes.size(); ++i) {
    for (size_t axis = 0; axis < wanted.sizes[i].size(); ++axis) {
      std::vector<int64_t> sizes, values;
      for (auto at = begin; at != end; ++at) {
        sizes.push_back(at->first);
        values.push_back(at->second.sizes[i][axis]);
      }
      const auto place = std::lower_bound(sizes.begin(), sizes.end(), anchor);
      if (const std::optional<SizeExpression> formula =
              FitAround(symbol, sizes, values,
                        static_cast<size_t>(place - sizes.begin())))
        formulas.emplace(std::pair(i, axis), *formula);
    }
  }
  return formulas;
}

}  // namespace

ShapesAt Interpreter::FindShapes(const ShapeQuery& query,
                                 absl::Span<const int64_t> point) {
  const c10::InferenceMode inference;
  ShapesAt found;
  bool takes_tensors = false, has_formula = IsConvolution(query.schema->name());
  const auto attempt = [&](bool real) -> absl::Status {
    SizeEvaluator evaluator(point, real, kMaxElements);
    std::vector<c10::IValue> stack;
    for (const SizeFunctionRef& function :
         real ? query.contents : query.shapes) {
      AITUNE_ASSIGN_OR_RETURN(c10::IValue value, evaluator.Evaluate(function));
      stack.push_back(std::move(value));
    }
    found.elements = CountElements(stack);
    const SizesFormula formula =
        real ? nullptr : ShapeFormulaOf(*query.schema, stack);
    if (formula != nullptr) {
      has_formula = true;
      std::optional<Sizes> sizes = formula(*query.schema, stack);
      if (!sizes)
        return absl::InvalidArgumentError("the operator has no result");
      found.sizes = *std::move(sizes);
      return absl::OkStatus();
    }
    if (real && found.elements > kMaxElements)
      return absl::UnavailableError("the operator takes too long");
    std::vector<at::Tensor> arguments;
    for (const c10::IValue& value : stack) {
      const std::vector<at::Tensor> tensors = TensorsOf(value);
      arguments.insert(arguments.end(), tensors.begin(), tensors.end());
    }
    takes_tensors = !arguments.empty();
    return CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
      if (TakesArgumentCount(*query.schema))
        stack.emplace_back(static_cast<int64_t>(stack.size()));
      if (real) LookAtCall(*query.schema, stack);
      if (!real) PutOnMeta(*query.schema, takes_tensors, query.run, stack);
      if (real && !query.schema->is_mutable())
        RunOrWiden(query.run, stack);
      else
        query.run(stack);
      found.is_other_view.clear();
      for (const c10::IValue& value : stack) {
        for (const at::Tensor& result : TensorsOf(value)) {
          found.sizes.push_back(result.sizes().vec());
          found.is_other_view.push_back(IsOtherView(result, arguments));
        }
      }
      return absl::OkStatus();
    });
  };
  const std::string name =
      absl::StrCat(query.schema->name(), ".", query.schema->overload_name());
  absl::Status status = absl::UnavailableError("no shapes without arithmetic");
  if (no_meta_.count(name) == 0) status = attempt(/*real=*/false);
  // Of no elements, some operators give other sizes than LibTorch says without
  // running them (pixel_unshuffle those of its argument), and running them
  // costs nothing.
  if (status.ok() && takes_tensors && found.elements == 0 &&
      !NeedsView(*query.schema) && !has_formula &&
      !query.schema->is_mutable()) {
    const ShapesAt without = found;
    found.sizes.clear();
    found.real = true;
    status = attempt(/*real=*/true);
    // That there are no elements may be an error: a maximum has none then.
    if (!status.ok() && (!absl::IsInvalidArgument(status) ||
                         SaysNotImplemented(status.message()))) {
      found = without;
      status = absl::OkStatus();
    }
  }
  // Without elements it is as certain that a formula has none or a view raises.
  if (!status.ok() && !has_formula &&
      (!NeedsView(*query.schema) || SaysNotImplemented(status.message()))) {
    const bool is_error = absl::IsInvalidArgument(status) &&
                          !SaysNotImplemented(status.message());
    int& confirmed = confirmed_errors_[name];
    if (is_error && confirmed >= kConfirmedErrors &&
        found.elements > kSmallElements) {
      found.known = found.raises = true;
      return found;
    }
    if (SaysNotImplemented(status.message())) no_meta_.insert(name);
    found.sizes.clear();
    found.real = true;
    const absl::Status without = status;
    status = attempt(/*real=*/true);
    if (is_error && confirmed >= 0) {
      if (status.ok()) confirmed = -1;
      if (absl::IsInvalidArgument(status)) ++confirmed;
    }
    if (absl::IsUnavailable(status) && !SaysNotImplemented(without.message()))
      status = without;
  }
  found.known = !absl::IsUnavailable(status);
  found.raises = !status.ok();
  return found;
}

absl::Status Interpreter::ErrorAtAnchor(const ShapeQuery& query) const {
  // What writes to its arguments can't be run again with others.
  if (query.schema->is_mutable()) return absl::OkStatus();
  const c10::InferenceMode inference;
  SizeEvaluator evaluator(region_.anchor(), /*real=*/true, kMaxElements);
  std::vector<c10::IValue> stack;
  std::unordered_set<const at::TensorImpl*> made_up;
  for (const SizeFunctionRef& content : query.contents) {
    const absl::StatusOr<c10::IValue> value = evaluator.Evaluate(content);
    // An operator before this one says so itself.
    if (!value.ok()) return absl::OkStatus();
    // Known elements too: the compiled program tests what it reads.
    if (!NeedsView(*query.schema)) AddTensors(*value, made_up);
    stack.push_back(*value);
  }
  if (CountElements(stack) > kMaxElements) return absl::OkStatus();
  const std::string call = DescribeCall(*query.schema, stack);
  if (TakesArgumentCount(*query.schema))
    stack.emplace_back(static_cast<int64_t>(stack.size()));
  return CatchExceptions(absl::StatusCode::kInvalidArgument,
                         absl::StrCat(call, " fails"), [&] {
                           RunWithMadeUpElements(
                               made_up,
                               [&](std::vector<c10::IValue>& arguments) {
                                 LookAtCall(*query.schema, arguments);
                                 RunOrWiden(query.run, arguments);
                               },
                               stack);
                           return absl::OkStatus();
                         });
}

absl::Status Interpreter::CheckSizes(
    const Invocation& call,
    const std::vector<std::vector<SizeExpression>>& expected) {
  std::optional<ShapeQuery> query = MakeShapeQuery(call);
  if (!query) return absl::OkStatus();
  // What is expected may depend on symbols that the arguments don't.
  for (const std::vector<SizeExpression>& sizes : expected) {
    for (const SizeExpression& size : sizes) {
      for (const int symbol : SymbolsOf(size)) {
        if (std::find(query->symbols.begin(), query->symbols.end(), symbol) ==
            query->symbols.end())
          query->symbols.push_back(symbol);
      }
    }
  }
  if (query->symbols.empty()) return absl::OkStatus();
  // The same operator on the same sizes was looked at before.
  std::string key = NameOf(*query);
  for (const std::vector<SizeExpression>& sizes : expected) {
    absl::StrAppend(&key, "->");
    for (const SizeExpression& size : sizes)
      absl::StrAppend(&key, size.ToString(), ",");
  }
  if (!checked_calls_.emplace(std::move(key), *query).second)
    return absl::OkStatus();
  AddContents(call, *query);

  const auto fits = [&](const ShapesAt& there,
                        absl::Span<const int64_t> point) {
    if (!there.known) return true;
    if (there.raises || there.sizes.size() != expected.size()) return false;
    for (size_t i = 0; i < expected.size(); ++i) {
      if (there.sizes[i].size() != expected[i].size()) return false;
      for (size_t axis = 0; axis < expected[i].size(); ++axis) {
        if (expected[i][axis].Evaluate(point) != there.sizes[i][axis])
          return false;
      }
    }
    return true;
  };
  const std::string what = absl::StrCat("what ", call.schema->name(), " gives");
  const ShapesAt at_anchor = FindShapes(*query, region_.anchor());
  if (!fits(at_anchor, region_.anchor())) {
    if (at_anchor.raises) return ErrorAtAnchor(*query);
    // If the formula is wrong at some points, it may still be right around the
    // anchor; or another one is, of what grows beyond a bound.
    std::map<std::pair<size_t, size_t>, SizeExpression> around;
    ShapesBySize shapes;
    bool complete = false;
    const std::vector<SizePoint> points =
        region_.Points(query->symbols, kPointsAround, &complete);
    const auto symbol = static_cast<size_t>(query->symbols[0]);
    if (complete && query->symbols.size() == 1) {
      for (const SizePoint& point : points)
        shapes.emplace(point[symbol], FindShapes(*query, point));
      around =
          FormulasAround(query->symbols[0], region_.anchor()[symbol], shapes);
    }
    const auto as_at_anchor = [&](absl::Span<const int64_t> point) {
      const auto known = shapes.find(point[symbol]);
      const ShapesAt there =
          known == shapes.end() ? FindShapes(*query, point) : known->second;
      if (!there.known) return true;
      if (there.raises || there.sizes.size() != at_anchor.sizes.size())
        return false;
      for (size_t i = 0; i < there.sizes.size(); ++i) {
        const std::vector<int64_t>& wanted = at_anchor.sizes[i];
        if (there.sizes[i].size() != wanted.size()) return false;
        for (size_t axis = 0; axis < wanted.size(); ++axis) {
          const bool missed =
              i >= expected.size() || axis >= expected[i].size() ||
              expected[i][axis].Evaluate(region_.anchor()) != wanted[axis];
          const auto formula = around.find({i, axis});
          const int64_t expected_there = formula == around.end()
                                             ? wanted[axis]
                                             : formula->second.Evaluate(point);
          if (missed && there.sizes[i][axis] != expected_there) return false;
        }
      }
      return true;
    };
    if (region_.Restrict(query->symbols, as_at_anchor, {},
                         Reason(absl::StrCat(what, " depends on the size")))) {
      AITUNE_RETURN_IF_ERROR(KeepProbes(what));
      // The formula that the probes have is wrong at the anchor, also where all
      // of them are left: of fewer sizes another one may be found.
      return absl::OutOfRangeError(
          absl::StrCat("the formula of ", what, " is wrong"));
    }
    for (const int symbol : query->symbols)
      region_.Fix(symbol, Reason(absl::StrCat(what,
                                              " depends on the size in a way "
                                              "that has no formula")));
    return KeepProbes(what);
  }
  const std::string reason = Reason(absl::StrCat(what, " depends on the size"));
  const auto is_known_to_fit = [&](absl::Span<const int64_t> point) {
    const ShapesAt there = FindShapes(*query, point);
    return there.known && fits(there, point);
  };
  if (query->reads_elements && at_anchor.known &&
      HasSizesOfElements(*call.schema, call.arguments)) {
    // The elements may be special at any size: nothing is said of those that
    // were not looked at.
    region_.Shorten(query->symbols, SizeRegion::kMostLookedAt, reason);
    region_.Restrict(query->symbols, is_known_to_fit, {}, reason);
    return KeepProbes(what);
  }
  for (const std::vector<int>& symbols : query->irregular) {
    region_.Restrict(symbols, is_known_to_fit, {}, reason);
    AITUNE_RETURN_IF_ERROR(KeepProbes(what));
  }
  size_t real_points = 0;
  for (const SizePoint& point :
       Scattered(region_.Points(query->symbols, kCheckedPoints, nullptr))) {
    const ShapesAt there = FindShapes(*query, point);
    if (!fits(there, point)) {
      region_.Restrict(
          query->symbols,
          [&](absl::Span<const int64_t> other) {
            return fits(FindShapes(*query, other), other);
          },
          {}, reason);
      return KeepProbes(what);
    }
    if (there.real && there.elements > kSmallElements &&
        ++real_points == kRealPoints)
      break;
  }
  return absl::OkStatus();
}

absl::Status Interpreter::SettlePartCount(const Invocation& call) {
  std::optional<ShapeQuery> query = MakeShapeQuery(call);
  if (!query || query->symbols.empty()) return absl::OkStatus();
  AddContents(call, *query);
  const ShapesAt at_anchor = FindShapes(*query, region_.anchor());
  if (!at_anchor.known || at_anchor.raises) return absl::OkStatus();
  const char* const what = "the number of parts of a tensor";
  region_.Restrict(
      query->symbols,
      [&](absl::Span<const int64_t> point) {
        const ShapesAt there = FindShapes(*query, point);
        return !there.known ||
               (!there.raises && there.sizes.size() == at_anchor.sizes.size());
      },
      {}, Reason(absl::StrCat(what, " depends on the size")));
  return KeepProbes(what);
}

absl::Status Interpreter::RestrictToWorking(const Invocation& call,
                                            const absl::Status& error) {
  std::optional<ShapeQuery> query = MakeShapeQuery(call);
  if (!query || query->symbols.empty()) return error;
  AddContents(call, *query);
  const auto works = [&](absl::Span<const int64_t> point) {
    return !FindShapes(*query, point).raises;
  };
  if (!works(region_.anchor())) {
    const absl::Status at_anchor = ErrorAtAnchor(*query);
    return at_anchor.ok() ? error : at_anchor;
  }
  const std::string what =
      absl::StrCat("whether ", call.schema->name(), " fails");
  const std::string reason = Reason(absl::StrCat(what, " depends on the size"));
  if (query->unknown_strides) {
    for (const int symbol : query->symbols) region_.Fix(symbol, reason);
  } else {
    region_.Restrict(query->symbols, works, {}, reason);
  }
  AITUNE_RETURN_IF_ERROR(KeepProbes(what));
  // The shapes say that it works: it depends on more than these, as as_strided
  // does on the memory behind a tensor. Whether it works at the anchor is seen
  // there.
  for (const int symbol : query->symbols) region_.Fix(symbol, reason);
  AITUNE_RETURN_IF_ERROR(KeepProbes(what));
  return error;
}

}  // namespace aitune::frontend
