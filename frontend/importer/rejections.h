// Calls that the importer can't take, each with its reason, as the parameters
// of tests: one file of cases each for a group of operators.
#ifndef AITUNE_FRONTEND_IMPORTER_REJECTIONS_H_
#define AITUNE_FRONTEND_IMPORTER_REJECTIONS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/importer/trace_maker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {

inline constexpr DataType kF32 = DataType::kFloat32;
inline constexpr DataType kBF16 = DataType::kBFloat16;
inline constexpr DataType kI64 = DataType::kInt64;
inline constexpr DataType kBool = DataType::kBool;

using Arguments = std::vector<std::pair<std::string, Argument>>;
using Sizes = std::vector<SizeExpression>;

inline Argument Int(int64_t value) { return SizeExpression(value); }
inline Argument None() { return NoneArgument(); }

struct Case {
  std::string name;    // of the operator
  std::string reason;  // a part of it
  // Makes the call.
  std::function<void(TraceMaker&, const std::string&)> make;
};

// A call of one float32 input "self" of sizes `from` with more arguments.
inline std::function<void(TraceMaker&, const std::string&)> OnSelf(
    Sizes from, Arguments more, Sizes to, DataType dtype = kF32,
    DataType self_dtype = kF32, const std::string& self = "self") {
  return [=](TraceMaker& maker, const std::string& name) {
    Arguments arguments = {{self, maker.Input(self_dtype, from)}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    maker.Output(maker.Call(name, arguments, dtype, to));
  };
}

// A call of inputs of these names, dtypes and sizes, and other arguments.
struct Tensor {
  std::string name;
  DataType dtype;
  Sizes sizes;
};
inline std::function<void(TraceMaker&, const std::string&)> OnTensors(
    std::vector<Tensor> tensors, Arguments more, Sizes to,
    DataType dtype = kF32) {
  return [=](TraceMaker& maker, const std::string& name) {
    Arguments arguments;
    for (const Tensor& tensor : tensors)
      arguments.emplace_back(tensor.name,
                             maker.Input(tensor.dtype, tensor.sizes));
    arguments.insert(arguments.end(), more.begin(), more.end());
    maker.Output(maker.Call(name, arguments, dtype, to));
  };
}

// A call of one list argument of float32 inputs.
inline std::function<void(TraceMaker&, const std::string&)> OnList(
    const std::string& list, std::vector<Sizes> tensors, Arguments more,
    Sizes to) {
  return [=](TraceMaker& maker, const std::string& name) {
    std::vector<ValueId> ids;
    for (const Sizes& sizes : tensors) ids.push_back(maker.Input(kF32, sizes));
    Arguments arguments = {{list, ids}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    maker.Output(maker.Call(name, arguments, kF32, to));
  };
}

class Rejections : public ::testing::TestWithParam<Case> {};

// The call is left to LibTorch, and the reason says what can't be taken.
inline void ExpectRejected(const Case& call) {
  TraceMaker maker;
  call.make(maker, call.name);
  EXPECT_THAT(maker.Import(), ::testing::HasSubstr("ait.fallback"));
  EXPECT_THAT(maker.Reason(), ::testing::HasSubstr(call.reason));
}

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_REJECTIONS_H_
