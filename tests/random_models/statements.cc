#include "tests/random_models/statements.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/random_models/program.h"
#include "tests/random_models/size_text.h"
#include "tests/random_models/table_calls.h"

namespace aitune::random_models {
namespace {

using absl::StrCat;

// One of several kinds of expressions without statements before them.
std::optional<Expression> Simple(Pool& pool) {
  switch (pool.random().Number(0, 4)) {
    case 0:
      return View(pool);
    case 1:
      return Arithmetic(pool);
    case 2:
      return FromSizes(pool);
    default:
      return TableCall(pool);
  }
}

// Whether elements of some sample lie at one address: eager writes to none.
bool RepeatsElements(const LiveValue& value) {
  return std::any_of(value.samples.begin(), value.samples.end(),
                     [](const at::Tensor& tensor) {
                       for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
                         if (tensor.stride(axis) == 0 && tensor.size(axis) > 1)
                           return true;
                       }
                       return false;
                     });
}

std::string Scalar(Random& random) {
  return random.Pick(std::vector<const char*>{"2", "0.5", "-1", "3", "1",
                                              "-0.25", "1.5", "0"});
}

}  // namespace

std::optional<Expression> Arithmetic(Pool& pool) {
  Random& random = pool.random();
  const int a = pool.Any();
  const bool same_dtype = random.Chance(75);
  int b = pool.Find([&](const LiveValue& value) {
    return Broadcast(value, pool[a]) &&
           (!same_dtype || value.dtype() == pool[a].dtype());
  });
  if (b < 0) b = a;
  Expression expression;
  expression.reads = {a, b};
  std::string right = Name(b);
  const int rank = pool[b].rank();
  if (rank > 0 && random.Chance(60)) {
    const int axis = random.Number(0, rank - 1);
    switch (random.Number(0, 6)) {
      case 0:
        right = StrCat("torch.mean(", right, ", [", axis, "], True)");
        break;
      case 1:
        right = StrCat("torch.sum(", right, ", [", axis, "], True)");
        break;
      case 2:
        right = StrCat("torch.amax(", right, ", [", axis, "], True)");
        break;
      case 3:
        right = StrCat(right, ".unsqueeze(", axis, ")");
        break;
      case 4:
        right = StrCat(right, Slice(pool, axis, expression.measures));
        break;
      case 5:
        right = StrCat("torch.softmax(", right, ", ", axis, ")");
        break;
      default:
        right = StrCat(right, ".transpose(0, ", axis, ")");
    }
  } else if (random.Chance(20)) {
    expression.reads = {a};
    right =
        random.Chance(50) ? Scalar(random) : Size(pool, expression.measures);
  }
  static const char* const kOperators[] = {" + ", " - ", " * "};
  static const char* const kFunctions[] = {"maximum", "minimum", "add", "sub",
                                           "mul"};
  if (random.Chance(70)) {
    const char* const op = random.Pick(kOperators);
    expression.text = random.Chance(20) ? StrCat(right, op, Name(a))
                                        : StrCat(Name(a), op, right);
  } else {
    expression.text = StrCat("torch.", random.Pick(kFunctions), "(", Name(a),
                             ", ", right, ")");
  }
  return expression;
}

std::optional<Expression> Cast(Pool& pool) {
  Random& random = pool.random();
  const int value = pool.Any();
  static constexpr int kDataTypes[] = {6, 6, 6, 7, 5, 15, 4, 3, 2, 1, 0, 11};
  const int dtype = random.Pick(kDataTypes);
  const bool is_float = dtype == 5 || dtype == 6 || dtype == 7 || dtype == 15;
  Expression expression;
  expression.reads = {value};
  expression.keeps_exact = true;
  // No NaN and no number out of range: such casts have no one result.
  const std::string operand =
      is_float || !pool[value].IsFloat()
          ? Name(value)
          : StrCat("torch.nan_to_num(", Name(value), ").clamp(",
                   dtype == 0 ? 0 : -100, ", 100)");
  expression.text =
      StrCat(operand, ".to(",
             is_float ? StrCat("$(", dtype, ")") : StrCat(dtype), ")");
  return expression;
}

std::optional<Expression> FromSizes(Pool& pool) {
  Random& random = pool.random();
  const int value = pool.Find(HasAxes);
  if (value < 0) return std::nullopt;
  Expression expression;
  expression.keeps_exact = true;
  const std::string t = Name(value), device = StrCat("device=", t, ".device");
  const auto size = [&] { return Size(pool, expression.measures); };
  const int axis = random.Number(0, pool[value].rank() - 1);
  const int kind = random.Number(0, 7);
  (kind >= 3 && kind <= 5 ? expression.reads : expression.measures) = {value};
  const std::string dtype =
      StrCat("dtype=$(", static_cast<int>(pool[value].dtype()), ")");
  switch (kind) {
    case 0:
      expression.text =
          StrCat("torch.full([", size(), ", ", random.Number(1, 3), "], 2, ",
                 dtype, ", ", device, ")");
      break;
    case 1:
      expression.text = StrCat("torch.arange(", size(), ", ", device, ")");
      break;
    case 2:
      expression.text = StrCat("torch.zeros([", size(), ", ", size(), "], ",
                               dtype, ", ", device, ")");
      break;
    case 3:
      expression.text = StrCat("torch.where(torch.arange(", t, ".size(-1), ",
                               device, ") < ", size(), ", ", t, ", 0)");
      break;
    case 4:
      expression.text = StrCat(t, " / (", t, ".numel() + 1)");
      expression.keeps_exact = false;
      break;
    case 5:
      expression.text = StrCat(
          "torch.cat([", t, ", ", t, ".new_ones([",
          absl::StrJoin(
              [&] {
                std::vector<std::string> sizes;
                for (int i = 0; i < pool[value].rank(); ++i)
                  sizes.push_back(i == axis ? StrCat(random.Number(0, 2))
                                            : StrCat(t, ".size(", i, ")"));
                return sizes;
              }(),
              ", "),
          "])], ", axis, ")");
      break;
    case 6:
      expression.text =
          StrCat("(torch.arange(", t, ".size(", axis, "), ", device,
                 ").unsqueeze(1) >= torch.arange(", size(), ", ", device, "))");
      break;
    default:
      expression.text =
          StrCat("torch.ones([", size(), "], ", device, ") * 0.5");
  }
  return expression;
}

std::optional<Expression> TableShape(Pool& pool) {
  Random& random = pool.random();
  const int value = pool.Find(
      [](const LiveValue& v) { return v.rank() > 0 && v.Largest() <= 1024; });
  if (value < 0) return std::nullopt;
  Expression expression;
  expression.reads = {value};
  expression.keeps_exact = true;
  const std::string t = Name(value);
  const bool is_square =
      pool[value].rank() == 2 &&
      pool[value].sample().size(0) == pool[value].sample().size(1);
  switch (is_square && random.Chance(60) ? 3 : random.Number(0, 4)) {
    case 0:
      expression.text = StrCat("torch.constant_pad_nd(", t, ".reshape([-1, ", t,
                               ".size(-1)]), [0, 0, 0, 2])[:3]");
      break;
    case 1:
      expression.before = StrCat("$r = ", t, ".flatten()[:12]");
      expression.text = "torch.maximum($r.unsqueeze(0), $r.unsqueeze(1))";
      break;
    case 2:
      expression.text = StrCat(t, ".flatten()[:", random.Number(1, 30), "]");
      break;
    case 3:
      expression.text = StrCat(t, ".expand([1, 4, -1, -1])");
      break;
    default:
      expression.text = StrCat(t, ".flatten()[:16].expand([3, -1])");
  }
  return expression;
}

std::optional<Expression> Write(Pool& pool) {
  Random& random = pool.random();
  const int target = pool.Find([&](const LiveValue& value) {
    if (value.is_input || value.rank() == 0 || RepeatsElements(value))
      return false;
    for (int i = 0; i < pool.size() && pool[i].is_input; ++i) {
      if (MayShareMemory(value, pool[i])) return false;
    }
    return true;
  });
  if (target < 0) return std::nullopt;
  Expression expression;
  expression.writes = target;
  expression.reads = {target};
  expression.keeps_exact = true;
  const int axis = random.Number(0, pool[target].rank() - 1);
  const std::string t = Name(target);
  std::string region = t;
  switch (random.Number(0, 6)) {
    case 0:
    case 1:
      region = StrCat(t, Slice(pool, axis, expression.measures));
      break;
    case 2:
      region = StrCat(t, ".select(", axis, ", ", random.Number(-1, 0), ")");
      break;
    case 3:
      region = StrCat(t, ".transpose(0, ", axis, ")");
      break;
    case 4:
      region = StrCat(t, ".view([-1])");
      break;
    default:
      break;
  }
  const int operand = pool.Find(
      [&](const LiveValue& value) { return Broadcast(value, pool[target]); });
  std::string u = Scalar(random);
  if (operand >= 0 && random.Chance(70)) {
    u = Name(operand);
    expression.reads.push_back(operand);
  }
  switch (random.Number(0, 9)) {
    case 0:
    case 1:
      expression.before = StrCat(region, ".add_(", u, ")");
      expression.keeps_exact = !pool[target].IsFloat();
      break;
    case 2:
      expression.before = StrCat(region, ".mul_(", u, ")");
      expression.keeps_exact = !pool[target].IsFloat();
      break;
    case 3:
      expression.before = StrCat(region, ".fill_(", Scalar(random), ")");
      break;
    case 4:
      expression.before = StrCat(region, ".relu_()");
      break;
    case 5:
      expression.before = StrCat(region, ".copy_(", u, ")");
      break;
    case 6:
      expression.before = StrCat(region, ".clamp_(-1, 1)");
      break;
    case 7:
      expression.before = StrCat(region, ".zero_()");
      break;
    case 8:
      expression.before = StrCat(region, ".tanh_()");
      expression.keeps_exact = false;
      break;
    default:
      expression.before =
          StrCat(t, Slice(pool, axis, expression.measures), " = ", u);
  }
  return expression;
}

std::optional<Expression> Branch(Pool& pool) {
  Expression expression;
  const std::string condition = Condition(pool, expression.measures);
  std::optional<Expression> then = Simple(pool), otherwise = Simple(pool);
  if (!then || then->reads.empty()) return std::nullopt;
  const auto add = [&](const Expression& part) {
    expression.reads.insert(expression.reads.end(), part.reads.begin(),
                            part.reads.end());
    expression.measures.insert(expression.measures.end(), part.measures.begin(),
                               part.measures.end());
    expression.keeps_exact &= part.keeps_exact;
    expression.jumps |= part.jumps;
  };
  expression.keeps_exact = true;
  add(*then);
  if (pool.random().Chance(40) || !otherwise) {
    const std::string start = Name(then->reads[0]);
    expression.before =
        StrCat("$r = ", start, "\nif ", condition, ":\n    $r = ", then->text);
  } else {
    add(*otherwise);
    expression.before = StrCat("if ", condition, ":\n    $r = ", then->text,
                               "\nelse:\n    $r = ", otherwise->text);
  }
  return expression;
}

std::optional<Expression> Loop(Pool& pool) {
  Random& random = pool.random();
  const int value = pool.Find(HasAxes);
  if (value < 0) return std::nullopt;
  Expression expression;
  expression.reads = {value};
  const std::string t = Name(value);
  const int axis = random.Number(0, pool[value].rank() - 1);
  const auto other = [&] {
    const int found = pool.Find([&](const LiveValue& v) {
      return Broadcast(v, pool[value]) && v.dtype() == pool[value].dtype();
    });
    expression.reads.push_back(found);
    return Name(found);
  };
  switch (random.Number(0, 3)) {
    case 0:
      expression.before =
          StrCat("$r = ", t, "\nfor k in range(", random.Number(1, 4),
                 "):\n    $r = $r * 0.5 + ", other());
      break;
    case 1:
      expression.before = StrCat(
          "$r = ", t, "\nfor k in range(min(", Size(pool, expression.measures),
          ", 3)):\n    $r = torch.sin($r + ", other(), ") + k");
      break;
    case 2:
      expression.before = StrCat(
          "$r = ", t, ".narrow(", axis, ", 0, min(", t, ".size(", axis,
          "), 1))\nfor part in ", t, ".split(", random.Number(4, 9), ", ", axis,
          "):\n    $r = torch.maximum($r, part.amax([", axis, "], True))");
      expression.keeps_exact = true;
      break;
    default: {
      const int most = random.Number(3, 12);
      expression.before = StrCat("$r = ", t, "\nwhile $r.size(0) > ", most,
                                 ":\n    $r = $r[", random.Number(2, most),
                                 ":]", random.Chance(50) ? " * 0.5" : "");
    }
  }
  return expression;
}

}  // namespace aitune::random_models
