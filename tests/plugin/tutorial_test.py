"""Runs examples/plugin/README.md: writes its C++ blocks to the files that their
first lines name, runs its shell blocks in one shell each, in order, and looks
for the lines of its `expect` blocks in what the last shell block printed.
"""
import os
import re
import subprocess
import sys
import tempfile


def blocks(text):
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def main(tutorial, checkout):
    with open(tutorial) as file:
        found = blocks(file.read())
    if len([kind for kind, _ in found if kind == "cpp"]) != 4:
        sys.exit("the tutorial has lost a plug-in, or the blocks look otherwise")
    os.environ["AITUNE"] = checkout
    setup, output = "", None
    with tempfile.TemporaryDirectory() as folder:
        for kind, body in found:
            if kind == "cpp":
                name = re.match(r"// (\w+\.cc)\n", body).group(1)
                with open(os.path.join(folder, name), "w") as file:
                    file.write(body)
            elif kind == "sh":
                result = subprocess.run(
                    ["bash", "-c", "set -eu -o pipefail\n" + setup + body],
                    cwd=folder, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, text=True)
                output = result.stdout
                print(body, output, sep="\n")
                if result.returncode != 0:
                    sys.exit(f"exit code {result.returncode}")
                # The first block defines what the others use.
                setup = setup or body
            elif kind == "expect":
                for line in body.splitlines():
                    if line not in output:
                        sys.exit(f"not printed: {line}")


main(sys.argv[2], os.getcwd())
