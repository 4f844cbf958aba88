"""Rows of operator_table.py for what stands between the large products of networks:
pools, norms, small convolutions, indices, movements and reductions."""

import torch
from torch import nn
from torch.nn import functional as F


class Indexed(nn.Module):
    """A function of a tensor and of indices that are a constant of the model."""

    def __init__(self, function, sizes, bound):
        super().__init__()
        self.function = function
        self.register_buffer("index", torch.randint(bound, sizes))

    def forward(self, *inputs):
        return self.function(self.index, *inputs)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down = nn.Conv2d(channels, channels // 4, 1)
        self.up = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3), keepdim=True)))))


class GatedMlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def rotary(x, cosine, sine):
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cosine + turned * sine


def shuffle(x):
    n, c, h, w = x.shape
    return x.view(n, 3, c // 3, h, w).transpose(1, 2).reshape(n, c, h, w)


def windows(x):
    n, h, w, c = x.shape
    x = torch.roll(x, (-3, -3), (1, 2))
    return x.view(n, h // 7, 7, w // 7, 7, c).transpose(2, 3).reshape(-1, 49, c)


def masked_softmax(x):
    above = torch.ones(x.shape[-1], x.shape[-1], dtype=torch.bool).triu(1)
    return x.masked_fill(above, float("-inf")).softmax(-1)


def layers():
    """{name: (layer, sizes of its input)}."""
    conv = nn.Conv2d
    return {
        "rms norm 2048x4096": (RmsNorm(4096), [1, 2048, 4096]),
        "layer norm of 64 16384x64": (nn.LayerNorm(64), [16384, 64]),
        "batch norm relu 256 at 56": (nn.Sequential(nn.BatchNorm2d(256), nn.ReLU()), [4, 256, 56, 56]),
        "global average pool 512 at 28": (nn.AdaptiveAvgPool2d(1), [8, 512, 28, 28]),
        "average pool to 7 512 at 14": (nn.AdaptiveAvgPool2d(7), [8, 512, 14, 14]),
        "max pool 3x3 stride 2 64 at 112": (nn.MaxPool2d(3, 2, 1), [8, 64, 112, 112]),
        "average pool 3x3 192 at 28": (nn.AvgPool2d(3, 1, 1), [8, 192, 28, 28]),
        "conv2d 3x3 stride 2 from 3": (conv(3, 32, 3, 2, 1), [8, 3, 224, 224]),
        "conv2d 16x16 stride 16 from 3": (conv(3, 768, 16, 16), [4, 3, 224, 224]),
        "conv2d 3x3 512 at 7": (conv(512, 512, 3, 1, 1), [1, 512, 7, 7]),
        "conv2d 3x3 256 at 14": (conv(256, 256, 3, 1, 1), [1, 256, 14, 14]),
        "conv2d 3x3 64 at 112": (conv(64, 64, 3, 1, 1), [1, 64, 112, 112]),
        "conv2d 5x5 64 at 28": (conv(64, 64, 5, 1, 2), [4, 64, 28, 28]),
        "conv2d 1x1 stride 2 256 at 56": (conv(256, 512, 1, 2), [4, 256, 56, 56]),
        "conv2d 1x7 192 at 17": (conv(192, 192, (1, 7), 1, (0, 3)), [4, 192, 17, 17]),
        "conv2d dilated 2 256 at 28": (conv(256, 256, 3, 1, 2, 2), [1, 256, 28, 28]),
        "conv2d depthwise 3x3 144 at 56": (conv(144, 144, 3, 1, 1, groups=144), [4, 144, 56, 56]),
        "conv2d depthwise 5x5 stride 2 240 at 28": (conv(240, 240, 5, 2, 2, groups=240), [4, 240, 28, 28]),
        "conv2d 1x1 in 4 groups 240 at 28": (conv(240, 240, 1, groups=4), [4, 240, 28, 28]),
        "conv2d 1x1 to 1 channel 256 at 64": (conv(256, 1, 1), [4, 256, 64, 64]),
        "conv transposed 4x4 stride 2 128 at 32": (nn.ConvTranspose2d(128, 64, 4, 2, 1), [2, 128, 32, 32]),
        "conv transposed 1d k16 s8 128 at 500": (nn.ConvTranspose1d(128, 64, 16, 8, 4), [1, 128, 500]),
        "conv1d causal 512 k4 depthwise at 1024": (nn.Conv1d(512, 512, 4, padding=3, groups=512), [2, 512, 1024]),
        "squeeze excite 240 at 28": (SqueezeExcite(240), [4, 240, 28, 28]),
        "gated mlp 64x1024x2816": (GatedMlp(1024, 2816), [64, 1024]),
        "linear odd 1000x99x37": (nn.Linear(99, 37), [1000, 99]),
        "linear 8 rows 1024x4096": (nn.Linear(1024, 4096), [8, 1024]),
        "linear to 2 classes 4096x768": (nn.Linear(768, 2), [4096, 768]),
        "rnn tanh 128 4x50x128": (nn.RNN(128, 128, batch_first=True), [4, 50, 128]),
        "lstm 2 layers 64 1x200x64": (nn.LSTM(64, 64, 2, batch_first=True), [1, 200, 64]),
        "encoder layer 256 4x128x256": (nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), [4, 128, 256]),
        "bicubic 2x 16 at 64": (nn.Upsample(scale_factor=2, mode="bicubic"), [2, 16, 64, 64]),
        "nearest 2x 64 at 64": (nn.Upsample(scale_factor=2), [4, 64, 64, 64]),
        "pixel shuffle 2 256 at 64": (nn.PixelShuffle(2), [4, 256, 64, 64]),
        "reflection pad 3 64 at 112": (nn.ReflectionPad2d(3), [4, 64, 112, 112]),
        "unfold 3x3 64 at 56": (nn.Unfold(3, padding=1), [2, 64, 56, 56]),
        "fold 4x4 64 at 56": (nn.Fold(56, 4, stride=4), [2, 1024, 196]),
        "mish of 1 million": (nn.Mish(), [1024, 1024]),
        "softplus of 1 million": (nn.Softplus(), [1024, 1024]),
    }


def indexed():
    """{name: (function of indices, sizes of the indices, their bound, sizes of the input)}."""
    table = torch.randn(30522, 256)
    return {
        "embedding 30522x256 of 16x128": (lambda i, x: F.embedding(i, table) * x, [16, 128], 30522, [16, 128, 1]),
        "embedding bag 30522x256 of 512x32": (lambda i, x: F.embedding_bag(i, table) + x, [512, 32], 30522, [512, 1]),
        "gather rows 10000 of 20000x64": (lambda i, x: x[i], [10000], 20000, [20000, 64]),
        "gather along rows 4096x512": (lambda i, x: x.gather(1, i), [4096, 512], 1024, [4096, 1024]),
        "index add 20000 of 64": (lambda i, x: x.new_zeros(2000, 64).index_add(0, i, x), [20000], 2000, [20000, 64]),
        "scatter mean 20000 of 64": (
            lambda i, x: x.new_zeros(2000, 64).index_reduce(0, i, x, "mean", include_self=False),
            [20000],
            2000,
            [20000, 64],
        ),
        "one hot 4096 of 1000": (lambda i, x: F.one_hot(i, 1000).float() * x, [4096], 1000, [4096, 1]),
        "relative positions 8x256x256": (
            lambda i, x: x[i].permute(2, 0, 1).contiguous(),
            [256, 256],
            511,
            [511, 8],
        ),
    }


def functions():
    """{name: (function, sizes of its inputs)}."""
    return {
        "softmax causal 8x12x256x256": (masked_softmax, [[8, 12, 256, 256]]),
        "log sum exp 4096x1000": (lambda x: x.logsumexp(-1), [[4096, 1000]]),
        "variance of rows 4096x1024": (lambda x: x.var(-1), [[4096, 1024]]),
        "variance over the first axis": (lambda x: x.var(0), [[4096, 1024]]),
        "sum of all 16 million": (lambda x: x.sum(), [[4096, 4096]]),
        "maximum over the middle axis": (lambda x: x.amax(1), [[64, 256, 256]]),
        "any above 3 of 4096x4096": (lambda x: (x > 3).any(-1), [[4096, 4096]]),
        "norm of rows 8192x512": (lambda x: F.normalize(x, dim=-1), [[8192, 512]]),
        "cosine of rows 8192x512": (lambda x, y: F.cosine_similarity(x, y), [[8192, 512]] * 2),
        "distances 1000x1000x64": (torch.cdist, [[1000, 64]] * 2),
        "outer sum 4096x4096": (lambda x, y: x + y, [[4096, 1], [1, 4096]]),
        "rotary 8x16x256x64": (rotary, [[8, 16, 256, 64], [256, 64], [256, 64]]),
        "channel shuffle 3 240 at 28": (shuffle, [[8, 240, 28, 28]]),
        "shifted windows 8x56x56x96": (windows, [[8, 56, 56, 96]]),
        "channels to the end 64 at 112": (lambda x: x.permute(0, 2, 3, 1).contiguous(), [[8, 64, 112, 112]]),
        "heads apart 8x512x12x64": (lambda x: x.view(8, 512, 12, 64).transpose(1, 2).contiguous(), [[8, 512, 768]]),
        "flip 4096x1024": (lambda x: x.flip(-1), [[4096, 1024]]),
        "lower triangle 2048x2048": (torch.tril, [[2048, 2048]]),
        "strided slice 4096x4096": (lambda x: x[::2, ::2] * 2, [[4096, 4096]]),
        "grid sample 32 at 64": (
            lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False),
            [[4, 32, 64, 64], [4, 64, 64, 2]],
        ),
        "einsum bhid,bhjd->bhij": (
            lambda x, y: torch.einsum("bhid,bhjd->bhij", x, y),
            [[2, 8, 256, 64]] * 2,
        ),
        "bmm of vectors 512x1x64x64": (torch.bmm, [[512, 1, 64], [512, 64, 64]]),
        "matmul 64x64x64": (torch.matmul, [[64, 64]] * 2),
        "gelu tanh of 1 million": (lambda x: F.gelu(x, approximate="tanh"), [[1024, 1024]]),
        "sine and cosine of 1 million": (lambda x: torch.sin(x) * torch.cos(x), [[1024, 1024]]),
        "power 2.5 of 1 million": (lambda x: x.abs().pow(2.5), [[1024, 1024]]),
        "where and clamp of 4 million": (lambda x, y: torch.where(x > y, x.clamp(0, 6), y * 0.1), [[2048, 2048]] * 2),
        "argsort 64x1024": (lambda x: x.argsort(-1), [[64, 1024]]),
        "cumulative product 256x1024": (lambda x: x.cumprod(-1), [[256, 1024]]),
        "median of rows 1024x255": (lambda x: x.median(-1)[0], [[1024, 255]]),
        "real fft 64x4096": (lambda x: torch.fft.rfft(x).abs(), [[64, 4096]]),
    }
