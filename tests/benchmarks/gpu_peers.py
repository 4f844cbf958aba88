#!/usr/bin/env python3
"""What run_gpu_benchmarks.py times beside ours: a process for each of PyTorch's
modes.

    gpu_peers.py MODEL:BATCH[:DTYPE] MODE [LOCK]

Prints `ready` when the model is on the GPU. At a first line of stdin it compiles
and prints a line of JSON with the seconds. Then it answers each line as
`aitune bench --paced` does: an empty one with the milliseconds of a call, timed
with events; a number of calls (and a 1, the number of threads) with those of one
of that many, which it waits for at their end. While a process has the file LOCK
locked, no other one measures candidates.
"""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")

import torch

import sweep_models
from gpu_models import make, make_inputs, parse, sample


class Contestant:
    """A process that, at a first line if it is a peer, compiles and prints a line
    of JSON, then times one call for each line that it reads."""

    def __init__(self, command, environment):
        self.start = time.time()
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, env=environment)

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise RuntimeError((self.errors.read().strip() or "no output").splitlines()[-1])
        return line

    def ask(self, line=""):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.read()

    def await_report(self, is_peer):
        self.report = json.loads(self.ask() if is_peer else self.read())
        return self.report["seconds"] if is_peer else time.time() - self.start

    def time(self):
        return float(self.ask())

    def time_calls(self, calls, threads):
        """The milliseconds of a call, of that many in each thread, none of which
        is waited for before all are queued."""
        return float(self.ask(f"{calls} {threads}"))

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def measures(mode):
    """Whether compiling takes the GPU."""
    return mode.startswith("max-autotune")


def start(spec, mode, cache, environment, lock=""):
    """The contestant of a mode, with Inductor's caches in the folder `cache`."""
    command = [sys.executable, os.path.abspath(__file__), spec, mode, lock]
    return Contestant(command, dict(environment, TORCHINDUCTOR_CACHE_DIR=cache,
                                    TRITON_CACHE_DIR=os.path.join(cache, "triton")))


def take_turns(path):
    """Inductor measures candidates only while no other process here does."""
    from torch._inductor.runtime import benchmarking

    lock, depth = open(path, "w"), 0

    def exclusive(method):
        def measure(*args, **keywords):
            nonlocal depth
            if depth == 0:
                fcntl.flock(lock, fcntl.LOCK_EX)
            depth += 1
            try:
                return method(*args, **keywords)
            finally:
                depth -= 1
                if depth == 0:
                    torch.cuda.synchronize()
                    fcntl.flock(lock, fcntl.LOCK_UN)

        return measure

    for kind in (benchmarking.Benchmarker, benchmarking.TritonBenchmarker, benchmarking.InductorBenchmarker):
        if "benchmark_gpu" in vars(kind):
            kind.benchmark_gpu = exclusive(kind.benchmark_gpu)


def load(spec):
    """(module, inputs) of a row, on the GPU."""
    name, batch, dtype = parse(spec)
    if sweep_models.is_of_sweep(name):
        module, values = sweep_models.make(name, batch, dtype)
        return module.to("cuda"), [value.to("cuda") for value in values]
    return make(name).eval().to("cuda").to(dtype), sample(make_inputs(name), batch, dtype, "cuda")


def time_call(run, values):
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
    begin.record()
    run(*values)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def time_calls(run, values, calls):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        run(*values)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3 / calls


def serve(spec, mode, lock):
    if lock:
        take_turns(lock)
    module, values = load(spec)
    torch.cuda.synchronize()
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.time()
    run = module if mode == "eager" else torch.compile(module, mode=mode)
    run(*values)
    torch.cuda.synchronize()
    print(json.dumps({"seconds": time.time() - begin}), flush=True)
    for line in sys.stdin:
        calls = line.split()
        print(time_calls(run, values, int(calls[0])) if calls else time_call(run, values), flush=True)


if __name__ == "__main__":
    with torch.inference_mode():
        serve(*sys.argv[1:4])
