"""FileCheck tests: a file of IR whose RUN lines say what to run on it."""

_DEFAULT_TOOL = "//compiler/tools:aitune-opt"

def filecheck_test(name, src, tool = _DEFAULT_TOOL, tools = [], data = [], **kwargs):
    """Runs the RUN lines of one file and fails if one of them fails.

    A RUN line is `// RUN: command`, in bash, with `pipefail`; a last `\\` goes
    on in the next RUN line. On its PATH are `tool` and `tools` by their base
    names, and FileCheck and not. %s stands for the file, %S for its folder, %t
    for a temporary file of its own.

    Args:
      name: of the test.
      src: the file, beside the code that it tests.
      tool: the program under test.
      tools: further programs that the RUN lines name.
      data: further files that they read.
      **kwargs: for sh_test.
    """
    programs = [tool] + tools + ["@llvm//:bin/FileCheck", "@llvm//:bin/not"]
    native.sh_test(
        name = name,
        size = kwargs.pop("size", "small"),
        srcs = ["//tests:filecheck.sh"],
        args = ["$(location %s)" % src] + ["$(location %s)" % p for p in programs],
        data = [src] + programs + data,
        **kwargs
    )

def filecheck_tests(srcs = None, tool = _DEFAULT_TOOL, **kwargs):
    """One filecheck_test for each file; `foo.mlir` becomes the test `foo.mlir.test`.

    Args:
      srcs: the files; those of the package that end in .mlir if left out.
      tool: see filecheck_test.
      **kwargs: for filecheck_test.
    """
    for src in (native.glob(["*.mlir"]) if srcs == None else srcs):
        filecheck_test(name = src + ".test", src = src, tool = tool, **kwargs)
