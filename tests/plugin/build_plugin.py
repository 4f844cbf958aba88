"""Builds plug-ins as examples/plugin/README.md says to, for the tests."""
import subprocess


def build(checkout, name, source):
    """Writes NAME.cc with the text `source` and compiles it to NAME.so, both in
    the current folder. `checkout`: where AITune was built. Raises
    subprocess.CalledProcessError where it does not compile."""
    with open(name + ".cc", "w") as file:
        file.write(source)
    subprocess.run(
        ["clang++-22", "-std=c++17", "-O2", "-fPIC", "-shared", "-Wall",
         "-Werror", "-Wno-unused-parameter", "-I" + checkout,
         "-I" + checkout + "/bazel-bin", "-isystem",
         "/usr/lib/llvm-22/include", "-o", name + ".so", name + ".cc"],
        check=True)
