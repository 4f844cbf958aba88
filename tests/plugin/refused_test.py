"""Plug-ins that aitune must refuse, in one line that says why: no library, no
entry, another version, an unknown symbol, one name twice.
"""
import os
import subprocess
import sys
import tempfile

ENTRY = """
struct Entry { int version; const char *llvm, *name; void (*run)(); };
static void nothing() {}
extern "C" const Entry aitunePlugin = {%s, "%s", "test", nothing};
"""


def main(aitune, llvm):
    def run(*plugins):
        command = [aitune, "tune", "none.pt"]
        for plugin in plugins:
            command += ["--plugin", plugin]
        result = subprocess.run(command, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        return result.returncode, result.stderr

    def build(name, source):
        with open(name + ".cc", "w") as file:
            file.write(source)
        subprocess.run(["clang++-22", "-shared", "-fPIC", "-o", name + ".so",
                        name + ".cc"], check=True)
        return "./" + name + ".so"

    def expect(plugins, *parts):
        code, errors = run(*plugins)
        assert code == 1, (code, errors)
        line, = [line for line in errors.splitlines()
                 if line.startswith("aitune: ")]
        for part in parts:
            assert part in line, (part, errors)

    expect(["missing.so"], "missing.so", "no such file")
    with open("text.so", "w") as file:
        file.write("no library")
    expect(["text.so"], "text.so", "cannot be loaded")
    expect([build("empty", "")], "empty.so", "AITUNE_PLUGIN")
    expect([build("unknown", "void nobody(); void f() { nobody(); }"
                  + ENTRY % (3, llvm))], "unknown.so", "nobody")
    expect([build("old", ENTRY % (0, llvm))], "version 0", "compile it again")
    expect([build("other", ENTRY % (3, "1.0"))], "LLVM 1.0", "compile it again")
    good = build("good", ENTRY % (3, llvm))
    expect([good, good], "'test' is loaded already")
    # One that is fine: what fails then is the model that is not there.
    expect([good], "none.pt")


program = os.path.abspath(sys.argv[1])
version = subprocess.run(["/usr/lib/llvm-22/bin/llvm-config", "--version"],
                         stdout=subprocess.PIPE, text=True,
                         check=True).stdout.strip()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main(program, version)
