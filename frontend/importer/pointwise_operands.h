// Reads the operands of a pointwise operator, any of which may be a number, and
// finds the dtype and sizes of its result.
#ifndef AITUNE_FRONTEND_IMPORTER_POINTWISE_OPERANDS_H_
#define AITUNE_FRONTEND_IMPORTER_POINTWISE_OPERANDS_H_

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "frontend/importer/op_importer.h"
#include "frontend/importer/type_promotion.h"

namespace aitune::frontend {

class PointwiseOperands {
 public:
  // Reads the arguments of these names; rejects sizes that don't broadcast.
  static absl::StatusOr<PointwiseOperands> Read(
      OpImporter& call, std::initializer_list<const char*> names) {
    PointwiseOperands operands(call);
    for (const char* name : names) {
      AITUNE_ASSIGN_OR_RETURN(Operand operand, call.TensorOrNumber(name));
      if (operand.tensor) {
        operands.rule_.AddTensor(operand.dtype, operand.has_axes);
        operands.sizes_ =
            call.BroadcastSizes(operands.sizes_, call.SizesOf(operand.tensor));
      } else {
        operands.rule_.AddNumber(operand.dtype);
      }
      operands.operands_.push_back(operand);
    }
    AITUNE_RETURN_IF_ERROR(call.status());
    return operands;
  }

  // torch.result_type of the operands.
  DataType result_type() const { return rule_.Result(); }
  // The broadcast sizes.
  const Sizes& sizes() const { return sizes_; }
  const Operand& operator[](size_t index) const { return operands_[index]; }

  // The operand in `dtype` and the broadcast sizes. Arithmetic on 16 bits that
  // is in float32 (ComputeType) need not round what it reads.
  mlir::Value Tensor(size_t index, DataType dtype) {
    return call_->Materialize(operands_[index], dtype, sizes_,
                              IsHalf(dtype) || !IsHalf(result_type()));
  }
  // The same for what jumps, which must round.
  mlir::Value StoredTensor(size_t index, DataType dtype) {
    return call_->Materialize(operands_[index], dtype, sizes_);
  }

  // The dtype that ATen's kernels compute in for a result of `dtype`: float32
  // if that is float16 or bfloat16 and a number among the operands is not exact
  // in it; otherwise `dtype`.
  DataType ComputeType(DataType dtype) const {
    if (!IsHalf(dtype)) return dtype;
    for (const Operand& operand : operands_) {
      if (operand.number &&
          !(operand.number->is_static() && operand.number->IsExactIn(dtype))) {
        return DataType::kFloat32;
      }
    }
    return dtype;
  }

  // As ComputeType, for products and quotients: on a CPU ATen also reads a
  // second operand of one element, of another dtype, as a number that is not
  // rounded to `dtype`. What has a dynamic size counts as more.
  DataType ScalingType(DataType dtype) const {
    const Operand& scale = operands_.back();
    if (IsHalf(dtype) && !call_->state().is_for_gpu() && scale.tensor &&
        scale.dtype != dtype &&
        call_->StaticSize(call_->Product(call_->SizesOf(scale.tensor))) == 1)
      return DataType::kFloat32;
    return ComputeType(dtype);
  }

 private:
  explicit PointwiseOperands(OpImporter& call) : call_(&call) {}

  OpImporter* call_;
  llvm::SmallVector<Operand> operands_;
  ResultTypeRule rule_;
  Sizes sizes_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_POINTWISE_OPERANDS_H_
