// Matrix products.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

using llvm::SmallVector;
using mlir::Value;

// torch.matmul: vectors gain an axis of size 1 that the result loses again.
absl::Status BuildMatmul(OpImporter& call, const char* lhs_name,
                         const char* rhs_name) {
  AITUNE_ASSIGN_OR_RETURN(Value lhs, call.Tensor(lhs_name));
  AITUNE_ASSIGN_OR_RETURN(Value rhs, call.Tensor(rhs_name));
  if (call.RankOf(lhs) == 0 || call.RankOf(rhs) == 0)
    return Reject("a tensor of rank 0 can't be multiplied as a matrix");
  if (!IsFloatingPoint(call.ResultDataType()))
    return Reject("products of integer matrices are not supported");
  const bool lhs_vector = call.RankOf(lhs) == 1,
             rhs_vector = call.RankOf(rhs) == 1;
  if (lhs_vector) lhs = call.Unsqueeze(lhs, 0);
  if (rhs_vector) rhs = call.Unsqueeze(rhs, 1);
  Value product = call.Matmul(lhs, rhs);
  const int64_t rank = call.RankOf(product);
  if (rhs_vector) product = call.Squeeze(product, {rank - 1});
  if (lhs_vector) product = call.Squeeze(product, {rank - 2});
  return call.SetResult(product);
}

absl::Status BuildLinear(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value input, call.Tensor("input"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.Tensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(Value bias, call.OptionalTensor("bias"));
  if (call.RankOf(input) == 0 || call.RankOf(weight) == 0 ||
      call.RankOf(weight) > 2) {
    return Reject(
        "an input with axes and a weight of rank 1 or 2 are expected");
  }
  Value result = call.Linear(input, weight, bias);
  if (call.RankOf(weight) == 1)
    result = call.Squeeze(result, {call.RankOf(result) - 1});
  return call.SetResult(result);
}

// beta * self + alpha * product. Without self's part when beta is 0: ATen then
// ignores even NaN.
absl::Status SetScaledSum(OpImporter& call, Value product) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Scalar alpha, call.Number("alpha"));
  AITUNE_ASSIGN_OR_RETURN(Scalar beta, call.Number("beta"));
  auto scale = [&](Value value, const Scalar& factor) {
    if (factor.is_static() && factor.AsDouble() == 1) return value;
    return call.Multiply(call.ToComputeType(value), factor);
  };
  product = scale(product, alpha);
  if (beta.is_static() && beta.AsDouble() == 0) return call.SetResult(product);
  return call.SetResult(call.Add(scale(self, beta), product));
}

absl::Status BuildAddProduct(OpImporter& call, const char* lhs_name,
                             const char* rhs_name, bool sum_batches) {
  AITUNE_ASSIGN_OR_RETURN(Value lhs, call.Tensor(lhs_name));
  AITUNE_ASSIGN_OR_RETURN(Value rhs, call.Tensor(rhs_name));
  if (!IsFloatingPoint(call.ResultDataType()))
    return Reject("products of integer matrices are not supported");
  if (call.RankOf(lhs) < 2) return Reject("a matrix is expected");
  const bool vector = call.RankOf(rhs) == 1;
  if (vector) rhs = call.Unsqueeze(rhs, 1);
  if (call.RankOf(rhs) < 2) return Reject("a matrix is expected");
  Value product = call.Matmul(lhs, rhs);
  if (vector) product = call.Squeeze(product, {call.RankOf(product) - 1});
  // ATen then ignores even NaN in a product that is a matrix of full precision.
  // In others that depends on sizes and library.
  AITUNE_ASSIGN_OR_RETURN(Scalar alpha, call.Number("alpha"));
  if (alpha.is_static() && alpha.AsDouble() == 0) {
    if ((!sum_batches && call.RankOf(lhs) != 2) || vector ||
        SizeInBytes(call.ResultDataType()) < SizeInBytes(DataType::kFloat32))
      return Reject("alpha is 0");
    product = call.FullLike(0, product);
  }
  if (sum_batches)
    product = call.Squeeze(call.Reduce<mlir::ait::SumOp>(product, {0}), {0});
  // Scaled as it was summed: float16 may have no number for it before.
  AITUNE_ASSIGN_OR_RETURN(Scalar beta, call.Number("beta"));
  const bool is_scaled = !(alpha.is_static() && alpha.AsDouble() == 1 &&
                           beta.is_static() && beta.AsDouble() == 1);
  if (is_scaled && IsHalf(call.ResultDataType()))
    product = call.ConvertUnrounded(product, DataType::kFloat32);
  return SetScaledSum(call, product);
}

// outer, ger: a column times a row, which needs no contraction.
absl::Status BuildOuter(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value other, call.Tensor("vec2"));
  if (call.RankOf(self) != 1 || call.RankOf(other) != 1)
    return Reject("two vectors are expected");
  return call.SetResult(
      call.Multiply(call.Unsqueeze(self, 1), call.Unsqueeze(other, 0)));
}

absl::Status BuildAddr(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value vec1, call.Tensor("vec1"));
  AITUNE_ASSIGN_OR_RETURN(Value vec2, call.Tensor("vec2"));
  if (call.RankOf(vec1) != 1 || call.RankOf(vec2) != 1)
    return Reject("two vectors are expected");
  return SetScaledSum(
      call, call.Multiply(call.Unsqueeze(vec1, 1), call.Unsqueeze(vec2, 0)));
}

absl::Status BuildTensordot(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value lhs, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value rhs, call.Tensor("other"));
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> lhs_dims,
                          call.Ints("dims_self"));
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> rhs_dims,
                          call.Ints("dims_other"));
  if (lhs_dims.size() != rhs_dims.size())
    return Reject("dims_self and dims_other differ in length");
  if (!IsFloatingPoint(call.ResultDataType()))
    return Reject("products of integer matrices are not supported");
  // The free axes merged and the contracted ones merged, in this order or the
  // other.
  auto to_matrix = [&](Value value, SmallVector<int64_t> contracted,
                       bool contracted_first) -> absl::StatusOr<Value> {
    const int64_t rank = call.RankOf(value);
    SmallVector<int64_t> free;
    for (int64_t& dim : contracted) {
      if (dim < 0) dim += rank;
      if (dim < 0 || dim >= rank || llvm::count(contracted, dim) > 1)
        return Reject("the dims name no axes");
    }
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (!llvm::is_contained(contracted, axis)) free.push_back(axis);
    }
    const Sizes sizes = call.SizesOf(value);
    Sizes free_sizes, contracted_sizes;
    for (int64_t axis : free) free_sizes.push_back(sizes[axis]);
    for (int64_t axis : contracted) contracted_sizes.push_back(sizes[axis]);
    SmallVector<int64_t> order(contracted_first ? contracted : free);
    order.append(contracted_first ? free : contracted);
    const mlir::AffineExpr rows = call.Product(free_sizes),
                           columns = call.Product(contracted_sizes);
    return call.Reshape(call.Permute(value, order), contracted_first
                                                        ? Sizes{columns, rows}
                                                        : Sizes{rows, columns});
  };
  AITUNE_ASSIGN_OR_RETURN(Value left, to_matrix(lhs, lhs_dims, false));
  AITUNE_ASSIGN_OR_RETURN(Value right, to_matrix(rhs, rhs_dims, true));
  return call.SetResult(
      call.Reshape(call.Matmul(left, right), call.ResultSizes()));
}

}  // namespace

void RegisterContractionOps(Registry& registry) {
  registry.Add({"matmul", "linalg_matmul"}, [](OpImporter& call) {
    return BuildMatmul(call, "self", "other");
  });
  registry.Add({"mm", "bmm"}, [](OpImporter& call) {
    return BuildMatmul(call, "self", "mat2");
  });
  registry.Add({"mv"}, [](OpImporter& call) {
    return BuildMatmul(call, "self", "vec");
  });
  registry.Add({"dot"}, [](OpImporter& call) {
    return BuildMatmul(call, "self", "tensor");
  });
  registry.Add({"linear"}, BuildLinear);
  registry.Add({"addmm"}, [](OpImporter& call) {
    return BuildAddProduct(call, "mat1", "mat2", false);
  });
  registry.Add({"addmv"}, [](OpImporter& call) {
    return BuildAddProduct(call, "mat", "vec", false);
  });
  registry.Add({"baddbmm"}, [](OpImporter& call) {
    return BuildAddProduct(call, "batch1", "batch2", false);
  });
  registry.Add({"addbmm"}, [](OpImporter& call) {
    return BuildAddProduct(call, "batch1", "batch2", true);
  });
  registry.Add({"outer", "ger"}, BuildOuter);
  registry.Add({"addr"}, BuildAddr);
  registry.Add({"tensordot"}, BuildTensordot);
}

}  // namespace aitune::frontend
