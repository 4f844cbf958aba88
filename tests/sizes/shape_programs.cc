#include "tests/sizes/model_programs.h"

namespace aitune::sizes {

std::vector<ModelProgram> ShapePrograms() {
  return {
      {"nested lists of sizes",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    shapes: List[List[int]] = []
    while n > 3:
        shapes.append([n, n // 2])
        n = n // 2
    y = x.sum()
    for s in shapes:
        y = y + s[0] * 0.5 - s[1]
    return y, len(shapes), shapes
)",
       {}},
      {"pyramid levels",
       R"(def forward(self, x: Tensor):
    outs: List[Tensor] = []
    y = x
    for i in range(6):
        if y.size(0) < 2:
            break
        y = y[:y.size(0) // 2 * 2].view([-1, 2, 4]).mean(1)
        outs.append(y)
    return outs
)",
       {}},
      {"early return in a loop",
       R"(def forward(self, x: Tensor):
    for i in range(10):
        if i * i > x.size(0):
            return x + i
        x = x * 1.1
    return x - 1
)",
       {}},
      {"continue and break",
       R"(def forward(self, x: Tensor):
    y = x.sum()
    for i in range(x.size(0)):
        if i % 3 == 0:
            continue
        if i > 25:
            break
        y = y + x[i, i % 4]
    return y
)",
       {}},
      {"dictionary of lengths",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    d: Dict[str, int] = {"n": n, "half": n // 2}
    d["rest"] = n - d["half"] * 2
    if d["rest"] == 1:
        return x[:d["half"] + 1]
    return x[d["half"]:]
)",
       {}},
      {"string by size",
       R"(def forward(self, x: Tensor):
    mode = "long" if x.size(0) > 64 else "short"
    if mode == "long":
        return x.mean(0), mode
    return x.sum(0), mode
)",
       {}},
      {"optional by size",
       R"(def forward(self, x: Tensor):
    extra: Optional[Tensor] = None
    if x.size(0) > 11:
        extra = x[11:]
    if extra is not None:
        x = x[:extra.size(0)] + extra[:x.size(0)] if extra.size(0) <= x.size(0) else x
    return x, extra
)",
       {}},
      {"tuple comparison",
       R"(def forward(self, x: Tensor):
    if x.shape == [12, 4]:
        return x * 12
    if x.size(0) in [3, 5, 7]:
        return x - 1
    return x + 1
)",
       {}},
      {"bit operations",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    k = 1
    while k * 2 <= n:
        k = k * 2
    if (n & (n - 1)) == 0:
        return x[:k] * 2
    return x[:k] + (n >> 2) - (n ^ 5)
)",
       {}},
      {"negative floor division",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    k = -(-n // 8)
    r = -n % 8
    d = (10 - n) // 4
    return torch.constant_pad_nd(x, [0, 0, 0, r]).view([k, 8, 4]).sum(1) + d
)",
       {}},
      {"divmod and powers",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    q, r = divmod(n, 9)
    return x[:q + r] * (2 ** min(q, 5)), q * r
)",
       {}},
      {"negative steps of positions",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    p = torch.arange(n - 1, -1, -2)
    return x[p], torch.arange(0, n, 3), torch.linspace(0, 1, n)
)",
       {}},
      {"alibi slopes",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    slopes: List[float] = []
    for h in range(3):
        slopes.append(2.0 ** (-(h + 1)))
    m = torch.tensor(slopes).view([3, 1, 1])
    p = torch.arange(n)
    bias = -(p.unsqueeze(1) - p).abs() * m
    causal = torch.ones([n, n]).tril(0) == 0
    s = torch.matmul(x, x.t()).unsqueeze(0) + bias
    return torch.softmax(s.masked_fill(causal, -1e9), -1)
)",
       {}},
      {"rope cached table",
       R"(def forward(self, x: Tensor):
    table = torch.outer(torch.arange(128, dtype=6), torch.tensor([1.0, 0.1]))
    n = x.size(0)
    f = table[:n]
    if n > 128:
        f = torch.outer(torch.arange(n, dtype=6), torch.tensor([1.0, 0.1]))
    c = f.cos()
    s = f.sin()
    a = x[:, :2]
    b = x[:, 2:]
    return torch.cat([a * c - b * s, b * c + a * s], 1)
)",
       {}},
      {"sliding blocks with leftovers",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    block = 16
    full = n // block
    outs: List[Tensor] = []
    if full > 0:
        y = x[:full * block].view([full, block, 4])
        outs.append((y - y.mean(1, True)).view([-1, 4]))
    if n % block != 0:
        z = x[full * block:]
        outs.append(z - z.mean(0, True))
    return torch.cat(outs)
)",
       {}},
      {"landmark attention",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    m = 8
    if n % m == 0:
        k = x.reshape([m, n // m, 4]).mean(1)
    else:
        s = n // m
        r = n - s * m
        if s > 0:
            a = x[:(m - r) * s].reshape([m - r, s, 4]).mean(1)
            b = x[(m - r) * s:].reshape([r, s + 1, 4]).mean(1)
            k = torch.cat([a, b])
        else:
            k = x
    return torch.matmul(torch.softmax(torch.matmul(x, k.t()), -1), k)
)",
       {}},
      {"related lengths",
       R"(def forward(self, x: Tensor, y: Tensor):
    if x.size(0) == y.size(0):
        return x * y
    return x.sum() + y.sum()
)",
       {"float32[n=1..130,4]", "float32[n,4]"}},
      {"past and present",
       R"(def forward(self, past: Tensor, x: Tensor):
    k = torch.cat([past, x])
    t = k.size(0)
    n = x.size(0)
    mask = torch.ones([t, t]).tril(0)[t - n:t, :t]
    s = torch.matmul(x, k.t()).masked_fill(mask == 0, -1e9)
    if t > 64:
        s = s[:, t - 64:]
        k = k[t - 64:]
    return torch.matmul(torch.softmax(s, -1), k), k[-32:]
)",
       {"float32[p=1..60,4]", "float32[n=1..40,4]"}},
      {"broadcast of two",
       R"(def forward(self, x: Tensor, y: Tensor):
    if x.size(0) == 1 or y.size(0) == 1 or x.size(0) == y.size(0):
        return x + y
    return torch.cat([x, y])
)",
       {"float32[a=1..9,4]", "float32[b=1..9,4]"}},
      {"aligned to the longer",
       R"(def forward(self, x: Tensor, y: Tensor):
    n = max(x.size(0), y.size(0))
    m = min(x.size(0), y.size(0))
    x = torch.constant_pad_nd(x, [0, 0, 0, n - x.size(0)])
    y = torch.constant_pad_nd(y, [0, 0, 0, n - y.size(0)])
    return x * y, (x - y)[:m].sum()
)",
       {"float32[a=1..40,4]", "float32[b=1..40,4]"}},
      {"repeats by ratio",
       R"(def forward(self, x: Tensor, y: Tensor):
    k = y.size(0) // x.size(0)
    if k * x.size(0) == y.size(0):
        return x.repeat_interleave(k, 0) + y if k > 1 else x + y
    return x.repeat([k + 1, 1])[:y.size(0)] * y
)",
       {"float32[a=1..12,4]", "float32[b=1..40,4]"}},
      {"loop by both",
       R"(def forward(self, x: Tensor, y: Tensor):
    s = torch.zeros([4])
    for i in range(x.size(0)):
        for j in range(min(i + 1, y.size(0))):
            s = s + x[i] * y[j]
    return s
)",
       {"float32[a=1..10,4]", "float32[b=1..10,4]"}},
      {"greatest common divisor",
       R"(def forward(self, x: Tensor, y: Tensor):
    a = x.size(0)
    b = y.size(0)
    while b != 0:
        a, b = b, a % b
    return x.view([a, -1]).sum(1) + y.view([a, -1]).sum(1), a
)",
       {"float32[a=1..24,4]", "float32[b=1..24,4]"}},
      {"masked mean of lengths",
       R"(def forward(self, x: Tensor):
    b, t = x.size(0), x.size(1)
    lengths = torch.arange(1, b + 1) * t // b
    mask = torch.arange(t).unsqueeze(0) < lengths.unsqueeze(1)
    m = mask.unsqueeze(-1).to(x.dtype)
    return (x * m).sum(1) / m.sum(1).clamp(1.0)
)",
       {"float32[b=1..7,t=1..29,4]"}},
      {"last token of rows",
       R"(def forward(self, x: Tensor):
    b = x.size(0)
    i = torch.arange(b)
    j = torch.arange(b).remainder(x.size(1))
    return x[i, j], x[:, -1], x[:, x.size(1) // 2]
)",
       {"float32[b=1..7,t=1..29,4]"}},
      {"flattening and back",
       R"(def forward(self, x: Tensor):
    s = x.size()
    y = x.reshape([-1, s[2]])
    y = torch.layer_norm(y, [4])
    return y.view(s).permute([1, 0, 2]).flatten(1)
)",
       {"float32[b=1..7,t=1..29,4]"}},
      {"patches",
       R"(def forward(self, x: Tensor):
    p = 4
    h = x.size(0) // p
    w = x.size(1) // p
    y = x[:h * p, :w * p].reshape([h, p, w, p, 3]).permute([0, 2, 1, 3, 4]).reshape([h * w, p * p * 3])
    pos = torch.sin(torch.arange(64, dtype=6)).view([1, 1, 8, 8])
    pos = torch.upsample_bicubic2d(pos, [h, w], False)
    return y + pos.flatten().unsqueeze(1)
)",
       {"float32[h=4..33,w=4..33,3]"}},
      {"centre crop",
       R"(def forward(self, x: Tensor):
    h, w = x.size(0), x.size(1)
    s = min(h, w)
    top = int(round((h - s) / 2.0))
    left = int(round((w - s) / 2.0))
    y = x[top:top + s, left:left + s]
    if s > 16:
        y = y[::2, ::2]
    return y + 1
)",
       {"float32[h=1..33,w=1..33]"}},
      {"even kernel same padding",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    stride = 3
    kernel = 4
    out = (n + stride - 1) // stride
    total = max((out - 1) * stride + kernel - n, 0)
    y = torch.constant_pad_nd(x.t().unsqueeze(0), [total // 2, total - total // 2])
    w = torch.cos(torch.arange(16, dtype=6)).view([2, 2, 4])
    return torch.conv1d(y, w, None, [stride])
)",
       {"float32[n=1..90,2]"}},
      {"gather of last k",
       R"(def forward(self, x: Tensor):
    k = min(5, x.size(0))
    v, i = torch.topk(x[:, 0], k)
    return torch.index_select(x, 0, i), v
)",
       {}},
      {"cumulative window",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    w = 5
    c = x.cumsum(0)
    if n > w:
        c = torch.cat([c[:w], c[w:] - c[:n - w]])
    return c
)",
       {}},
      {"empty slices",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    y = x[20:]
    if y.size(0) == 0:
        return x.sum(0), y
    return y.sum(0), x[:0]
)",
       {}},
      {"assert on remainder",
       R"(def forward(self, x: Tensor):
    assert x.size(0) % 3 != 2, "not of this length"
    return x.exp()
)",
       {}},
      {"rounded down",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    k = int(round(n * 0.35))
    m = int(n / 7)
    c = -int(-n * 0.125 // 1)
    return x[:k].sum(), x[m:m + c] * 1.0, k, m, c
)",
       {}},
      {"square",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    side = int((n - 1) ** 0.5) + 1
    y = torch.constant_pad_nd(x, [0, 0, 0, side * side - n])
    return y.view([side, side, 4]).transpose(0, 1).reshape([-1, 4])[:n], side
)",
       {}},
      {"float comparison",
       R"(def forward(self, x: Tensor):
    r = x.size(0) / 3
    if r > 11.5:
        return x * r
    if r == 4.0:
        return x - r
    return x + r // 1
)",
       {}},
      {"sorted sizes",
       R"(def forward(self, x: Tensor):
    sizes = [x.size(0), 10, 40]
    sizes.sort()
    return x[:sizes[0]], x[-sizes[1]:].sum(), sum(sizes), sizes.index(10)
)",
       {}},
      {"part sizes",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    k = n // 4
    parts = torch.split(x, [k, k, k, n - 3 * k])
    return torch.cat([parts[3], parts[0]]), len(parts)
)",
       {}},
      {"rows by name",
       R"(def forward(self, x: Tensor):
    rows: Dict[str, Tensor] = {}
    for i in range(min(x.size(0), 5)):
        rows["row" + str(i)] = x[i] * i
    return rows
)",
       {}},
      {"written parts",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    y = torch.zeros([n, 4])
    y[::2] = x[::2]
    y[n // 2:] += 1
    y[-1] = 7
    if n > 9:
        y[3:9, 1] *= 2
    return y
)",
       {}},
      {"sizes as tensors",
       R"(def forward(self, x: Tensor):
    n = torch.tensor(x.size(0))
    k = (n.to(6).sqrt().floor() * 2).to(4)
    return x[:int(k)], x[int(n // 2):], n * 2, k
)",
       {}},
      {"three lengths",
       R"(def forward(self, x: Tensor, y: Tensor, z: Tensor):
    if x.size(0) + y.size(0) == z.size(0):
        return torch.cat([x, y]) * z
    if x.size(0) * 2 > y.size(0) and y.size(0) < z.size(0):
        return x[:1] + z[:y.size(0)]
    return torch.cat([x, y, z])[::x.size(0)]
)",
       {"float32[a=1..20,4]", "float32[b=1..20,4]", "float32[c=1..20,4]"}},
  };
}

}  // namespace aitune::sizes
