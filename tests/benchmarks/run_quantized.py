#!/usr/bin/env python3
"""What quantising linear layers gains: our quantised builds against our own
build of the same model without it, and against torchao.

    ./bazelw run //tests/benchmarks:quantized -- [MODEL...] [--schemes NAME,...]
                                                 [--json FILE] [--seconds S]
                                                 [--threads N] [--verdict]

Schemes: int8wo, int8dq, fp8wo, auto. torchao's are compiled by torch.compile
(freezing) and need the package torchao beside torch (AITUNE_PYTHON names a
Python that has both); without it they are left out. Without --verdict both
quantise the same layers; with it ours leaves those alone that would not be
faster.

One call of each in turn, as in run_benchmarks.py. The table gives medians in
milliseconds; x is how many times as fast a build is as ours without
quantisation, and cosine that of its outputs to eager's on the model's sample.
"""

import argparse
import copy
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import torch

from run_benchmarks import Ours, measure, print_columns, timed

DEFAULT_MODELS = ["minilm", "bert", "llama_block", "bert_bf16", "llama_block_bf16"]
SCHEMES = ["int8wo", "int8dq", "fp8wo", "auto"]
PLAIN = "ours"


def torchao_configs():
    """Those of the schemes by name; empty where torchao is not installed."""
    if importlib.util.find_spec("torchao") is None:
        return {}
    from torchao.quantization import (
        Float8WeightOnlyConfig,
        Int8DynamicActivationInt8WeightConfig,
        Int8WeightOnlyConfig,
    )

    return {
        "int8wo": lambda: Int8WeightOnlyConfig(version=2),
        "int8dq": lambda: Int8DynamicActivationInt8WeightConfig(version=2),
        "fp8wo": Float8WeightOnlyConfig,
    }


def first_tensor(output):
    """Of the model's nested result."""
    if isinstance(output, torch.Tensor):
        return output
    values = output.values() if isinstance(output, dict) else output
    return next(t for t in map(first_tensor, values) if t is not None)


def cosine(ours, eager):
    ours, eager = (first_tensor(t).double().flatten() for t in (ours, eager))
    return torch.nn.functional.cosine_similarity(ours, eager, dim=0).item()


def our_output(program, files, scheme, verdict):
    """What our quantised build gives for the sample, whatever its error."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, saved = (os.path.join(folder, n) for n in ("m.aitune", "out.pt"))
        backend = f"TorchAOBackend(quantization={scheme},min_cosine=0.0,verdict={verdict})"
        for command in (
            ["deploy", files[0], "--inputs", files[1], "--strategy", "OneBackend"]
            + ["--backend", backend, "--seconds", "0.02", "--save", checkpoint],
            ["run", checkpoint, "--inputs", files[1], "--output", saved],
        ):
            done = subprocess.run([program, *command], capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return torch.load(saved)


def torchao_build(model, inputs, config):
    from torchao.quantization import quantize_

    torch._dynamo.reset()
    quantized = copy.deepcopy(model)
    quantize_(quantized, config())
    compiled = torch.compile(quantized, options={"freezing": True})
    compiled(*inputs)
    return lambda: compiled(*inputs)


def benchmark(name, makers, options):
    base = name[: -len("_bf16")] if name.endswith("_bf16") else name
    maker, scripted, _ = makers.MODELS[base]
    torch.manual_seed(0)
    model, _ = maker()
    model = model.to(torch.bfloat16 if name != base else torch.float32).eval()
    files = [os.path.join(options.folder, name + end) for end in (".pt", ".inputs.pt")]
    inputs = tuple(torch.load(files[1]))
    eager = model(*inputs)
    row = {"model": name, "threads": torch.get_num_threads(), "failed": {}}
    row["cosine"], row["quantized_layers"] = {}, {}
    candidates, processes = {}, []
    for scheme in [None] + options.schemes:
        label = f"ours {scheme}" if scheme else PLAIN
        asked = []
        if scheme:
            verdict = "" if options.verdict else ",verdict=off"
            asked = ["--quantize", scheme + verdict]
        try:
            ours = Ours(options.program, *files, asked)
            processes.append(ours)
            candidates[label] = ours
            if scheme:
                layers = ours.report["compile"]["quantized_layers"]
                done = sum("refusal" not in layer for layer in layers)
                row["quantized_layers"][label] = [done, len(layers)]
                output = our_output(options.program, files, scheme, options.verdict)
                row["cosine"][label] = cosine(output, eager)
        except RuntimeError as error:
            row["failed"][label] = str(error)
    for scheme, config in torchao_configs().items():
        if scheme not in options.schemes or scripted:
            continue
        label = f"torchao {scheme}"
        try:
            call = torchao_build(model, inputs, config)
            row["cosine"][label] = cosine(call(), eager)
            candidates[label] = timed(call)
        except Exception as error:  # that it can't run a model is a result
            row["failed"][label] = str(error).strip().splitlines()[0][:160]
    row["ms"] = measure(candidates, options.seconds * len(candidates))
    for ours in processes:
        ours.close()
    return row


def print_rows(rows):
    lines = [["model", "build", "ms", "p99", "x", "layers", "cosine"]]
    for row in rows:
        plain = row["ms"].get(PLAIN)
        for label, times in row["ms"].items():
            layers = row["quantized_layers"].get(label)
            similar = row["cosine"].get(label)
            lines.append(
                [
                    row["model"],
                    label,
                    f"{times['median']:.2f}",
                    f"{times['p99']:.2f}",
                    f"{plain['median'] / times['median']:.2f}" if plain else "",
                    f"{layers[0]}/{layers[1]}" if layers else "",
                    f"{similar:.5f}" if similar is not None else "",
                ]
            )
    print_columns(lines)
    for row in rows:
        for label, text in row["failed"].items():
            print(f"{row['model']}: {label} failed: {text}")


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=DEFAULT_MODELS, metavar="MODEL")
    parser.add_argument("--schemes", default=",".join(SCHEMES), help="separated by commas")
    parser.add_argument("--verdict", action="store_true", help="only layers that gain")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--seconds", type=float, default=5, help="measured for each build")
    parser.add_argument("--threads", type=int, help="default: LibTorch's")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--makers", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.schemes = [s for s in options.schemes.split(",") if s]
    unknown = sorted(set(options.schemes) - set(SCHEMES))
    if unknown:
        parser.error(f"no scheme {', '.join(unknown)}; there are: {', '.join(SCHEMES)}")
    return options


def main(arguments):
    options = parse(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    spec = importlib.util.spec_from_file_location("make_models", options.makers)
    makers = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = makers  # copies of models look for their classes
    spec.loader.exec_module(makers)
    unknown = sorted(set(options.models) - set(makers.all_names()))
    if unknown:
        print(f"no example model {', '.join(unknown)}", file=sys.stderr)
        return 2
    if not torchao_configs():
        print("torchao is not installed: left out", file=sys.stderr)
    rows = []
    with torch.inference_mode():
        for name in options.models:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows.append(benchmark(name, makers, options))
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(rows, file, indent=1)
    print_rows(rows)
    return 1 if any(PLAIN in row["failed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
