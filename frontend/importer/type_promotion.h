// ATen's rules for the dtype in which an operator with several operands
// computes.
#ifndef AITUNE_FRONTEND_IMPORTER_TYPE_PROMOTION_H_
#define AITUNE_FRONTEND_IMPORTER_TYPE_PROMOTION_H_

#include <optional>

#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// The smallest dtype that holds both, as torch.promote_types.
DataType PromoteTypes(DataType a, DataType b);

// Whether a number of dtype `from` may be beyond those of `to`, for which eager
// raises where it takes a tensor's element as a number.
bool MayExceed(DataType from, DataType to);

// torch.result_type over any number of operands: tensors with axes decide
// within a category (bool < integer < floating); tensors of rank 0 count only
// when they are of a higher category, and Python numbers less than those.
class ResultTypeRule {
 public:
  void AddTensor(DataType dtype, bool has_axes);
  void AddNumber(DataType wrapped);
  // Precondition: at least one operand was added.
  DataType Result() const;

 private:
  std::optional<DataType> with_axes_, rank_zero_, number_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_TYPE_PROMOTION_H_
