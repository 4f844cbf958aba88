"""Models of the sweep (tests/sweep) as rows of the benchmarks. Their names hold a
slash, as timm/vit_tiny_patch16_224 does; the weights are random. They need the
Python of the sweep (tests/sweep/README.md)."""

import json
import os
import subprocess
import sys

import torch

SWEEP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sweep")


def is_of_sweep(name):
    return "/" in name


def make(name, batch, dtype):
    """(module, tuple of tensors), in the dtype, on the CPU."""
    sys.path.insert(0, SWEEP)
    import catalogue
    from make_model import randomise

    torch.manual_seed(0)
    with torch.inference_mode(False):
        module, inputs = catalogue.make(name, batch)
        module = randomise(module).eval().to(dtype)
    return module, tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)


def save(folder, name, batch, dtype, device):
    """Traces the model in a process of its own, unless the folder has it. Returns
    (path of the model, path of its inputs, what `aitune --input` takes for each,
    options that name the libraries it needs); raises RuntimeError where it can't
    be made, run or traced."""
    kind = str(dtype).replace("torch.", "")
    folder = os.path.join(folder, f"{name.replace('/', '_')}_{batch}_{kind}_{device}")
    report = os.path.join(folder, "model.json")
    if not os.path.exists(report):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(
            [sys.executable, os.path.join(SWEEP, "make_model.py"), name, folder]
            + ["--dtype", kind, "--batch", str(batch), "--device", device],
            capture_output=True,
        )
    if not os.path.exists(report):
        raise RuntimeError(f"{name} could not be made")
    with open(report) as file:
        made = json.load(file)
    if "failed" in made:
        raise RuntimeError(f"{made['failed']}: {made['why']}")
    libraries = [f"--library={library}" for library in made["libraries"]]
    samples = os.path.join(folder, "model.inputs.pt")
    return os.path.join(folder, "model.pt"), samples, made["inputs"], libraries
