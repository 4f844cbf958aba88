#include "tests/sizes/size_programs.h"

#include <random>

#include "absl/strings/str_cat.h"

namespace aitune::sizes {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Program() {
    source_ = "def forward(self, x: Tensor):\n";
    Line("n = x.size(0)");
    const int statements = Number(2, 9);
    for (int i = 0; i < statements; ++i) Statement();
    Line("return x");
    return source_;
  }

 private:
  int Number(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random_);
  }
  template <size_t N>
  int Pick(const int (&choices)[N]) {
    return choices[static_cast<size_t>(Number(0, N - 1))];
  }
  int Bound() { return Pick({1, 2, 3, 5, 7, 8, 16, 20, 31, 32, 40, 64, 100}); }
  int Step() { return Pick({2, 3, 4, 5, 7, 8, 16, 40}); }

  void Line(const std::string& text) {
    absl::StrAppend(&source_,
                    std::string(static_cast<size_t>(indent_) * 4, ' '), text,
                    "\n");
  }

  // A size or what is computed from one.
  std::string Size() {
    const std::string base = Number(0, 2) == 0 ? "n" : "x.size(0)";
    switch (Number(0, 11)) {
      case 0:
        return absl::StrCat("(", base, " + ", Bound(), ")");
      case 1:
        return absl::StrCat("(", base, " // ", Step(), ")");
      case 2:
        return absl::StrCat("(", base, " % ", Step(), ")");
      case 3:
        return absl::StrCat("min(", base, ", ", Bound(), ")");
      case 4:
        return absl::StrCat("max(", base, ", ", Bound(), ")");
      case 5:
        return absl::StrCat("int(", base, " * 0.", Number(1, 9), ")");
      case 6:
        return absl::StrCat("abs(", base, " - ", Bound(), ")");
      case 7:
        return absl::StrCat("(", base, " * ", Number(2, 4), " - ", Bound(),
                            ")");
      case 8:
        return absl::StrCat("int(", base, " / ", Step(), ")");
      default:
        return base;
    }
  }

  std::string Condition(int depth = 0) {
    switch (Number(0, depth > 1 ? 3 : 6)) {
      case 0:
        return absl::StrCat(Size(), " > ", Bound());
      case 1:
        return absl::StrCat(Size(), " % ", Step(), " == 0");
      case 2:
        return absl::StrCat(Size(), " <= ", Size());
      case 3:
        return absl::StrCat(Size(), " != ", Bound());
      case 4:
        return absl::StrCat("(", Condition(depth + 1), ") and (",
                            Condition(depth + 1), ")");
      case 5:
        return absl::StrCat("(", Condition(depth + 1), ") or (",
                            Condition(depth + 1), ")");
      default:
        return absl::StrCat("not (", Condition(depth + 1), ")");
    }
  }

  // Keeps the sizes of x.
  void Pointwise() {
    switch (Number(0, 5)) {
      case 0:
        return Line("x = x * 2 + 1");
      case 1:
        return Line("x = torch.tanh(x)");
      case 2:
        return Line(absl::StrCat("x = x + ", Size()));
      case 3:
        return Line(absl::StrCat("x = torch.where((torch.arange(x.size(0)) < ",
                                 Size(), ").unsqueeze(1), x, x * 0.5)"));
      case 4:
        return Line("x = x + torch.arange(x.size(0)).unsqueeze(1) * 0.01");
      default:
        return Line("x = torch.sin(x)");
    }
  }

  void Resize() {
    switch (Number(0, 25)) {
      case 0:
        return Line(absl::StrCat("x = x[:", Bound(), "]"));
      case 1:
        return Line(absl::StrCat("x = x[", Bound(), ":]"));
      case 2:
        return Line(absl::StrCat("x = x[-", Bound(), ":]"));
      case 3:
        return Line(absl::StrCat("x = x[:-", Number(1, 4), "]"));
      case 4:
        return Line(absl::StrCat("x = x[", Size(), ":", Size(), "]"));
      case 5:
        return Line(absl::StrCat("x = x[::", Number(2, 4), "]"));
      case 6:
        return Line(absl::StrCat("x = torch.cat([x, x[:", Bound(), "]])"));
      case 7:
        return Line(absl::StrCat("x = x.split(", Bound(), ")[-1]"));
      case 8:
        return Line(
            absl::StrCat("x = torch.cat(x.split(", Bound(), ")[::-1])"));
      case 9:
        return Line(absl::StrCat("x = x.chunk(", Number(2, 5), ")[0]"));
      case 10:
        return Line(
            absl::StrCat("x = x.narrow(0, 0, min(x.size(0), ", Bound(), "))"));
      case 11: {
        const int multiple = Step();
        return Line(absl::StrCat("x = torch.constant_pad_nd(x, [0, 0, 0, (",
                                 multiple, " - x.size(0) % ", multiple, ") % ",
                                 multiple, "])"));
      }
      case 12:
        return Line(absl::StrCat("x = torch.topk(x, min(x.size(0), ", Bound(),
                                 "), 0)[0]"));
      case 13:
        return Line(absl::StrCat("x = x[:x.size(0) // ", Number(2, 4), " * ",
                                 Number(1, 2), "]"));
      case 14:
        return Line("x = torch.cat([x, x.mean(0, True)])");
      case 15:
        return Line(absl::StrCat("x = torch.roll(x, ", Size(), ", 0)"));
      case 16:
        return Line(absl::StrCat("x = x.unfold(0, min(x.size(0), ", Bound(),
                                 "), ", Number(1, 3), ").mean(-1)"));
      case 17:
        return Line("x = torch.tanh(torch.cumsum(x, 0))");
      case 18:
        return Line(
            absl::StrCat("x = x[torch.arange(x.size(0)) % ", Step(), " != 0]"));
      case 19:
        return Line(absl::StrCat(
            "x = x.index_select(0, torch.arange(0, x.size(0), ", Step(), "))"));
      case 20:
        return Line("x = torch.stack([x, x.flip([0])], 1).view([-1, 4])");
      case 21:
        return Line("x = x.reshape([4, -1]).t()");
      case 22:
        return Line(absl::StrCat("x = x[:x.size(0) // ", Step(),
                                 " * 2].view([-1, 2, 4]).sum(1)"));
      case 23:
        return Line(
            absl::StrCat("x = x.new_zeros([", Size(), ", 4]) + x.sum(0)"));
      case 24:
        return Line(absl::StrCat("x[", Size(), ":] = 0.5"));
      default:
        return Line(absl::StrCat("x = x.repeat([", Number(1, 2), ", 1])"));
    }
  }

  void Statement() {
    switch (Number(0, 7)) {
      case 0:
      case 1:
        return Pointwise();
      case 2:
      case 3:
      case 4:
        return Resize();
      case 5:
        if (indent_ > 2) return Pointwise();
        Line(absl::StrCat("while x.size(0) > ", Bound() + 30, ":"));
        ++indent_;
        Line(absl::StrCat("x = x[", Number(8, 20), ":] * 0.5"));
        --indent_;
        return;
      default:
        break;
    }
    if (indent_ > 2) return Resize();
    Line(absl::StrCat("if ", Condition(), ":"));
    ++indent_;
    Statement();
    --indent_;
    if (Number(0, 1) == 0) return;
    Line("else:");
    ++indent_;
    Statement();
    --indent_;
  }

  std::mt19937_64 random_;
  std::string source_;
  int indent_ = 1;
};

}  // namespace

std::vector<SizeProgram> WrittenPrograms() {
  const auto program = [](const char* name, const char* body) {
    return SizeProgram{name,
                       absl::StrCat("def forward(self, x: Tensor):\n", body)};
  };
  return {
      program("branch", R"(
    if x.size(0) > 20:
        x = x * 2
    else:
        x = x + 1
    return x
)"),
      program("remainder", R"(
    if x.size(0) % 8 == 0:
        return x * 3
    return x + 1
)"),
      program("truncated", "    return x[:64].exp()\n"),
      program("tail", "    return x[-64:].exp()\n"),
      program("minimum", R"(
    return torch.topk(x, min(x.size(0), 16), 0)[0]
)"),
      program("maximum", R"(
    k = max(x.size(0), 50)
    return torch.cat([x, torch.zeros([k - x.size(0), 4])])
)"),
      program("third", "    return x[:int(x.size(0) * 0.3)] * 2\n"),
      program("parts", R"(
    parts = x.split(40)
    return torch.cat([parts[-1], parts[0]])
)"),
      program("window", R"(
    n = x.size(0)
    rows = torch.arange(n)
    mask = rows.unsqueeze(1) >= rows.unsqueeze(0)
    if n > 32:
        mask = mask & (rows.unsqueeze(1) - rows.unsqueeze(0) < 32)
    return torch.matmul(mask.to(x.dtype), x)
)"),
      program("padded", R"(
    n = x.size(0)
    padded = torch.constant_pad_nd(x, [0, 0, 0, (64 - n % 64) % 64])
    return padded.view([-1, 64, 4]).sum(1)
)"),
      program("mixture", R"(
    n = x.size(0)
    y = x[:int(n * 0.3)]
    if n % 8 == 0:
        y = y * 2
    return torch.cat([y, x[:64]])
)"),
      program("loop", R"(
    i = 0
    while i + 40 <= x.size(0):
        x = x + 1
        i += 40
    return x
)"),
      program("blocks", R"(
    total = x.sum()
    for i in range(x.size(0) // 32):
        total = total + x[i * 32:(i + 1) * 32].max()
    return total
)"),
      program("alternatives", R"(
    n = x.size(0)
    if (n > 10 and n <= 50) or n == 99:
        return x[5:]
    return -x
)"),
      program("content", R"(
    n = x.size(0)
    if bool((torch.arange(n) > 50).any()):
        return x * 2
    return x
)"),
      program("length", R"(
    if len(x) > 77:
        return x.sum(0)
    return x.mean(0)
)"),
      program("squeezed", "    return x.squeeze() * 2\n"),
      program("root", R"(
    return x[:int(float(x.size(0)) ** 0.5)] + 1
)"),
      program("remainders", R"(
    x = x[::4]
    x = torch.constant_pad_nd(x, [0, 0, 0, (5 - x.size(0) % 5) % 5])
    few = (torch.arange(x.size(0)) < x.size(0) * 2 - 9).unsqueeze(1)
    return torch.where(few, x, x * 0.5)
)"),
      program("part without elements", R"(
    return x * torch.arange(x.size(0) % 7).max()
)"),
      program("view without elements", R"(
    v = x[:, (x.size(0) % 2):(x.size(0) % 4)].unsqueeze(1).expand([-1, 3, -1])
    return v.view([x.size(0), -1])
)"),
      program("view of a stride", R"(
    n = x.size(0)
    rows = x[::max(n // 40, 1), :max(n % 4, 1)]
    return rows.reshape([-1]) + rows.view([-1])
)"),
      program("nested slices", "    return x[3:][:50][-20:] * 2\n"),
  };
}

SizeProgram GeneratedProgram(uint64_t seed) {
  return {absl::StrCat("generated ", seed), Generator(seed).Program()};
}

}  // namespace aitune::sizes
