#include "tests/random_models/generator.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "frontend/torchscript/input_spec.h"
#include "tests/random_models/pool.h"
#include "tests/random_models/statements.h"
#include "tests/random_models/table_calls.h"

namespace aitune::random_models {
namespace {

using absl::StrCat;

// Elements of a value, at most: a model of some dozens is compiled and run at
// several sizes in about a second.
constexpr int64_t kMostElements = 1 << 13;
constexpr int kMostAxes = 5;
// The magnitude beyond which values are scaled down.
constexpr double kLargestFloat = 30;
constexpr int64_t kLargestInteger = 1000;

// --- Inputs.

std::string InputType(Random& random, const std::string& dtype,
                      const std::vector<std::string>& axes) {
  std::string values;
  if (dtype == "uint8") {
    values = "{0..7}";
  } else if (dtype.rfind("int", 0) == 0) {
    values = random.Chance(70) ? "{-4..7}" : "{0..3}";
  }
  return StrCat(dtype, "[", absl::StrJoin(axes, ","), "]", values);
}

std::string DataTypeName(Random& random) {
  static const char* const kNames[] = {
      "float32", "float32", "float32", "float32",  "float32", "float32",
      "float64", "float16", "float16", "bfloat16", "int64",   "int32",
      "int64",   "int16",   "int8",    "uint8",    "bool"};
  return random.Pick(kNames);
}

// As the table's calls have them, or of any sizes.
std::vector<std::string> InputTypes(Random& random) {
  static const char* const kRanges[] = {"1..9",  "2..5", "1..17",
                                        "1..33", "3..8", "1..70"};
  static const char* const kFixed[] = {"0", "1", "2", "3",  "4",
                                       "5", "7", "8", "16", "17"};
  const std::string dtype = DataTypeName(random);
  const auto dtype_of_input = [&] {
    return random.Chance(80) ? dtype : DataTypeName(random);
  };
  std::vector<std::string> types;
  if (random.Chance(55)) {
    const std::string n = random.Chance(70) ? StrCat("n=", random.Pick(kRanges))
                                            : random.Pick(kFixed);
    const std::vector<std::vector<std::string>> kinds = {
        {n}, {n}, {"3", n}, {n, n}, {"1", "4", n, n}, {"2", n}};
    const int count = random.Number(2, 5);
    for (int i = 0; i < count; ++i)
      types.push_back(InputType(random, dtype_of_input(), random.Pick(kinds)));
    return types;
  }
  std::vector<std::string> axes;
  if (random.Chance(75)) axes.push_back(StrCat("a=", random.Pick(kRanges)));
  if (random.Chance(40)) axes.push_back(StrCat("b=", random.Pick(kRanges)));
  while (axes.size() < 4)
    axes.push_back(random.Chance(30) ? "1" : random.Pick(kFixed));
  const int count = random.Number(1, 4);
  for (int i = 0; i < count; ++i) {
    std::vector<std::string> chosen;
    const int rank = random.Number(i == 0 ? 1 : 0, 4);
    for (int axis = 0; axis < rank; ++axis) chosen.push_back(random.Pick(axes));
    types.push_back(InputType(random, dtype_of_input(), chosen));
  }
  return types;
}

// The largest sizes, the smallest, and some between.
std::vector<std::vector<c10::IValue>> SampleInputs(
    const std::vector<std::string>& types, uint64_t seed) {
  std::vector<frontend::InputSpec> specs;
  for (const std::string& type : types)
    specs.push_back(*frontend::ParseInputSpec(type));
  const frontend::SymbolAssignment symbols = *frontend::AssignSymbols(specs);
  std::vector<std::vector<c10::IValue>> samples;
  for (int sample = 0; sample < 3; ++sample) {
    std::vector<int64_t> sizes;
    for (const frontend::SymbolSpec& symbol : symbols.symbols) {
      sizes.push_back(sample == 0   ? symbol.max
                      : sample == 1 ? symbol.min
                                    : (symbol.min + symbol.max + 1) / 2);
    }
    samples.push_back(frontend::MakeInputs(specs, sizes, seed)->values());
  }
  return samples;
}

// --- What becomes of an expression.

bool IsPlain(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return false;
  const at::Tensor& tensor = value.toTensor();
  return tensor.layout() == at::kStrided && !tensor.is_complex() &&
         !tensor.is_quantized() && tensor.dim() <= kMostAxes &&
         tensor.numel() <= kMostElements && !tensor.is_conj() &&
         !tensor.is_neg() &&
         // LibTorch expands by sizes below -1, to no tensor.
         std::all_of(tensor.sizes().begin(), tensor.sizes().end(),
                     [](int64_t size) { return size >= 0; });
}

bool IsFinite(const LiveValue& value) {
  return !value.IsFloat() ||
         std::all_of(value.samples.begin(), value.samples.end(),
                     [](const at::Tensor& tensor) {
                       return tensor.isfinite().all().item<bool>();
                     });
}

// Whether nothing but rounding is left of some sample, as after numbers that
// are equal were normalised: what is made of it says nothing.
bool IsNoise(const LiveValue& value) {
  constexpr double kNoise = 1e-6;  // beside values of about 1, in float32
  return value.IsFloat() && !value.exact &&
         std::any_of(value.samples.begin(), value.samples.end(),
                     [](const at::Tensor& tensor) {
                       if (tensor.numel() == 0) return false;
                       const double largest =
                           tensor.to(at::kDouble).abs().max().item<double>();
                       return largest > 0 && largest < kNoise;
                     });
}

double Magnitude(const LiveValue& value) {
  double largest = 0;
  for (const at::Tensor& tensor : value.samples) {
    if (tensor.numel() > 0)
      largest =
          std::max(largest, tensor.to(at::kDouble).abs().max().item<double>());
  }
  return largest;
}

bool IsIntegral(const LiveValue& value) {
  return !value.IsFloat() ||
         std::all_of(value.samples.begin(), value.samples.end(),
                     [](const at::Tensor& tensor) {
                       return tensor.eq(tensor.trunc()).all().item<bool>();
                     });
}

class Generator {
 public:
  Generator(uint64_t seed, std::vector<std::string> inputs)
      : pool_(seed + 1, SampleInputs(inputs, seed)) {
    program_.seed = seed;
    program_.inputs = std::move(inputs);
  }

  Program Take(int statements) {
    for (int attempt = 0;
         attempt < 12 * statements && !ended_ &&
         static_cast<int>(program_.statements.size()) < statements;
         ++attempt) {
      const std::optional<Expression> expression = Make();
      if (!expression) continue;
      if (expression->writes >= 0) {
        AddWrite(*expression);
      } else {
        Add(*expression);
      }
    }
    return std::move(program_);
  }

 private:
  std::optional<Expression> Make() {
    const int choice = pool_.random().Number(1, 100);
    if (choice <= 42) return TableCall(pool_);
    if (choice <= 57) return View(pool_);
    if (choice <= 70) return Arithmetic(pool_);
    if (choice <= 75) return Cast(pool_);
    if (choice <= 80) return FromSizes(pool_);
    if (choice <= 85) return TableShape(pool_);
    if (choice <= 93) return Write(pool_);
    if (choice <= 97) return Branch(pool_);
    return Loop(pool_);
  }

  bool ReadsInexact(const Expression& expression) const {
    return std::any_of(expression.reads.begin(), expression.reads.end(),
                       [&](int value) { return !pool_[value].exact; });
  }

  // Whether one of its operands is floating-point and was rounded.
  bool ReadsRounded(const Expression& expression) const {
    return std::any_of(expression.reads.begin(), expression.reads.end(),
                       [&](int value) {
                         return pool_[value].IsFloat() && !pool_[value].exact;
                       });
  }

  // Whether the operands are integers that LibTorch makes float32, and it takes
  // them in float64 too.
  bool MayBeWidened(Expression expression) const {
    for (const int value : expression.reads) {
      if (pool_[value].IsFloat()) return false;
    }
    expression.before = Widened(expression.before, expression.reads, 7);
    expression.text = Widened(expression.text, expression.reads, 7);
    return !expression.reads.empty() &&
           pool_.Evaluate(expression, /*on_copies=*/true).ok();
  }

  // What these results are as a value; nothing where they can't be one.
  std::optional<LiveValue> Value(const Expression& expression,
                                 const std::vector<c10::IValue>& results) {
    LiveValue value;
    for (const c10::IValue& result : results) {
      if (!IsPlain(result)) return std::nullopt;
      value.samples.push_back(result.toTensor());
      if (value.samples.back().scalar_type() != value.dtype() ||
          value.samples.back().dim() != value.rank())
        return std::nullopt;
    }
    const bool rounded = ReadsRounded(expression);
    if (rounded && (expression.jumps || !value.IsFloat())) return std::nullopt;
    if (!IsFinite(value) && !pool_.random().Chance(5)) return std::nullopt;
    value.exact = !ReadsInexact(expression) &&
                  (expression.keeps_exact || !value.IsFloat());
    // Whole numbers are added and multiplied exactly.
    if (!value.exact && !ReadsInexact(expression) && IsFinite(value) &&
        Magnitude(value) < 128 && IsIntegral(value)) {
      value.exact =
          std::all_of(expression.reads.begin(), expression.reads.end(),
                      [&](int operand) { return IsIntegral(pool_[operand]); });
    }
    if (IsNoise(value)) return std::nullopt;
    return value;
  }

  void Add(Expression expression) {
    absl::StatusOr<std::vector<c10::IValue>> results =
        pool_.Evaluate(expression, /*on_copies=*/false);
    if (!results.ok()) return;
    const c10::IValue& first = results->front();
    if (first.isTensorList()) {
      expression.text += pool_.random().Chance(50) ? "[0]" : "[-1]";
      results = pool_.Evaluate(expression, /*on_copies=*/false);
      if (!results.ok()) return;
    }
    std::vector<LiveValue> values;
    if (results->front().isTuple()) {
      const size_t parts = results->front().toTupleRef().elements().size();
      for (size_t part = 0; part < parts; ++part) {
        std::vector<c10::IValue> of_part;
        for (const c10::IValue& result : *results)
          of_part.push_back(result.toTupleRef().elements()[part]);
        std::optional<LiveValue> value = Value(expression, of_part);
        if (!value) return;
        values.push_back(*std::move(value));
      }
    } else {
      std::optional<LiveValue> value = Value(expression, *results);
      if (!value) return;
      values.push_back(*std::move(value));
    }
    Statement statement;
    statement.reads = expression.reads;
    statement.measures = expression.measures;
    if (values[0].dtype() == at::kFloat && !values[0].exact &&
        MayBeWidened(expression))
      statement.promotes = expression.reads;
    std::vector<std::string> names;
    for (LiveValue& value : values) {
      names.push_back(Name(pool_.size()));
      statement.makes.push_back(pool_.size());
      pool_.Add(std::move(value));
    }
    statement.text = absl::StrReplaceAll(expression.before, {{"$r", names[0]}});
    if (!expression.text.empty()) {
      absl::StrAppend(&statement.text, statement.text.empty() ? "" : "\n",
                      absl::StrJoin(names, ", "), " = ",
                      absl::StrReplaceAll(expression.text, {{"$r", names[0]}}));
    }
    if (statement.makes.size() == 1) statement.like = Like(statement);
    const std::vector<int> made = statement.makes;
    program_.statements.push_back(std::move(statement));
    for (const int value : made) Normalise(value);
  }

  int Like(const Statement& statement) const {
    const LiveValue& made = pool_[statement.makes[0]];
    for (const int value : statement.reads) {
      if (pool_[value].dtype() == made.dtype() && SameSizes(pool_[value], made))
        return value;
    }
    return -1;
  }

  // Adds a smaller value where this one is large.
  void Normalise(int value) {
    const LiveValue& made = pool_[value];
    if (!IsFinite(made) || made.dtype() == at::kBool) return;
    const double magnitude = Magnitude(made);
    Expression expression;
    expression.reads = {value};
    if (made.IsFloat() && magnitude > kLargestFloat) {
      const double scale = std::exp2(-std::ceil(std::log2(magnitude / 4)));
      expression.text = absl::StrFormat("%s * %.17g", Name(value), scale);
      expression.keeps_exact = true;
    } else if (!made.IsFloat() && magnitude > kLargestInteger) {
      expression.text = StrCat("torch.remainder(", Name(value), ", 50)");
    } else {
      return;
    }
    Add(std::move(expression));
  }

  void AddWrite(const Expression& expression) {
    const absl::StatusOr<std::vector<c10::IValue>> results =
        pool_.Evaluate(expression, /*on_copies=*/true);
    if (!results.ok()) return;
    LiveValue after;
    for (const c10::IValue& result : *results)
      after.samples.push_back(result.toTensor());
    if (!IsFinite(after) || Magnitude(after) > kLargestInteger ||
        (after.IsFloat() && Magnitude(after) > kLargestFloat))
      return;
    const bool rounded = ReadsRounded(expression);
    if (rounded && !after.IsFloat()) return;
    if (!pool_.Evaluate(expression, /*on_copies=*/false).ok()) {
      // Perhaps it wrote before it raised.
      ended_ = true;
      return;
    }
    if (rounded || !expression.keeps_exact)
      pool_.MakeInexact(expression.writes);
    Statement statement;
    statement.text = expression.before;
    statement.reads = expression.reads;
    statement.measures = expression.measures;
    program_.statements.push_back(std::move(statement));
  }

  Pool pool_;
  Program program_;
  bool ended_ = false;
};

}  // namespace

Program GenerateProgram(uint64_t seed) {
  Random random(seed);
  std::vector<std::string> inputs = InputTypes(random);
  const int statements =
      random.Chance(70) ? random.Number(3, 14) : random.Number(15, 40);
  return Generator(seed, std::move(inputs)).Take(statements);
}

}  // namespace aitune::random_models
