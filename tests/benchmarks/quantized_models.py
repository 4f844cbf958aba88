"""The models of run_gpu_quantized.py: of the sizes of the real ones, with random
weights, made from Python definitions without files, in bfloat16."""

import os

import torch
from torch import nn

from gpu_models import DecoderBlock, FirstOutput


class Encoder(nn.Module):
    """A model of transformers with tokens alone as input."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(tokens, torch.ones_like(tokens))[0]


def bert():
    from transformers import BertConfig, BertModel

    return Encoder(BertModel(BertConfig(return_dict=False, attn_implementation="sdpa")))


def minilm():
    """all-MiniLM-L6-v2's encoder."""
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
                        return_dict=False, attn_implementation="sdpa")
    return Encoder(BertModel(config))


def gpt2():
    """With nn.Linear for its Conv1D, which torchao leaves alone."""
    from transformers import GPT2Config, GPT2Model
    from transformers.pytorch_utils import Conv1D

    model = GPT2Model(GPT2Config(use_cache=False, return_dict=False, attn_implementation="sdpa"))
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Conv1D):
                linear = nn.Linear(*child.weight.shape)
                with torch.no_grad():
                    linear.weight.copy_(child.weight.t())
                    linear.bias.copy_(child.bias)
                setattr(module, name, linear)
    return FirstOutput(model)


def vit():
    import torchvision

    model = torchvision.models.vit_b_16(weights=None)
    nn.init.normal_(model.heads.head.weight, std=0.02)  # zeros hide every error before them
    return model


def llama_block():
    return DecoderBlock()


def mlp():
    return nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(4096, 4096), nn.GELU())])


MAKERS = {"bert": bert, "minilm": minilm, "gpt2": gpt2, "vit_b_16": vit, "llama_block": llama_block, "mlp": mlp}


def parse(spec):
    """Of MODEL:BATCH or MODEL:BATCHxLENGTH the model, the batch and the length
    (None without one)."""
    name, _, sizes = spec.partition(":")
    batch, _, length = sizes.partition("x")
    if name not in MAKERS or not batch.isdigit() or (length and not length.isdigit()):
        raise SystemExit(f"no row {spec}; models: {', '.join(MAKERS)}, as in bert:8x128 or vit_b_16:8")
    return name, int(batch), int(length) if length else None


def make(name):
    """The same weights in every process."""
    torch.manual_seed(0)
    model = MAKERS[name]().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # biases of 0 and norms of 1 hide errors
                parameter.add_(torch.randn_like(parameter) * 0.02)
    return model.to(torch.bfloat16)


def sample(spec, longest=None):
    """The same inputs in every process, on the CPU; of `longest` tokens at most."""
    name, batch, length = parse(spec)
    length = min(length or 0, longest or length or 0)
    torch.manual_seed(1)
    if name == "vit_b_16":
        return [torch.randn(batch, 3, 224, 224, dtype=torch.bfloat16)]
    if name == "llama_block":
        return [torch.randn(batch, length, 4096, dtype=torch.bfloat16)]
    if name == "mlp":
        return [torch.randn(batch, 4096, dtype=torch.bfloat16)]
    return [torch.randint(0, 30000, (batch, length))]


def save(folder, spec):
    """Traces the row's model on the CPU; files of the model and of its inputs."""
    files = [os.path.join(folder, spec.replace(":", "_") + end) for end in (".pt", ".inputs.pt")]
    if not all(map(os.path.exists, files)):
        # The block takes any length; a trace of a long one takes long.
        short = sample(spec, longest=64 if parse(spec)[0] == "llama_block" else None)
        with torch.inference_mode(False), torch.no_grad():
            traced = torch.jit.trace(make(parse(spec)[0]), tuple(short), check_trace=False, strict=False)
        torch.jit.save(traced, files[0])
        torch.save(sample(spec), files[1])
    return files
