"""The rows of operator_table.py: models of one operator, or of the few that make
one kernel, at sizes that networks have."""

import torch
from torch import nn
from torch.nn import functional as F

import more_operator_rows

class Function(nn.Module):
    """A function as a module, so that it can be traced and saved."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class First(nn.Module):
    """The first result of a module, such as the outputs of an LSTM."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)[0]


def biased_attention(q, k, v, bias):
    return ((q @ k.transpose(-1, -2)) * 0.125 + bias).softmax(-1) @ v


def attention(causal):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def rows():
    """{name: (module, sizes of its inputs)}."""
    table = {}
    for heads in ("8x12x512x64", "4x16x1500x64", "1x32x2048x128", "2x8x8192x64"):
        sizes = [int(n) for n in heads.split("x")]
        table[f"attention {heads}"] = (Function(attention(False)), [sizes] * 3)
    table["attention causal 1x32x2048x128"] = (
        Function(attention(True)),
        [[1, 32, 2048, 128]] * 3,
    )
    table["attention one query 8x32x1x128 of 4096"] = (
        Function(attention(False)),
        [[8, 32, 1, 128], [8, 32, 4096, 128], [8, 32, 4096, 128]],
    )
    table["attention windows with bias 256x3x49x32"] = (
        Function(biased_attention),
        [[256, 3, 49, 32]] * 3 + [[1, 3, 49, 49]],
    )
    for name, module, sizes in (
        ("conv1d 384 k3 8x384x3000", nn.Conv1d(384, 384, 3, padding=1), [8, 384, 3000]),
        (
            "conv1d dilated 4 128 k3 8x128x2000",
            nn.Conv1d(128, 128, 3, padding=4, dilation=4),
            [8, 128, 2000],
        ),
        (
            "conv1d grouped 16 768 k128 1x768x499",
            nn.Conv1d(768, 768, 128, padding=64, groups=16),
            [1, 768, 499],
        ),
        ("conv1d stem 1 to 512 k10 s5", nn.Conv1d(1, 512, 10, stride=5), [1, 1, 16000]),
        ("conv2d 3x3 128 at 56", nn.Conv2d(128, 128, 3, padding=1), [8, 128, 56, 56]),
        ("conv2d 1x1 256 at 28", nn.Conv2d(256, 512, 1), [8, 256, 28, 28]),
        (
            "conv2d 7x7 stride 2 from 3",
            nn.Conv2d(3, 64, 7, stride=2, padding=3),
            [8, 3, 224, 224],
        ),
        (
            "conv2d grouped 32x8 at 28",
            nn.Conv2d(256, 256, 3, padding=1, groups=32),
            [8, 256, 28, 28],
        ),
        (
            "conv2d depthwise 7x7 96 at 56",
            nn.Conv2d(96, 96, 7, padding=3, groups=96),
            [8, 96, 56, 56],
        ),
        (
            "conv transposed 2x2 128 at 28",
            nn.ConvTranspose2d(128, 64, 2, stride=2),
            [4, 128, 28, 28],
        ),
        ("conv3d 3x3x3 32 at 16", nn.Conv3d(32, 32, 3, padding=1), [2, 32, 16, 32, 32]),
        ("linear 512x4096x11008", nn.Linear(4096, 11008), [512, 4096]),
        ("linear gelu 4096x768x3072", nn.Sequential(nn.Linear(768, 3072), nn.GELU()), [4096, 768]),
        ("linear one row 4096x4096", nn.Linear(4096, 4096), [1, 4096]),
        ("group norm 32 of 256 at 64", nn.GroupNorm(32, 256), [4, 256, 64, 64]),
        (
            "group norm 32 silu 128 at 64",
            nn.Sequential(nn.GroupNorm(32, 128), nn.SiLU()),
            [4, 128, 64, 64],
        ),
        ("instance norm 64 at 128", nn.InstanceNorm2d(64), [4, 64, 128, 128]),
        ("layer norm 8x512x768", nn.LayerNorm(768), [8, 512, 768]),
        ("bilinear 2x 64 at 56", nn.Upsample(scale_factor=2, mode="bilinear"), [4, 64, 56, 56]),
        ("lstm 256 8x64x256", First(nn.LSTM(256, 256, batch_first=True)), [8, 64, 256]),
        ("gru 2 ways 128 1x100x128", First(nn.GRU(128, 128, bidirectional=True, batch_first=True)), [1, 100, 128]),
    ):
        table[name] = (module, [sizes])
    for name, function, sizes in (
        ("softmax 50257 classes", lambda x: x.softmax(-1), [[32, 50257]]),
        ("log softmax along the first axis", lambda x: x.log_softmax(0), [[4096, 512]]),
        ("mean over the first axis", lambda x: x.mean(0), [[4096, 1024]]),
        ("argmax over 32000", lambda x: x.argmax(-1), [[64, 32000]]),
        ("cumsum over 4096", lambda x: x.cumsum(-1), [[256, 4096]]),
        ("topk 50 of 32000", lambda x: x.topk(50)[0], [[16, 32000]]),
        ("sort 64x4096", lambda x: x.sort(-1)[0], [[64, 4096]]),
        ("gelu of 16 million", lambda x: F.gelu(x), [[4096, 4096]]),
        ("concatenation along channels", lambda x, y: torch.cat([x, y], 1), [[4, 128, 64, 64]] * 2),
        ("bmm 8x512x512", lambda x, y: torch.bmm(x, y), [[8, 512, 512]] * 2),
        ("transpose 4096x4096", lambda x: x.t().contiguous(), [[4096, 4096]]),
    ):
        table[name] = (Function(function), sizes)
    for name, (module, sizes) in more_operator_rows.layers().items():
        table[name] = (First(module) if isinstance(module, nn.RNNBase) else module, [sizes])
    for name, (function, indices, bound, sizes) in more_operator_rows.indexed().items():
        table[name] = (more_operator_rows.Indexed(function, indices, bound), [sizes])
    for name, (function, sizes) in more_operator_rows.functions().items():
        table[name] = (Function(function), sizes)
    return table
