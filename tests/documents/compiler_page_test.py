#!/usr/bin/env python3
"""compiler/README.md is true: its table of passes is the order of the pipelines,
and its commands run.

    compiler_page_test.py AITUNE_OPT README
"""

import os
import re
import subprocess
import sys
import tempfile


def run(command, **kwargs):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)
    assert result.returncode == 0, "%s: %s" % (command, result.stderr)
    assert "error" not in result.stderr, "%s: %s" % (command, result.stderr)
    return result


def table(text):
    """The rows of the table: phase, pass, and the device that alone has it."""
    rows = re.findall(r"^\| `(ait-[\w-]+)` \| `([\w-]+)` \| (\w*) *\|", text, re.MULTILINE)
    return [(phase, name, device) for phase, name, device in rows]


def passes(tool, pipeline):
    """The passes of a pipeline, in order, as aitune-opt prints them."""
    dump = run([tool, "-", "--" + pipeline, "--dump-pass-pipeline", "-o", os.devnull],
               input="module {}").stderr
    dump = re.sub(r"{[^}]*}", "", dump.split("builtin.module(", 1)[1])
    return [name for name in re.findall(r"[\w.-]+", dump) if name not in ("func.func", "builtin.module")]


def check_table(tool, rows):
    phases = list(dict.fromkeys(phase for phase, _, _ in rows))
    assert phases == ["ait-transforms", "ait-fusion", "ait-kernel-to-linalg", "ait-kernel-to-loops"], phases
    for phase in phases:
        named = [(name, device) for other, name, device in rows if other == phase]
        expected = [name for name, device in named if device != "GPU"]
        found = passes(tool, phase)
        assert found == expected, "%s runs %s, the table says %s" % (phase, found, expected)
    named = [name for phase, name, device in rows if phase == "ait-transforms" and device != "CPU"]
    found = passes(tool, "ait-transforms=cuda=1")
    assert found == named, "on a GPU ait-transforms runs %s, the table says %s" % (found, named)


def check_commands(tool, text):
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    models = [body for kind, body in blocks if kind == "mlir"]
    commands = [body for kind, body in blocks if kind == "sh"]
    assert len(models) == 1 and len(commands) == 4, "the page has other blocks"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "softmax.mlir"), "w") as file:
            file.write(models[0])
        os.symlink(os.path.abspath(tool), os.path.join(folder, "aitune-opt"))
        environment = dict(os.environ, PATH=folder + ":" + os.environ["PATH"])
        outputs = [run(["bash", "-c", "set -eu -o pipefail\n" + line], cwd=folder, env=environment).stdout
                   for body in commands for line in body.splitlines()]
    # A line of each step that the page tells of.
    for output, expected in zip(outputs, ["ait.amax", "ait.launch @softmax_0", "", "linalg.generic",
                                          "vector<16xf32>", "llvm.func", "__global__"]):
        assert expected in output, "no %s in\n%s" % (expected, output)
    assert len(outputs) == 7, len(outputs)


def main(tool, document):
    with open(document) as file:
        text = file.read()
    rows = table(text)
    check_table(tool, rows)
    check_commands(tool, text)

    # A pass that is missing or at another place is seen.
    for broken in [rows[:3] + rows[4:], [rows[1], rows[0]] + rows[2:], rows + rows[-1:]]:
        try:
            check_table(tool, broken)
        except AssertionError:
            continue
        raise AssertionError("not seen: %s" % broken)


main(*sys.argv[1:])
