"""cc_library, cc_binary and cc_test that read precompiled headers.

A BUILD file whose targets depend on @llvm//:mlir or @torch//:torch loads them
in place of Bazel's own.
"""

# A dependency, and the precompiled header of its dependents. A target of both
# gets the first: what costs the most to read comes first.
_PRECOMPILED = [
    ("@torch//:torch", "torch"),
    ("@llvm//:mlir", "mlir"),
]

def _with_precompiled_header(rule, precompiled = None, deps = [], copts = [], **kwargs):
    if precompiled == None:
        precompiled = ([name for dep, name in _PRECOMPILED if dep in deps] + [""])[0]
    if precompiled:
        deps = deps + ["//third_party/precompiled:" + precompiled]
        pch = "$(BINDIR)/third_party/precompiled/%s.pch" % precompiled

        # The .d file, from which Bazel learns what a file read: the .pch, which
        # changes with the headers of the libraries, and the headers of the
        # project. -MD would name the libraries' too, behind the .pch by
        # absolute paths, which Bazel refuses; Clang warns that it is overridden.
        copts = [
            "-include-pch",
            pch,
            "-MMD",
            "-Wno-unused-command-line-argument",
            "-Xclang",
            "-fdepfile-entry=" + pch,
        ] + copts
    rule(deps = deps, copts = copts, **kwargs)

def cc_library(**kwargs):
    """As Bazel's cc_library, with a precompiled header.

    Args:
      **kwargs: of Bazel's rule, and `precompiled`: a target of
        //third_party/precompiled. If left out, `deps` decides: "torch" or
        "mlir" if they hold @torch//:torch or @llvm//:mlir themselves. "" is none.
    """
    _with_precompiled_header(native.cc_library, **kwargs)

def cc_binary(**kwargs):
    """As Bazel's cc_binary, with a precompiled header: see cc_library.

    Args:
      **kwargs: of Bazel's rule, and `precompiled`.
    """
    _with_precompiled_header(native.cc_binary, **kwargs)

def cc_test(**kwargs):
    """As Bazel's cc_test, with a precompiled header: see cc_library.

    Args:
      **kwargs: of Bazel's rule, and `precompiled`.
    """
    _with_precompiled_header(native.cc_test, **kwargs)
