#!/usr/bin/env python3
"""Measures AITune and its peers on the example models, side by side.

    ./bazelw run //tests/benchmarks -- [MODEL...] [--json FILE] [--seconds S]
                                       [--threads N] [--peers NAME,...]

Peers: eager, torchscript (freeze + optimize_for_inference), inductor (freezing),
inductor_max (max-autotune, C++ wrapper; only when named: it compiles for
minutes), onnxruntime and openvino (where they are installed; float32 only).

One call of each in turn, round after round: what the machine does meanwhile
falls on all alike. The peers run in this process; ours runs in another, on the
same number of threads, and is told through a pipe when it is its turn. Before
each call the threads of the one before come to rest, and the candidate runs
untimed for 30 ms.

The table gives medians in milliseconds and how many times as long as ours each
peer takes; the last row is the geometric mean over the models where a peer ran.
FLOPs is the share that we compiled. Of peak: our FLOP/s as a share of what a
large matrix product of LibTorch's reaches in the same dtype, and the weights'
bytes a second as a share of what a STREAM-like triad moves; both are measured
before the models. The JSON also has p99, the number of rounds and all build
times.

The models are those of tests/models/make_models.py, and those of the sweep by its
names (timm/convnext_atto, timm/convnext_atto_bf16), which need the sweep's Python
in AITUNE_PYTHON. Ours reads the traced file; the others get the Python module that
it was made from. Below the table stand the rows that fell behind a peer.
"""

import argparse
import importlib.util
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

import sweep_models

DEFAULT_MODELS = [
    "resnet50",
    "mobilenet_v3_large",
    "vit_b_16",
    "bert",
    "gpt2",
    "minilm",
    "llama_block",
    "mlp",
    "lstm",
]
DEFAULT_PEERS = ["eager", "torchscript", "inductor", "onnxruntime", "openvino"]
ALL_PEERS = DEFAULT_PEERS + ["inductor_max"]


class Ours:
    """A model compiled by AITune, in a process of its own.

    `aitune bench --paced` runs the model once for each line that it reads and
    answers with the milliseconds that the call took.
    """

    def __init__(self, program, model_file, samples_file, options=()):
        self.process = subprocess.Popen(
            [program, "bench", model_file, "--inputs", samples_file, "--paced"]
            + ["--threads", str(torch.get_num_threads()), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        if not line:
            errors = self.process.stderr.read().strip().splitlines()
            raise RuntimeError(errors[-1] if errors else "aitune ended")
        self.report = json.loads(line)

    def __call__(self):
        """The milliseconds of one call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("aitune ended")
        return float(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def torchscript(model, inputs):
    script = model
    if not isinstance(model, torch.jit.ScriptModule):
        script = torch.jit.trace(model, inputs, strict=False, check_trace=False)
    script = torch.jit.optimize_for_inference(torch.jit.freeze(script.eval()))
    for _ in range(3):
        script(*inputs)
    return lambda: script(*inputs)


def inductor(**options):
    def build(model, inputs):
        torch._dynamo.reset()
        compiled = torch.compile(model, options={"freezing": True, **options})
        compiled(*inputs)
        return lambda: compiled(*inputs)

    return build


def export_onnx(model, inputs, path):
    """The exporter that traces is tried first, then torch.export's (needs
    onnxscript): each refuses some models. Fused attention has no ONNX form."""
    fused = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        torch.onnx.export(model, inputs, path, dynamo=False, opset_version=17)
    except Exception:
        torch.onnx.export(model, inputs, path, dynamo=True, verbose=False)
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)


def onnxruntime(model, inputs):
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        export_onnx(model, inputs, path)
        session = runtime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
    feeds = {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feeds)


def openvino(model, inputs):
    import openvino as vino

    compiled = vino.compile_model(
        vino.convert_model(model, example_input=inputs),
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "INFERENCE_PRECISION_HINT": "f32",
        },
    )
    feeds = [x.numpy() for x in inputs]
    request = compiled.create_infer_request()
    return lambda: request.infer(feeds)


PEERS = {
    "eager": lambda model, inputs: lambda: model(*inputs),
    "torchscript": torchscript,
    "inductor": inductor(),
    "inductor_max": inductor(cpp_wrapper=True, max_autotune=True),
    "onnxruntime": onnxruntime,
    "openvino": openvino,
}
FLOAT32_ONLY = {"onnxruntime", "openvino"}


def settle(call):
    """Gives the machine to one candidate: until the peers' threads sleep, which
    spin after their work (OpenMP's for about 3 ms, ONNX Runtime's for longer),
    and until the candidate's own have been spread over the cores again."""
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.005)
        if time.process_time() - before < 0.0005:
            break
    end = time.perf_counter() + 0.03
    call()
    while time.perf_counter() < end:
        call()


def installed(peer):
    return peer not in FLOAT32_ONLY or importlib.util.find_spec(peer) is not None


def timed(call):
    """The call as a function that returns its milliseconds."""

    def run():
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e3

    return run


def measure(candidates, seconds):
    """Median, p99 and count of each candidate's calls, in turn."""
    for _ in range(2):
        for call in candidates.values():
            call()
    times = {name: [] for name in candidates}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < 7:
        for name, call in candidates.items():
            settle(call)
            times[name].append(call())
    rows = {}
    for name, values in times.items():
        values.sort()
        rows[name] = {
            "median": statistics.median(values),
            "p99": values[min(len(values) - 1, math.ceil(0.99 * len(values)) - 1)],
            "minimum": values[0],
            "rounds": len(values),
        }
    return rows


def fastest(call, seconds=1):
    """Seconds of the fastest of the calls that fit `seconds`."""
    best = math.inf
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def measure_peaks():
    """FLOP/s of a 2048 x 2048 x 2048 product by dtype, and bytes/s of
    a = b + 3 c (STREAM's triad, McCalpin 1995) on 256 MB arrays."""
    flops = {}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = torch.randn(2, 2048, 2048).to(dtype)
        out = torch.empty_like(a)
        flops[dtype] = 2 * 2048**3 / fastest(lambda: torch.mm(a, b, out=out))
    b, c = torch.randn(2, 64 << 20)
    out = torch.empty_like(b)
    moved = 3 * 4 * b.numel()
    return flops, moved / fastest(lambda: torch.add(b, c, alpha=3, out=out))


def load(base, name, dtype, makers, folder):
    """(Python module, inputs, [model file, inputs' file, options] for ours)."""
    if sweep_models.is_of_sweep(base):
        model, inputs = sweep_models.make(base, 1, dtype)
        path, samples_file, _, options = sweep_models.save(folder, base, 1, dtype, "cpu")
        return model, inputs, [path, samples_file, options]
    maker, scripted, _ = makers.MODELS[base]
    torch.manual_seed(0)
    model = maker()[0].to(dtype).eval()
    samples_file = os.path.join(folder, f"{name}.inputs.pt")
    inputs = tuple(torch.load(samples_file))
    if scripted:
        model = torch.jit.script(model)
    return model, inputs, [os.path.join(folder, f"{name}.pt"), samples_file]


def benchmark(name, makers, program, folder, peers, seconds, peaks):
    bf16 = name.endswith("_bf16")
    base = name[: -len("_bf16")] if bf16 else name
    dtype = torch.bfloat16 if bf16 else torch.float32
    row = {
        "model": name,
        "threads": torch.get_num_threads(),
        "build_seconds": {},
        "failed": {},
        "ms": {},
    }
    candidates = {}
    ours = None
    try:
        model, inputs, command = load(base, name, dtype, makers, folder)
        ours = Ours(program, *command)
        row["build_seconds"]["ours"] = ours.report["compile"]["seconds"]
        row["flop_share"] = ours.report["coverage"]["flop_share"]
        row["flops"] = ours.report["coverage"]["flops"]
        candidates["ours"] = ours
    except Exception as error:  # of any library, or ours
        row["failed"]["ours"] = str(error)
        return row
    for peer in peers:
        if bf16 and peer in FLOAT32_ONLY:
            continue
        start = time.perf_counter()
        try:
            call = PEERS[peer](model, inputs)
            call()
        except Exception as error:  # a peer that cannot run a model is a result
            text = str(error).strip()
            row["failed"][peer] = text.splitlines()[0][:160] if text else repr(error)
            continue
        row["build_seconds"][peer] = time.perf_counter() - start
        candidates[peer] = timed(call)
    row["ms"] = measure(candidates, seconds * len(candidates))
    ours.close()
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    seconds = row["ms"]["ours"]["median"] * 1e-3
    flops, bandwidth = peaks
    row["flops_of_peak"] = row["flops"] / seconds / flops[dtype]
    row["bandwidth_of_peak"] = weights / seconds / bandwidth
    return row


def print_columns(lines):
    """Lines of as many texts each, the first to the left, the others right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = [line[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(line[1:], widths[1:])]
        print("  ".join(cells).rstrip())


def print_table(rows, peers):
    columns = ["model", "ours ms", "p99"]
    for peer in peers:
        columns += [f"{peer} ms", "x"]
    columns += ["FLOPs", "of peak", "weights", "built s"]
    lines = [columns]
    ratios = {peer: [] for peer in peers}
    best, behind = [], []
    for row in rows:
        ours = row["ms"].get("ours")
        line = [row["model"]]
        line += [f"{ours['median']:.2f}", f"{ours['p99']:.2f}"] if ours else ["failed", ""]
        for peer in peers:
            other = row["ms"].get(peer)
            line.append(f"{other['median']:.2f}" if other else "-")
            if other and ours:
                ratio = other["median"] / ours["median"]
                ratios[peer].append(ratio)
                line.append(f"{ratio:.2f}")
            else:
                line.append("")
        others = [row["ms"][p]["median"] for p in peers if p in row["ms"]]
        if ours and others:
            best.append(min(others) / ours["median"])
            if best[-1] < 1:
                behind.append(f"{row['model']} {best[-1]:.2f}x")
        for key in ("flop_share", "flops_of_peak", "bandwidth_of_peak"):
            line.append(f"{row[key]:.0%}" if key in row else "")
        line.append(f"{row['build_seconds'].get('ours', float('nan')):.1f}")
        lines.append(line)
    means = ["geometric mean", "", ""]
    for peer in peers:
        means += ["", f"{statistics.geometric_mean(ratios[peer]):.2f}" if ratios[peer] else ""]
    lines.append(means + [""] * 4)
    print_columns(lines)
    if best:
        print(f"against the best peer of each row: {statistics.geometric_mean(best):.2f}, least {min(best):.2f}")
        print("behind: " + (", ".join(behind) or "none"))
    for row in rows:
        for name, text in row["failed"].items():
            print(f"{row['model']}: {name} failed: {text}")


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=DEFAULT_MODELS, metavar="MODEL")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--seconds", type=float, default=5, help="measured for each candidate")
    parser.add_argument("--threads", type=int, help="default: LibTorch's")
    parser.add_argument("--peers", default=",".join(DEFAULT_PEERS), help="separated by commas")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--makers", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.peers = [p for p in options.peers.split(",") if p and p != "none"]
    unknown = sorted(set(options.peers) - set(ALL_PEERS))
    if unknown:
        parser.error(f"no peer {', '.join(unknown)}; there are: {', '.join(ALL_PEERS)}")
    return options


def main(arguments):
    options = parse(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    spec = importlib.util.spec_from_file_location("make_models", options.makers)
    makers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(makers)
    examples = {name for name in options.models if not sweep_models.is_of_sweep(name)}
    unknown = sorted(examples - set(makers.all_names()))
    if unknown:
        print(f"no example model {', '.join(unknown)}", file=sys.stderr)
        return 2
    peers = []
    for peer in options.peers:
        if installed(peer):
            peers.append(peer)
        else:
            print(f"{peer} is not installed: left out", file=sys.stderr)
    rows = []
    with torch.inference_mode():
        peaks = measure_peaks()
        print(
            "peak: "
            + ", ".join(f"{f / 1e9:.0f} GFLOP/s {dtype}" for dtype, f in peaks[0].items())
            + f", {peaks[1] / 1e9:.1f} GB/s"
        )
        for name in options.models:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows.append(
                benchmark(
                    name,
                    makers,
                    options.program,
                    options.folder,
                    peers,
                    options.seconds,
                    peaks,
                )
            )
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(rows, file, indent=1)
    print_table(rows, peers)
    return 1 if any("ours" in row["failed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
