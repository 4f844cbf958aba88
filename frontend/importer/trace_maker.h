// For tests: makes traces by hand and imports them.
#ifndef AITUNE_FRONTEND_IMPORTER_TRACE_MAKER_H_
#define AITUNE_FRONTEND_IMPORTER_TRACE_MAKER_H_

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "frontend/importer/importer.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

// A list of sizes or ints as an argument: IntList({1, -1}).
std::vector<SizeExpression> IntList(std::initializer_list<int64_t> values);

class TraceMaker {
 public:
  // A tensor input of the model.
  ValueId Input(DataType dtype, std::vector<SizeExpression> sizes);
  // A dynamic axis of the last input, as the expression s0, s1, ...
  SizeExpression Symbol(int64_t min, int64_t max);
  // A weight without data.
  ValueId Weight(DataType dtype, std::vector<SizeExpression> sizes);
  // A constant of rank 0.
  ValueId Number(float value);
  ValueId Number(int64_t value);

  struct Result {
    DataType dtype = DataType::kFloat32;
    std::vector<SizeExpression> sizes;
  };
  // A call with these results; `name` may have an overload
  // ("aten::add.Tensor").
  std::vector<ValueId> Call(
      const std::string& name,
      std::vector<std::pair<std::string, Argument>> arguments,
      std::vector<Result> results);
  // A call with one result.
  ValueId Call(const std::string& name,
               std::vector<std::pair<std::string, Argument>> arguments,
               DataType dtype, std::vector<SizeExpression> sizes) {
    return Call(name, std::move(arguments), {{dtype, std::move(sizes)}})[0];
  }
  // A result that only LibTorch understands.
  void MakeOpaque(ValueId id, const std::string& why);
  void Output(ValueId id) { trace_.outputs.push_back(id); }

  Trace& trace() { return trace_; }
  // The operations of @main, one a line, in MLIR's form without locations,
  // after common subexpressions and what no output needs are gone. The
  // importer's error as text when there is one.
  std::string Import();
  // Of the last Import.
  const ImportReport& report() const { return report_; }
  // The reason of the only fallback of the last Import; "" when there is none
  // and the number when there are several.
  std::string Reason() const;

 private:
  ValueId AddConstant(DataType dtype, std::vector<SizeExpression> sizes,
                      std::shared_ptr<const void> data);

  Trace trace_;
  ImportReport report_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_TRACE_MAKER_H_
