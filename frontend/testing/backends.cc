#include "frontend/testing/backends.h"

#include <gtest/gtest.h>

#include <utility>

#include "runtime/backend/registry.h"

namespace aitune::frontend {

std::shared_ptr<TorchScriptSource> SourceOf(const std::string& text) {
  return std::make_shared<TorchScriptSource>(
      std::make_shared<const Model>(ModelOf(text)), "net");
}

std::unique_ptr<Backend> BackendOf(const std::string& name,
                                   const ConfigDict& config) {
  auto backend = CreateBackend(name, config);
  if (!backend.ok()) ADD_FAILURE() << backend.status();
  return backend.ok() ? *std::move(backend) : nullptr;
}

BuildRequest RequestOf(std::shared_ptr<TorchScriptSource> source,
                       const std::vector<at::Tensor>& samples,
                       std::filesystem::path cache_dir) {
  BuildRequest request;
  for (const at::Tensor& sample : samples)
    request.samples.push_back(*source->Flatten(ValueList({sample})));
  request.model = std::move(source);
  request.device = *Device::Parse("cpu");
  request.cache_dir = std::move(cache_dir);
  return request;
}

absl::StatusOr<c10::IValue> Call(const TorchScriptSource& source,
                                 const Backend& backend, const at::Tensor& x) {
  auto inputs = source.Flatten(ValueList({x}));
  if (!inputs.ok()) return inputs.status();
  auto outputs = backend.Infer(Values(*inputs));
  if (!outputs.ok()) return outputs.status();
  return source.UnflattenResult(*outputs);
}

void ExpectAgrees(const TorchScriptSource& source, const Backend& backend,
                  const at::Tensor& x, double tolerance) {
  auto ours = Call(source, backend, x);
  ASSERT_TRUE(ours.ok()) << ours.status();
  auto eager = source.model().RunEager(ValueList({x}));
  ASSERT_TRUE(eager.ok()) << eager.status();
  ExpectClose(*ours, *eager, tolerance);
}

}  // namespace aitune::frontend
