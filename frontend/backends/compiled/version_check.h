// Compares a compiled model with eager on the inputs of a call that it was made
// for.
//
// What a module was built for is checked when it is tuned. Versions that its
// later calls make, and what `aitune run` makes, are for sizes and dtypes that
// nobody has looked at, so each is run once beside LibTorch before calls get
// its results. That costs a small part of the time that making it takes.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_CHECK_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_CHECK_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/accuracy_bound.h"
#include "runtime/device/device.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// What a version is compared with, and how nearly it must agree.
struct VersionCheck {
  // The model on the CPU that the version was made from, with the state that
  // the version has. It must stay as it is meanwhile, unless it has no state.
  const Model& model;
  // Returns the same on `device`, which others may call meanwhile.
  std::function<absl::StatusOr<std::shared_ptr<const Model>>()> on_device;
  Device device;
  ConstantCheck constants = ConstantCheck::kCheck;
  // Whether an index out of range need not raise (CompileOptions).
  bool unchecked_indices = false;
  // As CheckOptions.
  std::optional<DataType> narrowed_to = std::nullopt;
  std::optional<AccuracyBound> bound = std::nullopt;
};

// How `version` differs from eager for `arguments`, which are on the CPU; empty
// if it does not, or if calls draw random numbers. The first comparison is of
// two calls with one of eager. Only if it fails the model is copied, for what
// check.h does and for what may be replaced in `version` (repair.h). Nobody
// else may call `version` meanwhile. May throw LibTorch's exceptions. Errors:
// those of copying the model.
absl::StatusOr<std::string> CheckVersion(const VersionCheck& check,
                                         const ValueList& arguments,
                                         CompiledModel& version);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_CHECK_H_
