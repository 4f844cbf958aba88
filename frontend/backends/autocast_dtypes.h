// The dtypes of results under autocast: those that they have without it. A
// sample's call without autocast tells them for calls of its kind; of others,
// whose results LibTorch may give other dtypes, what autocast narrowed becomes
// what the arguments promote to. So no result is narrowed, and what the program
// itself converts stays.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_BACKENDS_AUTOCAST_DTYPES_H_
#define AITUNE_FRONTEND_BACKENDS_AUTOCAST_DTYPES_H_

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "frontend/backends/torch_backend_state.pb.h"
#include "runtime/backend/source_model.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// Reading is thread-safe.
class AutocastDtypes {
 public:
  AutocastDtypes() = default;

  // Of a call without autocast: its flattened arguments and results.
  AutocastDtypes(absl::Span<const RegionValue> arguments,
                 absl::Span<const OwnedValue> results);

  // `results` of a call with autocast to `narrow` in the dtypes that they have
  // without it; containers among them have new ones. Tensors that have it keep
  // their memory.
  std::vector<OwnedValue> Restore(absl::Span<const RegionValue> arguments,
                                  std::vector<OwnedValue> results,
                                  DataType narrow) const;

  void Save(TorchBackendStateProto* state) const;
  // kDataLoss: what is stored is no dtype.
  absl::Status Load(const TorchBackendStateProto& state);

 private:
  // DataType by flattened argument and result; 0: no tensor, or of a dtype that
  // has no DataType, such as a complex one.
  std::vector<int32_t> argument_dtypes_, result_dtypes_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_AUTOCAST_DTYPES_H_
