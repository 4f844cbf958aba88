"""Writes golden.txt, beside it: what torchao makes of some small tensors.

Needs torchao 0.18 and PyTorch; run it with no arguments. A line each:

  tensor NAME DTYPE ROWS COLUMNS VALUES
  FORMAT GRANULARITY CODES SCALES      (of the tensor before it)
  cast SHA256                          (see below)

in hexadecimal, bytes in memory order (little-endian), rows contiguous.
"""

import hashlib
import pathlib

import torch
import torchao
from torchao.quantization import Float8Tensor, Int8Tensor, PerRow, PerTensor

COLUMNS = 20
BIG = {torch.float32: 3e38, torch.bfloat16: 3e38, torch.float16: 6e4}
TINY = {torch.float32: 1e-9, torch.bfloat16: 1e-9, torch.float16: 1e-6}


def random(rows, dtype):
    return torch.randn(rows, COLUMNS, generator=torch.Generator().manual_seed(7)).to(dtype)


def edges(dtype):
    """Rows that meet each rule of the formats at its edge."""
    t = random(10, dtype)
    steps = torch.arange(COLUMNS)
    t[1] = 0
    t[2] = -0.0
    t[3] = 0
    t[3, 3] = -1.5  # the greatest magnitude is negative: code -128
    t[4] *= TINY[dtype]  # below int8's smallest scale
    t[5, 0], t[5, 1] = BIG[dtype], -BIG[dtype]
    t[6] = (steps % 16 - 8) * 0.5
    t[6, 0], t[6, 1] = 127.5, -127.5  # int8's scale is 1: ties
    t[7] = (steps % 32) * 0.03125
    t[7, 0] = 448.0  # float8's scale is 1: ties and subnormals
    t[8] = steps * torch.finfo(dtype).smallest_normal / 64  # subnormals
    t[9] = -t[9].abs()
    return t


def hexadecimal(t):
    return t.contiguous().view(torch.uint8).numpy().tobytes().hex()


def lines():
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for name, t in (("edges", edges(dtype)), ("random", random(3, dtype))):
            rows, columns = t.shape
            yield f"tensor {name} {str(dtype)[6:]} {rows} {columns} {hexadecimal(t)}"
            for granularity, of in (("row", PerRow()), ("tensor", PerTensor())):
                for kind, made in (("int8", Int8Tensor.from_hp(t, granularity=of)),
                                   ("float8", Float8Tensor.from_hp(t, granularity=of))):
                    yield f"{kind} {granularity} {hexadecimal(made.qdata)} {hexadecimal(made.scale)}"
    # PyTorch's conversion of the bfloat16 numbers 0x0000, 0x0001 .. 0xffff.
    every = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    cast = every.to(torch.float8_e4m3fn).view(torch.uint8).numpy().tobytes()
    yield f"cast {hashlib.sha256(cast).hexdigest()}"


assert torchao.__version__.startswith("0.18."), torchao.__version__
path = pathlib.Path(__file__).parent / "golden.txt"
path.write_text("\n".join(lines()) + "\n")
