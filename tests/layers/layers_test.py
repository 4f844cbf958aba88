#!/usr/bin/env python3
"""The products keep to the layers; each rule is seen to fail when it is broken.

    layers_test.py GRAPH    the output of bazel query --output=graph
"""

import sys

import layers


def expect_refused(edges, source, target):
    broken = {node: set(targets) for node, targets in edges.items()}
    broken.setdefault(source, set()).add(target)
    assert layers.violations(broken), "not refused: %s -> %s" % (source, target)


def main(path):
    with open(path) as file:
        edges = layers.parse(file.read())
    for label in ["//frontend/cli:aitune", "//runtime/executable:executable",
                  "//compiler/driver:driver", "//frontend/checkpoint:deploy"]:
        assert edges.get(label), "the query gave nothing for " + label
    found = layers.violations(edges)
    assert not found, "\n" + "\n".join(found)

    expect_refused(edges, "//runtime/plan:plan", "//compiler:interface")
    expect_refused(edges, "//runtime/cpu:kernel_loader", "@llvm//:mlir")
    expect_refused(edges, "//runtime/cpu:thread_pool", "@torch//:torch")
    expect_refused(edges, "//frontend/checkpoint:checkpoint", "@llvm//:mlir")
    expect_refused(edges, "//compiler/measure:measure", "@torch//:torch")
    expect_refused(edges, "//compiler/driver:driver", "//frontend/importer:importer")
    expect_refused(edges, "//compiler/codegen/gpu/loops:loops",
                   "//compiler/codegen/cpu/target:target")
    expect_refused(edges, "//compiler/codegen/cpu/loops:loops",
                   "//compiler/codegen/gpu/text:text")
    expect_refused(edges, "//compiler/fusion:fusion",
                   "//compiler/transforms:transforms")
    expect_refused(edges, "//compiler/pipelines:pipelines",
                   "//compiler/candidates:candidates")
    expect_refused(edges, "//compiler/attic:attic", "//compiler/dialect:dialect")
    expect_refused(edges, "//frontend/importer:importer", "@torch//:torch")
    expect_refused(edges, "//frontend/check:check",
                   "//frontend/compiled_model:compiled_model")
    expect_refused(edges, "//frontend/trace:trace", "//frontend/tracing:tracing")
    expect_refused(edges, "//frontend/compiled_model:compiled_model",
                   "//frontend/backends/compiled:compiled")
    expect_refused(edges, "//frontend/attic:attic", "//frontend/values:values")
    expect_refused(edges, "//runtime/plan:plan", "//runtime/cpu:kernel_loader")
    expect_refused(edges, "//runtime/executable:executable", "//runtime/cuda:cuda")
    expect_refused(edges, "//runtime/attic:attic", "//runtime/tensor:tensor")
    for room in ["driver", "candidates", "tune", "measure"]:
        expect_refused(edges, "//quant/transforms:transforms",
                       "//compiler/%s:%s" % (room, room))


main(sys.argv[1])
