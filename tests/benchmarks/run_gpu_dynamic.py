#!/usr/bin/env python3
"""Compares builds for a range of batch sizes with builds for one size, on a GPU.

    run_gpu_dynamic.py AITUNE [MODEL:MOST[:DTYPE]...] [--sizes N,...]
                       [--json FILE] [--rounds N] [--models FOLDER]

Each model is built for batches of 1 to MOST and for each of the sizes alone
(1, a fourth of MOST, and MOST). Then calls of all are timed in turn with events,
as run_gpu_benchmarks.py does. The table gives, for each size, the milliseconds of
both and how many times as long as the build for that size the one for the range
takes, and the share of operators that it compiles. The models are those of
run_gpu_benchmarks.py.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")

import torch

import sweep_models
from gpu_models import make_inputs, parse, sample, save, specs
from gpu_peers import Contestant

ROWS = ["resnet50:16", "mobilenet_v3_large:16", "vit_b_16:16", "bert:16", "mlp:128"]
# Rounds of calls before those that count.
WARM_ROUNDS = 5


def load(options, spec):
    """(path of the traced model, its inputs for the largest batch, their texts,
    options of aitune's)."""
    name, most, dtype = parse(spec)
    if sweep_models.is_of_sweep(name):
        path, samples, texts, more = sweep_models.save(options.models, name, most, dtype, "cuda")
        return path, torch.load(samples), texts, more
    inputs = make_inputs(name)
    return save(options.models, name, most, dtype), sample(inputs, most, dtype, "cpu"), specs(inputs, most, dtype), []


class Row:
    def __init__(self, spec, options):
        self.spec, self.options = spec, options
        self.most = parse(spec)[1]
        self.result = {"row": spec, "ms": {}, "errors": {}, "build_seconds": {}}

    def sizes(self):
        if self.options.sizes:
            return [size for size in self.options.sizes if size <= self.most]
        return sorted({1, max(1, self.most // 4), self.most})

    def start(self, folder, size, ranges):
        """The build for `size`, or with `ranges` for them, called with that size."""
        samples = os.path.join(folder, f"{size}.pt")
        if not os.path.exists(samples):
            torch.save([tensor[:size].clone() for tensor in self.inputs], samples)
        command = [self.options.aitune, "bench", self.path, "--device", "cuda", "--paced",
                   "--cache", os.path.join(folder, "cache"), f"--inputs={samples}", *self.more]
        contestant = Contestant(command + [f"--input={text}" for text in ranges], os.environ)
        seconds = contestant.await_report(is_peer=False)
        key = f"{'range' if ranges else 'one size'} {size}"
        self.result["build_seconds"][key] = round(seconds, 2)
        if ranges:
            self.result["coverage"] = contestant.report["coverage"]
        return key, contestant

    def measure(self):
        with tempfile.TemporaryDirectory(prefix="aitune-dynamic-") as folder:
            self.path, self.inputs, texts, self.more = load(self.options, self.spec)
            ranges = [re.sub(r"\[\d+", f"[1..{self.most}", text) for text in texts]
            contestants = dict(self.start(folder, size, of) for size in self.sizes() for of in (ranges, []))
            times = {key: [] for key in contestants}
            for _ in range(WARM_ROUNDS + self.options.rounds):
                for key, contestant in contestants.items():
                    times[key].append(contestant.time())
            for key, contestant in contestants.items():
                self.result["ms"][key] = round(statistics.median(times[key][WARM_ROUNDS:]), 4)
                contestant.close()
        return self.result


def show(rows):
    print(f"{'row':36}{'batch':>6}{'range':>9}{'one size':>10}{'times':>7}")
    for row in rows:
        for key, ms in row["ms"].items():
            kind, size = key.rsplit(" ", 1)
            if kind == "range":
                one = row["ms"][f"one size {size}"]
                print(f"{row['row']:36}{size:>6}{ms:9.4f}{one:10.4f}{ms / one:7.2f}")
        if "coverage" in row:
            print(f"    compiled for the range: {json.dumps(row['coverage'])[:300]}")
        for error in row["errors"].values():
            print(f"    {row['row']}: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aitune")
    parser.add_argument("rows", nargs="*", default=ROWS)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[])
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--models", default=os.path.join(tempfile.gettempdir(), "aitune-gpu-models"))
    options = parser.parse_args()
    os.makedirs(options.models, exist_ok=True)
    rows = []
    for spec in options.rows:
        row = Row(spec, options)
        try:
            rows.append(row.measure())
        except RuntimeError as error:
            row.result["errors"]["ours"] = str(error)[:300]
            rows.append(row.result)
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(rows, file, indent=1)
    show(rows)


if __name__ == "__main__":
    main()
