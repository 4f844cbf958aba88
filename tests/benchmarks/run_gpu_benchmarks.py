#!/usr/bin/env python3
"""Measures AITune and Inductor on a GPU, side by side.

    run_gpu_benchmarks.py AITUNE [MODEL:BATCH[:DTYPE]...] [--modes MODE,...]
                          [--json FILE] [--rounds N] [--models FOLDER]
                          [--make-only] [--ours-only] [--options ARGS]

Modes: eager, default, reduce-overhead, max-autotune (which compiles for
minutes). One call of each in turn, round after round, each timed on the GPU
with events around the call while the stream is idle, so that the time a host
takes to launch counts, as for a caller who waits for each result. Ours runs in
a process of its own (`aitune bench --paced --device cuda`) and is told through
a pipe when it is its turn.

The table gives medians in milliseconds, how many times as long as ours the
fastest Inductor mode takes, and the share of the physical limit that ours
reaches: the larger of the time to compute (989 TFLOP/s of fp16 on an H200) and
to read the weights (4.8 TB/s).

Models are random (weights do not change the time), with the shapes of the
real ones, made from Python definitions and traced on the CPU.
"""

import argparse
import json
import math
import os
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
FLOPS_PER_SECOND = 989e12
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


def make(name):
    """(module, sizes of each input after the batch; a range of integers or None
    for each; length that tracing may use)."""
    torch.manual_seed(0)
    if name in ("resnet50", "mobilenet_v3_large", "convnext_tiny", "vit_b_16"):
        import torchvision

        return getattr(torchvision.models, name)(weights=None), [((3, 224, 224), None)]
    if name == "bert":
        from transformers import BertConfig, BertModel

        config = BertConfig(return_dict=False, attn_implementation="sdpa")
        return FirstOutput(BertModel(config)), [((128,), 30000), ((128,), 0)]
    if name == "gpt2":
        from transformers import GPT2Config, GPT2Model

        config = GPT2Config(use_cache=False, return_dict=False, attn_implementation="sdpa")
        return FirstOutput(GPT2Model(config)), [((128,), 50000)]
    if name == "llama_block":
        return nn.Sequential(*[DecoderBlock() for _ in range(4)]), [((512, 4096), None)]
    if name == "mlp":
        layers = [l for _ in range(8) for l in (nn.Linear(4096, 4096), nn.GELU())]
        return nn.Sequential(*layers), [((4096,), None)]
    raise SystemExit(f"unknown model {name}")


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
        module, inputs = make(name)
        module = module.eval().to(dtype)
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


class Ours:
    def __init__(self, program, path, inputs, batch, dtype, options):
        command = [program, "bench", path, "--paced", "--device", "cuda", *options]
        for spec in specs(inputs, batch, dtype):
            command += ["--input", spec]
        start = time.time()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.seconds = time.time() - start
        if not line:
            raise RuntimeError(self.process.stderr.read().strip().splitlines()[-1])
        self.report = json.loads(line)

    def time(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer:
    def __init__(self, module, values, mode):
        torch._dynamo.reset()
        start = time.time()
        self.values = values
        self.run = module if mode == "eager" else torch.compile(module, mode=mode)
        self.run(*values)
        torch.cuda.synchronize()
        self.seconds = time.time() - start

    def time(self):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        self.run(*self.values)
        end.record()
        end.synchronize()
        return start.elapsed_time(end)


def measure(spec, options):
    name, batch, *rest = spec.split(":")
    batch, dtype = int(batch), DTYPES[rest[0] if rest else "fp16"]
    path = save(options.models, name, batch, dtype)
    row = {"row": spec, "errors": {}, "build_seconds": {}}
    module, inputs = make(name)
    contestants = {}
    try:
        ours = Ours(options.aitune, path, inputs, batch, dtype, options.options.split())
        contestants["ours"] = ours
        row["flops"] = ours.report.get("coverage", {}).get("flops", 0)
    except Exception as error:
        row["errors"]["ours"] = str(error)[:300]
    if not options.ours_only:
        module = module.eval().to("cuda").to(dtype)
        values = sample(inputs, batch, dtype, "cuda")
        for mode in options.modes.split(","):
            try:
                contestants[mode] = Peer(module, values, mode)
            except Exception as error:
                row["errors"][mode] = str(error)[:300]
    for key, contestant in contestants.items():
        row["build_seconds"][key] = round(contestant.seconds, 1)
        for _ in range(5):
            contestant.time()
    times = {key: [] for key in contestants}
    for _ in range(options.rounds):
        for key, contestant in contestants.items():
            times[key].append(contestant.time())
    row["ms"] = {key: round(statistics.median(values), 4) for key, values in times.items()}
    row["weight_bytes"] = sum(p.numel() * p.element_size() for p in module.to(dtype).parameters())
    if "ours" in contestants:
        contestants["ours"].close()
    limit = max(row.get("flops", 0) / FLOPS_PER_SECOND, row["weight_bytes"] / BYTES_PER_SECOND)
    row["limit_ms"] = limit * 1e3
    inductor = [row["ms"][m] for m in row["ms"] if m not in ("ours", "eager")]
    if "ours" in row["ms"]:
        row["share_of_limit"] = round(row["limit_ms"] / row["ms"]["ours"], 3)
        if inductor:
            row["ahead"] = round(min(inductor) / row["ms"]["ours"], 3)
    return row


def show(rows, modes):
    print(f"{'row':24}{'ours':>9}" + "".join(f"{m:>17}" for m in modes) +
          f"{'ahead':>8}{'limit':>9}{'share':>7}{'built in':>9}")
    for row in rows:
        ms = row["ms"]
        cells = "".join(f"{ms[m]:17.4f}" if m in ms else f"{'-':>17}" for m in modes)
        print(f"{row['row']:24}{ms.get('ours', float('nan')):9.4f}{cells}{row.get('ahead', float('nan')):8.2f}"
              f"{row['limit_ms']:9.4f}{row.get('share_of_limit', float('nan')):7.2f}"
              f"{row['build_seconds'].get('ours', float('nan')):9.1f}")
        for key, error in row["errors"].items():
            print(f"    {key}: {error}")
    ahead = [row["ahead"] for row in rows if "ahead" in row]
    if ahead:
        print(f"geometric mean: {math.exp(statistics.mean(math.log(a) for a in ahead)):.2f}x over {len(ahead)} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aitune")
    parser.add_argument("rows", nargs="*", default=ROWS)
    parser.add_argument("--modes", default="eager,reduce-overhead")
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--models", default=os.path.join(tempfile.gettempdir(), "aitune-gpu-models"))
    parser.add_argument("--make-only", action="store_true")
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--options", default="", help="more options of `aitune bench`")
    options = parser.parse_args()
    os.makedirs(options.models, exist_ok=True)
    rows = []
    for spec in options.rows:
        name, batch, *rest = spec.split(":")
        if options.make_only:
            save(options.models, name, int(batch), DTYPES[rest[0] if rest else "fp16"])
            continue
        with torch.inference_mode():
            row = measure(spec, options)
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(rows, file, indent=1)
    if not options.make_only:
        show(rows, options.modes.split(","))


if __name__ == "__main__":
    main()
