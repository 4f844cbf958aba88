#include "frontend/check/check_testing.h"

#include "gtest/gtest.h"

namespace aitune::frontend {

Model FromSource(const std::string& source) {
  auto model = Model::FromSource(source);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

CheckReport Check(const RunFunction& ours, const Model& model,
                  const std::vector<at::Tensor>& inputs, CheckOptions options) {
  std::vector<InputCase> cases;
  for (const at::Tensor& input : inputs)
    cases.push_back({"case", ValueList({input})});
  if (!options.reference)
    options.reference = [&](DataType) -> absl::StatusOr<const Model*> {
      return &model;
    };
  return CheckAgainstEager(ours, model, cases, options);
}

}  // namespace aitune::frontend
