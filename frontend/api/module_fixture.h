// For tests of Module: a folder and a small model of their own.
#ifndef AITUNE_FRONTEND_API_MODULE_FIXTURE_H_
#define AITUNE_FRONTEND_API_MODULE_FIXTURE_H_

#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "frontend/api/module.h"
#include "frontend/testing/models.h"

namespace ait {

class ModuleTest : public testing::Test {
 protected:
  std::unique_ptr<Module> Wrap(
      const std::string& source = aitune::frontend::kNet) {
    model_ = std::make_shared<const aitune::frontend::Model>(
        aitune::frontend::ModelOf(source));
    return Module::Wrap(model_, {"net", folder_ / "cache"});
  }

  // One backend, timed briefly.
  static TuneOptions Quick(const std::string& backend) {
    TuneOptions options;
    options.backends = {{backend, {}}};
    options.timing.warmup_rounds = 1;
    options.timing.min_rounds = 3;
    options.timing.max_rounds = 3;
    return options;
  }

  void ExpectAgrees(const Module& module, const at::Tensor& x) {
    auto ours = module.Run(aitune::frontend::ValueList({x}));
    ASSERT_TRUE(ours.ok()) << ours.status();
    aitune::frontend::ExpectClose(
        *ours, *model_->RunEager(aitune::frontend::ValueList({x})));
  }

  const std::filesystem::path folder_ = aitune::frontend::EmptyFolder();
  std::shared_ptr<const aitune::frontend::Model> model_;
  const aitune::frontend::LogCapture capture_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_MODULE_FIXTURE_H_
