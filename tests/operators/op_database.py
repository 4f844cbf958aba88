#!/usr/bin/env python3
"""Compiles the operators of PyTorch's own test database and compares them.

    op_database.py AITUNE RESULTS.json [--dtype float32] [--device cpu] [--samples 6]
        [--jobs 2] [OPERATOR...]

torch.testing has sample arguments for some 600 operators, many of them unusual:
other ranks, negative axes, empty tensors, options that few models name. Nobody
here has chosen them. For each operator a program computes its samples one after
the other; `AITUNE tune` compiles it, and compares it with eager for the samples'
elements and for made-up ones. Where it does not agree, each sample is tried alone.

RESULTS.json gets a line for each program that was tried: its operator, dtype,
outcome (agrees, differs, not compared, raises, died, not done) and AITUNE's last words. The
exit code is 1 if any differs, died or was not done. Needs torch and expecttest.
OPERATOR is a name of --list, or a part of names with * in it.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import functools
import json
import os
import subprocess
import sys
import tempfile
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

# Exit codes of `AITUNE tune` (README.md).
OUTCOMES = {0: "agrees", 1: "raises", 3: "differs"}
FAILED = ("differs", "died", "not done")


class Program(torch.nn.Module):
    """Computes an operator for samples whose tensors are the arguments."""

    def __init__(self, operator, samples):
        super().__init__()
        self.operator = operator
        self.flat = [pytree.tree_flatten((s.input, s.args, s.kwargs)) for s in samples]
        self.tensors = [
            leaf.detach().clone()
            for leaves, _ in self.flat
            for leaf in leaves
            if isinstance(leaf, torch.Tensor)
        ]

    def forward(self, *tensors):
        rest = iter(tensors)
        results = []
        for leaves, spec in self.flat:
            leaves = [next(rest) if isinstance(x, torch.Tensor) else x for x in leaves]
            first, args, named = pytree.tree_unflatten(leaves, spec)
            result = self.operator.op(first, *args, **named)
            results += [x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor)]
        return tuple(results)


def is_determined(program):
    """Whether the program runs, gives tensors of kinds that a file can have, and
    gives the same when it is run again."""
    with torch.no_grad():
        first, second = (program(*(t.clone() for t in program.tensors)) for _ in range(2))
    values = program.tensors + list(first)
    if not first or any(x.layout != torch.strided or x.is_quantized for x in values):
        return False
    return all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(first, second))


def compile_and_compare(options, program, folder):
    """(outcome, words) of `AITUNE tune` for the program."""
    path, inputs = os.path.join(folder, "program.pt"), os.path.join(folder, "inputs.pt")
    with torch.no_grad():
        traced = torch.jit.trace(program, tuple(program.tensors), check_trace=False, strict=False)
    traced.save(path)
    torch.save(tuple(program.tensors), inputs)
    command = [options.aitune, "tune", path, "--inputs", inputs, "--no-cache", "--no-measure", "--seconds", "0"]
    command += ["--device", options.device]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=options.limit
        )
    except subprocess.TimeoutExpired:
        return "not done", f"in {options.limit} s"
    # The first input that shows it, and the verdict.
    lines = [line.strip() for line in done.stdout.splitlines()]
    words = [line for line in lines if ": output" in line][:2] + [line for line in lines if line.startswith("aitune:")]
    outcome = OUTCOMES.get(done.returncode, "died")
    if outcome == "differs" and "could not be compared" in done.stdout:
        outcome = "not compared"  # eager itself raises, as on a GPU for some dtypes
    return outcome, " | ".join(words)[:400]


def known_operators():
    """The database by name."""
    return {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}


def check(options, name, dtype):
    """The rows of one operator in one dtype."""
    operator = known_operators()[name]
    torch.set_num_threads(1)
    row = {"operator": name, "dtype": str(dtype)}
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    programs = []
    try:
        for sample in operator.sample_inputs("cpu", dtype, requires_grad=False):
            if len(programs) == options.samples:
                break
            program = Program(operator, [sample])
            if program.tensors and is_determined(program):
                programs.append((program, sample))
    except Exception as error:  # of any sample: the database has no rule for them
        if not programs:
            return [{**row, "outcome": "not made", "words": str(error)[:200]}]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        def attempt(samples):
            try:
                outcome, words = compile_and_compare(options, Program(operator, samples), folder)
            except Exception as error:  # tracing has limits of its own
                outcome, words = "not traced", str(error)[:200]
            return {**row, "samples": [str(s)[:300] for s in samples], "outcome": outcome, "words": words}

        if programs:
            rows.append(attempt([sample for _, sample in programs]))
        if rows and rows[0]["outcome"] != "agrees" and len(programs) > 1:
            rows = [attempt([sample]) for _, sample in programs]
    return rows or [{**row, "outcome": "not made", "words": "no sample"}]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("aitune")
    parser.add_argument("results")
    parser.add_argument("operators", nargs="*", default=["*"])
    parser.add_argument("--dtype", action="append", help="one or more; default: float32")
    parser.add_argument("--device", default="cpu", help="to compile for; the samples are made on the CPU")
    parser.add_argument("--samples", type=int, default=6, help="of an operator at most")
    parser.add_argument("--jobs", type=int, default=2, help="operators at a time")
    parser.add_argument("--limit", type=float, default=120, help="seconds of a program")
    parser.add_argument("--list", action="store_true", help="the names of the operators")
    options = parser.parse_intermixed_args()
    known = known_operators()
    names = [n for n in known if any(fnmatch.fnmatch(n, p) for p in options.operators)]
    if options.list or not names:
        print("\n".join(known))
        return 0 if options.list else 2
    asked = [getattr(torch, name) for name in options.dtype or ["float32"]]
    tasks = [(n, d) for d in asked for n in names if d in known[n].supported_dtypes("cpu")]
    counts = collections.Counter()
    with open(options.results, "w") as results, concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for rows in pool.map(functools.partial(check, options), *zip(*tasks)):
            for row in rows:
                print(json.dumps(row), file=results, flush=True)
                counts[row["outcome"]] += 1
                if row["outcome"] in FAILED:
                    print(f"{row['operator']} {row['dtype']}: {row['outcome']}: {row['words']}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return 1 if any(counts[outcome] for outcome in FAILED) else 0


if __name__ == "__main__":
    sys.exit(main())
