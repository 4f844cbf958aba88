#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/random_models/program.h"
#include "tests/random_models/size_text.h"
#include "tests/random_models/statements.h"

namespace aitune::random_models {
namespace {

using absl::StrCat;

std::string Permutation(Random& random, int rank) {
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  for (int i = rank - 1; i > 0; --i)
    std::swap(axes[static_cast<size_t>(i)],
              axes[static_cast<size_t>(random.Number(0, i))]);
  return absl::StrJoin(axes, ", ");
}

std::string ViewOf(Pool& pool, int value, std::vector<int>& measures) {
  Random& random = pool.random();
  const int rank = pool[value].rank();
  const std::string t = Name(value);
  const int axis = random.Number(0, rank - 1),
            other = random.Number(0, rank - 1);
  const auto number = [&](int low, int high) {
    return random.Number(low, high);
  };
  switch (number(0, 24)) {
    case 0:
    case 1:
    case 2:
      return StrCat(t, Slice(pool, axis, measures));
    case 3:
      return StrCat("torch.narrow(", t, ", ", axis, ", 0, min(", t, ".size(",
                    axis, "), ", number(1, 8), "))");
    case 4:
      return StrCat("torch.select(", t, ", ", axis, ", ", number(-2, 1), ")");
    case 5:
      return StrCat(t, ".unsqueeze(", number(-1, rank), ")");
    case 6:
      return random.Chance(50) ? StrCat(t, ".squeeze(", axis, ")")
                               : StrCat(t, ".squeeze()");
    case 7:
      return StrCat("torch.permute(", t, ", [", Permutation(random, rank),
                    "])");
    case 8:
      return StrCat(t, ".transpose(", axis, ", ", other, ")");
    case 9:
      return StrCat(t, ".flatten(", std::min(axis, other), ", ",
                    std::max(axis, other), ")");
    case 10:
      return StrCat(t, ".reshape([-1, ", t, ".size(", axis, ")])");
    case 11:
      return StrCat(t, random.Chance(50) ? ".reshape([" : ".view([", t,
                    ".size(0), -1])");
    case 12:
      return StrCat(t, ".unflatten(", axis, ", [", number(1, 4), ", -1])");
    case 13:
      return StrCat(t, ".unsqueeze(", axis, ").expand([",
                    absl::StrJoin(std::vector<int>(axis, -1), ", "),
                    axis > 0 ? ", " : "", number(0, 3), ", ",
                    absl::StrJoin(std::vector<int>(rank - axis, -1), ", "),
                    "])");
    case 14:
      return StrCat(t, ".expand([", Size(pool, measures), ", ",
                    absl::StrJoin(std::vector<int>(rank, -1), ", "), "])");
    case 15:
      return StrCat(t, ".unfold(", axis, ", ", number(1, 3), ", ", number(1, 2),
                    ")");
    case 16:
      return StrCat(t, ".chunk(", number(2, 4), ", ", axis, ")",
                    random.Chance(50) ? "[0]" : "[-1]");
    case 17:
      return StrCat(t, ".split(", number(1, 7), ", ", axis, ")",
                    random.Chance(50) ? "[0]" : "[-1]");
    case 18:
      if (rank > 1 && axis != other && random.Chance(20))
        return StrCat("torch.rot90(", t, ", ", number(-2, 3), ", [", axis, ", ",
                      other, "])");
      return random.Chance(50) ? StrCat("torch.flip(", t, ", [", axis, "])")
                               : StrCat("torch.roll(", t, ", ", number(-3, 3),
                                        ", ", axis, ")");
    case 19:
      return StrCat("torch.cat([", t, ", ", t, Slice(pool, axis, measures),
                    "], ", axis, ")");
    case 20: {
      std::vector<int> times(static_cast<size_t>(rank), 1);
      times[static_cast<size_t>(axis)] = number(0, 3);
      return StrCat(t, ".repeat([", absl::StrJoin(times, ", "), "])");
    }
    case 21:
      return StrCat("torch.diagonal(", t, ", ", number(-1, 1), ", ", axis, ", ",
                    other, ")");
    case 22:
      if (random.Chance(30))
        return StrCat("torch.constant_pad_nd(", t, ", [", number(-1, 2), ", ",
                      Size(pool, measures), "], 0.5)");
      return StrCat("torch.constant_pad_nd(", t, ", [", number(-1, 2), ", ",
                    number(0, 3), rank > 1 ? ", 1, 0" : "", "], 0.5)");
    case 23:
      return StrCat(t, ".index_select(", axis, ", torch.arange(", t, ".size(",
                    axis, "), device=", t, ".device) // 2)");
    default:
      return StrCat(t, random.Chance(50) ? ".contiguous()" : ".clone()");
  }
}

}  // namespace

std::optional<Expression> View(Pool& pool) {
  const int value = pool.Find(HasAxes);
  if (value < 0) return std::nullopt;
  Expression expression;
  expression.reads = {value};
  expression.text = ViewOf(pool, value, expression.measures);
  expression.keeps_exact = true;
  return expression;
}

}  // namespace aitune::random_models
