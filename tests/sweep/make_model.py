#!/usr/bin/env python3
"""Makes one model of the sweep, in a process of its own.

    make_model.py NAME FOLDER [--dtype DTYPE] [--batch N] [--device DEVICE]
                  [--compile SECONDS]

Writes FOLDER/model.pt (traced), model.inputs.pt (a list of tensors) and
model.json: {"inputs": [what `aitune --input` takes], "libraries": [shared
libraries that the model needs]}, or {"failed": "make", "eager" or "trace",
"why": text} for a model that the library can't make, that PyTorch itself can't
run in this dtype, or that torch.jit.trace can't trace. --compile times
torch.compile for that long instead, on what is made, and writes
{"milliseconds": median of a call, "seconds": until the first result}.
"""

import argparse
import ctypes.util
import glob
import json
import os
import statistics
import sysconfig
import time
import traceback
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch

import catalogue


def randomise(model):
    """Makes what libraries start at zero or one matter: biases, norms' weights."""
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.is_floating_point():
                continue
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.02)
            elif not parameter.any():
                parameter.normal_(std=0.02)
    return model


def spec(tensor):
    """The text that `aitune --input` takes for a tensor like this one."""
    dtype = str(tensor.dtype).replace("torch.", "")
    return f"{dtype}[{','.join(map(str, tensor.shape))}]"


def operator_libraries(name):
    """Shared libraries with operators that LibTorch itself does not have."""
    if not name.startswith("torchvision/"):
        return []
    import torchvision

    extension = glob.glob(os.path.join(os.path.dirname(torchvision.__file__), "_C*.so"))
    # The extension links Python's library without saying so.
    folder = sysconfig.get_config_var("LIBDIR") or ""
    python = os.path.join(folder, sysconfig.get_config_var("INSTSONAME") or "")
    if not python.endswith(".so") and ".so." not in python:
        python = ctypes.util.find_library(f"python{sysconfig.get_python_version()}")
    elif not os.path.exists(python):
        python = os.path.basename(python)
    return [python, *extension] if python else extension


def synchronise(device):
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def time_compiled(model, inputs, device, limit):
    """Times torch.compile's model for about `limit` seconds."""
    start = time.perf_counter()
    compiled = torch.compile(model)
    with torch.no_grad():
        compiled(*inputs)
        synchronise(device)
        seconds = time.perf_counter() - start
        times, end = [], time.perf_counter() + limit
        while not times or time.perf_counter() < end:
            begin = time.perf_counter()
            compiled(*inputs)
            synchronise(device)
            times.append((time.perf_counter() - begin) * 1e3)
    return {"milliseconds": statistics.median(times), "seconds": seconds}


def trace(model, inputs, device):
    """The model traced, and run once more as that.

    On the device that it is for: a trace holds numbers that the CPU computed
    as tensors there. What can't be traced on a GPU is traced on the CPU:
    `aitune` moves the devices that a program names.
    """
    try:
        on_device = tuple(x.to(device) for x in inputs)
        traced = torch.jit.trace(
            model.to(device), on_device, strict=False, check_trace=False
        )
        traced(*on_device)
    except (RuntimeError, NotImplementedError):
        if device == "cpu":
            raise
        traced = torch.jit.trace(
            model.to("cpu"), inputs, strict=False, check_trace=False
        )
        traced(*inputs)
    return traced


def make(arguments):
    """Returns what model.json is to hold."""
    stage = "make"
    try:
        torch.manual_seed(0)
        model, inputs = catalogue.make(arguments.name, arguments.batch)
        dtype = getattr(torch, arguments.dtype)
        model = randomise(model).eval().to(dtype)
        inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
        stage = "eager"
        on_device = tuple(x.to(arguments.device) for x in inputs)
        with torch.no_grad():
            model.to(arguments.device)(*on_device)
            if arguments.compile:
                return time_compiled(
                    model, on_device, arguments.device, arguments.compile
                )
            stage = "trace"
            traced = trace(model, inputs, arguments.device)
        torch.jit.save(traced, os.path.join(arguments.folder, "model.pt"))
        torch.save(list(inputs), os.path.join(arguments.folder, "model.inputs.pt"))
        return {
            "inputs": [spec(x) for x in inputs],
            "libraries": operator_libraries(arguments.name),
        }
    except Exception as error:  # Any of a library: it is what is to be reported.
        traceback.print_exc()
        return {"failed": stage, "why": f"{type(error).__name__}: {error}"}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name")
    parser.add_argument("folder")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", type=float, default=0)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    result = make(arguments)
    with open(os.path.join(arguments.folder, "model.json"), "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
