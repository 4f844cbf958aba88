// Tensors made from numbers.
#include <cmath>

#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using mlir::Value;

absl::Status SetFull(OpImporter& call, const Scalar& number) {
  return call.SetResult(
      call.Full(number, call.ResultSizes(), call.ResultDataType()));
}

// The argument of one of these names as the tensor's value.
absl::Status BuildFull(OpImporter& call) {
  const char* name = call.Find("fill_value") ? "fill_value"
                     : call.Find("value")    ? "value"
                                             : "s";
  AITUNE_ASSIGN_OR_RETURN(Operand value, call.TensorOrNumber(name));
  return call.SetResult(
      call.Materialize(value, call.ResultDataType(), call.ResultSizes()));
}

// prim::NumToTensor, aten::tensor: a number as a tensor of rank 0.
absl::Status BuildScalarTensor(OpImporter& call) {
  if (call.op().arguments.empty()) return Reject("the call has no argument");
  AITUNE_ASSIGN_OR_RETURN(Scalar number,
                          call.Number(call.op().argument_names[0]));
  return SetFull(call, number);
}

absl::Status BuildArange(OpImporter& call) {
  if (call.ResultSizes().size() != 1)
    return Reject("a result of rank 1 is expected");
  Scalar start = 0, step = 1;
  if (call.Find("start")) {
    AITUNE_ASSIGN_OR_RETURN(start, call.Number("start"));
  }
  if (call.Find("step")) {
    AITUNE_ASSIGN_OR_RETURN(step, call.Number("step"));
  }
  if (!step.is_static())
    return Reject(
        "a step that depends on the sizes of the inputs is not supported");
  const DataType dtype = call.ResultDataType();
  const Sizes sizes = call.ResultSizes();
  // A double holds all integers up to here.
  constexpr double kMostExact = 9007199254740992;
  if (start.is_static() && std::abs(start.AsDouble()) < kMostExact)
    return call.SetResult(
        call.Iota(sizes[0], start.AsDouble(), step.AsDouble(), dtype));
  Value positions = call.Iota(sizes[0], 0, step.AsDouble(), dtype);
  return call.SetResult(call.Add(positions, call.Full(start, sizes, dtype)));
}

absl::Status BuildLinspace(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(double start, call.Double("start"));
  AITUNE_ASSIGN_OR_RETURN(double end, call.Double("end"));
  AITUNE_ASSIGN_OR_RETURN(int64_t steps, call.Int("steps"));
  if (!IsFloatingPoint(call.ResultDataType()))
    return Reject("linspace of integers is not supported");
  const double step =
      steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  return call.SetResult(
      call.Iota(call.Constant(steps), start, step, call.ResultDataType()));
}

absl::Status BuildEye(OpImporter& call) {
  const Sizes sizes = call.ResultSizes();
  if (sizes.size() != 2) return Reject("a matrix is expected");
  Value row = call.Iota(sizes, 0, 0, 1, DataType::kInt64);
  return call.SetResult(call.Compare<ait::EqOp>(
      row, call.Iota(sizes, 1, 0, 1, DataType::kInt64)));
}

}  // namespace

void RegisterCreationOps(Registry& registry) {
  registry.Add({"full", "full_like", "new_full", "fill"}, BuildFull);
  registry.Add({"zeros", "zeros_like", "new_zeros", "zero"},
               [](OpImporter& call) { return SetFull(call, 0); });
  // What `empty` holds is not defined; zeros are as good as anything.
  registry.Add({"empty", "empty_like", "new_empty", "empty_strided"},
               [](OpImporter& call) { return SetFull(call, 0); });
  registry.Add({"ones", "ones_like", "new_ones"},
               [](OpImporter& call) { return SetFull(call, 1); });
  registry.Add({"scalar_tensor", "tensor", "prim::NumToTensor"},
               BuildScalarTensor);
  registry.Add({"arange"}, BuildArange);
  registry.Add({"linspace"}, BuildLinspace);
  registry.Add({"eye"}, BuildEye);
}

}  // namespace aitune::frontend
