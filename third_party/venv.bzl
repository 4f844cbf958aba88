"""LibTorch, CUDA and oneDNN from the Python virtual environment of ./bazelw.

./bazelw names the environment after a hash of its requirements and passes its
path as AITUNE_VENV (in .bazelrc.local). Another set of versions is another
path, so these repositories are made anew exactly when the versions change.
"""

_TORCH_BUILD = """
package(default_visibility = ["//visibility:public"])

# The thread pool of LibTorch. Whatever else starts threads (oneDNN, generated
# code) must use this same libgomp, or the machine is oversubscribed.
cc_library(
    name = "gomp",
    srcs = ["lib/libgomp.so.1"],
    linkopts = {linkopts},
)

# LibTorch for the CPU. libtorch_cuda.so is loaded at run time, where there is
# a GPU. Only LibTorch's own headers are given: its include folder also holds
# other (older) versions of protobuf, fmt and oneDNN.
cc_library(
    name = "torch",
    srcs = ["lib/libc10.so", "lib/libtorch_cpu.so"],
    hdrs = glob(
        ["include/**/*.h", "include/**/*.hpp"],
        exclude = ["include/**/hip/**", "include/**/xpu/**", "include/**/mps/**"],
    ),
    includes = ["include", "include/torch/csrc/api/include"],
    deps = [":gomp"],
)
"""

_ONEDNN_BUILD = """
package(default_visibility = ["//visibility:public"])

# oneDNN with GNU OpenMP: it finds LibTorch's libgomp first.
cc_library(
    name = "onednn",
    srcs = ["lib/libdnnl.so.3"],
    hdrs = glob(["include/**/*.h", "include/**/*.hpp"]),
    includes = ["include"],
    linkopts = {linkopts},
    deps = ["@torch//:gomp"],
)
"""

_CUDA_BUILD = """
package(default_visibility = ["//visibility:public"])

# Headers of CUDA and cuDNN. Their libraries are loaded at run time, so that one
# program serves machines with and without a GPU; the path is where the virtual
# environment has them.
cc_library(
    name = "headers",
    hdrs = glob(["cuda/**", "cudnn/**"]),
    includes = ["cuda", "cudnn"],
    linkopts = {linkopts} + ["-ldl"],
)
"""

def _venv(ctx):
    """Returns (the environment's path, its site-packages path)."""
    venv = ctx.os.environ.get("AITUNE_VENV", "")
    if not venv or not ctx.path(venv).exists:
        fail("The Python environment '%s' is missing: run ./bazelw instead of bazel." % venv)
    for folder in ctx.path(venv + "/lib").readdir():
        site = folder.get_child("site-packages")
        if folder.basename.startswith("python3") and site.exists:
            return venv, site
    fail("%s has no lib/python3*/site-packages: remove it and run ./bazelw." % venv)

def _rpath_linkopts(folders):
    # RPATH rather than RUNPATH: LibTorch's dependencies of dependencies, and
    # what is loaded with dlopen, are looked up there too.
    return ["-Wl,--disable-new-dtags"] + ["-Wl,-rpath," + str(f) for f in folders]

def _torch_repository_impl(ctx):
    _, site = _venv(ctx)
    torch = site.get_child("torch")
    if not torch.exists:
        fail("%s has no torch: remove that environment and run ./bazelw." % site)
    for folder in ["ATen", "c10", "caffe2", "torch"]:
        ctx.symlink(torch.get_child("include").get_child(folder), "include/" + folder)
    for library in ["libc10.so", "libgomp.so.1", "libtorch_cpu.so"]:
        ctx.symlink(torch.get_child("lib").get_child(library), "lib/" + library)
    folders = [torch.get_child("lib")]
    nvidia = site.get_child("nvidia")
    if nvidia.exists:
        folders += [f.get_child("lib") for f in nvidia.readdir() if f.get_child("lib").exists]
    ctx.file("BUILD.bazel", _TORCH_BUILD.format(linkopts = repr(_rpath_linkopts(folders))))

def _onednn_repository_impl(ctx):
    venv, _ = _venv(ctx)
    include = ctx.path(venv + "/include")
    if not include.get_child("oneapi").exists:
        fail("%s has no oneDNN headers: remove that environment and run ./bazelw." % venv)
    for entry in include.readdir():
        if entry.basename == "oneapi" or entry.basename.startswith("dnnl"):
            ctx.symlink(entry, "include/" + entry.basename)
    ctx.symlink(venv + "/lib/libdnnl.so.3", "lib/libdnnl.so.3")
    ctx.file("BUILD.bazel", _ONEDNN_BUILD.format(linkopts = repr(_rpath_linkopts([venv + "/lib"]))))

def _cuda_repository_impl(ctx):
    _, site = _venv(ctx)
    cuda = site.get_child("nvidia").get_child("cu13")
    cudnn = site.get_child("nvidia").get_child("cudnn")
    if not cuda.exists or not cudnn.exists:
        fail("%s has no CUDA or cuDNN headers: remove that environment and run ./bazelw." % site)
    ctx.symlink(cuda.get_child("include"), "cuda")
    ctx.symlink(cudnn.get_child("include"), "cudnn")
    folders = [cuda.get_child("lib"), cudnn.get_child("lib")]
    ctx.file("BUILD.bazel", _CUDA_BUILD.format(linkopts = repr(_rpath_linkopts(folders))))

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    environ = ["AITUNE_VENV"],
)

torch_repository = repository_rule(
    implementation = _torch_repository_impl,
    environ = ["AITUNE_VENV"],
)

onednn_repository = repository_rule(
    implementation = _onednn_repository_impl,
    environ = ["AITUNE_VENV"],
)
