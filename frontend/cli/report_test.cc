#include "frontend/cli/report.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

Report Example() {
  Report report;
  report.command = "tune";
  report.model = {"m.pt",    "forward(x: Tensor) -> Tensor",
                  100 << 20, {"float32[1,8]"},
                  "--input", 2};
  frontend::Coverage coverage;
  coverage.ops = 10;
  coverage.compiled_ops = 9;
  coverage.flops = 1e9;
  coverage.compiled_flops = 0.999999e9;
  coverage.fallbacks = {{"aten::topk", "no builder", "m.py:3", 1, 1e3}};
  report.coverage = coverage;
  report.compiled_time_share = 0.625;
  CompileInfo& compile = report.compile.emplace();
  compile.phase_seconds = {{"import", 0.25}, {"fuse", 1}, {"import", 0.5}};
  compile.kernels = 12;
  compile.unique_kernels = 5;
  compile.candidates = {{"k", "onednn", 12.5, true, ""},
                        {"k", "generated", -1, false, "too wide"}};
  compile.rejections = {{"fusion", "aten::cat", "two readers"},
                        {"fusion", "aten::cat", "two readers"}};
  compile.notes = {"axis 0 was specialised"};
  compile.reference.judged = 4;
  compile.reference.withoutReference = 1;
  compile.wrong = {{"k", "onednn", "result 0 differs", "generated: mr=6", ""}};
  frontend::CheckReport check;
  frontend::Comparison comparison;
  comparison.agrees = true;
  comparison.max_error = 2e-6;
  comparison.limits.relative = 1e-4;
  check.cases = {{"random", false, "", "", {comparison}},
                 {"zeros", false, "index out of range", "", {}},
                 {"ones", true, "", "draws random numbers", {}}};
  check.outputs = {{"", "float32[1,8]", comparison, "random"}};
  report.check = check;
  report.timing = {{"ours", {10, 2, 3, 2, 2, 1.9, 2.1}, ""},
                   {"eager", {10, 5, 6, 5, 5, 4.9, 5.1}, ""},
                   {"torchscript", {}, "no such operator\nat model.py:3"}};
  report.memory = MemoryInfo{200 << 20, 300 << 20, 450 << 20, 120 << 20};
  return report;
}

TEST(SummaryText, TellsEveryPart) {
  const std::string text = SummaryText(Example());
  EXPECT_THAT(text, HasSubstr("9 of 10 operators, 99.99 % of 1 GFLOP of "
                              "contractions, 62.5 % of the time"));
  EXPECT_THAT(text, HasSubstr("aten::topk"));
  EXPECT_THAT(text, HasSubstr("torchscript failed: no such operator\n"));
  EXPECT_THAT(text, HasSubstr("4 distinct kernels by the reference in 0.0 s, "
                              "1 have none"));
  EXPECT_THAT(text, testing::ContainsRegex(
                        "onednn +k +generated: mr=6 +result 0 differs"));
  EXPECT_THAT(text, HasSubstr("no builder"));
  EXPECT_THAT(text, HasSubstr("12, of which 5 distinct; built in 1.8 s "
                              "(import 0.8, fuse 1.0)"));
  EXPECT_THAT(text, HasSubstr("agrees with eager on 1 inputs"));
  EXPECT_THAT(text, HasSubstr("ones skipped, draws random numbers"));
  EXPECT_THAT(text,
              HasSubstr("zeros: eager raises, and ours: index out of range"));
  EXPECT_THAT(text, HasSubstr("2.50x"));
  EXPECT_THAT(text, HasSubstr("peak 250 MB (2.5x the weights)"));
}

TEST(SummaryText, OnAGpuSaysWhetherThereIsAGraphAndWhatMemoryIsTaken) {
  Report report = Example();
  EXPECT_THAT(SummaryText(report), Not(HasSubstr("cuda:")));
  report.gpu = GpuInfo{1, "", 300 << 20};
  EXPECT_THAT(SummaryText(report),
              HasSubstr("cuda:1, 300 MB of its memory, each call is one CUDA "
                        "graph"));
  EXPECT_THAT(SummaryText(report), Not(HasSubstr("arena and packed")));
  EXPECT_EQ(ToJson(report)["gpu"]["cuda_graph"], true);
  report.gpu->graph_reason =
      "skipping CUDA graphs due to unsupported operations: aten::topk runs in "
      "LibTorch (no builder)";
  EXPECT_THAT(SummaryText(report),
              HasSubstr("of its memory, skipping CUDA graphs due to "
                        "unsupported operations: aten::topk"));
  const auto json = ToJson(report);
  EXPECT_EQ(json["gpu"]["cuda_graph"], false);
  EXPECT_EQ(json["gpu"]["graph_reason"], report.gpu->graph_reason);
  EXPECT_EQ(json["gpu"]["memory"], 300 << 20);
}

TEST(GraphReasonOf, IsOfAnyVersion) {
  std::vector<frontend::BuiltVersion> versions(3);
  EXPECT_EQ(frontend::GraphReasonOf(versions), "");
  versions[1].graph_reason = "refused";
  versions[2].graph_reason = "refused too";
  EXPECT_EQ(frontend::GraphReasonOf(versions), "refused");
}

TEST(SummaryText, SaysHowMuchCpuTimeThereIs) {
  Report report = Example();
  report.model.threads = 2;
  EXPECT_THAT(SummaryText(report), HasSubstr("2 threads\n"));
  EXPECT_FALSE(ToJson(report).contains("cpu_quota"));
  report.model.cpu_quota = 1.5;
  EXPECT_THAT(SummaryText(report),
              HasSubstr("2 threads, a quota of 1.5 CPUs\n"));
  EXPECT_EQ(ToJson(report)["cpu_quota"], 1.5);
}

TEST(SummaryText, SaysWhereItDiffers) {
  Report report = Example();
  frontend::Comparison wrong;
  wrong.output = "[1]";
  wrong.problem = "error 0.5 exceeds 0.0001";
  wrong.max_error = 0.5;
  report.check->cases.push_back({"NaN", false, "", "", {wrong}});
  EXPECT_FALSE(report.check->agrees());
  const std::string text = SummaryText(report);
  EXPECT_THAT(text, HasSubstr("DIFFERS from eager on 1 of 4 inputs"));
  EXPECT_THAT(text, HasSubstr("NaN: output[1] error 0.5 exceeds 0.0001"));
}

TEST(SummaryText, SaysWhichIntegersEagerChangesToo) {
  Report report = Example();
  report.check->cases[0].outputs[0].excused = 7;
  EXPECT_THAT(SummaryText(report), HasSubstr("differs in 7 integers"));
}

TEST(CheckReport, NothingComparedIsNoAgreement) {
  frontend::CheckReport check;
  EXPECT_FALSE(check.agrees());
  check.cases = {{"ones", true, "", "draws random numbers", {}}};
  EXPECT_FALSE(check.agrees());
  check.cases.push_back({"zeros", false, "index out of range", "", {}});
  EXPECT_FALSE(check.agrees());
}

TEST(ExplainText, CountsEqualReasonsOnce) {
  const std::string text = ExplainText(Example());
  EXPECT_THAT(text, HasSubstr("axis 0 was specialised"));
  EXPECT_THAT(text, HasSubstr("fusion      2  aten::cat  two readers"));
  EXPECT_THAT(text, HasSubstr("12.5  chosen"));
  EXPECT_THAT(text, HasSubstr("failed"));
}

TEST(StepsText, SortsByTimeAndLimitsRows) {
  Report report;
  report.steps = {{"small", "loop", "generated", "m.py:1", "", 1000, 0},
                  {"large", "matmul", "onednn", "m.py:2", "", 3000, 6e6}};
  const std::string text = StepsText(report, 1);
  EXPECT_THAT(text, HasSubstr("Steps by time (1 of 2, 4.000 ms in all)"));
  EXPECT_THAT(text, HasSubstr("75.0 %"));
  EXPECT_THAT(text, HasSubstr("2.0  matmul"));  // GFLOP/s
  EXPECT_THAT(text, Not(HasSubstr("small")));
  EXPECT_THAT(StepsText(report, 0), HasSubstr("small"));
}

TEST(ToJson, HasTheDocumentedFields) {
  const nlohmann::json json = ToJson(Example());
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["coverage"]["fallbacks"][0]["op"], "aten::topk");
  EXPECT_EQ(json["timing"]["eager"]["median"], 5);
  EXPECT_EQ(json["timing"]["torchscript"]["error"],
            "no such operator\nat model.py:3");
  EXPECT_EQ(json["check"]["cases"][2]["skipped"], true);
  EXPECT_EQ(json["compile"]["seconds"], 1.75);
  EXPECT_EQ(json["memory"]["executable"], 120 << 20);
  EXPECT_FALSE(json.contains("steps"));
}

TEST(ToJson, InfiniteErrorIsNull) {
  Report report = Example();
  report.check->outputs[0].worst.max_error =
      std::numeric_limits<double>::infinity();
  const auto json = nlohmann::json::parse(ToJson(report).dump());
  EXPECT_TRUE(json["check"]["outputs"][0]["max_error"].is_null());
}

}  // namespace
}  // namespace aitune::cli
