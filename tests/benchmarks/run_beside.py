#!/usr/bin/env python3
"""Measures models on a machine that others use too, ours and its peers.

    ./bazelw run //tests/benchmarks:beside -- [MODEL...] [--json FILE] [--seconds S]
                                              [--threads N] [--peers NAME,...]

Each candidate runs in a process of its own, which makes a call when it is told
to. Conditions:

    alone   nothing else runs
    busy    two processes that compute all the time
    twin    a second process of the same candidate, which makes calls all the time
    quota   a control group with 1.5 CPUs (where one can be made: as root)

The candidates take turns of a fifth of a second, so that what the machine does
meanwhile falls on all alike. The table gives the median and the p99 of calls in
milliseconds. Peers as in run_benchmarks.py.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings

warnings.filterwarnings("ignore")

import torch
from torch import nn

import run_benchmarks as benchmarks

TURN_SECONDS = 0.2
QUOTA_CPUS = 1.5
DEFAULT_PEERS = ["eager", "torchscript", "onnxruntime", "openvino"]


class Tagger(nn.Module):
    """Labels for the words of a sentence: a GRU in both directions."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(2000, 128)
        self.gru = nn.GRU(128, 128, bidirectional=True, batch_first=True)
        self.labels = nn.Linear(256, 17)

    def forward(self, words):
        return self.labels(self.gru(self.words(words))[0]).log_softmax(-1)


class Logits(nn.Module):
    """A model of transformers as a function from tensors to a tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x, return_dict=False)[0]


def efficientnet():
    import torchvision

    return torchvision.models.efficientnet_b0(), (torch.randn(1, 3, 224, 224),)


def segformer():
    import transformers

    config = transformers.SegformerConfig(num_labels=19)
    model = transformers.SegformerForSemanticSegmentation(config)
    return Logits(model), (torch.randn(1, 3, 256, 256),)


OWN_MODELS = {
    "gru_tagger": lambda: (Tagger(), (torch.randint(0, 2000, (1, 100)),)),
    "efficientnet_b0": efficientnet,
    "segformer_b0": segformer,
}


def make(name, options):
    """(model, inputs) of a model of this file or of make_models.py."""
    torch.manual_seed(0)
    if name in OWN_MODELS:
        model, inputs = OWN_MODELS[name]()
        return model.eval(), inputs
    makers = load_makers(options.makers)
    model, _ = makers.MODELS[name][0]()
    inputs = tuple(torch.load(os.path.join(options.folder, f"{name}.inputs.pt")))
    return model.eval(), inputs


def load_makers(path):
    spec = importlib.util.spec_from_file_location("make_models", path)
    makers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(makers)
    return makers


def serve(peer, name, options):
    """A peer's process: makes a call for each line, and prints its time."""
    torch.set_num_threads(options.threads)
    with torch.inference_mode():
        model, inputs = make(name, options)
        call = benchmarks.timed(benchmarks.PEERS[peer](model, inputs))
        for _ in range(5):
            call()
        print("ready", flush=True)
        for _ in sys.stdin:
            print(call(), flush=True)


class Candidate:
    """A process that makes calls of one model."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        if not self.process.stdout.readline():
            raise RuntimeError(f"did not start: {' '.join(command)}")

    def __call__(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@contextlib.contextmanager
def all_the_time(candidate):
    """Lets the candidate make calls, one after another."""
    end = threading.Event()

    def work():
        while not end.is_set():
            candidate()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@contextlib.contextmanager
def busy_processes(count):
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Quota:
    """A control group, of version 1 or 2, whose processes share some CPUs."""

    def __init__(self, cpus):
        self.folder = None
        period = 100000  # microseconds, the kernel's default
        for root, limit in (
            ("/sys/fs/cgroup/cpu", ("cpu.cfs_quota_us", str(int(cpus * period)))),
            ("/sys/fs/cgroup", ("cpu.max", f"{int(cpus * period)} {period}")),
        ):
            folder = os.path.join(root, f"aitune-beside-{os.getpid()}")
            try:
                os.mkdir(folder)
                self.folder = folder
                with open(os.path.join(folder, limit[0]), "w") as file:
                    file.write(limit[1])
                return
            except OSError:
                self.close()

    def move(self, processes, into=True):
        group = self.folder if into else os.path.dirname(self.folder)
        for process in processes:
            with open(os.path.join(group, "cgroup.procs"), "w") as file:
                file.write(str(process.pid))

    def close(self):
        if self.folder:
            with contextlib.suppress(OSError):
                os.rmdir(self.folder)
        self.folder = None


def summary(times):
    times = sorted(times)
    return {
        "median": times[len(times) // 2],
        "p99": times[min(len(times) - 1, int(0.99 * len(times)))],
        "calls": len(times),
    }


def take_turns(candidates, seconds, neighbour=lambda name: contextlib.nullcontext()):
    times = {name: [] for name in candidates}
    end = time.perf_counter() + seconds * len(candidates)
    while time.perf_counter() < end:
        for name, candidate in candidates.items():
            with neighbour(name):
                benchmarks.settle(candidate)
                until = time.perf_counter() + TURN_SECONDS
                while time.perf_counter() < until:
                    times[name].append(candidate())
    return {name: summary(values) for name, values in times.items()}


def measure(candidates, twins, quota, seconds):
    """{condition: {candidate: summary}}"""
    results = {"alone": take_turns(candidates, seconds)}
    with busy_processes(2):
        results["busy"] = take_turns(candidates, seconds)
    results["twin"] = take_turns(candidates, seconds, lambda name: all_the_time(twins[name]))
    if quota.folder:
        processes = [candidate.process for candidate in candidates.values()]
        quota.move(processes)
        try:
            results["quota"] = take_turns(candidates, seconds)
        finally:
            quota.move(processes, into=False)
    return results


def start(name, options, folder):
    """The candidates for a model and their twins, by name."""
    model, inputs = make(name, options)
    files = [os.path.join(folder, "model.pt"), os.path.join(folder, "inputs.pt")]
    torch.save(list(inputs), files[1])
    with torch.no_grad():
        torch.jit.trace(model, inputs, strict=False, check_trace=False).save(files[0])
    threads = ["--threads", str(options.threads)]
    commands = {"ours": [options.program, "bench", files[0], "--inputs", files[1], "--paced"] + threads}
    for peer in options.peers.split(","):
        if benchmarks.installed(peer):
            commands[peer] = [sys.executable, os.path.abspath(__file__), name, "--serve", peer] + threads
            commands[peer] += ["--makers", options.makers, "--folder", options.folder]
    candidates, twins = {}, {}
    for candidate, command in commands.items():
        try:
            candidates[candidate] = Candidate(command)
            twins[candidate] = Candidate(command)
        except RuntimeError as error:
            candidates.pop(candidate, None)
            print(f"{name}: {candidate} {error}", file=sys.stderr)
    return candidates, twins


def print_table(rows):
    names = [name for name in rows[0]["ms"]["alone"]]
    lines = [["model", "condition"] + [cell for name in names for cell in (name, "p99")]]
    for row in rows:
        for condition, measured in row["ms"].items():
            line = [row["model"], condition]
            for name in names:
                found = measured.get(name)
                line += [f"{found['median']:.2f}", f"{found['p99']:.2f}"] if found else ["-", "-"]
            lines.append(line)
    benchmarks.print_columns(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--program", default="aitune")
    parser.add_argument("--makers", default="tests/models/make_models.py")
    parser.add_argument("--folder", default=".models")
    parser.add_argument("--json")
    parser.add_argument("--peers", default=",".join(DEFAULT_PEERS))
    parser.add_argument("--seconds", type=float, default=4, help="of a candidate in a condition")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve, options.models[0], options)
    rows = []
    quota = Quota(QUOTA_CPUS)
    if not quota.folder:
        print("no control group can be made here: no quota is measured", file=sys.stderr)
    try:
        for name in options.models or [*OWN_MODELS, "minilm"]:
            with tempfile.TemporaryDirectory() as folder:
                candidates, twins = start(name, options, folder)
                try:
                    ms = measure(candidates, twins, quota, options.seconds)
                finally:
                    for process in [*candidates.values(), *twins.values()]:
                        process.close()
            rows.append({"model": name, "threads": options.threads, "ms": ms})
            print(name, file=sys.stderr)
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(rows, file, indent=1)
    finally:
        quota.close()
    print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
