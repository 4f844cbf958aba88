#!/usr/bin/env python3
"""Times single operators, ours against LibTorch's, and says which fall behind.

    operator_table.py AITUNE RESULTS.json [--device cuda] [--dtype float16] [ROW...]

A row is a model of one operator, or of the few that make one kernel
(operator_rows.py). Each is traced here, tuned by `AITUNE tune`, which times it in
turn with eager and TorchScript, and checks it. RESULTS.json gets a line for each
row; the table on stdout is sorted by how much faster than the faster of both ours
is, the slowest first. ROW is a name of --list, or a part of names with * in it.
"""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

import torch

from operator_rows import rows


def trace(module, sizes, dtype, path):
    """Traces layers in the dtype, as constants of a trace keep theirs (the first
    state of an LSTM); in float32 functions, which have none, and what the CPU
    has only there."""
    module = module.eval()
    is_layer = next(module.parameters(), None) is not None
    for attempt in (dtype, torch.float32) if is_layer else (torch.float32,):
        inputs = tuple(torch.randn(s, dtype=attempt) for s in sizes)
        try:
            with torch.no_grad():
                torch.jit.trace(module.to(attempt), inputs, check_trace=False).save(path)
            return
        except RuntimeError:
            if attempt == torch.float32:
                raise


def measure(options, name, module, sizes, folder):
    """The row of one operator: milliseconds of each contestant, or why not."""
    dtype = getattr(torch, options.dtype)
    path, report_file = os.path.join(folder, "m.pt"), os.path.join(folder, "m.json")
    trace(module, sizes, dtype, path)
    command = [options.aitune, "tune", path, "--no-cache", "--seconds", str(options.seconds)]
    command += ["--device", options.device, "--json", report_file, "--dtype", options.dtype]
    if options.threads:
        command += ["--threads", str(options.threads)]
    for size in sizes:
        command += ["--input", f"{options.dtype}[{','.join(map(str, size))}]"]
    row = {"name": name, "dtype": str(dtype), "device": options.device}
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=options.limit
        )
    except subprocess.TimeoutExpired:
        return {**row, "why": f"not done in {options.limit} s"}
    if done.returncode:
        return {**row, "why": done.stdout.strip().splitlines()[-1][-300:]}
    with open(report_file) as file:
        report = json.load(file)
    for contestant, time in report["timing"].items():
        if "median" in time:
            row[contestant] = time["median"]
    row["build_s"] = round(report["compile"]["seconds"], 2)
    row["steps"] = report["compile"]["kernels"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("aitune")
    parser.add_argument("results")
    parser.add_argument("rows", nargs="*", default=["*"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--seconds", type=float, default=0.5, help="of timing a row")
    parser.add_argument("--limit", type=float, default=120, help="seconds of a row")
    parser.add_argument("--threads", type=int, help="of all contestants on a CPU")
    parser.add_argument("--list", action="store_true")
    # Rows may come behind options.
    options = parser.parse_intermixed_args()
    table = rows()
    names = [n for n in table if any(fnmatch.fnmatch(n, p) for p in options.rows)]
    if options.list or not names:
        print("\n".join(table))
        return 0 if options.list else 2
    torch.manual_seed(0)
    measured = []
    with tempfile.TemporaryDirectory() as folder, open(options.results, "w") as results:
        for name in names:
            row = measure(options, name, *table[name], folder)
            print(json.dumps(row), file=results, flush=True)
            print(f"[{len(measured) + 1}/{len(names)}] {name}", file=sys.stderr)
            measured.append(row)

    def ratio(row):
        if "ours" not in row:
            return -1
        return min(row["eager"], row["torchscript"]) / row["ours"]

    print(f"{'operator':44} {'ours ms':>9} {'eager':>7} {'script':>7} {'build s':>8}")
    for row in sorted(measured, key=ratio):
        if "ours" not in row:
            print(f"{row['name']:44} {row['why']}")
            continue
        print(
            f"{row['name']:44} {row['ours']:9.4f} {row['eager'] / row['ours']:6.2f}x"
            f" {row['torchscript'] / row['ours']:6.2f}x {row['build_s']:8.1f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
