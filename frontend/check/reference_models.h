// A model in higher precision, which says who is nearer to the truth where ours
// and eager differ.
#ifndef AITUNE_FRONTEND_CHECK_REFERENCE_MODELS_H_
#define AITUNE_FRONTEND_CHECK_REFERENCE_MODELS_H_

#include <functional>
#include <map>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "runtime/device/device.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// The models for CheckOptions::reference. Not thread-safe.
class ReferenceModels {
 public:
  // Makes the model that is checked once more, as the options say: reads its
  // file, or its bytes.
  using MakeModel = std::function<absl::StatusOr<Model>(const LoadOptions&)>;

  // They are on `device`.
  ReferenceModels(MakeModel make, const Device& device)
      : make_(std::move(make)), device_(device) {}

  // The model in `dtype`, with its conversions to narrower dtypes left out. It
  // is made when it is first asked for, and lives as long as this. Errors:
  // those of MakeModel.
  absl::StatusOr<const Model*> Get(DataType dtype);

 private:
  const MakeModel make_;
  const Device device_;
  std::map<DataType, absl::StatusOr<Model>> models_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_REFERENCE_MODELS_H_
