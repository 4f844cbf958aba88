"""Plug-ins with mistakes, made by factories that give nothing, cost models with
too few or impossible predictions, strategies that ask for what is not there or
write down times of their own, schedules that are none, and all that throw
exceptions: each is an error or a warning that names the plug-in, and no crash.
"""
import json
import os
import subprocess
import sys
import tempfile

import build_plugin

PLUGIN = r"""
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

#include "compiler/plugin/Plugin.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace {

bool isMistake(const char *name) { return getenv("MISTAKE") == std::string(name); }

class Model : public aitune::CostModel {
 public:
  void fit(const std::vector<aitune::TuningRecord> &records) override {
    if (isMistake("fit throws")) throw std::runtime_error("of fit");
    if (isMistake("ignored error") && !records.empty())
      throw std::runtime_error("of a later fit");
  }
  std::vector<double> predict(const aitune::KernelSpace &space,
                              const aitune::KernelWork &) const override {
    std::vector<double> times(space.schedules.size(), 1.0);
    if (isMistake("few predictions")) times.resize(1);
    if (isMistake("prediction throws")) return {times.at(times.size())};
    if (isMistake("nan prediction")) times.back() = std::nan("");
    if (isMistake("negative prediction")) times.back() = -1;
    if (isMistake("infinite prediction"))
      times.back() = std::numeric_limits<double>::infinity();
    return times;
  }
};

class Strategy : public aitune::SearchStrategy {
 public:
  absl::Status search(aitune::SearchProblem &problem) override {
    const size_t first[] = {0}, beyond[] = {problem.known.size()};
    if (isMistake("own times")) {
      // As if all schedules had been measured, and one took no time at all.
      for (aitune::Measurement &known : problem.known) known = {1e9, 1e9, 1e9, ""};
      problem.known.back() = {1e-9, 1e-9, 1e-9, ""};
    }
    // Errors are not looked at: that is a mistake, too.
    if (isMistake("schedule beyond")) problem.measure(beyond, 0.01).IgnoreError();
    if (isMistake("seconds")) problem.measure(first, std::nan("")).IgnoreError();
    if (isMistake("ignored error")) {
      problem.measure(first, 0.01).IgnoreError();
      return absl::OkStatus();
    }
    if (isMistake("lost measurements")) problem.known.clear();
    if (isMistake("search throws")) throw 5;
    return problem.measure(first, 0.01).status();
  }
};

std::vector<aitune::Schedule> schedules(mlir::func::FuncOp,
                                        const aitune::KernelSpace &space) {
  if (isMistake("schedules throw")) throw std::runtime_error("of schedules");
  aitune::Schedule text = space.schedules.front(), list = text, few = text,
                   feature = text, good = text;
  text.config = "no attribute";
  list.config = "[1, 2]";
  few.features.pop_back();
  feature.features.back() = std::nan("");
  good.description += " of the plug-in";
  return {text, list, few, feature, good};
}

// Throws while MLIR calls it back.
struct Throwing : mlir::PassWrapper<Throwing, mlir::OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Throwing)
  mlir::StringRef getName() const final { return "ThrowingPass"; }
  void runOnOperation() final {
    getOperation()->walk(
        [](mlir::Operation *) { throw std::runtime_error("of a pass"); });
  }
};

// Throws, or a pass that it runs does.
struct OnFunctions : mlir::PassWrapper<
    OnFunctions, mlir::OperationPass<mlir::func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OnFunctions)
  mlir::StringRef getName() const final { return "OnFunctionsPass"; }
  void runOnOperation() final {
    if (isMistake("a pass on functions throws")) throw 5;
    mlir::OpPassManager own("func.func");
    own.addPass(std::make_unique<Throwing>());
    if (mlir::failed(runPipeline(own, getOperation()))) signalPassFailure();
  }
};

template <class Pass>
void addPass(aitune::PassPoint point) {
  aitune::registerPass(point, [] { return std::make_unique<Pass>(); });
}

void registerAll() {
  if (isMistake("a pass throws")) addPass<Throwing>(aitune::PassPoint::AfterImport);
  if (isMistake("a pass throws late"))
    addPass<Throwing>(aitune::PassPoint::BeforeCodegen);
  if (isMistake("a pass on functions throws") || isMistake("a nested pass throws"))
    addPass<OnFunctions>(aitune::PassPoint::AfterFusion);
  if (isMistake("registering throws")) throw std::runtime_error("of all");
  if (isMistake("schedules throw")) aitune::registerSchedules(schedules);
  aitune::registerCostModel("model", [](const aitune::Roofline &) {
    if (isMistake("factory throws")) throw std::runtime_error("of the factory");
    return isMistake("no cost model") ? nullptr : std::make_unique<Model>();
  });
  aitune::registerSearchStrategy("strategy", [] {
    return isMistake("no strategy") ? nullptr : std::make_unique<Strategy>();
  });
  if (isMistake("schedules")) aitune::registerSchedules(schedules);
  if (isMistake("no pass"))
    aitune::registerPass(aitune::PassPoint::AfterTransforms,
                         [] { return nullptr; });
  if (isMistake("empty factory"))
    aitune::registerPass(aitune::PassPoint::AfterImport, nullptr);
}

}  // namespace

AITUNE_PLUGIN("mistaken", registerAll);
"""

def main(aitune, checkout):
    build_plugin.build(checkout, "mistaken", PLUGIN)

    # The strategy ends long before its budget does, which a busy machine needs.
    def tune(mistake, code):
        result = subprocess.run(
            [aitune, "tune", checkout + "/.models/mlp.pt", "--input",
             "float32[64,1024]", "--plugin", "./mistaken.so", "--no-cache",
             "--seconds", "0", "--tune-budget", "10s", "--cost-model", "model",
             "--tune-strategy", "strategy", "--json", "report.json"],
            env=dict(os.environ, MISTAKE=mistake), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        assert result.returncode == code, (mistake, result)
        return result

    def expect_refused(mistake, *parts):
        errors = tune(mistake, 1).stderr
        for part in parts + ("the plug-in 'mistaken'",):
            assert part in errors, (mistake, part, errors)

    def expect_ended(mistake, *parts):
        output = tune(mistake, 0).stdout
        ended, = [line for line in output.splitlines()
                  if "search ended: " in line]
        for part in parts + ("the plug-in 'mistaken'",):
            assert part in ended, (mistake, part, output)
        assert "agrees with eager" in output, output

    expect_refused("no cost model", "the cost model 'model'", "gave none")
    expect_refused("no strategy", "the search strategy 'strategy'", "gave none")
    expect_refused("no pass", "a pass at AfterTransforms", "gave none")
    expect_refused("empty factory", "a pass at AfterImport", "gave none")
    expect_refused("factory throws", "gave none", "of the factory")
    expect_refused("a pass throws", "a pass at AfterImport", "ThrowingPass",
                   "throws an exception: of a pass")
    expect_refused("a pass on functions throws", "a pass at AfterFusion",
                   "OnFunctionsPass: it throws what is no std::exception")
    expect_refused("a nested pass throws", "a pass at AfterFusion",
                   "OnFunctionsPass: it throws an exception: of a pass")
    # No kernel is made, so LibTorch runs all.
    tune("a pass throws late", 0)
    with open("report.json") as file:
        report = file.read()
    assert ("a pass at BeforeCodegen of the plug-in 'mistaken': ThrowingPass: "
            "it throws an exception: of a pass") in report, report
    errors = tune("registering throws", 1).stderr
    assert "mistaken.so: its function registers nothing" in errors, errors
    assert "of all" in errors, errors
    expect_ended("fit throws", "can't be fitted", "of fit")
    expect_ended("prediction throws", "predicts nothing: it throws")
    expect_ended("search throws", "it throws what is no std::exception")
    errors = tune("schedules throw", 0).stderr
    assert "the schedules of the plug-in 'mistaken'" in errors, errors
    assert "of schedules" in errors, errors
    expect_ended("few predictions", "predicts 1 times of ")
    expect_ended("nan prediction", "predicts a time of nan us")
    expect_ended("negative prediction", "predicts a time of -1 us")
    expect_ended("infinite prediction", "predicts a time of inf us")
    expect_ended("schedule beyond", "asks to measure schedule ")
    expect_ended("seconds", "asks to measure for nan s")
    expect_ended("ignored error", "can't be fitted", "of a later fit")
    for mistake in ("own times", "lost measurements"):
        tune(mistake, 0)
        with open("report.json") as file:
            kernels = json.load(file)["compile"]["tuning"]["kernels"]
        assert kernels, mistake
        for kernel in kernels:
            assert 0.1 < kernel["microseconds"] < 1e8, (mistake, kernel)
    # Each wrong schedule is warned of, and the search goes on without it.
    errors = tune("schedules", 0).stderr
    with open("report.json") as file:
        report = file.read()
    for wrong in ("'no attribute' is no dictionary",
                  "'[1, 2]' is no dictionary", "features, the template's",
                  "no finite number"):
        lines = [line for line in errors.splitlines() if wrong in line]
        assert lines, (wrong, errors)
        for line in lines:
            assert "a schedule of the plug-in 'mistaken'" in line, line
        assert wrong in report, (wrong, report)
    assert json.loads(report)["compile"]["tuning"]["kernels"], report


program = os.path.abspath(sys.argv[1])
start = os.getcwd()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main(program, start)
