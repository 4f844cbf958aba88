// Makes backends on TorchScript models for tests, through the public interface.
#ifndef AITUNE_FRONTEND_TESTING_BACKENDS_H_
#define AITUNE_FRONTEND_TESTING_BACKENDS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/backends/torchscript_source.h"
#include "frontend/testing/models.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/config_value.h"

namespace aitune::frontend {

// ModelOf(text) as a source named "net".
std::shared_ptr<TorchScriptSource> SourceOf(const std::string& text);

// A backend in state INIT; the test fails, and gets null, where there is none.
std::unique_ptr<Backend> BackendOf(const std::string& name,
                                   const ConfigDict& config = {});

// A build on the CPU with a sample for each tensor.
BuildRequest RequestOf(std::shared_ptr<TorchScriptSource> source,
                       const std::vector<at::Tensor>& samples,
                       std::filesystem::path cache_dir = {});

// One call, with the result nested as the model's.
absl::StatusOr<c10::IValue> Call(const TorchScriptSource& source,
                                 const Backend& backend, const at::Tensor& x);

// Whether a call gives what eager gives.
void ExpectAgrees(const TorchScriptSource& source, const Backend& backend,
                  const at::Tensor& x, double tolerance = 1e-5);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TESTING_BACKENDS_H_
