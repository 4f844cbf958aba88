#!/usr/bin/env python3
"""Measures AITune and Inductor on a GPU, side by side.

    run_gpu_benchmarks.py AITUNE [MODEL:BATCH[:DTYPE]...] [--modes MODE,...]
                          [--gpus N | --together N] [--check] [--profile]
                          [--json FILE] [--rounds N] [--models FOLDER]
                          [--make-only] [--options ARGS]

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

The table gives medians in milliseconds; how many times as long as ours the
fastest Inductor mode takes; the physical limit and the share of it that ours
reaches; the seconds until ours is ready (of the whole process, with LibTorch
and the model loaded) and for each mode's compilation and first call. The limit
is the larger of two times: FLOPs over 989 TFLOP/s (dense fp16 and bf16; 67 of
fp32), and the bytes of weights, inputs and outputs, each moved once, over 4.8
TB/s: the peaks of NVIDIA's data sheet of the H200 SXM. A product of large
random matrices reaches 80 % of the one, a copy 90 % of the other.

--check adds the largest errors over random and boundary inputs: ours to eager,
and of both to the same model in fp32, relative to the larger of an element and
the root mean square (`aitune tune`). --profile adds the kernels that most of the
time goes to (`aitune inspect`).

Models are random (weights do not change the time), with the shapes of the
real ones, made from Python definitions and traced on the CPU.
"""

import argparse
import concurrent.futures
import json
import math
import os
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")

import torch
from torch import nn

ROWS = [
    "resnet50:1", "resnet50:32", "bert:1", "bert:32", "gpt2:1", "gpt2:8",
    "vit_b_16:1", "vit_b_16:32", "llama_block:1", "llama_block:8", "mlp:1",
    "mlp:128", "mlp:4096", "mobilenet_v3_large:1", "convnext_tiny:1",
]
FLOPS_PER_SECOND = {torch.float16: 989e12, torch.bfloat16: 989e12, torch.float32: 67e12}
BYTES_PER_SECOND = 4.8e12
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
NAMES = {torch.float16: "float16", torch.bfloat16: "bfloat16",
         torch.float32: "float32"}


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class DecoderBlock(nn.Module):
    def __init__(self, width=4096, heads=32, hidden=11008):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = [
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, -1)
        ]
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class FirstOutput(nn.Module):
    """The last hidden states alone, of a model of transformers."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return self.model(*inputs)[0]


def make_inputs(name):
    """Of each input the sizes after the batch, and the largest integer (0: all
    are 1); None for floating point."""
    if name in ("resnet50", "mobilenet_v3_large", "convnext_tiny", "vit_b_16"):
        return [((3, 224, 224), None)]
    known = {"bert": [((128,), 30000), ((128,), 0)], "gpt2": [((128,), 50000)],
             "llama_block": [((512, 4096), None)], "mlp": [((4096,), None)]}
    if name not in known:
        raise SystemExit(f"unknown model {name}")
    return known[name]


def make(name):
    torch.manual_seed(0)
    if name in ("resnet50", "mobilenet_v3_large", "convnext_tiny", "vit_b_16"):
        import torchvision

        module = getattr(torchvision.models, name)(weights=None)
        for parameter in module.parameters():
            # Heads of zeros and scales of 1e-6 would hide every error before them.
            if parameter.dim() > 1 and parameter.abs().max() < 1e-4:
                nn.init.normal_(parameter, std=0.02 if parameter.dim() == 2 else 0.5)
        return module
    if name == "bert":
        from transformers import BertConfig, BertModel

        return FirstOutput(BertModel(BertConfig(return_dict=False, attn_implementation="sdpa")))
    if name == "gpt2":
        from transformers import GPT2Config, GPT2Model

        return FirstOutput(GPT2Model(GPT2Config(use_cache=False, return_dict=False, attn_implementation="sdpa")))
    if name == "llama_block":
        return nn.Sequential(*[DecoderBlock() for _ in range(4)])
    return nn.Sequential(*[l for _ in range(8) for l in (nn.Linear(4096, 4096), nn.GELU())])


def sample(inputs, batch, dtype, device, shorten=False):
    values = []
    for sizes, most in inputs:
        if shorten and len(sizes) == 2:
            sizes = (8, sizes[1])
        if most is None:
            values.append(torch.randn(batch, *sizes, dtype=dtype, device=device))
        elif most == 0:
            values.append(torch.ones(batch, *sizes, dtype=torch.long, device=device))
        else:
            values.append(torch.randint(0, most, (batch, *sizes), device=device))
    return values


def save(folder, name, batch, dtype):
    # Some traces hold the batch that they were made with; a large one takes long.
    batch = batch if batch <= 8 else 1
    path = os.path.join(folder, f"{name}_{batch}_{NAMES[dtype]}.pt")
    if not os.path.exists(path):
        module, inputs = make(name).eval().to(dtype), make_inputs(name)
        with torch.inference_mode(False), torch.no_grad():
            traced = torch.jit.trace(
                module, tuple(sample(inputs, batch, dtype, "cpu", shorten=True)),
                check_trace=False, strict=False)
        torch.jit.save(traced, path)
    return path


def specs(inputs, batch, dtype):
    for sizes, most in inputs:
        text = ",".join(str(size) for size in (batch, *sizes))
        kind = NAMES[dtype] if most is None else "int64"
        values = "" if most is None else "{1..1}" if most == 0 else "{0..%d}" % (most - 1)
        yield f"{kind}[{text}]{values}"


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

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.read()

    def await_report(self, is_peer):
        self.report = json.loads(self.ask() if is_peer else self.read())
        return self.report["seconds"] if is_peer else time.time() - self.start

    def time(self):
        return float(self.ask())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve_peer(spec, mode):
    """The process of one of PyTorch's modes."""
    name, batch, dtype = parse(spec)
    module = make(name).eval().to("cuda").to(dtype)
    values = sample(make_inputs(name), batch, dtype, "cuda")
    torch.cuda.synchronize()
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.time()
    run = module if mode == "eager" else torch.compile(module, mode=mode)
    run(*values)
    torch.cuda.synchronize()
    print(json.dumps({"seconds": time.time() - start}), flush=True)
    for _ in sys.stdin:
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        run(*values)
        end.record()
        end.synchronize()
        print(start.elapsed_time(end), flush=True)


def parse(spec):
    name, batch, *rest = spec.split(":")
    return name, int(batch), DTYPES[rest[0] if rest else "fp16"]


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


def check(command, environment):
    """Errors over all inputs that were compared, and the case of the largest."""
    report = call_aitune([command[0], "tune", *command[1:], "--seconds", "0"], environment)["check"]
    cases = [case for case in report["cases"] if not case["skipped"]]
    outputs = [output for case in cases for output in case["outputs"]]
    return {"agrees": report["agrees"], "cases": [case["name"] for case in cases],
            "to_eager": worst(outputs, "max_error"),
            "ours_to_fp32": worst(outputs, "our_reference_error"),
            "eager_to_fp32": worst(outputs, "eager_reference_error"),
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


class Row:
    """One row: its contestants start on GPU `gpu`, compile, then wait to be
    timed."""

    def __init__(self, spec, gpu, options):
        self.spec, self.options = spec, options
        name, batch, self.dtype = parse(spec)
        path = save(options.models, name, batch, self.dtype)
        self.folder = tempfile.mkdtemp(prefix="aitune-gpu-row-")
        self.environment = dict(os.environ)
        if options.gpus > 1:
            self.environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
        self.result = {"row": spec, "ms": {}, "errors": {}, "build_seconds": {}}
        self.inputs = list(specs(make_inputs(name), batch, self.dtype))
        self.command = [path, "--device", "cuda", "--cache", os.path.join(self.folder, "aitune"),
                        *options.options.split()]
        for text in self.inputs:
            self.command += ["--input", text]
        self.contestants = {}
        self.peers = {}
        for mode in modes_of(options):
            command = [sys.executable, os.path.abspath(__file__), options.aitune, spec, "--peer", mode]
            folder = os.path.join(self.folder, mode)
            self.peers[mode] = Contestant(command, dict(self.environment, TORCHINDUCTOR_CACHE_DIR=folder,
                                                        TRITON_CACHE_DIR=os.path.join(folder, "triton")))

    def load_peers(self):
        """Before any compiles."""
        for mode, peer in self.peers.items():
            self.attempt(mode, peer.read)

    def compile_ours(self):
        self.await_report("ours", lambda: Contestant([self.options.aitune, "bench", *self.command, "--paced"],
                                                     self.environment))

    def compile_peers(self, measuring):
        """Those that measure on the GPU, or the others."""
        for mode, peer in self.peers.items():
            if mode not in self.result["errors"] and mode.startswith("max-autotune") == measuring:
                self.await_report(mode, lambda: peer)

    def compile(self):
        self.load_peers()
        self.compile_ours()
        self.compile_peers(measuring=False)
        self.compile_peers(measuring=True)

    def attempt(self, key, call):
        try:
            return call()
        except Exception as error:
            self.result["errors"][key] = str(error)[:300]

    def await_report(self, key, make_contestant):
        def call():
            contestant = make_contestant()
            self.result["build_seconds"][key] = round(contestant.await_report(key != "ours"), 2)
            self.contestants[key] = contestant

        self.attempt(key, call)

    def time(self):
        for contestant in self.contestants.values():
            for _ in range(5):
                contestant.time()
        times = {key: [] for key in self.contestants}
        for _ in range(self.options.rounds):
            for key, contestant in self.contestants.items():
                times[key].append(contestant.time())
        ms = self.result["ms"]
        for key, contestant in self.contestants.items():
            ms[key] = round(statistics.median(times[key]), 4)
            contestant.close()
        if "ours" in ms:
            self.finish()
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.result

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
    print(f"{'row':21}{'ours':>9}" + "".join(f"{m:>17}" for m in modes) +
          f"{'ahead':>7}{'limit':>8}{'share':>7}{'ready s':>9}" + "".join(f"{m + ' s':>19}" for m in modes if m != "eager"))
    nan = float("nan")
    for row in rows:
        ms, seconds = row.get("ms", {}), row["build_seconds"]
        cells = "".join(f"{ms[m]:17.4f}" if m in ms else f"{'-':>17}" for m in modes)
        compiled = "".join(f"{seconds.get(m, nan):12.1f} {seconds.get(m, nan) / seconds.get('ours', nan):5.1f}x"
                           for m in modes if m != "eager")
        print(f"{row['row']:21}{ms.get('ours', nan):9.4f}{cells}{row.get('ahead', nan):7.2f}"
              f"{row.get('limit_ms', nan):8.4f}{row.get('share_of_limit', nan):7.2f}"
              f"{seconds.get('ours', nan):9.1f}{compiled}")
        if "check" in row:
            errors = row["check"]
            print("    " + ("agrees" if errors["agrees"] else "DIFFERS") +
                  f" over {len(errors['cases'])} inputs: ours to eager {errors['to_eager']:.1e} ({errors['worst_case']})" +
                  (f"; to fp32: ours {errors['ours_to_fp32']:.1e}, eager {errors['eager_to_fp32']:.1e}"
                   if errors["ours_to_fp32"] is not None else ""))
        for kernel, microseconds, launches, implementation in row.get("profile", [])[:4]:
            print(f"    {microseconds:9.1f} us  {launches:3} x {kernel} ({implementation})")
        for key, error in row["errors"].items():
            print(f"    {key}: {error}")
    ahead = [row["ahead"] for row in rows if "ahead" in row]
    if ahead:
        print(f"geometric mean: {math.exp(statistics.mean(math.log(a) for a in ahead)):.2f}x over {len(ahead)} rows, "
              f"least {min(ahead):.2f}x")


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
            with concurrent.futures.ThreadPoolExecutor(len(rows)) as pool:
                list(pool.map(lambda row: row.compile_peers(measuring=False), rows))
            for row in rows:
                row.compile_peers(measuring=True)
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
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--models", default=os.path.join(tempfile.gettempdir(), "aitune-gpu-models"))
    parser.add_argument("--make-only", action="store_true")
    parser.add_argument("--options", default="", help="more options of aitune's")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.makedirs(options.models, exist_ok=True)
    if options.peer:
        with torch.inference_mode():
            serve_peer(options.rows[0], options.peer)
        return
    if options.make_only:
        for spec in options.rows:
            save(options.models, *parse(spec))
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
