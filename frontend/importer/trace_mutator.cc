#include "frontend/importer/trace_mutator.h"

#include <limits>

#include "frontend/importer/importer.h"

namespace aitune::frontend {
namespace {

class Mutator {
 public:
  Mutator(Trace& trace, std::mt19937& random)
      : trace_(trace), random_(random) {}

  void Mutate() {
    TraceOp* op =
        trace_.ops.empty() ? nullptr : &trace_.ops[Below(trace_.ops.size())];
    switch (Below(8)) {
      case 0:
      case 1:
      case 2:
        if (op && !op->arguments.empty())
          ChangeArgument(op->arguments[Below(op->arguments.size())]);
        return;
      case 3:
        if (op && !op->arguments.empty()) {
          const size_t index = Below(op->arguments.size());
          op->arguments.erase(op->arguments.begin() + index);
          op->argument_names.erase(op->argument_names.begin() + index);
        }
        return;
      case 4:
      case 5:
        if (!trace_.values.empty())
          ChangeType(trace_.values[Below(trace_.values.size())]);
        return;
      case 6:
        if (op && !op->results.empty()) {
          Below(2) ? op->results.pop_back()
                   : op->results.push_back(static_cast<ValueId>(Number()));
        }
        return;
      default:
        if (op) op->name = names_[Below(names_.size())];
        return;
    }
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  int64_t Number() {
    constexpr int64_t kNumbers[] = {0,
                                    1,
                                    -1,
                                    2,
                                    3,
                                    -2,
                                    4,
                                    7,
                                    100,
                                    -100,
                                    std::numeric_limits<int64_t>::max(),
                                    std::numeric_limits<int64_t>::min(),
                                    int64_t{1} << 40};
    return kNumbers[Below(std::size(kNumbers))];
  }

  SizeExpression Size() {
    if (trace_.symbols.empty() || Below(3) > 0) return SizeExpression(Number());
    return SizeExpression::Symbol(
               static_cast<int>(Below(trace_.symbols.size()))) +
           SizeExpression(Number());
  }

  ValueId Value() {
    return static_cast<ValueId>(Below(trace_.values.size() + 1)) - 1;
  }

  void ChangeArgument(Argument& argument) {
    // Often the same kind with another value: that gets further.
    if (auto* size = std::get_if<SizeExpression>(&argument); size && Below(3)) {
      *size = Size();
    } else if (auto* sizes =
                   std::get_if<std::vector<SizeExpression>>(&argument);
               sizes && Below(3)) {
      ChangeList(*sizes, Size());
    } else if (auto* ids = std::get_if<std::vector<ValueId>>(&argument);
               ids && Below(3)) {
      ChangeList(*ids, Value());
    } else if (auto* id = std::get_if<ValueId>(&argument); id && Below(3)) {
      *id = Value();
    } else if (auto* flag = std::get_if<bool>(&argument); flag && Below(3)) {
      *flag = !*flag;
    } else if (auto* text = std::get_if<std::string>(&argument);
               text && Below(3) && !text->empty()) {
      (*text)[Below(text->size())] = "ab.,->"[Below(6)];
    } else {
      argument = AnyArgument();
    }
  }

  template <typename T>
  void ChangeList(std::vector<T>& list, T value) {
    const size_t kind = Below(3);
    if (kind == 0 && !list.empty()) {
      list.pop_back();
    } else if (kind == 1 || list.empty()) {
      list.push_back(value);
    } else {
      list[Below(list.size())] = value;
    }
  }

  Argument AnyArgument() {
    switch (Below(10)) {
      case 0:
        return NoneArgument{};
      case 1:
        return Value();
      case 2:
        return std::vector<ValueId>{Value(), Value()};
      case 3:
        return true;
      case 4:
        return Size();
      case 5:
        return std::vector<SizeExpression>{Size(), Size()};
      case 6:
        return std::numeric_limits<double>::quiet_NaN();
      case 7:
        return std::vector<double>{0.0, -2.5};
      case 8:
        return std::string("reflect");
      default:
        return std::vector<SizeExpression>{};
    }
  }

  void ChangeType(TraceValue& value) {
    constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kBFloat16,
                                   DataType::kInt64,   DataType::kUInt8,
                                   DataType::kBool,    DataType::kFloat64};
    switch (Below(4)) {
      case 0:
        value.type.dtype = kTypes[Below(std::size(kTypes))];
        return;
      case 1:
        value.kind = TraceValue::Kind::kOpaque;
        return;
      default:
        ChangeList(value.type.sizes, Size());
        return;
    }
  }

  Trace& trace_;
  std::mt19937& random_;
  const std::vector<std::string> names_ = SupportedOperators();
};

}  // namespace

void Mutate(Trace& trace, std::mt19937& random) {
  Mutator(trace, random).Mutate();
}

}  // namespace aitune::frontend
