// What tests of the check have in common.
#ifndef AITUNE_FRONTEND_CHECK_CHECK_TESTING_H_
#define AITUNE_FRONTEND_CHECK_CHECK_TESTING_H_

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "frontend/check/check.h"

namespace aitune::frontend {

// The model of a TorchScript function; fails the test if it is none.
Model FromSource(const std::string& source);

// What CheckAgainstEager says of `ours` in place of `model`: a case for each of
// `inputs`, the only argument. Without a reference in `options`, `model` itself
// is run on inputs of the wider dtype.
CheckReport Check(const RunFunction& ours, const Model& model,
                  const std::vector<at::Tensor>& inputs,
                  CheckOptions options = {});

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_CHECK_TESTING_H_
