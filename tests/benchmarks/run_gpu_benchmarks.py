#!/usr/bin/env python3
"""Measures AITune and Inductor on a GPU, side by side.

    run_gpu_benchmarks.py AITUNE [MODEL:BATCH[:DTYPE]...] [--modes MODE,...]
                          [--gpus N | --together N] [--check] [--profile]
                          [--caches FOLDER [--fill N]] [--json FILE]
                          [--rounds N] [--models FOLDER] [--make-only]
                          [--throughput N] [--options ARGS]

Modes: eager, default, reduce-overhead, max-autotune (which compiles for
minutes). Ours (`aitune bench --paced --device cuda`) and each mode run in a
process of their own, with empty caches. They compile one after the other; then
one call of each in turn, round after round, each timed on the GPU with events
around the call while the stream is idle, so that the time a host takes to
launch counts, as for a caller who waits for each result. With --gpus N, rows
compile on N GPUs at once (their seconds then count what they take from each
other), and are timed after that, one at a time. With --together N, N rows
share a GPU: ours and max-autotune, which measure there, compile alone, the other
modes of these rows at once.

With --caches, Inductor's caches stay in a folder a row and mode, so that a later
run compiles in seconds. --fill N fills them, N at a time (each measures on the
GPU only while no other does), times nothing and keeps the seconds of the first
compilation beside them: these stand in the table of later runs, which leave
max-autotune out of rows that were not filled.

The table gives medians in milliseconds; how many times as long as ours the
fastest Inductor mode takes; the physical limit and the share of it that ours
reaches; and the seconds from the model in memory and a started GPU to the first
result, which for ours is tracing, compiling, measuring and loading. `ready s` is
the whole process of ours, with LibTorch and the model loaded. The limit
is the larger of two times: FLOPs over 989 TFLOP/s (dense fp16 and bf16; 67 of
fp32), and the bytes of weights, inputs and outputs, each moved once, over 4.8
TB/s: the peaks of NVIDIA's data sheet of the H200 SXM. A product of large
random matrices reaches 80 % of the one, a copy 90 % of the other.

--check adds errors over random and boundary inputs (`aitune tune`): the largest
of ours to eager and of both to the same model in fp64, relative to the larger of
an element and the root mean square; and the root mean square of all errors to
fp64, relative to that of the output, in which chance has less part. --profile adds the kernels that most of the
time goes to (`aitune inspect`).

--throughput adds calls a second when no one waits between calls: the best of
rounds of N calls, of ours also of N calls in each of four threads, which have
streams of their own.

The models are those of gpu_models.py, traced on the CPU, and those of the sweep
by its names (timm/swin_tiny_patch4_window7_224:16), traced on the GPU; the latter
need the sweep's Python. Below the table stand the rows that fell behind.
"""

import argparse
import concurrent.futures
import json
import math
import os
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")

import torch

import gpu_peers
import sweep_models
from gpu_models import make_inputs, parse, save, specs
from gpu_peers import Contestant

ROWS = [
    "resnet50:1", "resnet50:32", "bert:1", "bert:32", "gpt2:1", "gpt2:8",
    "vit_b_16:1", "vit_b_16:32", "llama_block:1", "llama_block:8", "mlp:1",
    "mlp:128", "mlp:4096", "mobilenet_v3_large:1", "convnext_tiny:1",
]
# Rounds of calls before those that count.
WARM_ROUNDS = 5
# Of throughput: rounds, the first of which does not count, and threads of ours.
THROUGHPUT_ROUNDS = 4
CALLERS = 4
FLOPS_PER_SECOND = {torch.float16: 989e12, torch.bfloat16: 989e12, torch.float32: 67e12}
BYTES_PER_SECOND = 4.8e12


def call_aitune(command, environment):
    """The JSON report of one call."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        done = subprocess.run([*command, "--json", file.name], capture_output=True, text=True, env=environment)
        text = file.read()
    if not text:
        raise RuntimeError((done.stderr.strip() or "no output").splitlines()[-1])
    return json.loads(text)


def worst(outputs, key):
    values = [output[key] for output in outputs if key in output]
    return max(values) if values else None


def mean_square(outputs, key):
    values = [output[key] for output in outputs if key in output]
    return math.sqrt(statistics.mean(value**2 for value in values)) if values else None


def check(command, environment):
    """Errors over all inputs that were compared, and the case of the largest."""
    report = call_aitune([command[0], "tune", *command[1:], "--seconds", "0"], environment)["check"]
    cases = [case for case in report["cases"] if not case["skipped"]]
    outputs = [output for case in cases for output in case["outputs"]]
    return {"agrees": report["agrees"], "cases": [case["name"] for case in cases],
            "to_eager": worst(outputs, "max_error"),
            "ours_to_fp64": worst(outputs, "our_reference_error"),
            "eager_to_fp64": worst(outputs, "eager_reference_error"),
            "ours_to_fp64_rms": mean_square(outputs, "our_reference_rms"),
            "eager_to_fp64_rms": mean_square(outputs, "eager_reference_rms"),
            "rms_by_case": {case["name"]: [[output.get("our_reference_rms"), output.get("eager_reference_rms")]
                                           for output in case["outputs"]] for case in cases},
            "worst_case": max(cases, key=lambda case: worst(case["outputs"], "max_error") or 0)["name"],
            "types": [output["type"] for output in report["outputs"]]}


def profile(command, environment):
    """Microseconds, launches and implementation of each kernel, longest first.
    Each is run alone again and again: its operands are in the cache."""
    kernels = {}
    for step in call_aitune([command[0], "inspect", *command[1:]], environment)["steps"]:
        kernel = kernels.setdefault(step["name"].split("#")[0], [0, 0, step["implementation"]])
        kernel[0] = round(kernel[0] + step["microseconds"], 2)
        kernel[1] += 1
    return sorted(([name, *rest] for name, rest in kernels.items()), key=lambda kernel: -kernel[1])


def bytes_of(type_text):
    kind, sizes = type_text.rstrip("]").split("[")
    bits = int("".join(filter(str.isdigit, kind)) or 8)
    return math.prod(int(size) for size in sizes.split(",") if size) * bits // 8


def cache_of(options, spec, mode):
    return options.caches and os.path.join(options.caches, re.sub("[:/]", "_", f"{spec}-{mode}"))


def model_of(options, spec):
    """(path of the traced model, the texts of its inputs, options of aitune's
    that go with it)."""
    name, batch, dtype = parse(spec)
    if sweep_models.is_of_sweep(name):
        path, samples, inputs, more = sweep_models.save(options.models, name, batch, dtype, "cuda")
        return path, inputs, [f"--inputs={samples}", *more]
    inputs = list(specs(make_inputs(name), batch, dtype))
    return save(options.models, name, batch, dtype), inputs, [f"--input={text}" for text in inputs]


def first_seconds(options, spec, mode):
    """Of the compilation that filled the row's cache; None without one."""
    path = options.caches and os.path.join(cache_of(options, spec, mode), "seconds")
    if not path or not os.path.exists(path):
        return None
    with open(path) as file:
        return float(file.read())


def fill_caches(options):
    """Compiles each row in each mode once, several at a time."""

    def fill(job):
        spec, mode = job
        cache = cache_of(options, spec, mode)
        os.makedirs(cache, exist_ok=True)
        try:
            peer = gpu_peers.start(spec, mode, cache, os.environ, os.path.join(options.caches, "measuring"))
            peer.read()
            seconds = peer.await_report(is_peer=True)
            peer.time()
            peer.close()
            with open(os.path.join(cache, "seconds"), "w") as file:
                file.write(f"{seconds:.2f}")
            print(f"{spec:21}{mode:17}{seconds:9.1f} s", flush=True)
        except RuntimeError as error:
            print(f"{spec:21}{mode:17} {error}", flush=True)

    jobs = [(spec, mode) for spec in options.rows for mode in modes_of(options)
            if first_seconds(options, spec, mode) is None]
    with concurrent.futures.ThreadPoolExecutor(options.fill) as pool:
        list(pool.map(fill, jobs))


class Row:
    """One row: its contestants start on GPU `gpu`, compile, then wait to be
    timed."""

    def __init__(self, spec, gpu, options):
        self.spec, self.options = spec, options
        self.dtype = parse(spec)[2]
        path, self.inputs, more = model_of(options, spec)
        self.folder = tempfile.mkdtemp(prefix="aitune-gpu-row-")
        # NVRTC keeps what it compiled, too.
        self.environment = dict(os.environ, CUDA_CACHE_PATH=os.path.join(self.folder, "cuda"))
        if options.gpus > 1:
            self.environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
        self.result = {"row": spec, "ms": {}, "errors": {}, "build_seconds": {}}
        self.command = [path, "--device", "cuda", "--cache", os.path.join(self.folder, "aitune"),
                        *options.options.split(), *more]
        self.contestants = {}
        self.peers = {}
        for mode in modes_of(options):
            if options.caches and gpu_peers.measures(mode) and first_seconds(options, spec, mode) is None:
                continue
            self.peers[mode] = gpu_peers.start(spec, mode,
                                               cache_of(options, spec, mode) or os.path.join(self.folder, mode),
                                               self.environment)

    def load_peers(self):
        """Before any compiles."""
        for mode, peer in self.peers.items():
            self.attempt(mode, peer.read)

    def compile_ours(self):
        self.await_report("ours", lambda: Contestant([self.options.aitune, "bench", *self.command, "--paced"],
                                                     self.environment))

    def modes(self, alone):
        """Those that compile while nothing else does, or the others."""
        return [mode for mode in self.peers if mode not in self.result["errors"]
                and (gpu_peers.measures(mode) and not self.options.caches) == alone]

    def compile_peer(self, mode):
        self.await_report(mode, lambda: self.peers[mode])

    def compile(self):
        self.load_peers()
        self.compile_ours()
        for mode in self.modes(alone=False) + self.modes(alone=True):
            self.compile_peer(mode)

    def attempt(self, key, call):
        try:
            return call()
        except Exception as error:
            self.result["errors"][key] = str(error)[:300]

    def await_report(self, key, make_contestant):
        def call():
            contestant = make_contestant()
            seconds = contestant.await_report(key != "ours")
            if key == "ours":
                self.result["ready_seconds"] = round(seconds, 2)
                start = time.time()
                contestant.time()
                seconds = contestant.report["compile"]["seconds"] + time.time() - start
                self.result["phases"] = {phase["name"]: round(phase["seconds"], 3)
                                         for phase in contestant.report["compile"]["phases"]}
            else:
                cold = first_seconds(self.options, self.spec, key)
                if cold is not None:
                    self.result.setdefault("warm_seconds", {})[key] = round(seconds, 2)
                    seconds = cold
            self.result["build_seconds"][key] = round(seconds, 2)
            self.contestants[key] = contestant

        self.attempt(key, call)

    def time(self):
        """In turn. A contestant that fails leaves, with its error in the row."""
        times = {key: [] for key in self.contestants}
        for _ in range(WARM_ROUNDS + self.options.rounds):
            for key in list(times):
                measured = self.attempt(key, self.contestants[key].time)
                if measured is None:
                    del times[key]
                else:
                    times[key].append(measured)
        ms = self.result["ms"]
        for key, measured in times.items():
            ms[key] = round(statistics.median(measured[WARM_ROUNDS:]), 4)
        if self.options.throughput:
            self.time_throughput()
        for contestant in self.contestants.values():
            contestant.close()
        if "ours" in ms:
            self.finish()
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.result

    def time_throughput(self):
        rates = self.result["calls_per_second"] = {}
        for key, contestant in self.contestants.items():
            for threads in (1, CALLERS) if key == "ours" else (1,):
                times = []
                for _ in range(THROUGHPUT_ROUNDS):
                    measured = self.attempt(key, lambda: contestant.time_calls(self.options.throughput, threads))
                    if measured is not None:
                        times.append(measured)
                if times[1:]:
                    rates[f"{key} x {threads}"] = round(1e3 / min(times[1:]), 1)

    def finish(self):
        row = self.result
        for key, call in (("check", check), ("profile", profile)):
            if getattr(self.options, key):
                found = self.attempt(key, lambda: call([self.options.aitune, *self.command], self.environment))
                if found is not None:
                    row[key] = found
        report = self.contestants["ours"].report
        types = [text.split("{")[0] for text in self.inputs] + row.get("check", {}).get("types", [])
        row["flops"] = report["coverage"]["flops"]
        row["bytes"] = report["model"]["weight_bytes"] + sum(bytes_of(text) for text in types)
        row["limit_ms"] = 1e3 * max(row["flops"] / FLOPS_PER_SECOND[self.dtype], row["bytes"] / BYTES_PER_SECOND)
        row["share_of_limit"] = round(row["limit_ms"] / row["ms"]["ours"], 3)
        inductor = [time for mode, time in row["ms"].items() if mode not in ("ours", "eager")]
        if inductor:
            row["ahead"] = round(min(inductor) / row["ms"]["ours"], 3)


def show(rows, modes):
    width = max([20, *(len(row["row"]) for row in rows)]) + 1
    print(f"{'row':{width}}{'ours':>9}" + "".join(f"{m:>17}" for m in modes) +
          f"{'ahead':>7}{'limit':>8}{'share':>7}{'ready s':>9}{'ours s':>8}" + "".join(f"{m + ' s':>19}" for m in modes if m != "eager"))
    nan = float("nan")
    for row in rows:
        ms, seconds = row.get("ms", {}), row["build_seconds"]
        cells = "".join(f"{ms[m]:17.4f}" if m in ms else f"{'-':>17}" for m in modes)
        compiled = "".join(f"{seconds.get(m, nan):12.1f} {seconds.get(m, nan) / seconds.get('ours', nan):5.1f}x"
                           for m in modes if m != "eager")
        print(f"{row['row']:{width}}{ms.get('ours', nan):9.4f}{cells}{row.get('ahead', nan):7.2f}"
              f"{row.get('limit_ms', nan):8.4f}{row.get('share_of_limit', nan):7.2f}"
              f"{row.get('ready_seconds', nan):9.1f}{seconds.get('ours', nan):8.1f}{compiled}")
        if "check" in row:
            errors = row["check"]
            print("    " + ("agrees" if errors["agrees"] else "DIFFERS") +
                  f" over {len(errors['cases'])} inputs: ours to eager {errors['to_eager']:.1e} ({errors['worst_case']})" +
                  (f"; to fp64: ours {errors['ours_to_fp64']:.1e}, eager {errors['eager_to_fp64']:.1e}"
                   if errors["ours_to_fp64"] is not None else "") +
                  (f", root mean square {errors['ours_to_fp64_rms']:.2e}, {errors['eager_to_fp64_rms']:.2e}"
                   if errors["ours_to_fp64_rms"] is not None else ""))
        if row.get("calls_per_second"):
            print("    calls/s: " + ", ".join(f"{key} {rate:.0f}" for key, rate in row["calls_per_second"].items()))
        for kernel, microseconds, launches, implementation in row.get("profile", [])[:4]:
            print(f"    {microseconds:9.1f} us  {launches:3} x {kernel} ({implementation})")
        for key, error in row["errors"].items():
            print(f"    {key}: {error}")
    ahead = [row["ahead"] for row in rows if "ahead" in row]
    if ahead:
        print(f"geometric mean: {math.exp(statistics.mean(math.log(a) for a in ahead)):.2f}x over {len(ahead)} rows, "
              f"least {min(ahead):.2f}x")
    behind = [f"{row['row']} {row['ahead']:.2f}x" for row in rows if row.get("ahead", 1) < 1]
    print("behind: " + (", ".join(behind) or "none"))


def measure(options):
    """The rows as they are measured. With several GPUs all compile first, as
    what compiles slows down the host of what is timed."""
    gpus = queue.Queue()
    for gpu in range(options.gpus):
        gpus.put(gpu)

    def compile_row(spec):
        gpu = gpus.get()
        try:
            row = Row(spec, gpu, options)
            row.compile()
            return row
        finally:
            gpus.put(gpu)

    if options.gpus == 1:
        for first in range(0, len(options.rows), options.together):
            rows = [Row(spec, 0, options) for spec in options.rows[first:first + options.together]]
            for row in rows:
                row.load_peers()
            for row in rows:
                row.compile_ours()
            jobs = [(row, mode) for row in rows for mode in row.modes(alone=False)]
            with concurrent.futures.ThreadPoolExecutor(max(1, len(jobs))) as pool:
                list(pool.map(lambda job: job[0].compile_peer(job[1]), jobs))
            for row in rows:
                for mode in row.modes(alone=True):
                    row.compile_peer(mode)
            for row in rows:
                yield row.time()
        return
    with concurrent.futures.ThreadPoolExecutor(options.gpus) as pool:
        rows = list(pool.map(compile_row, options.rows))
    for row in rows:
        yield row.time()


def modes_of(options):
    return options.modes.split(",") if options.modes else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aitune")
    parser.add_argument("rows", nargs="*", default=ROWS)
    parser.add_argument("--modes", default="eager,reduce-overhead")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--caches", default="")
    parser.add_argument("--fill", type=int, default=0)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--models", default=os.path.join(tempfile.gettempdir(), "aitune-gpu-models"))
    parser.add_argument("--make-only", action="store_true")
    parser.add_argument("--options", default="", help="more options of aitune's")
    parser.add_argument("--throughput", type=int, default=0, metavar="N")
    options = parser.parse_args()
    os.makedirs(options.models, exist_ok=True)
    if options.fill:
        fill_caches(options)
        return
    if options.make_only:
        for spec in options.rows:
            model_of(options, spec)
        return
    rows = []
    for row in measure(options):
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(rows, file, indent=1)
    show(rows, modes_of(options))


if __name__ == "__main__":
    main()
