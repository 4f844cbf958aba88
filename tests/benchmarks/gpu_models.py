"""The models of run_gpu_benchmarks.py: random (weights do not change the time),
with the shapes of the real ones, made from Python definitions."""

import os

import torch
from torch import nn

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


def parse(spec):
    name, batch, *rest = spec.split(":")
    return name, int(batch), DTYPES[rest[0] if rest else "fp16"]
