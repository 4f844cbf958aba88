#!/usr/bin/env python3
"""Runs kernels of aitune-opt --ait-gpu-print-cuda=bundle=DIR on a GPU.

Usage: check_on_device.py DIR FILE.mlir [--time]

Every candidate of every kernel in DIR/kernels.json is compared with the meaning
of the `ait` operations of FILE.mlir, computed by PyTorch in fp64 from the same
random inputs. Sizes that vary have the value that the bundle was made for.
Outputs are poisoned before each run. Needs PyTorch with CUDA.
"""
import argparse
import ctypes
import json
import re
import sys

import torch
import torch.nn.functional as F

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
          "f8E4M3FN": torch.float8_e4m3fn, "i1": torch.bool, "i8": torch.int8, "ui8": torch.uint8, "i32": torch.int32, "i64": torch.int64}
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.5e-2, torch.float32: 3e-5, torch.float64: 1e-10}


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint) for n in ("gx", "gy", "gz", "bx", "by", "bz", "shared")] + [
        ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint)]


cuda = ctypes.CDLL("libcuda.so.1")


def check(code, what):
    if code:
        raise RuntimeError(f"{what}: CUDA error {code}")


def load(path, symbol, shared):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), open(path, "rb").read()), "load")
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, symbol.encode()), "symbol")
    if shared > 48 * 1024:
        check(cuda.cuFuncSetAttribute(function, 8, shared), "shared memory")
    return function


def pack(t, kind):
    if kind == "CONVOLUTION_PANELS":  # of one output channel
        return t.permute(0, 2, 3, 1).contiguous()
    if kind == "DEPTHWISE":
        return t.permute(2, 3, 1, 0).contiguous()
    return t


def launch(step, symbols):
    operands = step["operands"]
    values = [ctypes.c_void_p(t.data_ptr()) for t in operands] + [ctypes.c_longlong(s) for s in symbols]
    # Whether the next kernel waits: unknown, it may be PyTorch's.
    values.append(ctypes.c_int(0))
    parameters = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in values])
    attribute = LaunchAttribute(6, 0, 1)
    config = LaunchConfig(*step["grid"], step["block"], 1, 1, step["shared"],
                          torch.cuda.current_stream().cuda_stream, ctypes.pointer(attribute), 1 if step["programmatic"] else 0)
    check(cuda.cuLaunchKernelEx(ctypes.byref(config), step["function"], parameters, None), "launch " + step["symbol"])


def parse_type(text):
    *sizes, element = text.split("x")
    return [int(s) for s in sizes], DTYPES[element]


def array(attributes, name):
    found = re.search(name + r" = array<i64: ([-\d, ]*)>", attributes)
    return [int(x) for x in found.group(1).split(",")] if found else None


def number(attributes, name, default=None):
    found = re.search(name + r" = ([-+\w.]+)", attributes)
    return float(found.group(1)) if found else default


class Kernel:
    """One func.func: its arguments' types and its operations as text."""

    def __init__(self, name, arguments, body):
        self.name, self.body = name, body
        self.arguments = [(n, *parse_type(t)) for n, t in re.findall(r"(%\w+): tensor<([^>,]*)", arguments)]

    def run(self, inputs):
        values = dict(zip([a[0] for a in self.arguments], inputs))
        for line in self.body:
            line = line.strip()
            if line.startswith("return"):
                return [values[n] for n in re.findall(r"%\w+", line.split(":")[0])]
            match = re.match(r"(%\w+) = ait\.(\w+) (.*)", line)
            if match:
                name, op, rest = match.groups()
                sizes, dtype = parse_type(re.findall(r"tensor<([^>,]*)", rest)[-1])
                operands = [values[n] for n in re.findall(r"%\w+", re.sub(r"\{.*?\}", "", rest).split(":")[0])]
                values[name] = evaluate(op, operands, rest, sizes, dtype)


def evaluate(op, x, text, sizes, dtype):
    a = x[0] if x else None
    dims = array(text, "dims")
    wide = torch.float64 if dtype.is_floating_point else dtype
    if op == "full":
        value = re.match(r"(\S+) :", text).group(1)
        value = {"true": 1, "false": 0}.get(value, value)
        return torch.full(sizes, float(value) if dtype.is_floating_point else int(value), dtype=wide, device="cuda")
    if op == "iota":
        dim = int(number(text, "dim"))
        line = number(text, "start") + number(text, "step") * torch.arange(sizes[dim], device="cuda", dtype=torch.float64)
        return line.to(wide).reshape([-1 if i == dim else 1 for i in range(len(sizes))]).expand(sizes)
    if op == "convert":
        return a != 0 if dtype == torch.bool else a.to(wide)
    if op == "reshape":
        return a.reshape(sizes)
    if op == "permute":
        return a.permute(array(text, "permutation"))
    if op == "expand":
        return a.expand(sizes)
    if op == "slice":
        starts, steps = array(text, "starts"), array(text, "steps")
        return a[tuple(slice(s, s + (n - 1) * t + 1, t) for s, t, n in zip(starts, steps, sizes))]
    if op == "concat":
        return torch.cat(x, int(number(text, "dim")))
    if op == "flip":
        return a.flip(dims)
    if op == "embedding":
        return F.embedding(x[1], a)
    if op == "index_select":
        index = torch.where(x[1] < 0, x[1] + a.shape[int(number(text, "dim"))], x[1])
        return a.index_select(int(number(text, "dim")), index)
    if op == "gather":
        index = torch.where(x[1] < 0, x[1] + a.shape[int(number(text, "dim"))], x[1])
        return a.gather(int(number(text, "dim")), index)
    if op == "cumsum":
        return a.cumsum(int(number(text, "dim")))
    if op == "matmul":
        lhs = a.transpose(-1, -2) if "transpose_lhs" in text else a
        rhs = x[1].transpose(-1, -2) if "transpose_rhs" in text else x[1]
        # Integers of the sizes tried are exact in fp64, in which a GPU has products.
        return (lhs.double() @ rhs.double()).to(wide)
    if op == "attention":
        scores = a @ x[1].transpose(-1, -2) * number(text, "scale")
        if len(x) > 3:
            scores = torch.where(x[3], scores, -torch.inf) if x[3].dtype == torch.bool else scores + x[3]
        if "is_causal" in text:
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
        return torch.softmax(scores, -1).nan_to_num(0.0) @ x[2]
    if op == "convolution":
        nhwc = "channels_last" in text
        result = F.conv2d(a.permute(0, 3, 1, 2) if nhwc else a, x[1], None, array(text, "stride"), array(text, "padding"),
                          array(text, "dilation"), int(number(text, "groups")))
        return result.permute(0, 2, 3, 1) if nhwc else result
    if op in ("max_pool2d", "avg_pool2d"):
        nhwc = "channels_last" in text
        a = a.permute(0, 3, 1, 2) if nhwc else a
        kernel, stride, padding = (array(text, n) for n in ("kernel_size", "stride", "padding"))
        if op == "max_pool2d":
            result = F.max_pool2d(a, kernel, stride, padding, array(text, "dilation"))
        else:
            result = F.avg_pool2d(a, kernel, stride, padding, count_include_pad="count_include_pad = true" in text)
        return result.permute(0, 2, 3, 1) if nhwc else result
    reductions = {"sum": torch.sum, "mean": torch.mean, "amax": torch.amax, "amin": torch.amin}
    if op in reductions:
        return reductions[op](a, dim=dims, keepdim=True)
    if op in ("argmax", "argmin"):
        return getattr(torch, op)(a, dim=dims[0], keepdim=True)
    if op == "clamp":
        return a.clamp(number(text, "min"), number(text, "max"))
    if op == "gelu":
        return F.gelu(a, approximate="tanh" if "tanh_approximation" in text else "none")
    if op == "where":
        return torch.where(*x)
    simple = {"div": torch.div, "bitwise_and": torch.bitwise_and, "maximum": torch.maximum, "minimum": torch.minimum,
              "relu": F.relu, "silu": F.silu, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid,
              "logical_not": torch.logical_not}
    return (simple.get(op) or getattr(torch, op))(*x)


def random_input(sizes, dtype):
    if dtype == torch.bool:
        return torch.rand(sizes, device="cuda") < 0.7
    if not dtype.is_floating_point:
        return torch.randint(0, 64, sizes, device="cuda", dtype=dtype)
    scale = 1.0 if len(sizes) != 2 and len(sizes) != 4 or sizes[0] <= 16 else 0.05
    return (torch.randn(sizes, device="cuda") * scale).to(dtype)


def wide(t):
    return t.double() if t.dtype.is_floating_point else t


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle")
    parser.add_argument("source")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.zeros(1, device="cuda")
    entries = json.load(open(options.bundle + "/kernels.json"))
    symbols = {value for entry in entries for value in entry["symbols"]}
    text = open(options.source).read()
    if symbols:
        (size,) = symbols  # the bundle has one value for all
        text = text.replace("?x", f"{size}x")
    kernels = {}
    for match in re.finditer(r"func\.func private @(\w+)\((.*)\) ->.*\{\n((?:.*\n)*?) *\}\n", text):
        kernels[match.group(1)] = Kernel(match.group(1), match.group(2), match.group(3).split("\n"))
    failures = 0
    for entry in entries:
        kernel = kernels[entry["kernel"]]
        inputs = [random_input(s, d) for _, s, d in kernel.arguments]
        references = kernel.run([wide(t) for t in inputs])
        best = None
        for candidate in entry["candidates"]:
            label = f"{entry['kernel']}: {candidate['description']}"
            try:
                outputs = [torch.empty(r.shape, dtype=DTYPES[d], device="cuda") for r, d in zip(references, entry["outputs"])]
                for t in outputs:
                    t.fill_(float("nan") if t.dtype.is_floating_point else 1)
                temporaries = [torch.empty(s, dtype=DTYPES[d], device="cuda") for s, d in candidate["temporaries"]]
                tensors = inputs + outputs + temporaries
                for step in candidate["steps"]:
                    step["function"] = load(options.bundle + "/" + candidate["cubin"], step["symbol"], step["shared"])
                    kinds = step["packings"] or ["NONE"] * len(step["inputs"])
                    operands = [pack(tensors[i], kind) for i, kind in zip(step["inputs"], kinds)]
                    operands += [tensors[i] for i in step["outputs"]]
                    step["operands"] = operands
                for step in candidate["steps"]:
                    launch(step, entry["symbols"])
                torch.cuda.synchronize()
                worst, limit = 0.0, 0.0
                for output, reference in zip(outputs, references):
                    if output.dtype.is_floating_point:
                        error = ((output.double() - reference).norm() / reference.norm().clamp_min(1e-30)).item()
                        bound = TOLERANCE[output.dtype]
                    else:
                        error, bound = float((output != reference.to(output.dtype)).sum().item()), 0.5
                    if not error <= bound:
                        worst = float("inf") if error != error else max(worst, error / bound)
                    limit = max(limit, error)
                elapsed = ""
                if options.time and worst == 0.0:
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        for _ in range(20):
                            for step in candidate["steps"]:
                                launch(step, entry["symbols"])
                    graph.replay()
                    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                    start.record()
                    for _ in range(5):
                        graph.replay()
                    end.record()
                    torch.cuda.synchronize()
                    microseconds = start.elapsed_time(end) * 10
                    elapsed = f" {microseconds:8.2f} us"
                    best = min(best or 1e9, microseconds)
                failures += worst > 0
                print(f"{'ok  ' if worst == 0 else 'FAIL'} {limit:9.2e}{elapsed}  {label}", flush=True)
            except Exception as error:  # one kernel's failure is not the others'
                failures += 1
                print(f"FAIL {label}: {error}", flush=True)
                if "700" in str(error) or "719" in str(error) or "illegal" in str(error):
                    print("the context is lost", flush=True)
                    return 1
        if options.time and any(" matmul" in o or "ait.matmul" in o for o in kernel.body) and len(inputs) > 1:
            line = next(o for o in kernel.body if "ait.matmul" in o)
            names = [a[0] for a in kernel.arguments]
            operands = re.findall(r"%\w+", line.split("=", 1)[1])[:2]
            # PyTorch has no such product of codes.
            if all(o in names and inputs[names.index(o)].dtype.itemsize > 1 for o in operands):
                lhs, rhs = (inputs[names.index(o)] for o in operands)
                run = (lambda: lhs @ rhs.transpose(-1, -2)) if "transpose_rhs" in line else (lambda: lhs @ rhs)
                run()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    for _ in range(20):
                        run()
                graph.replay()
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                for _ in range(5):
                    graph.replay()
                end.record()
                torch.cuda.synchronize()
                print(f"     cuBLAS, product alone: {start.elapsed_time(end) * 10:8.2f} us; ours {best:8.2f} us", flush=True)
    print(f"{failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
