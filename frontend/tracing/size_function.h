// A value of the program that depends on sizes alone, as a function of the
// sizes.
//
// The interpreter sees such a value for a few combinations of sizes (probes).
// Its value for others is not guessed: the operators that computed it are kept
// and can be run again for any combination. The leaves of a function are
// constants, sizes with a formula, and tensors of input data, of which only the
// sizes are known. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_SIZE_FUNCTION_H_
#define AITUNE_FRONTEND_TRACING_SIZE_FUNCTION_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/trace/recorded_op.h"
#include "frontend/trace/trace.h"
#include "runtime/tensor/size_expression.h"

namespace aitune::frontend {

struct SizeFunction;
using SizeFunctionRef = std::shared_ptr<const SizeFunction>;

// Immutable once made.
struct SizeFunction {
  enum class Kind {
    kFixed,    // a constant
    kSize,     // a size with a formula
    kShape,    // a tensor of which only dtype and sizes are known
    kCall,     // result number `index` of an operator
    kProgram,  // the same of a part of the program that LibTorch runs whole
    kElement,  // element number `index` of a list or tuple
    kList,
    kTuple,
    kDict,
  };
  Kind kind = Kind::kFixed;
  c10::IValue fixed;                  // kFixed
  SizeExpression size;                // kSize
  std::vector<SizeExpression> sizes;  // kShape
  at::ScalarType dtype = at::kFloat;  // kShape
  std::string name;          // kCall, kProgram: what it is, such as "aten::lt"
  RecordedFunction run;      // kCall, kProgram: its implementation
  bool takes_count = false;  // kCall: TakesArgumentCount
  size_t index = 0;          // kCall, kProgram, kElement
  c10::TypePtr type;         // kList, kTuple, kDict
  std::vector<c10::IValue> keys;  // kDict
  // The arguments of kCall and kProgram, the container of kElement, the
  // elements of kList, kTuple and kDict.
  std::vector<SizeFunctionRef> arguments;
  std::vector<int> symbols;  // the symbols that it depends on, ascending
  bool has_program = false;  // whether it, or a part of it, is a kProgram
  // The sets of symbols that such parts are irregular in (irregular_sizes.h).
  std::set<std::vector<int>> irregular;

  static SizeFunctionRef Fixed(c10::IValue value);
  static SizeFunctionRef Size(const SizeExpression& size);
  static SizeFunctionRef Shape(std::vector<SizeExpression> sizes,
                               at::ScalarType dtype);
  static SizeFunctionRef Call(const c10::FunctionSchema& schema,
                              RecordedFunction run,
                              std::vector<SizeFunctionRef> arguments,
                              size_t index);
  // `run` writes to none of its arguments. It may also fail for reasons that
  // are not the program's. Of its tensors only the sizes and types count.
  // `irregular`: of the program itself.
  static SizeFunctionRef Program(std::string name, RecordedFunction run,
                                 std::vector<SizeFunctionRef> arguments,
                                 size_t index,
                                 std::set<std::vector<int>> irregular);
  // The first result of LibTorch's own operator.
  static SizeFunctionRef Call(const c10::OperatorHandle& handle,
                              std::vector<SizeFunctionRef> arguments);
  static SizeFunctionRef Element(SizeFunctionRef list, size_t index);
  // kind: kList, kTuple or kDict.
  static SizeFunctionRef Container(Kind kind, c10::TypePtr type,
                                   std::vector<c10::IValue> keys,
                                   std::vector<SizeFunctionRef> elements);

  // A text that identifies the function: those with equal texts have equal
  // values.
  std::string Describe() const;

  // The integer formula, if it is known without running operators.
  std::optional<SizeExpression> Formula() const;
};

// Evaluates functions at one combination of sizes; parts that functions share
// are run once. Not thread-safe.
class SizeEvaluator {
 public:
  // `point` has one size for each symbol. Tensors of which only the sizes are
  // known are on the meta device or, with `real`, zeros on the CPU, of at most
  // `most_elements` elements each.
  SizeEvaluator(absl::Span<const int64_t> point, bool real,
                int64_t most_elements = std::numeric_limits<int64_t>::max())
      : point_(point.begin(), point.end()),
        real_(real),
        most_elements_(most_elements) {}

  // The value of the function. kInvalidArgument when an operator raises,
  // kUnavailable where a tensor would have too many elements or a program does
  // not run.
  absl::StatusOr<c10::IValue> Evaluate(const SizeFunctionRef& function);

 private:
  absl::StatusOr<c10::IValue> Make(const SizeFunction& function);

  const std::vector<int64_t> point_;
  const bool real_;
  const int64_t most_elements_;
  std::unordered_map<const SizeFunction*, c10::IValue> known_;
};

// A list of tensors, each on the meta device; other values as they are.
c10::IValue WithoutMemory(const c10::IValue& value);

// Whether the function is the list of all sizes of a kShape.
bool IsListOfSizes(const SizeFunction& function);

// Whether both hold the same number, string, None, or list of such.
bool SamePlainValue(const c10::IValue& a, const c10::IValue& b);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_SIZE_FUNCTION_H_
