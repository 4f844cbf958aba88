// What a module tells of itself: times of submodules, and reports.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <nlohmann/json.hpp>

#include "frontend/api/module.h"
#include "frontend/api/module_fixture.h"
#include "frontend/testing/models.h"

namespace ait {
namespace {

using aitune::frontend::Model;
using aitune::frontend::ValueList;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ModuleTest, InspectSharesAddUp) {
  auto module = Wrap();
  ASSERT_TRUE(module->Record(ValueList({at::randn({64, 3})})).ok());
  auto times = module->Inspect(3);
  ASSERT_TRUE(times.ok()) << times.status();
  ASSERT_FALSE(times->empty());
  EXPECT_EQ(times->front().path, "");
  EXPECT_EQ(times->front().share, 1);
  EXPECT_GT(times->front().milliseconds, 0);
  EXPECT_FALSE(times->front().compiled_milliseconds.has_value());
}

TEST_F(ModuleTest, InspectLeavesTheStateAlone) {
  torch::jit::Module counter("counter");
  counter.register_buffer("n", at::zeros({3}));
  counter.define(
      "def forward(self, x: Tensor):\n    self.n.add_(x)\n    return self.n + "
      "0\n");
  auto model = Model::FromModule(counter);
  ASSERT_TRUE(model.ok()) << model.status();
  auto module = Module::Wrap(std::make_shared<const Model>(*std::move(model)),
                             ModuleOptions());
  ASSERT_TRUE(module->Record(ValueList({at::ones({3})})).ok());
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  ASSERT_TRUE(module->Inspect(3).ok());
  const auto first = module->Run(ValueList({at::ones({3})}));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->toTensor()[0].item<float>(), 1);
}

TEST_F(ModuleTest, InspectTellsWhatSubmodulesTakeCompiled) {
  torch::jit::Module inner("inner");
  inner.register_parameter("w", at::randn({64, 64}), /*is_buffer=*/false);
  inner.define("def forward(self, x: Tensor):\n    return x @ self.w\n");
  torch::jit::Module outer("outer"), net("net");
  outer.register_module("inner", inner);
  outer.define(
      "def forward(self, x: Tensor):\n    return self.inner.forward(x)\n");
  net.register_module("outer", outer);
  net.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.softmax(self.outer.forward(x), 1).cumsum(0)\n");
  auto model = Model::FromModule(net);
  ASSERT_TRUE(model.ok()) << model.status();
  auto module = Module::Wrap(std::make_shared<const Model>(*std::move(model)),
                             ModuleOptions());
  ASSERT_TRUE(module->Record(ValueList({at::randn({64, 64})})).ok());
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  const auto times = module->Inspect(3);
  ASSERT_TRUE(times.ok()) << times.status();
  std::map<std::string, double> compiled;
  for (const auto& time : *times)
    compiled[time.path] = time.compiled_milliseconds.value_or(-1);
  EXPECT_GT(compiled.at("outer.inner"), 0);
  EXPECT_EQ(compiled.at("outer"), compiled.at("outer.inner"));
  EXPECT_GT(compiled.at(""), compiled.at("outer"));
  const std::string html = ReportHtml(module->report());
  EXPECT_THAT(html, HasSubstr("<summary>in outer</summary>"));
}

TEST_F(ModuleTest, ReportsAreJsonAndOnePage) {
  auto module = Wrap();
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
  ASSERT_TRUE(
      module->Tune(*aitune::MinLatency(), Quick("TorchInductorBackend")).ok());
  ASSERT_TRUE(module->Inspect(1).ok());
  TuneReport report = module->report();
  report.module = "<net> & \"more\"";
  const auto json = nlohmann::json::parse(ReportJson(report));
  EXPECT_EQ(json["module"], report.module);
  EXPECT_EQ(json["backends"].size(), 2u);
  EXPECT_GT(json["backends"][0]["timings"][0]["median_ms"], 0.0);
  const std::string html = ReportHtml(report);
  EXPECT_THAT(html, HasSubstr("<h1>&lt;net&gt; &amp; &quot;more&quot;</h1>"));
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("<br>chosen<"));
  EXPECT_THAT(html, HasSubstr("(model)"));
  // Self-contained: nothing is fetched.
  for (const char* fetch : {"http:", "https:", "src=", "<script", "@import"})
    EXPECT_THAT(html, Not(HasSubstr(fetch)));
}

TEST_F(ModuleTest, ReportsTellWhatIsLeftToLibTorch) {
  auto module = Wrap(aitune::frontend::kNetWithFallback);
  ASSERT_TRUE(module->Record(ValueList({at::randn({2, 3})})).ok());
  const absl::Status tuned =
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend"));
  ASSERT_TRUE(tuned.ok()) << tuned;
  const auto json = nlohmann::json::parse(ReportJson(module->report()));
  EXPECT_THAT(json["backends"].dump(),
              HasSubstr("LibTorch runs aten::bincount"));
  EXPECT_THAT(ReportHtml(module->report()),
              HasSubstr("<li>LibTorch runs aten::bincount"));
}

}  // namespace
}  // namespace ait
