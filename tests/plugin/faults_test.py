"""Kernels whose code generation crashes, never ends or eats all memory cost
themselves: the model is built, LibTorch runs what they should have computed,
and the report says why. A plug-in's pass plants the faults.
"""
import os
import subprocess
import sys
import tempfile

import build_plugin

PLUGIN = """
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compiler/dialect/Ait.h"
#include "compiler/plugin/Plugin.h"

namespace {

struct Fault : mlir::PassWrapper<Fault, mlir::OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fault)
  mlir::StringRef getArgument() const final { return "fault"; }
  void runOnOperation() final {
    bool planted = false;
    getOperation()->walk(
        [&](mlir::ait::GeluOp) { planted = true; });
    if (!planted) return;
    const std::string fault = getenv("FAULT");
    if (fault == "crash") raise(SIGSEGV);
    if (fault == "abort") abort();
    while (fault == "loop") {
      static volatile int turns;
      turns = turns + 1;
    }
    while (fault == "memory") {
      static char *volatile eaten;
      eaten = new char[1 << 24];
      memset(eaten, 1, 1 << 24);
    }
  }
};

struct Silent : mlir::PassWrapper<Silent, mlir::OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Silent)
  mlir::StringRef getArgument() const final { return "silent"; }
  mlir::StringRef getName() const final { return "SilentPass"; }
  void runOnOperation() final {
    if (getenv("FAULT") == std::string("silent")) signalPassFailure();
  }
};

void registerAll() {
  aitune::registerPass(aitune::PassPoint::AfterTransforms,
                       [] { return std::make_unique<Silent>(); });
  aitune::registerPass(aitune::PassPoint::BeforeCodegen,
                       [] { return std::make_unique<Fault>(); });
}

}  // namespace

AITUNE_PLUGIN("fault", registerAll);
"""


def main(aitune, checkout):
    build_plugin.build(checkout, "fault", PLUGIN)

    def tune(fault):
        return subprocess.run(
            [aitune, "tune", checkout + "/.models/mlp.pt", "--inputs",
             checkout + "/.models/mlp.inputs.pt", "--plugin", "./fault.so",
             "--no-cache", "--seconds", "0", "--kernel-seconds", "3",
             "--kernel-memory", "700MB", "--json", "report.json"],
            env=dict(os.environ, FAULT=fault), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def expect(fault, *reasons):
        result = tune(fault)
        assert result.returncode == 0, (fault, result)
        assert "agrees with eager" in result.stdout, result.stdout
        with open("report.json") as file:
            report = file.read()
        for reason in reasons:
            assert reason in report, (fault, reason, report)

    expect("none")
    expect("crash", "the code generator died by signal 11")
    expect("abort", "the code generator died by signal 6")
    expect("loop", "the code generator took over 3 s of processors' time")
    # A sanitizer reserves more address space than any limit.
    if "SANITIZER" not in os.environ:
        expect("memory", "the code generator took over 700 MB of memory")
    # A pass on the whole model ends the build, by its name.
    silent = tune("silent")
    assert silent.returncode == 1, silent
    assert "the pass SilentPass failed" in silent.stderr, silent.stderr


program = os.path.abspath(sys.argv[1])
start = os.getcwd()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main(program, start)
