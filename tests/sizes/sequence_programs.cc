#include "tests/sizes/model_programs.h"

namespace aitune::sizes {

std::vector<ModelProgram> SequencePrograms() {
  return {
      {"tokenizer cut keeps both ends",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    limit = 50
    if n > limit:
        head = limit // 2
        tail = limit - head
        x = torch.cat([x[:head], x[n - tail:]])
    return x * 2, x.size(0), n > limit
)",
       {}},
      {"relative positions buckets",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    p = torch.arange(n)
    d = p.unsqueeze(0) - p.unsqueeze(1)
    sign = (d > 0).to(4) * 16
    a = torch.abs(d)
    small = a < 8
    large = 8 + (torch.log(a.to(6) / 8.0 + 1e-6) / 2.7725887 * 8).to(4)
    large = torch.min(large, torch.full_like(large, 15))
    bucket = sign + torch.where(small, a, large)
    table = torch.sin(torch.arange(32, dtype=6))
    bias = torch.embedding(table.unsqueeze(1), bucket).squeeze(-1)
    return torch.softmax(torch.matmul(x, x.t()) + bias, -1)
)",
       {}},
      {"relative shift",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    s = torch.matmul(x, x.t())
    r = torch.cat([torch.zeros([n, 1]), torch.cat([s, s.flip([1])[:, 1:]], 1)], 1)
    r = r.view([2 * n, n])[1:].view([n, 2 * n - 1])
    return r[:, :n] + s
)",
       {}},
      {"window partition with padding",
       R"(def forward(self, x: Tensor):
    w = 7
    n = x.size(0)
    p = (w - n % w) % w
    y = torch.constant_pad_nd(x, [0, 0, 0, p])
    windows = y.view([-1, w, 4])
    a = torch.softmax(torch.matmul(windows, windows.transpose(1, 2)), -1)
    z = torch.matmul(a, windows).view([n + p, 4])
    if p > 0:
        z = z[:n].contiguous()
    return z
)",
       {}},
      {"window partition 2d",
       R"(def forward(self, x: Tensor):
    ws = 5
    h = x.size(0)
    w = x.size(1)
    ph = (ws - h % ws) % ws
    pw = (ws - w % ws) % ws
    y = torch.constant_pad_nd(x, [0, 0, 0, pw, 0, ph])
    hp = y.size(0)
    wp = y.size(1)
    y = y.view([hp // ws, ws, wp // ws, ws, 4]).permute([0, 2, 1, 3, 4]).contiguous().view([-1, ws * ws, 4])
    y = y - y.mean(1, True)
    y = y.view([hp // ws, wp // ws, ws, ws, 4]).permute([0, 2, 1, 3, 4]).reshape([hp, wp, 4])
    if ph > 0 or pw > 0:
        y = y[:h, :w].contiguous()
    return y
)",
       {"float32[h=1..23,w=1..19,4]"}},
      {"shifted window",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    shift = 3 if n > 6 else 0
    if shift > 0:
        x = torch.roll(x, [-shift], [0])
    p = (6 - n % 6) % 6
    y = torch.constant_pad_nd(x, [0, 0, 0, p]).view([-1, 6, 4]).max(1)[0]
    return y, shift
)",
       {"float32[n=1..60,4]"}},
      {"strided pooling lengths",
       R"(def forward(self, x: Tensor):
    y = x.t().unsqueeze(0)
    lengths: List[int] = []
    n = x.size(0)
    for k in [3, 5, 2]:
        n = (n + 2 * (k // 2) - k) // 2 + 1
        lengths.append(n)
        y = torch.avg_pool1d(y, [k], [2], [k // 2])
    assert y.size(2) == n
    return y, lengths
)",
       {}},
      {"conv feature extractor lengths",
       R"(def forward(self, x: Tensor):
    y = x.mean(1).view([1, 1, -1])
    w = torch.sin(torch.arange(10, dtype=6)).view([1, 1, 10])
    if x.size(0) >= 10:
        y = torch.conv1d(y, w, None, [5])
    v = torch.cos(torch.arange(3, dtype=6)).view([1, 1, 3])
    while y.size(2) >= 3:
        y = torch.conv1d(y, v, None, [2])
    return y, y.size(2)
)",
       {}},
      {"attention lengths mask",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    out = (n - 3) // 2 + 1
    out = max(out, 1)
    mask = torch.zeros([1, n], dtype=4)
    mask[0, out - 1] = 1
    mask = mask.flip([-1]).cumsum(-1).flip([-1]) > 0
    return torch.where(mask.t(), x, torch.zeros_like(x))
)",
       {}},
      {"ceil mode pool",
       R"(def forward(self, x: Tensor):
    y = x.t().view([1, 4, -1, 1])
    a = torch.max_pool2d(y, [3, 1], [2, 1], [0, 0], [1, 1], True)
    return a.flatten(1)
)",
       {}},
      {"heads view",
       R"(def forward(self, x: Tensor):
    b = 2
    y = x.repeat([2, 1]).view([b, -1, 2, 2]).transpose(1, 2)
    s = torch.matmul(y, y.transpose(-1, -2)) / (y.size(-1) ** 0.5)
    return torch.matmul(torch.softmax(s, -1), y).transpose(1, 2).reshape([b, -1, 4])
)",
       {}},
      {"view by rows when even",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    if n % 2 == 0:
        return x.view([2, -1, 4]).sum(0)
    elif n % 3 == 0:
        return x.view([3, -1, 4]).prod(0)
    elif n == 1:
        return x + 5
    return x.view([-1, 2]).sum(1)
)",
       {}},
      {"chunk count",
       R"(def forward(self, x: Tensor):
    c = x.chunk(7)
    y = torch.stack([p.sum() for p in c])
    return y, len(c)
)",
       {}},
      {"chunk and swap",
       R"(def forward(self, x: Tensor):
    parts = x.chunk(3)
    if len(parts) == 3:
        a, b, c = parts[0], parts[1], parts[2]
        return torch.cat([c, b, a])
    if len(parts) == 2:
        return torch.cat([parts[1], parts[0]]) + 1
    return parts[0] * 3
)",
       {}},
      {"split with computed sizes",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    a = n // 3
    b = (n - a) // 2
    p = torch.split(x, [a, b, n - a - b])
    return p[0].sum(0), p[1].mean(0), p[2].max()
)",
       {}},
      {"unfold step",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    size = min(8, n)
    step = max(1, n // 10)
    y = x.unfold(0, size, step)
    return y.mean(-1)
)",
       {}},
      {"overlap add",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    frame = 6
    hop = 3
    if n < frame:
        x = torch.constant_pad_nd(x, [0, 0, 0, frame - n])
    y = x.unfold(0, frame, hop)
    count = y.size(0)
    out = torch.zeros([(count - 1) * hop + frame, 4])
    for i in range(count):
        out[i * hop:i * hop + frame] += y[i].t()
    return out, count
)",
       {}},
      {"narrow middle",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    start = n // 4
    length = max(1, n // 2)
    return x.narrow(0, start, length).exp()
)",
       {}},
      {"time steps",
       R"(def forward(self, x: Tensor):
    h = torch.zeros([4])
    outs: List[Tensor] = []
    for t in range(x.size(0)):
        h = torch.tanh(x[t] + h * 0.5)
        if t % 4 == 3:
            outs.append(h)
    if len(outs) == 0:
        return h.unsqueeze(0)
    return torch.stack(outs)
)",
       {}},
      {"reversed time steps",
       R"(def forward(self, x: Tensor):
    h = torch.zeros([4])
    for t in range(x.size(0) - 1, -1, -1):
        h = h * 0.9 + x[t]
        if t == 17:
            h = h * 2
    return h
)",
       {"float32[1..40,4]"}},
      {"two at a time",
       R"(def forward(self, x: Tensor):
    total = torch.zeros([4])
    for i in range(0, x.size(0), 2):
        if i + 1 < x.size(0):
            total = total + x[i] * x[i + 1]
        else:
            total = total - x[i]
    return total
)",
       {}},
      {"rounds by what is left",
       R"(def forward(self, x: Tensor):
    first = torch.chunk(x, 3)[0] * 2.0
    of_another_type = x > 0.0
    for k in range(min(x.size(0) % 4, 3)):
        of_another_type = torch.sin(of_another_type + x) + k
    longer = x
    for k in range(x.size(0) % 3):
        longer = torch.cat([longer, x * k])
    y = x.clone()
    shared = y
    for k in range(x.size(0) % 5):
        shared = shared * 0.5 + k
    shared += 1.0
    return first, of_another_type, longer, y, shared
)",
       {}},
      // Products of sizes that would be negative at the least size.
      {"layer of two rows",
       R"(def forward(self, x: Tensor):
    w = torch.arange(16).view([4, 4]) * 0.1
    y = torch.zeros([4])
    for i in range(min(x.size(0), 3)):
        y = y + torch.linear(x[i:], w).sum(0) + torch.linear(x[i:i + 2], w).sum(0)
    return y
)",
       {}},
      {"levels",
       R"(def forward(self, x: Tensor):
    levels = 0
    while x.size(0) > 1:
        if x.size(0) % 2 == 1:
            x = torch.cat([x, x[-1:]])
        x = x[0::2] + x[1::2]
        levels += 1
    return x, levels
)",
       {}},
      {"interpolate by ratio",
       R"(def forward(self, x: Tensor):
    n = int(x.size(0) * 1.5)
    y = x.t().unsqueeze(0)
    return torch.upsample_linear1d(y, [n], False)
)",
       {}},
      {"interpolate target",
       R"(def forward(self, x: Tensor):
    y = x.t().view([1, 4, -1, 1])
    z = torch.upsample_nearest2d(y, [32, 1])
    return torch.upsample_bilinear2d(z, [x.size(0), 1], False) + y
)",
       {}},
      {"adaptive pool",
       R"(def forward(self, x: Tensor):
    y = x.t().unsqueeze(0)
    return torch.adaptive_avg_pool1d(y, [6]), torch.adaptive_avg_pool1d(y, [(x.size(0) + 1) // 2])
)",
       {}},
      {"numbers of elements that sizes choose",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    some = torch.nonzero(torch.arange(n) % 61 == 60)
    return torch.nonzero(torch.arange(1, 8) * 17 >= n).size(0), (torch.tensor([40, 80]) >= n).nonzero(), some
)",
       {}},
      {"equal elements that sizes choose",
       R"(def forward(self, x: Tensor):
    i = torch.arange(x.size(0))
    a = torch._unique2(torch.tensor([x.size(0), 77]))[0]
    return a, torch._unique2(i // 13)[0].size(0), torch._unique2(i % 37)[0].size(0)
)",
       {}},
      {"masks of rows by their numbers",
       R"(def forward(self, x: Tensor):
    i = torch.arange(x.size(0))
    return x[i % 3 == 0], x[i % 3 == 1], x[i % 3 == 2]
)",
       {}},
      {"rows that are counted twice",
       R"(def forward(self, x: Tensor):
    i = torch.arange(x.size(0))
    return torch.nonzero(i >= 0).size(0), torch.nonzero(i != 77).size(0), x[i >= 0], x[i != 77]
)",
       {}},
      {"the longer of two texts is shortened",
       R"(def forward(self, x: Tensor, y: Tensor):
    while x.size(0) + y.size(0) > 21:
        if x.size(0) > y.size(0):
            x = x[:-1]
        else:
            y = y[:-1]
    return torch.cat([x, y])
)",
       {"float32[a=1..40,4]", "float32[b=1..40,4]"}},
      {"sums of rows that an index chooses",
       R"(def forward(self, x: Tensor):
    i = torch.arange(x.size(0)) // 3
    y = torch.zeros_like(x)
    y.scatter_add_(0, i.unsqueeze(1).expand_as(x), x)
    z = torch.zeros([x.size(0), 9])
    z.scatter_(1, i.unsqueeze(1) % 9, 1.0)
    z[i, i % 4] = 2.0
    return y, z, torch.zeros_like(x).index_add(0, i, x)
)",
       {}},
      {"elements by their numbers one by one",
       R"(def forward(self, x: Tensor):
    y = x[0]
    for i in range(1, 24):
        y = torch.tanh(y) + x[i]
    return y
)",
       {}},
      {"numbers that are 0 at small sizes",
       R"(def forward(self, x: Tensor):
    k = torch.tensor(x.size(0) // 40)
    i = torch.nonzero(torch.arange(x.size(0)) % 29 == 28)
    return torch.ones([3]) * k, x.sum(0) * (x.size(0) // 40), torch.ones([1]) * k, x.sum(0) * i.size(0), x[i[:, 0]]
)",
       {}},
      {"parts and classes that sizes count",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    r = torch.repeat_interleave(torch.arange(2), torch.tensor([n // 3, n // 5]))
    t = torch.tensor(n * 0.1)
    return r, torch.one_hot(torch.tensor([n // 30, 1])), (t == t.round()).nonzero().size(0)
)",
       {}},
      {"a number of the program among elements that sizes give",
       R"(def forward(self, x: Tensor):
    l = torch.stack([torch.tensor(x.size(0)), torch.tensor(77)])
    return torch._unique2(l)[0], torch.nonzero(l == 55), x * 2
)",
       {}},
  };
}

}  // namespace aitune::sizes
