"""LLVM and MLIR 22 from Debian, as the repository @llvm.

The headers and libraries are reached through links inside the repository, so
that command lines and cache keys hold no absolute path.
"""

_ROOT = "/usr/lib/llvm-22"

_BUILD = """
package(default_visibility = ["//visibility:public"])

# Headers of LLVM and MLIR with the two shared libraries that hold all of both.
cc_library(
    name = "mlir",
    srcs = ["lib/libLLVM.so.22.1", "lib/libMLIR.so.22.1"],
    hdrs = glob(["include/**/*.h", "include/**/*.inc", "include/**/*.def"]),
    includes = ["include"],
)

# What mlir-tblgen reads.
filegroup(
    name = "td_files",
    srcs = glob(["include/mlir/**/*.td", "include/llvm/**/*.td"]),
)

exports_files([
    "bin/FileCheck",
    "bin/mlir-opt",
    "bin/mlir-tblgen",
    "bin/not",
])
"""

def _llvm_repository_impl(ctx):
    if not ctx.path(_ROOT + "/lib/libMLIR.so.22.1").exists:
        fail("%s has no MLIR: run ./bazelw, which installs libmlir-22-dev." % _ROOT)
    for folder in ["llvm", "llvm-c", "mlir", "mlir-c"]:
        ctx.symlink("%s/include/%s" % (_ROOT, folder), "include/" + folder)
    for library in ["libLLVM.so.22.1", "libMLIR.so.22.1"]:
        ctx.symlink("%s/lib/%s" % (_ROOT, library), "lib/" + library)
    for tool in ["FileCheck", "mlir-opt", "mlir-tblgen", "not"]:
        ctx.symlink("%s/bin/%s" % (_ROOT, tool), "bin/" + tool)
    ctx.file("BUILD.bazel", _BUILD)

llvm_repository = repository_rule(implementation = _llvm_repository_impl)
